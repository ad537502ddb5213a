"""What a host reads from its own files, and what the doctor says of the rest."""

import json
import os
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.errors import ConfigError
from headrace.ids import TopicPartition
from headrace.spark import host_checks, locality
from headrace.spark.host_checks import check_host, executor_host
from headrace.spark.locality import Place, place_of
from headrace.spark.submission import SETTINGS, submission
from tests.cli.program import Program

NAME = TopicPartition("t", 0)


@pytest.fixture
def log_dir(tmp_path):
    """Of broker 7 in cluster c, with one partition."""
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=7\ncluster.id=c\n")
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(b"")
    return tmp_path


def test_a_replica_is_local_where_its_directory_is_the_brokers_own(log_dir):
    assert place_of("c", 7, str(log_dir), NAME) == (Place.LOCAL, "")
    assert place_of("c", 7, "", NAME)[0] is Place.UNTOLD
    assert place_of("c", 7, str(log_dir / "elsewhere"), NAME)[0] is Place.FOREIGN
    assert place_of("another", 7, str(log_dir), NAME)[0] is Place.MISMATCHED
    assert place_of("c", 8, str(log_dir), NAME)[0] is Place.MISMATCHED
    assert place_of("c", 7, str(log_dir), TopicPartition("t", 1))[0] is Place.MISSING


@pytest.mark.parametrize("closed", ["meta.properties", "t-0", "t-0/00000000000000000000.log"])
def test_what_the_user_may_not_read_names_the_group(log_dir, monkeypatch, closed):
    """The tests may run as root, who reads everything: the system's answers are replaced."""
    refused = log_dir / closed
    if closed == "meta.properties":

        def refuse(*_):
            raise PermissionError(refused)

        monkeypatch.setattr(locality, "is_directory_of", refuse)
    else:
        real = os.access
        fake = SimpleNamespace(
            **{name: getattr(os, name) for name in ("R_OK", "X_OK", "scandir", "getuid")},
            access=lambda path, mode: Path(path) != refused and real(path, mode),
        )
        monkeypatch.setattr(locality, "os", fake)
    place, advice = place_of("c", 7, str(log_dir), NAME)
    assert place is Place.UNREADABLE
    assert "usermod -a -G" in advice
    assert str(log_dir) in advice


@pytest.mark.process
def test_the_doctor_tells_how_much_of_each_topic_is_here(node):
    program = Program(node.bootstrap)
    name = f"doctor-{uuid.uuid4().hex[:8]}"
    try:
        program("topics", "create", name, "--partitions", "2")
        program("produce", name, stdin=b"one\ntwo\nthree\n")
        done = program.run("spark", "doctor", name, "--json")
        [found] = json.loads(done.stdout)["topics"]
        assert found == {
            "topic": name, "partitions": 2, "local_partitions": 2, "records": 3, "local_records": 3, "advice": {}
        }  # fmt: skip
        said = program.run("spark", "doctor", name).stdout.decode()
        assert name in said
        assert f"pyspark {sys.modules['pyspark'].__version__}" in said
        assert "UNKNOWN_TOPIC_OR_PARTITION" in program.fails("spark", "doctor", "absent")
    finally:
        program.close()


@pytest.mark.process
def test_what_executors_call_the_host_is_compared_with_what_the_node_advertises():
    assert executor_host({"SPARK_LOCAL_HOSTNAME": "a", "SPARK_LOCAL_IP": "10.0.0.1"}) == "a"
    assert executor_host({"SPARK_LOCAL_IP": "10.0.0.1"}) == "10.0.0.1"
    assert executor_host({})
    good, *_ = check_host(["a"], {"SPARK_LOCAL_HOSTNAME": "a"})
    bad, *_ = check_host(["a"], {"SPARK_LOCAL_HOSTNAME": "b"})
    assert good.is_good
    assert not bad.is_good
    assert "SPARK_LOCAL_HOSTNAME=a" in bad.said


@pytest.mark.process
def test_an_interpreter_without_headrace_is_named(tmp_path):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    [interpreter, *_] = check_host([], {"PATH": str(tmp_path)})
    assert not interpreter.is_good
    assert f"PYSPARK_PYTHON={sys.executable}" in interpreter.said
    [interpreter, *_] = check_host([], {"PYSPARK_PYTHON": sys.executable})
    assert interpreter.is_good
    [interpreter, *_] = check_host([], {"PATH": "/nowhere"})
    assert not interpreter.is_good


def test_a_host_whose_records_python_walks_is_said(monkeypatch):
    for kernel, is_good in ((object(), True), (None, False)):
        monkeypatch.setattr(host_checks.compiled_kernel, "KERNEL", kernel)
        assert host_checks._walker().is_good is is_good


def confs(command):
    return [command[at + 1] for at, word in enumerate(command) if word == "--conf"]


def test_a_job_is_submitted_with_what_matters_where_nobody_said_another(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-submit").write_text("")
    home = {"SPARK_HOME": str(tmp_path)}
    command, environment = submission(["job.py", "--mine"], home)
    assert command[0] == str(tmp_path / "bin" / "spark-submit")
    assert command[-2:] == ["job.py", "--mine"]
    assert confs(command) == [f"{key}={value}" for key, value in SETTINGS.items()]
    assert environment["PYSPARK_PYTHON"] == sys.executable
    _, environment = submission(["job.py"], home | {"PYSPARK_PYTHON": "/other"})
    assert environment["PYSPARK_PYTHON"] == "/other"
    for given in (
        ["--conf", "spark.locality.wait=1s"],
        ["--conf=spark.locality.wait=1s"],
        ["-c", "spark.locality.wait=1s"],
    ):
        assert "spark.locality.wait=10s" not in confs(submission([*given, "job.py"], home)[0])
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("# ours\nspark.locality.wait 2s\n")
    assert "spark.locality.wait=10s" not in confs(submission(["job.py"], home)[0])
    other = tmp_path / "other.conf"
    other.write_text("spark.python.unix.domain.socket.enabled=false\n")
    command, _ = submission(["--properties-file", str(other), "job.py"], home)
    assert "spark.locality.wait=10s" in confs(command), "spark-defaults.conf is not read then"
    assert "spark.python.unix.domain.socket.enabled=true" not in confs(command)
    with pytest.raises(ConfigError, match="--properties-file"):
        submission(["--properties-file", str(tmp_path / "absent"), "job.py"], home)
    with pytest.raises(ConfigError, match="SPARK_HOME"):
        submission(["job.py"], {"SPARK_HOME": str(tmp_path / "absent"), "PATH": "/nowhere"})
