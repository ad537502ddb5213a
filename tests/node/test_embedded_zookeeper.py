import importlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.node import embedded_zookeeper
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper, ZooKeeperFailed, find_jars
from tests.support.altered import altered
from tests.support.waiting import DEADLINE_S, wait_until
from tests.support.zookeeper_client import ZooKeeperClient

pytestmark = pytest.mark.process

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="no java on the PATH: ZooKeeper can't run")


@pytest.fixture
def new_server(tmp_path):
    made = []

    def make(**options):
        made.append(EmbeddedZooKeeper(tmp_path / "zookeeper", **options))
        return made[-1]

    yield make
    for server in made:
        server.stop()


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@needs_java
def test_what_was_written_is_there_after_a_restart_at_the_same_address(new_server):
    server = new_server()
    server.start()
    before = server.connect
    session = ZooKeeperClient(before, 4000)
    session.start(DEADLINE_S)
    session.create("/kept", b"x")
    session.stop()
    os.kill(server.pid, signal.SIGKILL)
    again = new_server()
    again.start()
    assert again.connect == before
    session = ZooKeeperClient(before, 4000)
    session.start(DEADLINE_S)
    assert session.get("/kept").data == b"x"
    session.stop()


@needs_java
def test_where_the_last_port_is_taken_another_one_serves(new_server, tmp_path):
    with socket.socket() as occupant:
        occupant.bind(("127.0.0.1", 0))
        occupant.listen()
        (tmp_path / "zookeeper").mkdir()
        (tmp_path / "zookeeper" / "port").write_text(str(occupant.getsockname()[1]))
        server = new_server()
        server.start()
        assert server.port != occupant.getsockname()[1]
        server.wait_until_ready(DEADLINE_S)


@needs_java
def test_a_port_lost_between_the_choice_and_the_start_is_replaced(new_server, monkeypatch):
    """Another process listens there, even a ZooKeeper: it is not taken for ours."""
    with socket.socket() as occupant:
        occupant.bind(("127.0.0.1", 0))
        occupant.listen()
        taken = occupant.getsockname()[1]
        choose = EmbeddedZooKeeper._choose_port
        monkeypatch.setattr(
            EmbeddedZooKeeper, "_choose_port", lambda self, attempt: choose(self, attempt) if attempt else taken
        )
        server = new_server()
        server.start()
        assert server.port != taken
        server.wait_until_ready(DEADLINE_S)


@needs_java
def test_a_second_server_in_the_same_directory_is_refused_while_the_first_lives(new_server, monkeypatch):
    monkeypatch.setattr(embedded_zookeeper, "STOP_DEADLINE_S", 0.2)
    new_server().start()
    with pytest.raises(ZooKeeperFailed, match="another ZooKeeper is already running in"):
        new_server().start()


@needs_java
def test_stop_ends_the_process_and_can_be_said_twice(new_server):
    server = new_server()
    server.start()
    pid = server.pid
    server.stop()
    server.stop()
    assert not is_running(pid)


@needs_java
def test_a_server_that_is_killed_leaves_nothing_outside_of_its_directory(new_server):
    server = new_server()
    server.start()
    os.kill(server.pid, signal.SIGKILL)
    assert not list(Path("/tmp").glob(f"hsperfdata_*/{server.pid}"))


@needs_java
def test_the_server_dies_with_its_parent(tmp_path):
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from headrace.node.embedded_zookeeper import EmbeddedZooKeeper\n"
        "server = EmbeddedZooKeeper(Path(sys.argv[1]))\nserver.start()\nprint(server.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "zookeeper")], stdout=subprocess.PIPE, text=True
    ) as parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    wait_until(lambda: not is_running(pid))


@needs_java
def test_no_thread_is_left_behind(new_server):
    before = set(os.listdir("/proc/self/task"))
    new_server().start()
    assert set(os.listdir("/proc/self/task")) <= before


def test_a_port_asked_for_that_is_taken_is_refused_by_name(new_server):
    with socket.socket() as occupant:
        occupant.bind(("127.0.0.1", 0))
        occupant.listen()
        port = occupant.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"127\.0\.0\.1:{port} is in use"):
            new_server(port=port).start()


