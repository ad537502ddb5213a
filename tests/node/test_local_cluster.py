"""Nodes side by side with real forks, signals and shared memory, over workers that do one thing right or wrong."""

import contextlib
import os
import signal
import socket
import sys
import traceback
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.limits import LOCAL_NODES_MAX, LOCAL_RESTART_MAX_MS
from headrace.node import local_cluster
from headrace.node.local_cluster import LocalCluster, restart_wait_ms, settings_of_nodes
from headrace.node.logging_setup import set_up_logging
from headrace.properties import read_properties_file
from headrace.settings import Settings
from headrace.shm.region import SHM_DIRECTORY, region_prefix, sweep
from headrace.shm.ring_sizes import ring_sizes, shm_bytes
from tests.node import fake_processes as fakes
from tests.support.children import die_with_parent
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process

NODES = 2
GIVEN = {"zookeeper.connect": "127.0.0.1:1", "headrace.partitions.max": "16", "headrace.request.ring.bytes": "65536"}
SMALL_BATCHES = {"message.max.bytes": "16384"}


class ForkedCluster:
    """A LocalCluster in a process of its own, over fakes."""

    def __init__(self, directory, entry_points, port=0):
        self.directory = directory
        self.given = settings_of_nodes(directory, NODES, port, {**GIVEN, **SMALL_BATCHES})
        self._log, self._ready = directory / "log", directory / "ready"
        self.exit_code = None
        parent = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            self._run(entry_points, parent)

    def _run(self, entry_points, parent):
        code = 99
        try:
            assert die_with_parent(parent)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.dup2(os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
            sys.stderr = os.fdopen(2, "w")
            set_up_logging("INFO", sys.stderr)
            code = LocalCluster(
                [Settings(one) for one in self.given],
                entry_points=entry_points,
                on_ready=lambda addresses: self._ready.write_text(",".join(addresses) + "\n"),
            ).run()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def wait_ready(self):
        """Addresses of the nodes."""
        wait_until(lambda: self._ready.exists() and self._ready.read_text().endswith("\n"), self.log)
        return self._ready.read_text().strip().split(",")

    def log(self):
        return self._log.read_text() if self._log.exists() else ""

    def node_pid(self, node_id):
        """Of a node's supervisor; None while it does not run."""
        for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            try:
                if Path(f"/proc/{pid}/comm").read_text().strip() == f"hr-node-{node_id}":
                    return int(pid)
            except OSError:
                continue
        return None

    def regions(self):
        prefixes = [region_prefix(int(one["broker.id"]), one["log.dirs"]) for one in self.given]
        return [name for name in os.listdir(SHM_DIRECTORY) if name.startswith(tuple(prefixes))]

    def wait(self):
        """The exit code; -n for signal n."""
        if self.exit_code is None:
            wait_until(self._reaped, self.log)
        return self.exit_code

    def stop(self, number=signal.SIGTERM):
        os.kill(self.pid, number)
        return self.wait()

    def destroy(self):
        if self.exit_code is None and not self._reaped():
            self.stop()
        for one in self.given:
            sweep(region_prefix(int(one["broker.id"]), one["log.dirs"]))

    def _reaped(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(status)
        return bool(pid)


@pytest.fixture
def fork_cluster(tmp_path):
    clusters = []

    def fork(port=0, **roles):
        clusters.append(ForkedCluster(tmp_path, fakes.node_of(**roles), port))
        return clusters[-1]

    yield fork
    for cluster in clusters:
        cluster.destroy()


def listens(address):
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_all_serve_and_a_stop_ends_all_and_leaves_nothing(fork_cluster, number):
    cluster = fork_cluster()
    addresses = cluster.wait_ready()
    assert len(set(addresses)) == NODES
    assert all(map(listens, addresses))
    pids = [cluster.node_pid(node_id) for node_id in range(NODES)]
    assert [os.getpgid(pid) for pid in pids] == pids  # Ctrl-C in a terminal reaches their parent alone
    assert cluster.stop(number) == 0
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    assert cluster.regions() == []
    assert not any(map(listens, addresses))


def test_each_line_of_a_node_says_whose_it_is(fork_cluster):
    cluster = fork_cluster()
    cluster.wait_ready()
    cluster.stop()
    lines = cluster.log().splitlines()
    for node_id in range(NODES):
        assert any(line.startswith(f"[node {node_id}] ") and "serving bootstrap=" in line for line in lines)
    assert all("[node" in line or "local_cluster" in line for line in lines)


def test_a_killed_node_starts_again_on_its_port(fork_cluster):
    cluster = fork_cluster()
    addresses = cluster.wait_ready()
    killed = cluster.node_pid(1)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: cluster.log().count(f"node serves node=1 bootstrap={addresses[1]}") == 2, cluster.log)
    assert cluster.node_pid(1) not in (None, killed)
    assert f"node died node=1 pid={killed} exit_code=-9 restart_in_ms=1000" in cluster.log()
    assert cluster.stop() == 0
    assert cluster.regions() == []


def test_what_a_killed_node_left_is_swept_where_a_stop_comes_before_its_restart(fork_cluster):
    cluster = fork_cluster()
    cluster.wait_ready()
    os.kill(cluster.node_pid(0), signal.SIGKILL)
    wait_until(lambda: "node died node=0" in cluster.log())
    assert cluster.regions()
    assert cluster.stop() == 0
    assert cluster.log().count("node started node=0") == 1
    assert cluster.regions() == []


def test_a_node_stopped_by_hand_stays_so_and_when_all_are_it_is_over(fork_cluster):
    cluster = fork_cluster()
    addresses = cluster.wait_ready()
    os.kill(cluster.node_pid(0), signal.SIGTERM)
    wait_until(lambda: "node stopped node=0" in cluster.log())
    assert cluster.node_pid(0) is None
    file = cluster.directory / "node-0" / "server.properties"
    assert f"headrace start {file}" in cluster.log()
    found = read_properties_file(file)
    assert found["listeners"] == f"PLAINTEXT://{addresses[0]}"
    assert {**found, "listeners": ""} == {**cluster.given[0], "listeners": ""}
    os.kill(cluster.node_pid(1), signal.SIGTERM)
    assert cluster.wait() == 0
    assert cluster.regions() == []


def test_a_port_in_use_ends_all(fork_cluster):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        cluster = fork_cluster(port=taken.getsockname()[1])  # of the first; that of the second may be in use as well
        assert cluster.wait() == 1
    assert "can't listen on" in cluster.log()
    assert cluster.regions() == []


def test_an_invalid_setting_that_a_node_finds_ends_all_with_78(fork_cluster):
    cluster = fork_cluster(controller=fakes.leaving_with(78))
    assert cluster.wait() == 78
    assert cluster.regions() == []


def test_one_that_it_finds_later_ends_all_with_78_as_well(fork_cluster):
    cluster = fork_cluster(controller=lambda seat, _listener=None: fakes.obedient(seat) if seat.generation == 1 else 78)
    cluster.wait_ready()
    node_pid = cluster.node_pid(1)
    for pid in map(int, Path(f"/proc/{node_pid}/task/{node_pid}/children").read_text().split()):
        if Path(f"/proc/{pid}/comm").read_text().startswith("hr-controlle-"):
            os.kill(pid, signal.SIGKILL)
    assert cluster.wait() == 78
    assert cluster.regions() == []


def test_nodes_stop_by_themselves_where_their_parent_is_killed(fork_cluster):
    cluster = fork_cluster()
    cluster.wait_ready()
    pids = [cluster.node_pid(node_id) for node_id in range(NODES)]
    assert cluster.stop(signal.SIGKILL) == -signal.SIGKILL
    try:
        wait_until(lambda: not [pid for pid in pids if os.path.exists(f"/proc/{pid}")])
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
    assert cluster.regions() == []


def test_a_node_that_does_not_stop_is_killed_and_swept(fork_cluster, monkeypatch):
    monkeypatch.setattr(local_cluster, "LOCAL_STOP_MAX_MS", 200)
    cluster = fork_cluster(controller=fakes.deaf)
    cluster.wait_ready()
    assert cluster.stop() == 1
    assert "node not stopped in time, killed node=0" in cluster.log()
    assert "node not stopped in time, killed node=1" in cluster.log()
    assert cluster.regions() == []


def test_each_node_has_its_id_port_and_directory(tmp_path):
    found = settings_of_nodes(tmp_path, 3, 9092, {"num.partitions": "5"})
    assert [one["broker.id"] for one in found] == ["0", "1", "2"]
    assert [one["listeners"] for one in found] == [f"PLAINTEXT://127.0.0.1:{port}" for port in (9092, 9093, 9094)]
    assert [one["log.dirs"] for one in found] == [str(tmp_path / f"node-{number}" / "logs") for number in range(3)]
    assert {one["num.partitions"] for one in found} == {"5"}
    assert {one["listeners"] for one in settings_of_nodes(tmp_path, 2, 0, {})} == {"PLAINTEXT://127.0.0.1:0"}


def test_ports_and_settings_that_can_not_be(tmp_path):
    assert settings_of_nodes(tmp_path, 3, 65533, {})[-1]["listeners"].endswith(":65535")
    with pytest.raises(ConfigError, match="65536"):
        settings_of_nodes(tmp_path, 3, 65534, {})
    for key in local_cluster.OWN_SETTINGS:
        with pytest.raises(ConfigError, match=key):
            settings_of_nodes(tmp_path, 3, 0, {key: "1"})


def test_all_nodes_together_take_little_shared_memory(tmp_path):
    given = settings_of_nodes(tmp_path, LOCAL_NODES_MAX, 0, {"zookeeper.connect": "127.0.0.1:1"})
    one = Settings(given[0])
    assert shm_bytes(one, ring_sizes(one, 1 << 40)) <= 28 << 20
    assert 3 * shm_bytes(one, ring_sizes(one, 16 << 20)) <= 64 << 20  # three in a container's /dev/shm, a quarter each


def test_the_wait_before_a_restart_grows_up_to_a_bound():
    waits = [restart_wait_ms(deaths) for deaths in range(1, 9)]
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, *[LOCAL_RESTART_MAX_MS] * 3]
    assert restart_wait_ms(10_000) == LOCAL_RESTART_MAX_MS
