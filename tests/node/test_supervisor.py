"""The supervisor with real forks, signals and shared memory, over children that do one thing right or wrong."""

import contextlib
import errno
import os
import select
import signal
import socket
import threading
import time

import pytest

from headrace.controller.zookeeper.outage import clock_text
from headrace.errors import StorageFailed
from headrace.limits import DEATHS_BEFORE_READY_MAX
from headrace.node import stop_plan, supervisor
from headrace.settings import Settings
from headrace.shm.fabric import Fabric
from headrace.shm.process_table import ProcessState
from headrace.shm.region import Region
from headrace.shm.steady_date import SteadyDate
from headrace.shm.wiring import Role
from tests.node import fake_processes as fakes
from tests.support.altered import altered
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process

NETWORK, PARTITION, CONTROLLER, HOUSEKEEPER = range(4)  # process ids with one worker of each kind
HANGS_SOON = {
    "headrace.worker.hang.timeout.ms": "2000"
}  # and yet no process that works waits that long for a processor


def all_datagrams(manager):
    """What has arrived and was not read yet."""
    return [manager.recv(4096).decode() for _ in iter(lambda: select.select([manager], [], [], 0)[0], [])]


def test_a_node_says_that_it_is_ready_in_one_line(fork_node):
    node = fork_node()
    line = node.wait_ready()
    host, port = node.address(line)
    assert line == f"ready bootstrap={host}:{port} zookeeper=127.0.0.1:1 dir={node.log_dir}"
    assert port > 0


def test_a_node_is_not_ready_before_all_its_processes_are(fork_node):
    node = fork_node(housekeeper=fakes.never_ready)
    wait_until(lambda: len(node.children()) == 4)
    others = (NETWORK, PARTITION, CONTROLLER)
    wait_until(lambda: all(node.state(one) is ProcessState.READY for one in others))
    node.wait_for_looks(2)  # one may have begun before
    assert not node.is_ready()
    assert node.stop() == 0


def test_a_stop_is_clean_and_leaves_nothing(fork_node):
    node = fork_node()
    node.wait_ready()
    children = node.children()
    assert node.regions()
    assert node.stop() == 0
    assert node.regions() == []
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]
    assert "stopped exit_code=0" in node.log()


def test_a_hang_up_reads_the_settings_again_and_stops_nothing(fork_node, settings_of, tmp_path):
    loads = [{"num.partitions": "7"}, {"num.partitions": "many"}, {}]
    given = {}

    def load():
        return Settings({**given, **loads.pop(0)})

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(DEADLINE_S)
        given.update(settings_of(tmp_path).explicit)
        node = fork_node(environment={"NOTIFY_SOCKET": str(tmp_path / "notify")}, options={"reload": load})
        node.wait_ready()
        for expected in ("effective after a restart: num.partitions", "reload refused: ", ""):
            all_datagrams(manager)
            node.signal(signal.SIGHUP)
            hear = iter(lambda: manager.recv(4096).decode(), None)
            assert next(said for said in hear if "RELOADING=1" in said).startswith("RELOADING=1\nMONOTONIC_USEC=")
            assert expected in next(said for said in hear if "READY=1" in said)
        assert "setting changed, takes effect after a restart key=num.partitions" in node.log()
        assert "invalid value 'many' for num.partitions: must be a whole number" in node.log()
        assert len(node.children()) == 4
        assert node.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_every_stop_signal_stops(fork_node, number):
    node = fork_node()
    node.wait_ready()
    node.signal(number)
    assert node.wait() == 0
    assert f"reason={number.name}" in node.log()


def test_a_stop_before_the_node_is_ready_is_a_stop(fork_node):
    node = fork_node(controller=fakes.never_ready)
    wait_until(lambda: node.regions() and len(node.children()) == 4)
    assert node.stop() == 0
    assert node.regions() == []


def test_a_stop_ends_a_child_that_has_no_handler_yet(fork_node):
    """Were the supervisor's own handler still there, it would swallow the signal."""
    node = fork_node(network=fakes.unprepared)
    wait_until(lambda: len(node.children()) == 4 and node.heartbeat_ns(NETWORK))
    assert node.stop() == 0
    assert "did not stop cleanly role=hr-network-0 signal=15" in node.log()
    assert "not stopped in time" not in node.log()


