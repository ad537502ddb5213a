"""Which interpreter Spark's workers run: ours, unless somebody said another."""

import sys
from types import SimpleNamespace

import pytest

from headrace.spark import register, scan, write_parquet
from headrace.spark.executor_python import check_python, choose_python


@pytest.fixture
def python3(tmp_path):
    """Another `python3`, as the system has one, without our package."""
    found = tmp_path / "bin" / "python3"
    found.parent.mkdir()
    found.write_text("#!/bin/sh\nexit 1\n")
    found.chmod(0o755)
    return found


def chosen(executable, **environment):
    choose_python(environment, executable)
    return environment.get("PYSPARK_PYTHON")


def test_an_interpreter_that_pyspark_would_not_take_is_named_to_it(python3):
    assert chosen("/venv/bin/python", PATH=str(python3.parent)) == "/venv/bin/python"
    assert chosen("/venv/bin/python", PATH="/nowhere") == "/venv/bin/python"


def test_what_was_said_or_would_be_taken_stays(python3):
    path = str(python3.parent)
    assert chosen(f"{path}/python", PATH=path) is None
    assert chosen("/venv/bin/python", PATH=path, PYSPARK_PYTHON="/usr/bin/python3") == "/usr/bin/python3"
    assert chosen("/venv/bin/python", PATH=path, PYSPARK_GATEWAY_PORT="1") is None


def session(python, master="local[2]"):
    return SimpleNamespace(_jsparkSession=None, sparkContext=SimpleNamespace(master=master, pythonExec=str(python)))


def test_a_session_whose_workers_lack_the_package_is_refused_in_one_sentence(python3):
    with pytest.raises(
        RuntimeError, match=rf"run {python3}, which has no headrace: set PYSPARK_PYTHON={sys.executable}"
    ):
        check_python(session(python3))
    with pytest.raises(RuntimeError, match="PYSPARK_PYTHON"):
        check_python(session("/nowhere/python3"))


def test_whoever_reads_is_told_before_anything_is_planned(python3, tmp_path):
    nobody = {"bootstrap_servers": "127.0.0.1:1"}
    for read in (
        register,
        lambda spark: scan(spark, "t", **nobody),
        lambda spark: write_parquet(spark, "t", tmp_path / "out", **nobody),
    ):
        with pytest.raises(RuntimeError, match="PYSPARK_PYTHON"):
            read(session(python3))


def test_other_sessions_are_left_alone(python3):
    check_python(session(sys.executable))
    check_python(session(python3, master="spark://host:7077"))
    check_python(SimpleNamespace())  # Spark Connect
    python3.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')  # which has the package
    check_python(session(python3))
