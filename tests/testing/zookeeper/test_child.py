"""The server as a forked child: its port, its restarts, its end."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest
from kazoo.client import KazooClient

from headrace.errors import ConfigError
from headrace.testing.zookeeper.child import ForkedZooKeeper
from tests.support import children
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process

PARENT = """
import sys, time
from headrace.testing.zookeeper.child import ForkedZooKeeper
server = ForkedZooKeeper()
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def new_server():
    made = []

    def make(*arguments, **options):
        made.append(ForkedZooKeeper(*arguments, **options))
        return made[-1]

    yield make
    for server in made:
        server.stop()


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_another(server, pid, now_ms):
    server.check(now_ms)
    return server.pid != pid


def visit(server, path="/a"):
    """Whether the node was there; it is afterwards."""
    client = KazooClient(hosts=server.connect)
    client.start(timeout=DEADLINE_S)
    try:
        found = client.exists(path) is not None
        client.ensure_path(path)
        return found
    finally:
        client.stop()
        client.close()


def test_it_serves_at_once_and_ends_with_stop(new_server):
    server = new_server()
    server.start()
    pid = server.pid
    assert not visit(server)
    assert visit(server)
    server.stop()
    server.stop()
    assert not is_alive(pid)


def test_with_a_directory_it_has_its_state_and_its_port_again(new_server, tmp_path):
    server = new_server(tmp_path / "zk")
    server.start()
    visit(server)
    server.stop()
    again = new_server(tmp_path / "zk")
    again.start()
    assert again.port == server.port
    assert visit(again)


def test_a_server_that_died_is_restarted_on_its_port_and_waits_ever_longer(new_server, tmp_path):
    server, now_ms = new_server(tmp_path / "zk"), 1_000_000
    server.start()
    visit(server)
    port, waits = server.port, []
    server.check(now_ms)
    for _ in range(3):
        pid, begun_ms = server.pid, now_ms
        os.kill(pid, signal.SIGKILL)
        wait_until(partial(has_another, server, pid, begun_ms))
        while not server.pid:
            now_ms += 100
            server.check(now_ms)
        waits.append(now_ms - begun_ms)
        assert server.port == port
        assert visit(server)
    assert 0 == waits[0] < waits[1] < waits[2]


def test_a_port_that_is_taken_is_named(new_server):
    server = new_server()
    server.start()
    with pytest.raises(ConfigError, match=str(server.port)):
        new_server(port=server.port).start()


def test_it_dies_with_its_parent():
    parent = children.start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not is_alive(pid))