def test_roles_stop_in_order_and_the_housekeeper_knows_that_the_logs_are_closed(fork_node, tmp_path):
    told = tmp_path / "told"
    teller = fakes.telling(told)
    node = fork_node(
        {"headrace.network.workers": "2", "headrace.partition.workers": "2"},
        network=teller, partition=teller, controller=teller, housekeeper=teller,
    )  # fmt: skip
    node.wait_ready()
    assert node.stop() == 0
    roles = [line.split("-")[1] for line in told.read_text().splitlines()]
    assert roles == ["network", "network", "partition", "partition", "housekeep", "controlle"]
    clean = {line.split()[0]: line.split()[1] for line in told.read_text().splitlines()}
    assert clean["hr-housekeep-0"] == "clean=True"


def test_leaders_move_before_any_process_stops(fork_node, tmp_path):
    told = tmp_path / "told"
    node = fork_node(network=fakes.telling(told), controller=fakes.moving(told))
    node.wait_ready()
    assert node.stop() == 0
    assert told.read_text().splitlines() == ["moved", "hr-network-0 clean=False"]


def test_leaders_that_do_not_move_are_waited_for_so_long_and_the_stop_is_clean(fork_node, tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "LEAVE_MS_MAX", 200)
    node = fork_node(controller=fakes.moving(tmp_path / "told", is_done=False))
    node.wait_ready()
    assert node.stop() == 0
    assert "leaders not moved in time" in node.log()


def test_a_partition_worker_that_could_not_close_makes_the_stop_unclean(fork_node, tmp_path):
    told = tmp_path / "told"
    node = fork_node(partition=fakes.stopping_with(1), housekeeper=fakes.telling(told))
    node.wait_ready()
    assert node.stop() == 1
    assert told.read_text() == "hr-housekeep-0 clean=False\n"
    assert (
        "no clean-shutdown marker in any directory: logs were not closed role=hr-partition-0 exit_code=1" in node.log()
    )


def test_a_partition_worker_killed_in_the_stop_makes_it_unclean(fork_node, tmp_path, monkeypatch):
    monkeypatch.setitem(stop_plan.STOP_PLAN, Role.PARTITION, 200)
    monkeypatch.setitem(stop_plan.STOP_PLAN, Role.NETWORK, 100)
    told = tmp_path / "told"
    node = fork_node(partition=fakes.deaf, housekeeper=fakes.telling(told))
    node.wait_ready()
    assert node.stop() == 1
    assert told.read_text() == "hr-housekeep-0 clean=False\n"
    assert "not stopped in time, killed role=hr-partition-0" in node.log()
    assert node.regions() == []


def test_a_partition_worker_that_closes_logs_is_waited_for(fork_node, tmp_path, monkeypatch):
    """10,000 logs were not closed in its share: it was killed among them, and the next start recovered every one."""
    monkeypatch.setitem(stop_plan.STOP_PLAN, Role.PARTITION, 200)
    monkeypatch.setitem(stop_plan.STOP_PLAN, Role.NETWORK, 100)
    told = tmp_path / "told"
    node = fork_node(partition=fakes.closing(1.0), housekeeper=fakes.telling(told))
    node.wait_ready()
    assert node.stop() == 0
    assert told.read_text() == "hr-housekeep-0 clean=True\n"
    assert "still stopping, progress seen role=partition" in node.log()


def test_nobody_connects_to_a_node_that_closes_its_logs(fork_node):
    """Its listeners stayed open until it had ended: who bootstrapped from it, or went by old metadata, waited for its answer."""
    node = fork_node(partition=fakes.closing(2.0))
    address = node.address(node.wait_ready())
    socket.create_connection(address).close()
    node.signal(signal.SIGTERM)
    wait_until(lambda: node.from_table(lambda table: table.exit_code(NETWORK)) is not None)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    assert node.exit_code is None
    assert node.stop() == 0


