"""Which interpreter Spark's workers run: ours, unless somebody said another."""

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from headrace.ids import TopicPartition
from headrace.spark import register, scan, write_parquet
from headrace.spark.executor_python import (
    DAEMON,
    DAEMON_SETTING,
    LAUNCHER,
    check_python,
    choose_daemon,
    choose_python,
    quick_planning,
)

DEADLINE_S = 300


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
        RuntimeError, match=rf"run {python3}, which does not have headrace: set PYSPARK_PYTHON={sys.executable}"
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


class Settings:
    """A SparkConf of the JVM's."""

    def __init__(self, **given):
        self.given = given

    def contains(self, name):
        return name in self.given

    def set(self, name, value):
        self.given[name] = value


def with_settings(settings, master="local[2]"):
    found = session(sys.executable, master)
    found.sparkContext._conf = settings
    return found


def test_workers_of_a_local_session_are_forked_by_our_daemon_unless_another_is_named():
    settings = Settings()
    choose_daemon(with_settings(settings))
    assert settings.given == {DAEMON_SETTING: DAEMON}
    settings = Settings(**{DAEMON_SETTING: "theirs"})
    choose_daemon(with_settings(settings))
    assert settings.given == {DAEMON_SETTING: "theirs"}
    settings = Settings()
    choose_daemon(with_settings(settings, "spark://host:7077"))
    assert not settings.given
    choose_daemon(SimpleNamespace())  # Spark Connect


def test_a_data_source_is_planned_by_a_launcher_that_ends_with_the_session(tmp_path, python3):
    found = session(sys.executable)
    with quick_planning(found):
        assert found.sparkContext.pythonExec == sys.executable, "a session without a directory"
    found.sparkContext._temp_dir = str(tmp_path)
    with quick_planning(found):
        assert found.sparkContext.pythonExec == str(tmp_path / LAUNCHER)
        command = [found.sparkContext.pythonExec, "-m", "timeit", "-n1", "-r1", "pass"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "1 loop" in done.stdout
        done = subprocess.run(
            [found.sparkContext.pythonExec, "-c", "print(5)"], capture_output=True, text=True, check=True
        )
        assert done.stdout == "5\n"
    assert found.sparkContext.pythonExec == sys.executable
    found.sparkContext._temp_dir = str(tmp_path / "gone")
    with quick_planning(found):
        assert found.sparkContext.pythonExec == sys.executable
    found = session(sys.executable, "spark://host:7077")
    found.sparkContext._temp_dir = str(tmp_path)
    with quick_planning(found):
        assert found.sparkContext.pythonExec == sys.executable


def test_planning_and_reading_of_a_session_run_by_our_daemon(spark, log, broker):
    """Seen from the processes themselves: what forked them."""
    log.append(TopicPartition("clicks", 0), [(None, b"x")])
    frame = (
        spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address).option("subscribe", "clicks")
    )
    assert frame.load().count() == 1
    (server,) = [one for one in psutil.Process().children() if "headrace.cli.spark_forkserver" in one.cmdline()]
    steps = {"create_data_source", "plan_data_source_read", "pyspark.worker"}
    assert {name[:15] for name in steps} <= {one.name() for one in server.children()}


def test_the_setting_is_the_one_that_spark_reads():
    """In a session of its own, which names no daemon."""
    code = """if True:
        from pyspark.sql import SparkSession
        from headrace.spark import register
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        register(spark)
        import os
        parent = lambda rows: [open(f"/proc/{os.getppid()}/cmdline").read() for _ in rows]
        print(spark.sparkContext.parallelize([1], 1).mapPartitions(parent).first())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE_S)
    assert "headrace.cli.spark_daemon" in done.stdout, done.stderr
