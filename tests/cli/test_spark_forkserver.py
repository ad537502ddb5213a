"""The fork server of a local session: daemons begin there with their imports done, and begin by themselves where it can't serve."""

import os
import signal
import socket
import struct
import subprocess
import sys
import zipfile

import psutil
import pytest

from headrace.cli import spark_launch
from headrace.cli.spark_forkserver import import_path
from headrace.spark import fork_server as servers
from headrace.spark.fork_server import fork_server
from tests.support import children
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process

VARIABLES = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
PLANNING = ["-m", "pyspark.daemon", "pyspark.sql.worker.create_data_source"]
DEADLINE_S = 120


@pytest.fixture
def server(monkeypatch):
    """The socket's name, of a server that no session of other tests has."""
    monkeypatch.setattr(servers, "_servers", [])
    yield fork_server(sys.executable, VARIABLES)
    servers._end_all()


def launched(path, *arguments, **variables):
    """A daemon as Spark starts it."""
    command = [sys.executable, "-I", "-S", spark_launch.__file__, str(path), sys.executable, *arguments]
    environment = {**os.environ, **VARIABLES, "PYTHON_WORKER_FACTORY_SECRET": "secret", **variables}
    return children.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def port_of(daemon):
    return struct.unpack("!i", daemon.stdout.read(4))[0]


def forked():
    """The daemons of the server, by name."""
    found = psutil.Process(servers._servers[0].process.pid).children()
    return [one.name() for one in found if one.status() != psutil.STATUS_ZOMBIE]


def test_a_daemon_is_forked_has_spark_s_streams_and_ends_with_them(server):
    daemon = launched(server, *PLANNING)
    tasks = launched(server, "-m", "headrace.cli.spark_daemon", "pyspark.worker")
    try:
        for one in (daemon, tasks):
            socket.create_connection(("127.0.0.1", port_of(one)), DEADLINE_S).close()
        assert sorted(forked()) == ["create_data_sou", "pyspark.worker"]
        daemon.stdin.close()
        assert daemon.wait(DEADLINE_S) == 0
        assert daemon.stdout.read() == b""
        assert forked() == ["pyspark.worker"]
    finally:
        for one in (daemon, tasks):
            one.stdin.close()
            one.wait(DEADLINE_S)


def test_a_daemon_that_can_t_be_forked_begins_by_itself(server):
    """Another hash seed is the interpreter's, which is chosen when it starts."""
    daemon = launched(server, *PLANNING, PYTHONHASHSEED="7")
    try:
        assert 0 < port_of(daemon) < 65536
        assert forked() == []
        assert "headrace.cli.spark_python" in " ".join(psutil.Process(daemon.pid).cmdline())
    finally:
        daemon.stdin.close()
        daemon.wait(DEADLINE_S)


def test_where_the_server_is_gone_a_daemon_begins_by_itself(server):
    servers._servers[0].process.kill()
    servers._servers[0].process.wait()
    for path in (server, "", "headrace-nowhere"):
        daemon = launched(path, *PLANNING)
        try:
            assert 0 < port_of(daemon) < 65536
        finally:
            daemon.stdin.close()
            daemon.wait(DEADLINE_S)


def test_other_modules_are_run_as_python_runs_them(server):
    done = subprocess.run(
        [sys.executable, "-I", "-S", spark_launch.__file__, str(server), sys.executable, "-c", "print(5)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "5\n"


def test_a_launcher_that_is_no_launcher_harms_no_other(server):
    for data in (b"", b"\0\0\0\5hello", b"\xff\xff\xff\xff", b"\0\0"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"\0{server}")
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
    daemon = launched(server, *PLANNING)
    try:
        assert 0 < port_of(daemon) < 65536
        assert forked() == ["create_data_sou"]
    finally:
        daemon.stdin.close()
        daemon.wait(DEADLINE_S)


def test_it_is_started_once_and_anew_for_other_variables(server):
    first = servers._servers[0].process
    assert fork_server(sys.executable, VARIABLES) == server
    other = fork_server(sys.executable, {**VARIABLES, "OMP_NUM_THREADS": "2"})
    assert other != server
    assert first.poll() == 0
    last = servers._servers[0].process
    servers._end_all()
    assert last.poll() == 0


def test_it_ends_when_the_driver_is_killed():
    code = "from headrace.spark.fork_server import *; from headrace.spark import fork_server as f; import time, sys\n"
    code += "print(fork_server(sys.executable, {}), f._servers[0].process.pid, flush=True); time.sleep(600)"
    driver = children.start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        name, pid = driver.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
        driver.send_signal(signal.SIGKILL)
        driver.wait(DEADLINE_S)
        wait_until(lambda: not psutil.pid_exists(int(pid)), "the server goes on")
        with socket.socket(socket.AF_UNIX) as connection, pytest.raises(ConnectionRefusedError):
            connection.connect(f"\0{name}")
    finally:
        children.end(driver)


def test_what_a_daemon_imports_has_to_be_what_the_server_imports(tmp_path):
    own = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "HOME": "/root"}
    present = ["/site", "/lib"]

    def path_of(**variables):
        return import_path({**own, **variables}, own, present)

    assert path_of() == present
    assert path_of(HOME="/other", PYTHONUNBUFFERED="YES", PYTHON_UDF_BATCH_SIZE="9") == present
    assert import_path({"PYTHONHASHSEED": "0"}, own, present) == present, "planning has no number of threads"
    for other in ({"OMP_NUM_THREADS": "4"}, {"PYTHONHASHSEED": "1"}, {"PYTHONHOME": "/x"}, {"TZ": "UTC"}):
        assert path_of(**other) is None, other
    assert path_of(PYTHONPATH=str(tmp_path)) is None, "other modules may be there"
    assert path_of(PYTHONPATH="/lib:/spark/core.jar") == ["/spark/core.jar", *present]
    archive = tmp_path / "pyspark.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("pyspark/version.py", '__version__: str = "1.0"\n')
    assert path_of(PYTHONPATH=str(archive)) is None, "another PySpark"