def test_a_stop_while_a_killed_worker_waits_for_its_start_says_so_and_leaves_the_directories_to_be_judged(
    fork_node, tmp_path, monkeypatch
):
    """Its generation is void: what it had open shows in the rows."""
    monkeypatch.setattr(supervisor.restart_policy, "backoff_ms", lambda _deaths: 1_000_000)
    told = tmp_path / "told"
    node = fork_node(housekeeper=fakes.telling(told))
    node.wait_ready()
    os.kill(node.child(PARTITION), signal.SIGKILL)
    wait_until(lambda: "process died role=hr-partition-0" in node.log())
    assert node.stop() == 0
    assert told.read_text() == "hr-housekeep-0 clean=True\n"
    assert "stopped before a dead process was restarted role=hr-partition-0 signal=9" in node.log()


def test_a_worker_that_had_not_begun_has_nothing_to_close(fork_node, tmp_path):
    told = tmp_path / "told"
    node = fork_node(partition=fakes.unprepared, housekeeper=fakes.telling(told))
    wait_until(lambda: len(node.children()) == 4 and node.heartbeat_ns(PARTITION))
    wait_until(lambda: node.state(HOUSEKEEPER) is ProcessState.READY)
    assert node.stop() == 0
    assert told.read_text() == "hr-housekeep-0 clean=True\n"


def test_a_deaf_network_worker_does_not_cost_the_others_their_clean_stop(fork_node, tmp_path, monkeypatch):
    monkeypatch.setitem(stop_plan.STOP_PLAN, Role.NETWORK, 100)
    told = tmp_path / "told"
    node = fork_node(network=fakes.deaf, housekeeper=fakes.telling(told))
    node.wait_ready()
    assert node.stop() == 1
    assert told.read_text() == "hr-housekeep-0 clean=True\n"


@pytest.mark.parametrize("process_id", [NETWORK, PARTITION, CONTROLLER, HOUSEKEEPER])
def test_a_killed_process_is_started_again_at_once_under_a_new_generation(fork_node, process_id):
    node = fork_node()
    node.wait_ready()
    before = {pid: node.from_table(lambda table, pid=pid: table.generation(pid)) for pid in range(4)}
    killed = node.child(process_id)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: node.starts(process_id) == 2, node.log)
    assert node.child(process_id) != killed
    after = {pid: node.from_table(lambda table, pid=pid: table.generation(pid)) for pid in range(4)}
    assert {pid: after[pid] - before[pid] for pid in after} == {pid: int(pid == process_id) for pid in after}
    assert node.from_table(lambda table: table.exit_code(process_id)) is None
    assert "signal=9" in node.log()
    assert f"pid={killed}" in node.log()
    assert "restart_in_ms=0" in node.log()
    assert node.stop() == 0


def test_a_process_that_crashes_again_and_again_waits_longer_each_time(fork_node):
    node = fork_node(network=fakes.leaving_with(3, lives=5))
    node.wait_ready()
    waits_ms = [int(line.split("restart_in_ms=")[1]) for line in node.log().splitlines() if "restart_in_ms=" in line]
    assert waits_ms == [0, 10, 20, 40, 80]
    assert node.starts(NETWORK) == 6
    assert "role=hr-network-0" in node.log()
    assert "exit_code=3" in node.log()
    assert node.stop() == 0


def test_a_process_that_never_serves_ends_the_node_with_the_last_cause(fork_node, monkeypatch):
    monkeypatch.setattr(supervisor, "DEATHS_BEFORE_READY_MAX", 4)
    node = fork_node(partition=fakes.leaving_with(3))
    assert node.wait() == 1
    assert (
        "giving up, a process never became ready role=hr-partition-0 deaths_in_a_row=4 last=exit_code=3" in node.log()
    )
    assert "stopping reason=hr-partition-0 died 4 times before it became ready" in node.log()
    assert node.regions() == []
    assert DEATHS_BEFORE_READY_MAX > 4