def test_a_server_that_never_comes_up_ends_with_its_log(new_server, monkeypatch, tmp_path):
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\necho this JVM is broken\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(embedded_zookeeper, "find_java", lambda: str(program))
    with pytest.raises(ZooKeeperFailed, match="this JVM is broken"):
        new_server().start()


def test_without_java_the_error_says_what_to_do(new_server, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match=r"Java 17.*--zookeeper HOST:PORT"):
        new_server().start()


def find_instead(monkeypatch, spec):
    util = altered(importlib.util, find_spec=lambda _name: spec)
    monkeypatch.setattr(embedded_zookeeper, "importlib", altered(importlib, util=util))


def test_without_pyspark_the_error_says_what_to_do(monkeypatch):
    find_instead(monkeypatch, None)
    with pytest.raises(ConfigError, match=r"pip install 'headrace\[spark\]', or pass --zookeeper"):
        find_jars()


def test_a_pyspark_without_the_jars_is_named(monkeypatch, tmp_path):
    (tmp_path / "jars").mkdir()

    class Spec:
        origin = str(tmp_path / "__init__.py")

    find_instead(monkeypatch, Spec)
    with pytest.raises(ConfigError, match=r"no zookeeper-3\*\.jar found"):
        find_jars()


def test_the_configuration_says_what_we_rely_on(new_server, tmp_path):
    server = new_server()
    server.port = 1234
    (tmp_path / "zookeeper").mkdir()
    lines = set(server._write_config().read_text().splitlines())
    assert {
        "clientPort=1234",
        "clientPortAddress=127.0.0.1",
        "admin.enableServer=false",
        "4lw.commands.whitelist=",
        "maxClientCnxns=0",
        "minSessionTimeout=2000",
    } <= lines
    assert not any(line.startswith("forceSync") for line in lines)


@needs_java
def test_a_server_that_dies_is_started_again_at_its_address_with_its_data(new_server, caplog):
    server = new_server()
    server.start()
    before, pid = server.connect, server.pid
    session = ZooKeeperClient(before, 4000)
    session.start(DEADLINE_S)
    session.create("/kept", b"x")
    session.stop()
    server.check(1_000)
    assert server.pid == pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.check(100_000) or server.pid != pid)
    assert f"embedded ZooKeeper died pid={pid} exit_code=-9" in caplog.text
    assert caplog.text.count("embedded ZooKeeper died") == 1
    assert server.connect == before
    session = ZooKeeperClient(before, 4000)
    session.start(DEADLINE_S)
    assert session.get("/kept").data == b"x"
    session.stop()


def test_a_server_that_dies_again_and_again_waits_longer_each_time(new_server, monkeypatch, tmp_path):
    server = new_server(port=1234)
    starts = []

    def spawn(command, _lock):
        starts.append(now_ms)
        server._process = subprocess.Popen(["false"])
        server._process.wait()

    (tmp_path / "zookeeper").mkdir()
    monkeypatch.setattr(server, "_spawn", spawn)
    monkeypatch.setattr(server, "_command", lambda: ["java"])
    now_ms = 0
    server.check(now_ms)
    assert starts == [], "it was never started"
    spawn([], 0)
    for now_ms in range(100, 60_000, 100):
        server.check(now_ms)
    gaps = [later - earlier - 100 for earlier, later in pairwise(starts)]
    assert gaps[1:6] == [500 * factor for factor in (2, 4, 8, 16, 20)]
    assert set(gaps[6:]) == {embedded_zookeeper.RESTART_MAX_MS}
    server.stop()
    count = len(starts)
    server.check(100_000)
    assert len(starts) == count, "it was stopped"


@needs_java
def test_nobody_but_the_group_may_read_its_data(new_server, tmp_path):
    server = new_server()
    server.start()
    files = [path for path in (tmp_path / "zookeeper").rglob("*") if "data" in path.parts]
    assert files
    assert not [path for path in files if path.stat().st_mode & 0o027]
