"""The session against a real ZooKeeper: what the fake of the other tests has to be like."""

import json
import os
import stat
import threading
import time

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, NoAuthError, UnimplementedError
from kazoo.protocol.states import KazooState
from kazoo.security import make_acl

from headrace.controller.zookeeper import session as session_module
from headrace.controller.zookeeper.blocking_session import BlockingSession
from headrace.controller.zookeeper.errors import ZkConflict, ZkLost
from headrace.controller.zookeeper.session import CALL_TIMEOUT_MS, CONNECT_REPLY_S, ZkSession, _repeated
from headrace.controller.zookeeper.session_file import SESSION_FILE, SessionFile, note_boot
from headrace.controller.zookeeper.transaction import Transaction
from headrace.errors import ConfigError
from headrace.limits import READS_IN_FLIGHT_MAX
from headrace.runtime.tasks import Tasks
from tests.controller.fake_zk import FakeEnsemble
from tests.support.session_thief import end_session
from tests.support.waiting import DEADLINE_S, wait_until
from tests.support.zookeeper_client import ZooKeeperClient

pytestmark = pytest.mark.process

SESSION_MS = 30_000  # a process that starts slowly still has its session
SOON_MS = 4_000  # of a session that is ended: its owner may notice only by heartbeats that nobody answers


class Bell:
    """Hears what kazoo's threads tell a session."""

    def __init__(self, session):
        self._rung = threading.Event()
        heard = session.zk._on_event
        session.zk._on_event = lambda: (heard(), self())

    def __call__(self):
        self._rung.set()

    def wait_for(self, condition):
        wait_until(condition)
        assert self._rung.wait(DEADLINE_S), "it was noted, and nobody was told"
        self._rung.clear()


@pytest.fixture
def new_session(chroot):
    made = []

    def make(session_file=None, connect=chroot, timeout_ms=SESSION_MS):
        session = ZooKeeperClient(connect, timeout_ms, session_file and SessionFile([session_file.parent]))
        session.bell = Bell(session)
        session.start(DEADLINE_S)
        made.append(session)
        return session

    yield make
    for session in made:
        session.stop()


class Waited:
    """The fake, called as `ZooKeeperClient` is."""

    def __init__(self, zk):
        self._zk = zk

    def __getattr__(self, name):
        return lambda *arguments, **options: self._zk.ensemble.run(getattr(self._zk, name)(*arguments, **options))


def unconnected():
    return ZooKeeperClient("127.0.0.1:1", 4000)


@pytest.fixture(params=["real", "fake"])
def zk(request, new_session):
    """The same expectations of the real ones and of the fake."""
    return Waited(FakeEnsemble().session()) if request.param == "fake" else new_session()


def transaction_of(*operations):
    transaction = Transaction()
    for call, *arguments in operations:
        getattr(transaction, call)(*arguments)
    return transaction


def test_a_node_is_created_with_its_parents_read_changed_and_removed(zk):
    zk.create("/a/b/c", b"1")
    assert zk.get("/a/b/c")[:2] == (b"1", 0)
    assert zk.set("/a/b/c", b"2", 0) == 1
    assert zk.get("/a/b/c")[:2] == (b"2", 1)
    assert zk.children("/a/b") == ["c"]
    zk.delete("/a/b/c")
    zk.delete("/a/b/c")
    assert zk.get("/a/b/c") is None
    assert zk.children("/a/b/c") == []


def test_what_exists_can_not_be_created_but_ensured(zk):
    zk.create("/a", b"1")
    with pytest.raises(ZkConflict, match="/a"):
        zk.create("/a", b"2")
    zk.ensure("/a", b"2")
    assert zk.get("/a").data == b"1"


def test_many_nodes_are_ensured_with_their_parents_and_what_exists_stays(zk):
    zk.create("/a/b", b"1")
    for _ in range(2):
        zk.ensure_all(["/a/b", "/a/c/d", "/a/c", "/e"])
        assert zk.tree("/a") == ["/a/b", "/a/c/d", "/a/c", "/a"]
        assert zk.get("/a/b").data == b"1"
        assert zk.get("/e").data == b""


def test_a_node_that_is_made_while_many_are_ensured_stays(new_session):
    """Two nodes that start at once in an empty ensemble."""
    one, other = new_session(), new_session()
    found = one.zk.get_many

    async def overtaken(paths):
        nodes = await found(paths)
        other.create("/a", b"theirs")
        return nodes

    one.zk.get_many = overtaken
    one.ensure_all(["/a/b"])
    assert one.get("/a").data == b"theirs"
    assert one.children("/a") == ["b"]


