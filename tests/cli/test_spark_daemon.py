"""Spark's Python daemon of ours: which PySpark it imports, and that a worker finds everything imported when it is forked."""

import os
import struct
import subprocess
import sys
import zipfile

import pytest

from headrace.cli.spark_daemon import prefer_installed
from tests.support import children

DEADLINE_S = 120


@pytest.fixture
def places(tmp_path):
    """(Spark's two zips, a directory that may have the installed PySpark)"""
    (tmp_path / "lib").mkdir()
    zips = [str(tmp_path / "lib" / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]
    for name in zips:
        with zipfile.ZipFile(name, "w") as file:
            file.writestr("pyspark/version.py", '__version__: str = "4.3.0"\n')
    return zips, tmp_path / "site"


def install(site, version):
    (site / "py4j").mkdir(parents=True)
    (site / "pyspark").mkdir()
    (site / "pyspark" / "version.py").write_text(f'"""Its version."""\n__version__: str = "{version}"\n')


def test_the_installed_pyspark_goes_first_if_it_is_the_one_in_the_zip(places):
    zips, site = places
    install(site, "4.3.0")
    path = ["", *zips, str(site), "elsewhere"]
    prefer_installed(path)
    assert path == ["", str(site), "elsewhere", *zips]


@pytest.mark.parametrize("version", ["4.3.1", None])
def test_another_pyspark_or_none_stays_behind(places, version):
    zips, site = places
    if version:
        install(site, version)
    path = [*zips, str(site)]
    prefer_installed(path)
    assert path == [*zips, str(site)]


def test_without_zips_and_with_a_broken_one_nothing_changes(places):
    zips, site = places
    install(site, "4.3.0")
    path = [str(site)]
    prefer_installed(path)
    assert path == [str(site)]
    with open(zips[0], "wb") as file:
        file.write(b"no zip")
    path = [*zips, str(site)]
    prefer_installed(path)
    assert path == [*zips, str(site)]


@pytest.mark.process
def test_it_gives_spark_its_port_and_nothing_else_and_ends_with_it():
    environment = {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": "secret"}
    command = [sys.executable, "-m", "headrace.cli.spark_daemon", "pyspark.worker"]
    daemon = children.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    try:
        assert 0 < struct.unpack("!i", daemon.stdout.read(4))[0] < 65536
        daemon.stdin.close()
        assert daemon.wait(DEADLINE_S) in (0, 1)  # PySpark's own daemon ends by 1
        assert daemon.stdout.read() == b""
    finally:
        children.end(daemon)