def test_a_process_that_dies_of_its_first_work_is_never_called_ready(fork_node, monkeypatch):
    monkeypatch.setattr(supervisor, "DEATHS_BEFORE_READY_MAX", 4)
    node = fork_node(partition=fakes.dying_of_its_first_work)
    assert node.wait() == 1
    assert "serving bootstrap=" not in node.log()
    assert "last=exit_code=5" in node.log()


def test_the_status_names_a_process_that_is_down(fork_node, tmp_path):
    """From its second life on the partition worker is stopped before it serves."""

    def once(seat, listener=None):
        return fakes.obedient(seat) if seat.generation == 1 else fakes.never_ready(seat)

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        node = fork_node(environment={"NOTIFY_SOCKET": str(tmp_path / "notify")}, partition=once)
        node.wait_ready()
        os.kill(node.child(PARTITION), signal.SIGKILL)
        wait_until(
            lambda: any("; degraded: hr-partition-0 restarted 1 x, starting" in said for said in all_datagrams(manager))
        )
        assert node.stop() == 0


def test_more_time_is_asked_for_only_while_a_start_gets_on(fork_node, tmp_path):
    """All but one come up; that one beats and never serves."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "500000"}
        node = fork_node(environment=environment, partition=fakes.never_ready)
        heard = []

        def has_come_to(line, times=1):
            heard.extend(all_datagrams(manager))
            return heard.count(line) >= times

        wait_until(lambda: has_come_to("STATUS=starting: 3 of 4 processes"))
        fed = heard.count("WATCHDOG=1")
        wait_until(lambda: has_come_to("WATCHDOG=1", fed + 1))  # the last word of a look
        assert "EXTEND_TIMEOUT_USEC=30000000" in heard
        heard.clear()
        wait_until(lambda: has_come_to("WATCHDOG=1", 5))
        assert set(heard) == {"WATCHDOG=1"}
        assert node.stop() == 0


@pytest.fixture
def full_shm(monkeypatch):
    """/dev/shm has no room for anything after the first set of rings."""

    def refuse(self, writer, reader, renewed=(-1, 0)):
        if renewed[1]:
            raise StorageFailed("no room")
        return create(self, writer, reader, renewed)

    create = Fabric._create_ring
    monkeypatch.setattr(Fabric, "_create_ring", refuse)


@pytest.mark.usefixtures("full_shm")
def test_a_peer_that_holds_a_dead_process_up_is_ended(fork_node):
    node = fork_node(HANGS_SOON, network=fakes.clinging)
    node.wait_ready()
    os.kill(node.child(PARTITION), signal.SIGKILL)
    wait_until(lambda: node.starts(PARTITION) == 2, node.log)
    assert "process still holds replaced rings, killed role=hr-network-0" in node.log()
    wait_until(lambda: node.starts(NETWORK) == 2, node.log)
    assert node.stop() == 0


@pytest.mark.usefixtures("full_shm")
def test_a_renewal_without_room_waits_for_its_peers_and_the_node_goes_on(fork_node):
    node = fork_node()
    node.wait_ready()
    for process_id in (PARTITION, NETWORK, PARTITION, CONTROLLER, HOUSEKEEPER):
        starts = node.starts(process_id)
        os.kill(node.child(process_id), signal.SIGKILL)
        wait_until(lambda one=process_id, before=starts: node.starts(one) > before, node.log)
    assert node.log().count("reusing the old ones") == 5
    assert node.stop() == 0
    assert node.regions() == []


def test_an_exception_in_a_child_is_logged_and_counts_as_a_crash(fork_node):
    node = fork_node(controller=fakes.raising)
    node.wait_ready()
    assert "RuntimeError: a mistake of ours" in node.log()
    assert "exit_code=70" in node.log()
    assert node.stop() == 0


def test_a_misconfigured_child_stops_the_node_with_its_code(fork_node):
    node = fork_node(controller=fakes.leaving_with(78))
    assert node.wait() == 78
    assert "stopping, invalid setting role=hr-controlle-0" in node.log()
    assert node.regions() == []


def test_a_start_that_waits_for_zookeeper_is_given_time_and_says_so(fork_node, tmp_path):
    """A minute or an hour: nothing hangs."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        node = fork_node(environment=environment, controller=fakes.lacking_the_world(is_ready=False))
        heard = []

        def hears(line, times):
            heard.extend(all_datagrams(manager))
            return sum(said.startswith(line) for said in heard) >= times

        since = clock_text(fakes.AWAY_SINCE_MS)
        waiting = (
            f"STATUS=starting: 3 of 4 processes, log directories offline: {node.log_dir}, ZooKeeper at 127.0.0.1:1"
        )
        wait_until(lambda: hears(f"{waiting} unreachable since {since}", 1), node.log)
        heard.clear()  # from here on nothing gets on
        wait_until(lambda: hears("EXTEND_TIMEOUT_USEC=30000000", 3), node.log)
        assert node.stop() == 0