def test_a_node_that_is_ensured_has_no_data_as_kafka_makes_it(new_session, chroot):
    """Kafka takes empty data for JSON, and doesn't start."""
    session = new_session()
    session.ensure("/a")
    session.ensure_all(["/c/d"])
    session.create("/b", b"")
    assert session.get("/a").data == b""
    assert [node.data for node in session.get_many(["/a", "/b"])] == [b"", b""]
    client = KazooClient(chroot)
    client.start()
    assert [client.get(path)[0] for path in ("/a", "/c", "/c/d")] == [None, None, None]
    assert client.get("/b")[0] == b""
    client.stop()
    client.close()


def test_a_change_of_another_version_is_a_conflict(zk):
    zk.create("/a", b"1")
    with pytest.raises(ZkConflict, match="/a: BadVersionError"):
        zk.set("/a", b"2", 7)
    with pytest.raises(ZkConflict, match="/b: NoNodeError"):
        zk.set("/b", b"2")


def test_many_nodes_are_read_at_once_and_those_that_are_not_there_are_none(zk):
    zk.create("/a", b"1")
    zk.create("/c", b"3")
    assert [node and node.data for node in zk.get_many(["/a", "/b", "/c"])] == [b"1", None, b"3"]
    assert zk.get_many([]) == []


def test_nothing_is_kept_of_a_watch_on_what_is_not_there(new_session):
    """Topics that were deleted are read so: each would be remembered for ever."""
    session = new_session()
    session.create("/a", b"1")
    assert [node and node.data for node in session.get_many(["/a", "/b"], watch=True)] == [b"1", None]
    assert session.zk._watches.keys() == {"/a"}


def test_a_node_among_many_is_what_it_is_alone(zk):
    """Data, version and times, over more requests than one."""
    zk.create("/a", b"1" * 100_000)
    zk.set("/a", b"2" * 100_000)
    zk.create("/none", None)
    zk.create("/e", b"e", True)
    paths = ["/none", "/a", "/x", "/e"] * READS_IN_FLIGHT_MAX
    found = zk.get_many(paths)
    assert found[:4] == [zk.get(path) for path in paths[:4]]
    assert found == found[:4] * READS_IN_FLIGHT_MAX
    assert found[1].version == 1
    assert zk.get_many(["/a", "/x"]) == [zk.get("/a"), None]
    assert zk.get_many(["/x", "/y"]) == [None, None]
    assert zk.get_many(["/x"]) == [None]


def test_a_server_without_multi_reads_is_asked_for_each_node(new_session, monkeypatch):
    """ZooKeeper 3.5 says so once, and is believed."""
    zk = new_session()
    zk.create("/a", b"1")
    refused = []

    def refuse(client, paths):
        refused.append(paths)
        result = client.handler.async_result()
        result.set_exception(UnimplementedError())
        return result

    monkeypatch.setattr(session_module, "read_many", refuse)
    for _ in range(2):
        assert [node and node.data for node in zk.get_many(["/a", "/b"])] == [b"1", None]
    assert len(refused) == 1


def test_another_error_than_no_node_is_raised(new_session, chroot):
    zk = new_session()
    zk.create("/a")
    client = KazooClient(chroot)
    client.start()
    client.create("/secret", b"", acl=[make_acl("world", "anyone", write=True)])
    client.stop()
    client.close()
    with pytest.raises(NoAuthError):
        zk.get_many(["/secret"])


def test_a_tree_is_listed_deepest_first(zk):
    zk.create("/t/p/0/state")
    zk.create("/t/p/1")
    assert zk.tree("/t") == ["/t/p/0/state", "/t/p/0", "/t/p/1", "/t/p", "/t"]
    assert zk.tree("/nothing") == []


def test_a_transaction_does_everything_in_order(zk):
    zk.create("/a", b"1")
    zk.commit(
        transaction_of(
            ("check", "/a", 0), ("create", "/b"), ("create", "/b/c", b"x"), ("set", "/a", b"2"), ("delete", "/b/c")
        )
    )
    assert zk.get("/a").data == b"2"
    assert zk.children("/b") == []


@pytest.mark.parametrize(
    "bad",
    [
        ("check", "/a", 9),
        ("create", "/a"),
        ("create", "/x/y"),
        ("set", "/a", b"", 9),
        ("delete", "/x"),
        ("delete", "/p"),
    ],
    ids=["check", "create", "create without parent", "set", "delete", "delete with children"],
)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_transaction_that_fails_does_nothing_and_names_the_operation(zk, bad, before):
    zk.create("/a", b"1")
    zk.create("/p/q")
    good = [("create", f"/new-{index}") for index in range(3)]
    with pytest.raises(ZkConflict) as conflict:
        zk.commit(transaction_of(*good[:before], bad, *good[before:]))
    assert conflict.value.path == bad[1]
    assert zk.get("/a").data == b"1"
    assert not any(zk.get_many(["/new-0", "/new-1", "/new-2"]))


def test_watches_fire_once_for_data_children_and_what_is_not_there_yet(new_session):
    zk, other = new_session(), new_session()
    other.create("/a", b"1")
    zk.get("/a", watch=True)
    zk.children("/a", watch=True)
    zk.get("/b", watch=True)
    other.set("/a", b"2")
    zk.bell.wait_for(lambda: zk.zk._changed.keys() == {"/a"})
    assert zk.take_changes() == ["/a"]
    other.create("/b")
    zk.bell.wait_for(lambda: zk.zk._changed.keys() == {"/b"})
    assert zk.take_changes() == ["/b"]
    other.set("/b", b"2")
    other.create("/a/c")
    zk.bell.wait_for(lambda: zk.zk._changed)
    assert zk.take_changes() == ["/a"]


def test_everything_stays_below_the_chroot(new_session, chroot, zookeeper):
    new_session().create("/a", b"1")
    outside = new_session(connect=zookeeper.connect)
    assert outside.get(f"/{chroot.partition('/')[2]}/a").data == b"1"
    assert outside.get("/a") is None


def test_a_successor_resumes_the_session_and_its_ephemeral_nodes_never_blink(new_session, chroot, tmp_path):
    file = tmp_path / ".headrace-session"
    note_boot(tmp_path, is_suspect=False)
    pid = os.fork()
    if not pid:
        try:
            first = ZooKeeperClient(chroot, SESSION_MS, SessionFile([tmp_path]))
            first.start(DEADLINE_S)
            first.create("/e", is_ephemeral=True)
        finally:
            os._exit(0)  # without a word to the server
    os.waitpid(pid, 0)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    held = json.loads(file.read_text())["id"]
    second = new_session(file)
    assert second.session_id == second.previous[0] == held
    assert second.losses == 0
    assert second.get("/e").ephemeral_owner == held


def test_after_another_boot_the_session_is_not_resumed_and_known_as_the_one_before(new_session, chroot, tmp_path):
    """What the machine lost with its page cache, the leader epoch and the ISR would not know of."""
    file = tmp_path / SESSION_FILE
    first = new_session(file)
    first.create("/e", is_ephemeral=True)
    held = first.session_id
    file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "another"}))
    second = new_session(file)
    assert second.session_id not in (0, held)
    assert second.is_other_boot
    assert second.previous[0] == held == second.get("/e").ephemeral_owner
    assert (
        json.loads(file.read_text())["id"] == held
    )  # who is killed before it is dealt with has a successor that deals with it
    second.zk.is_other_boot = False
    second.save_session()
    assert json.loads(file.read_text())["id"] == second.session_id


def test_a_session_that_is_over_is_replaced_and_the_file_too(new_session, tmp_path):
    file = tmp_path / ".headrace-session"
    note_boot(tmp_path, is_suspect=False)
    first = new_session(file)
    old = first.session_id
    kept = file.read_text()
    first.stop()
    assert "id" not in json.loads(file.read_text())
    file.write_text(kept)
    second = new_session(file)
    assert second.session_id not in (0, old)
    assert json.loads(file.read_text())["id"] == second.session_id


def test_a_session_that_expires_is_counted_and_the_client_gets_another(new_session, chroot, tmp_path):
    file = tmp_path / SESSION_FILE
    zk = new_session(file, timeout_ms=SOON_MS)
    old = zk.session_id
    zk.create("/e", is_ephemeral=True)
    zk.get("/e", watch=True)
    end_session(chroot, file)
    zk.bell.wait_for(lambda: zk.losses == 1 and zk.is_connected)
    assert zk.session_id != old
    assert zk.take_changes() == ["/e"]
    assert zk.get("/e") is None


def test_a_call_without_a_connection_fails_at_once():
    zk = unconnected()
    begun = time.monotonic()
    for call in (lambda: zk.get("/a"), lambda: zk.get_many(["/a"]), lambda: zk.create("/a"), lambda: zk.tree("/a")):
        with pytest.raises(ZkLost, match="not connected"):
            call()
    assert time.monotonic() - begun < CALL_TIMEOUT_MS / 1000


def test_where_no_server_answers_the_start_ends_in_time_and_says_where_it_looked():
    beats = []
    zk = unconnected()
    with pytest.raises(ZkLost, match=r"no ZooKeeper responds at 127\.0\.0\.1:1 within"):
        zk.zk.start(0.5, lambda: beats.append(1))
    assert beats