def test_a_serving_node_says_what_the_world_lacks(fork_node, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        node = fork_node(environment=environment, controller=fakes.lacking_the_world(is_ready=True))
        node.wait_ready()
        since = clock_text(fakes.AWAY_SINCE_MS)
        troubles = (
            f"degraded: log directories offline: {node.log_dir}, ZooKeeper at 127.0.0.1:1 unreachable since {since}"
        )
        wait_until(lambda: any(troubles in said for said in all_datagrams(manager)), node.log)
        assert node.stop() == 0


def test_where_a_node_listens_is_said_beside_what_clients_are_told(fork_node, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        changes = {"advertised.listeners": "PLAINTEXT://log.example:9"}
        node = fork_node(changes, {"NOTIFY_SOCKET": str(tmp_path / "notify")})
        told, listening = node.wait_ready().split()[1:3]
        assert told == "bootstrap=log.example:9"
        port = int(listening.removeprefix("listening=127.0.0.1:"))
        socket.create_connection(("127.0.0.1", port), DEADLINE_S).close()
        status = f"STATUS=serving on log.example:9, listening on 127.0.0.1:{port}"
        wait_until(lambda: any(status in said for said in all_datagrams(manager)), node.log)
        assert node.stop() == 0


def test_where_workers_are_pinned_is_said(fork_node):
    core = min(os.sched_getaffinity(0))
    node = fork_node({"headrace.worker.cpus": str(core)})
    node.wait_ready()
    assert f"workers pinned hr-network-0={core} hr-partition-0={core}" in node.log()
    assert os.sched_getaffinity(node.child(PARTITION)) == {core}
    assert node.stop() == 0


def test_a_process_that_hangs_is_killed_and_started_again(fork_node):
    node = fork_node(HANGS_SOON, partition=fakes.silent)
    node.wait_ready()
    wait_until(lambda: node.starts(PARTITION) == 2, node.log)
    assert node.log().count("process hung, killed role=hr-partition-0") == 1
    assert node.stop() == 0


def test_a_stopped_process_counts_as_hung(fork_node):
    node = fork_node(HANGS_SOON)
    node.wait_ready()
    os.kill(node.child(NETWORK), signal.SIGSTOP)
    wait_until(lambda: node.starts(NETWORK) == 2, node.log)
    assert node.stop() == 0


def test_a_node_that_was_stopped_whole_kills_nobody_once_it_goes_on(fork_node):
    """A frozen container, a paused virtual machine: the supervisor is back first, and the others are as old as its own pause."""
    node = fork_node(HANGS_SOON)
    node.wait_ready()
    children = node.children()
    node.signal(signal.SIGSTOP)
    for pid in children:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2.5)  # longer than the time after which they count as hung
    node.signal(signal.SIGCONT)
    time.sleep(0.5)  # it looks at them
    for pid in children:
        os.kill(pid, signal.SIGCONT)
    assert node.stop() == 0
    assert "process hung" not in node.log()


def test_children_die_with_a_killed_supervisor_and_the_next_start_sweeps(fork_node, is_running):
    node = fork_node()
    node.wait_ready()
    children, left = node.children(), node.regions()
    assert len(children) == 4
    node.signal(signal.SIGKILL)
    assert node.wait() == -signal.SIGKILL
    wait_until(lambda: not any(is_running(pid) for pid in children))
    assert node.regions() == left
    successor = fork_node()
    successor.wait_ready()
    assert not set(successor.regions()) & set(left)
    assert successor.stop() == 0
    assert successor.regions() == []


def test_even_stopped_children_die_with_a_killed_supervisor(fork_node, is_running):
    node = fork_node()
    node.wait_ready()
    children = node.children()
    for pid in children:
        os.kill(pid, signal.SIGSTOP)
    node.signal(signal.SIGKILL)
    node.wait()
    wait_until(lambda: not any(is_running(pid) for pid in children))


def test_a_second_node_on_the_same_directory_is_refused_by_name(fork_node):
    node = fork_node()
    node.wait_ready()
    second = fork_node()
    assert second.wait() == 1, "whoever started it may try again"
    assert f"is in use by pid {node.pid}: stop it first (.lock is locked)" in second.log()
    assert len(node.children()) == 4
    assert node.stop() == 0


def test_a_taken_port_is_refused(fork_node):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        node = fork_node({"listeners": f"PLAINTEXT://127.0.0.1:{other.getsockname()[1]}"})
        assert node.wait() == 1, "whoever started it may try again"
    assert "Address already in use" in node.log()
    assert node.regions() == []


def test_a_port_that_becomes_free_is_waited_for(fork_node, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            node = fork_node(
                {"listeners": f"PLAINTEXT://{address}"},
                {"NOTIFY_SOCKET": str(tmp_path / "notify")},
                {"port_wait_ms": 600_000},
            )
            wait_until(lambda: "WARNING" in node.log() and "waiting up to 600 s: listeners:" in node.log(), node.log)
            assert any(said.startswith("STATUS=waiting: listeners:") for said in all_datagrams(manager))
            other.shutdown(socket.SHUT_RDWR)  # the node's fork of this process has the socket as well
        assert f"bootstrap={address} " in node.wait_ready()
    assert node.log().count("waiting up to") == 1
    assert node.stop() == 0


def test_a_stop_ends_the_wait_for_a_port(fork_node):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        listeners = f"PLAINTEXT://127.0.0.1:{other.getsockname()[1]}"
        node = fork_node({"listeners": listeners}, options={"port_wait_ms": 600_000})
        wait_until(lambda: "waiting up to" in node.log())
        assert node.stop() == 0


def test_cores_that_are_not_ours_are_refused(fork_node):
    node = fork_node({"headrace.worker.cpus": "9999"})
    assert node.wait() == 78
    assert "for headrace.worker.cpus: core 9999 can't be used" in node.log()


def test_workers_are_pinned_in_turn_and_the_others_are_not(fork_node):
    usable = sorted(os.sched_getaffinity(0))
    node = fork_node({"headrace.worker.cpus": ",".join(map(str, usable))})
    node.wait_ready()
    assert os.sched_getaffinity(node.child(NETWORK)) == {usable[0]}
    assert os.sched_getaffinity(node.child(PARTITION)) == {usable[-1]}
    assert os.sched_getaffinity(node.child(CONTROLLER)) == set(usable)
    assert f"workers pinned hr-network-0={usable[0]} hr-partition-0={usable[-1]}" in node.log()


def test_network_workers_share_one_port(fork_node):
    node = fork_node({"headrace.network.workers": "2"}, network=fakes.accepting)
    address = node.address(node.wait_ready())
    answered = set()
    for _ in range(200):
        with socket.create_connection(address, timeout=DEADLINE_S) as connection:
            answered.add(connection.recv(64).decode())
        if len(answered) == 2:
            break
    assert answered == {"hr-network-0", "hr-network-1"}
    assert node.stop() == 0


def test_a_terminal_signal_to_the_group_does_not_reach_the_children(fork_node):
    node = fork_node()
    node.wait_ready()
    assert {os.getpgid(pid) for pid in node.children()}.isdisjoint({os.getpgid(node.pid)})


def test_systemd_hears_of_the_start_the_watchdog_and_the_stop(fork_node, tmp_path):
    heard, is_over = [], threading.Event()

    def listen(manager):
        """At once, as systemd does: the kernel keeps ten datagrams, and drops what comes after."""
        while not is_over.is_set():
            with contextlib.suppress(TimeoutError):
                heard.extend(manager.recv(4096).decode().splitlines())

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0.05)
        node = fork_node(environment={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"})
        listener = threading.Thread(target=listen, args=(manager,))
        listener.start()
        try:
            node.wait_ready()
            wait_until(lambda: "WATCHDOG=1" in heard)
            assert node.stop() == 0
            wait_until(lambda: "STOPPING=1" in heard)
        finally:
            is_over.set()
            listener.join()
    states = [state for state in heard if state in ("READY=1", "STOPPING=1")]
    assert states == ["READY=1", "STOPPING=1"]
    assert any(state.startswith("STATUS=serving on 127.0.0.1:") for state in heard)


def test_the_watchdog_is_not_fed_while_a_process_hangs(fork_node, tmp_path, monkeypatch):
    """The kill is taken away, as for a process that waits for a dead disk."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        with monkeypatch.context() as patched:
            patched.setattr(supervisor, "os", altered(os, kill=lambda _pid, _number: None))
            node = fork_node(
                HANGS_SOON,
                {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "100000"},
                partition=fakes.silent,
            )
        node.wait_ready()
        wait_until(lambda: "process hung" in node.log())
        assert "WATCHDOG=1" in " ".join(all_datagrams(manager))
        node.wait_for_looks(3)  # two of which would feed it
        assert all_datagrams(manager) == []


def test_the_clean_markers_of_the_last_stop_are_taken_and_handed_on(fork_node, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    found = tmp_path / "found"

    def read_clean(seat, listener=None):
        found.write_text(" ".join(seat.wiring.clean_directories))
        return fakes.obedient(seat, listener)

    node = fork_node(partition=read_clean)
    node.wait_ready()
    assert found.read_text() == str(node.log_dir)
    assert not (tmp_path / "logs" / ".kafka_cleanshutdown").exists()
    assert node.stop() == 0


def test_a_process_that_can_not_be_forked_for_now_is_started_later(fork_node, monkeypatch):
    """No memory, or too many processes: the node goes on, and so does its start."""
    refusals = iter([True, False, True, False, False, False, True, True])

    def fork(*arguments, inner=supervisor.fork_child):
        if next(refusals, False):
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return inner(*arguments)

    monkeypatch.setattr(supervisor, "fork_child", fork)
    monkeypatch.setattr(supervisor, "FORK_RETRY_MS", 20)
    node = fork_node()
    node.wait_ready()
    os.kill(node.child(PARTITION), signal.SIGKILL)
    wait_until(lambda: node.starts(PARTITION) == 2, node.log)
    assert node.log().count("process not started, retrying") == 4
    assert node.stop() == 0


def test_a_stop_before_a_worker_could_be_forked_is_clean(fork_node, tmp_path, monkeypatch):
    def fork(wiring, process_id, *arguments, inner=supervisor.fork_child):
        if process_id == PARTITION:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return inner(wiring, process_id, *arguments)

    monkeypatch.setattr(supervisor, "fork_child", fork)
    told = tmp_path / "told"
    node = fork_node(housekeeper=fakes.telling(told))
    wait_until(lambda: "process not started, retrying" in node.log() and len(node.children()) == 3)
    wait_until(lambda: node.state(HOUSEKEEPER) is ProcessState.READY)
    assert node.stop() == 0
    assert told.read_text() == "hr-housekeep-0 clean=True\n"


def test_the_steady_date_follows_the_wall_clock(fork_node):
    """Of a supervisor that does not turn it a date that was wrong at the start would stay."""
    node = fork_node()
    node.wait_ready()
    name = next(name for name in node.regions() if name.endswith("-processes"))
    region = Region.attach(f"/{name}")
    date = SteadyDate(region.words)
    hour_ns = 3_600_000_000_000
    date.begin(time.time_ns() - hour_ns, time.monotonic_ns())
    node.wait_for_looks(2)
    behind_ms = time.time_ns() // 1_000_000 - date.at_ms(time.monotonic_ns())
    assert 3_500_000 < behind_ms < 3_600_000 - 50
    region.close()
    assert node.stop() == 0