def test_a_start_can_be_called_off():
    zk = unconnected()

    def alive():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zk.zk.start(30, alive)
    zk.stop()


@pytest.mark.parametrize(
    ("hosts", "timeout_ms", "expected"),
    [("a:1", 18_000, 6), ("a:1", 2000, 1), ("a:1,b:1,c:1", 18_000, 2), ("a:1,b:1,c:1", 9000, 1), ("a:1", 18_001, 7)],
)
def test_a_server_that_drops_the_first_request_costs_three_seconds_and_not_the_session(hosts, timeout_ms, expected):
    servers = _repeated(hosts, timeout_ms).split(",")
    assert servers == hosts.split(",") * expected
    assert timeout_ms / 1000 / len(servers) <= CONNECT_REPLY_S


@pytest.mark.parametrize("connect", ["host:port", "a:1,b:x/c"])
def test_an_address_that_does_not_parse_names_the_setting(connect):
    with pytest.raises(ConfigError, match=r"zookeeper\.connect"):
        BlockingSession(connect, 4000)


class Clock:
    now_ms = 0

    def __call__(self):
        return self.now_ms


class DeafClient:
    """kazoo's, connected to a server that never answers."""

    connected = True

    def get_async(self, _path, watch=None):
        return self

    def rawlink(self, _callback):
        pass


@pytest.fixture
def deaf():
    """A session without replies, the tasks that call it, and their clock."""
    clock = Clock()
    tasks = Tasks(clock, ZkLost)
    session = ZkSession("127.0.0.1:1", 4000, None, tasks, lambda: None)
    session._client = DeafClient()
    return session, tasks, clock


def test_a_call_without_a_reply_ends_at_its_deadline_and_nobody_waits_for_it(deaf):
    session, tasks, clock = deaf
    task = tasks.start(session.get("/a"), lambda _task: None)
    assert tasks.run(10) == 1
    assert tasks.next_ms == CALL_TIMEOUT_MS
    clock.now_ms = CALL_TIMEOUT_MS - 1
    assert tasks.run(10) == 0
    clock.now_ms += 1
    assert tasks.run(10) == 1
    assert isinstance(task.failure, ZkLost)


def test_a_reply_that_comes_too_late_is_nobody_s(deaf):
    session, tasks, clock = deaf
    task = tasks.start(session.get("/a"), lambda _task: None)
    tasks.run(10)
    reply = task._awaited
    clock.now_ms = CALL_TIMEOUT_MS
    tasks.run(10)
    session._hand_in(reply, (b"late", None), None)
    assert session.take_replies() == 1
    assert isinstance(task.failure, ZkLost)


def test_one_ring_for_replies_that_nobody_took_yet(deaf):
    session, tasks, _clock = deaf
    rings = []
    session._on_event = lambda: rings.append(1)
    waiting = [tasks.start(session.get("/a"), lambda _task: None) for _ in range(3)]
    tasks.run(10)
    for task in waiting:
        session._hand_in(task._awaited, None, ConnectionLoss())
    assert rings == [1]
    assert session.take_replies() == 3
    tasks.run(10)
    assert all(isinstance(task.failure, ZkLost) for task in waiting)


def test_kazoos_threads_hand_in_and_ring_and_carry_out_nothing(deaf):
    """KAFKA-6879: who waits in such a thread for another call waits for himself."""
    session, tasks, _clock = deaf
    ran, rung = [], []
    session._on_event = lambda: rung.append(threading.get_ident())

    async def procedure():
        await session.get("/a", watch=True)
        ran.append(threading.get_ident())

    task = tasks.start(procedure(), lambda _task: None)
    tasks.run(10)
    reply = task._awaited

    def call_back():
        session._hand_in(reply, (b"", NodeStat()), None)
        session._on_change("/a", None)
        session._on_state(KazooState.LOST)

    thread = threading.Thread(target=call_back)
    thread.start()
    thread.join(DEADLINE_S)
    assert rung
    assert not ran
    assert session.take_replies() == 1
    tasks.run(10)
    assert ran == [threading.get_ident()]
    assert (session.take_changes(), session.losses) == (["/a"], 1)


def test_a_watch_that_fired_is_not_remembered(deaf):
    """Of topics that come and go nothing is left."""
    session, _tasks, _clock = deaf
    for number in range(100):
        session._watch(f"/brokers/topics/t{number}")("gone")
    assert not session._watches
    assert session._watch("/a") is session._watch("/a")


class NodeStat:
    version = ephemeralOwner = ctime = czxid = 0
