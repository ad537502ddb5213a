"""The controller process itself: forked, over a real ZooKeeper, killed and started again."""

import dataclasses
import errno
import json
import logging
import os
import shutil
import signal
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.clock import SystemClock
from headrace.controller import process
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.session import CALL_TIMEOUT_MS
from headrace.controller.zookeeper.session_file import SESSION_FILE
from headrace.errors import ErrorCode, NotAvailable
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.runtime.mailbox import Mailbox
from headrace.runtime.poller import Poller
from headrace.shm.counters import ZOOKEEPER_CONNECTIONS_LOST, ZOOKEEPER_SESSIONS_LOST
from headrace.shm.fabric import Fabric
from headrace.shm.messages import VIEW_FOLLOWED, ReplyStatus, RequestKind
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from tests.controller.fake_node import settings_of
from tests.controller.fake_owner import FakeOwner
from tests.support.children import die_with_parent
from tests.support.fake_seat import FakeSeat
from tests.support.session_thief import end_session
from tests.support.waiting import DEADLINE_S, stop_whole, wait_until
from tests.support.zookeeper_client import ZooKeeperClient
from tests.support.zookeepers import ZOOKEEPERS, new_zookeeper

pytestmark = pytest.mark.process

SESSION_MS = 30_000  # no restart takes that long on any machine: what a kill must not cost is not lost to a slow one
REQUEST_MS = 600_000  # an answer before DEADLINE_S did not wait for this
NETWORK = 0
WAITING = "the node was restarted: waiting until the controller removes it from in-sync replica sets"
TEST_KIND = -99
VERSIONS = {ApiKey.CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5, ApiKey.INIT_PRODUCER_ID: 4}


def end(pid: int, number: int = signal.SIGKILL) -> int:
    """Send a signal to our own child and reap it; its exit code."""
    os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Node:
    """A supervisor that forks nothing but the controller process, and one network worker."""

    def __init__(self, settings):
        self.fabric = Fabric.create(settings, host="127.0.0.1", port=19092)
        self.wiring = self.fabric.wiring
        self.log_dir = settings["log.dirs"][0]
        self.log_file = f"{self.log_dir}.log"
        self.seat = Seat(self.wiring, NETWORK)
        self.mailbox = Mailbox(self.seat)
        self.owner = FakeOwner(Seat(self.wiring, self.wiring.partition_ids[0]))
        self.pid = 0

    def renew_directories(self):
        """Nothing shows that they were used by this node."""
        self.wiring = self.fabric.wiring = dataclasses.replace(
            self.fabric.wiring, new_directories=frozenset(self.wiring.log_dirs)
        )

    def start(self, wait=True):
        parent = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            code = 70
            logging.basicConfig(filename=self.log_file, force=True)
            try:
                assert die_with_parent(parent, signal.SIGKILL)
                code = process.run(Seat(self.wiring, self.wiring.controller_id))
            finally:
                os._exit(code)
        if wait:
            self.wait_for(lambda: self.state is ProcessState.READY)

    @property
    def state(self):
        return self.fabric.processes.state(self.wiring.controller_id)

    def kill(self):
        assert end(self.pid) == -signal.SIGKILL
        self.pid = 0
        self.fabric.renew(self.wiring.controller_id)
        for process_id in self.seat.changed():
            self.mailbox.forget(process_id)

    def terminate(self):
        pid, self.pid = self.pid, 0
        return end(pid, signal.SIGTERM)

    def wait_exit(self):
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def wait_for(self, condition):
        wait_until(lambda: condition() or self.owner.follow())

    def send(self, api, request):
        body = encode_request(api, VERSIONS[api], request)
        replies = []
        assert self.mailbox.ask(
            self.wiring.controller_id,
            api,
            body,
            lambda *reply: replies.append((reply[0], bytes(reply[1]))),
            version=VERSIONS[api],
        )
        self.mailbox.flush()
        return replies

    def receive(self, api, replies):
        def has_come():
            self.mailbox.poll([self.wiring.controller_id])
            return replies

        self.wait_for(has_come)
        [(status, body)] = replies
        assert status is ReplyStatus.ANSWERED
        return decode_response(api, VERSIONS[api], memoryview(body))

    def ask(self, api, request):
        return self.receive(api, self.send(api, request))

    def create(self, name, partitions=1):
        request = messages.CreateTopicsRequest
        topic = request.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        response = self.ask(ApiKey.CREATE_TOPICS, request(topics=[topic], timeout_ms=REQUEST_MS))
        return ErrorCode(response.topics[0].error_code)

    def producer_id(self):
        response = self.ask(ApiKey.INIT_PRODUCER_ID, messages.InitProducerIdRequest(transactional_id=None))
        return response.producer_id if response.error_code == 0 else ErrorCode(response.error_code)

    @property
    def away_since_ms(self):
        return self.fabric.processes.away_since_ms(self.wiring.controller_id)

    def counter(self, index):
        return self.fabric.processes.counters(self.wiring.controller_id).get(index)

    def log(self):
        file = Path(self.log_file)
        return file.read_text() if file.exists() else ""

    def said(self, text):
        return text in self.log()

    def close(self):
        if self.pid:
            end(self.pid)
        self.fabric.destroy()


@pytest.fixture(params=ZOOKEEPERS)
def server(request, tmp_path):
    """A ZooKeeper of the test's own, which it may stop."""
    server = new_zookeeper(request.param, tmp_path / "zookeeper")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def new_node(tmp_path, chroot):
    made = []

    def make(connect=chroot, log_dir=None, **changes):
        log_dir = log_dir or tmp_path / "logs"
        log_dir.mkdir(exist_ok=True)
        settings = {"zookeeper_session_timeout_ms": str(SESSION_MS), **changes}
        made.append(Node(settings_of(log_dir, zookeeper_connect=connect, **settings)))
        return made[-1]

    yield make
    for node in made:
        node.close()


def node_at(connect, path):
    """(data, stat) of a znode, None where it is not there; no session stays open."""
    session = ZooKeeperClient(connect, 4000)
    session.start(DEADLINE_S)
    try:
        return None if session.get(path) is None else session.zk._client.get(session.zk._chroot + path)
    finally:
        session.stop()


def look(connect, path):
    """(data, session that owns it, zxid of its creation), None where it is not there."""
    found = node_at(connect, path)
    return found and (found[0], found[1].ephemeralOwner, found[1].czxid)


def test_a_node_registers_and_is_elected_as_kafka_does(new_node, chroot):
    node = new_node()
    node.start()
    assert look(chroot, "/brokers/ids/0")[1] == look(chroot, "/controller")[1] != 0
    assert json.loads(look(chroot, "/brokers/ids/0")[0])["endpoints"] == ["PLAINTEXT://127.0.0.1:19092"]
    assert look(chroot, "/controller_epoch")[0] == b"1"
    assert all(look(chroot, path) for path in znodes.PERSISTENT_PATHS)
    cluster_id = json.loads(look(chroot, "/cluster/id")[0])["id"]
    with open(f"{node.log_dir}/meta.properties") as file:
        assert f"cluster.id={cluster_id}\n" in file.read()
    view = node.seat.view.read()
    assert (view.cluster_id, view.controller_id, list(view.brokers)) == (cluster_id, 0, [0])


def test_sigterm_takes_the_node_out_of_the_cluster_at_once(new_node, chroot):
    node = new_node()
    node.start()
    assert node.terminate() == 0
    assert look(chroot, "/brokers/ids/0") is None
    assert look(chroot, "/controller") is None
    assert "id" not in json.loads(Path(node.log_dir, SESSION_FILE).read_text())


def test_a_kill_costs_neither_the_registration_nor_the_term_nor_the_slots(new_node, chroot):
    node = new_node()
    node.start()
    assert node.create("b", 2) == ErrorCode.NONE
    assert node.create("a", 2) == ErrorCode.NONE
    before = [look(chroot, path) for path in ("/brokers/ids/0", "/controller", "/controller_epoch")]
    view = node.seat.view.read()
    for _ in range(3):
        node.kill()
        node.start()
        assert [look(chroot, path) for path in ("/brokers/ids/0", "/controller", "/controller_epoch")] == before
        assert node.seat.view.read() == view
    assert node.create("c") == ErrorCode.NONE


def test_isrs_that_a_killed_process_may_have_changed_are_told_once_more(new_node, chroot):
    node = new_node(inter_broker_protocol_version="2.6")
    node.start()
    assert node.create("a", 2) == ErrorCode.NONE

    def notes():
        return node_at(chroot, znodes.ISR_CHANGES)[1].cversion

    before = notes()
    node.kill()
    node.start()
    node.wait_for(lambda: notes() == before + 2)  # made, and removed by the controller, which is here


def test_a_deletion_outlives_a_kill(new_node, chroot):
    node = new_node()
    node.start()
    node.create("t", 3)
    assert len(node.owner.directories) == 3
    node.owner.is_deaf = True
    node.send(ApiKey.DELETE_TOPICS, messages.DeleteTopicsRequest(topic_names=["t"], timeout_ms=5000))
    node.wait_for(lambda: node.seat.view.read().doomed)
    node.kill()
    node.owner.is_deaf = False
    node.start()
    node.wait_for(lambda: not node.seat.view.read().doomed)
    assert look(chroot, "/brokers/topics/t") is None
    assert look(chroot, "/admin/delete_topics/t") is None
    assert not node.owner.directories
    assert node.create("t") == ErrorCode.NONE


def test_producer_ids_are_unique_over_kills(new_node):
    node = new_node()
    given = []
    for _ in range(3):
        node.start()
        given += [node.producer_id() for _ in range(20)]
        node.kill()
    assert len(set(given)) == 60


def test_a_counter_of_producer_ids_that_can_not_be_read_keeps_no_node_from_joining(new_node, chroot):
    session = ZooKeeperClient(chroot, 4000)
    session.start(DEADLINE_S)
    session.create("/latest_producer_id_block", b"{")
    session.stop()
    node = new_node()
    node.start()
    assert node.create("t") == ErrorCode.NONE
    assert node.said("producer ids not allocated")
    assert look(chroot, "/latest_producer_id_block")[0] == b"{"


def test_a_topic_made_in_zookeeper_is_noticed_while_the_process_sleeps(new_node, chroot):
    node = new_node()
    node.start()
    session = ZooKeeperClient(chroot, 4000)
    session.start(DEADLINE_S)
    topic = znodes.TopicAssignment(znodes.new_uuid(), ((0,),))
    session.create("/brokers/topics/made-by-hand", znodes.encode_topic(topic))
    session.stop()
    node.wait_for(lambda: "made-by-hand-0" in node.owner.directories)


def test_an_expired_session_is_followed_by_a_new_one(new_node, chroot):
    node = new_node(zookeeper_session_timeout_ms="10000")  # it may be noticed only by heartbeats that nobody answers
    node.start()
    node.create("t")
    before = look(chroot, "/brokers/ids/0")
    end_session(chroot, Path(node.log_dir) / SESSION_FILE)
    node.wait_for(lambda: (look(chroot, "/brokers/ids/0") or before)[1] != before[1])
    node.wait_for(lambda: look(chroot, "/controller_epoch")[0] == b"2")
    node.wait_for(lambda: node.create("u") == ErrorCode.NONE)  # until everything was read
    after = look(chroot, "/brokers/ids/0")
    node.kill()
    node.start()
    assert look(chroot, "/brokers/ids/0") == after


def test_an_outage_of_zookeeper_is_answered_at_once_and_made_up_for(new_node, server):
    node = new_node(connect=server.connect)
    node.start()
    node.create("t")
    view = node.seat.view.read()
    server.stop()
    node.wait_for(lambda: node.create("during") == ErrorCode.REQUEST_TIMED_OUT)
    for _ in range(5):
        assert node.create("during") == ErrorCode.REQUEST_TIMED_OUT
    heartbeat = node.fabric.processes.heartbeat_ns(node.wiring.controller_id)
    node.wait_for(lambda: node.fabric.processes.heartbeat_ns(node.wiring.controller_id) > heartbeat)
    assert node.seat.view.read().topics == view.topics
    server.start()
    node.wait_for(lambda: node.create("after") in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS))
    assert look(server.connect, "/controller_epoch")[0] == b"1"
    assert node.terminate() == 0


def test_while_zookeeper_answers_nothing_the_others_are_answered(new_node, server):
    """It hangs: the connection stands, and calls have ten seconds."""
    node = new_node(connect=server.connect)
    node.start()
    given = node.producer_id()
    stop_whole(server.pid)
    try:
        request = messages.CreateTopicsRequest
        topic = request.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        waiting = node.send(ApiKey.CREATE_TOPICS, request(topics=[topic], timeout_ms=REQUEST_MS))
        begun = time.monotonic()
        assert [node.producer_id() for _ in range(20)] == list(range(given + 1, given + 21))
        assert waiting == []
        assert time.monotonic() - begun < CALL_TIMEOUT_MS / 1000
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert node.receive(ApiKey.CREATE_TOPICS, waiting).topics[0].error_code == ErrorCode.NONE


def test_a_node_that_starts_before_its_zookeeper_waits_for_it(new_node, server):
    server.stop()
    node = new_node(connect=server.connect)
    node.start(wait=False)
    node.wait_for(lambda: node.said(f"waiting for ZooKeeper at={server.connect} since="))
    assert node.away_since_ms > 0
    assert node.producer_id() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert node.create("t") == ErrorCode.NOT_CONTROLLER
    node.kill()
    node.start(wait=False)
    server.start()
    node.wait_for(lambda: node.state is ProcessState.READY)
    assert node.away_since_ms == 0
    assert node.create("t") == ErrorCode.NONE


def test_an_outage_of_zookeeper_is_said_and_counted(new_node, server):
    node = new_node(connect=server.connect)
    node.start()
    given = node.producer_id()
    server.stop()
    node.wait_for(lambda: node.said("connection to ZooKeeper lost, the node serves its last known state"))
    assert node.away_since_ms > 0
    assert node.counter(ZOOKEEPER_CONNECTIONS_LOST) == 1
    assert node.producer_id() == given + 1, "a block was claimed before"
    server.start()
    node.wait_for(lambda: node.said("connected to ZooKeeper again"))
    assert node.away_since_ms == 0
    assert node.counter(ZOOKEEPER_SESSIONS_LOST) == 0


def test_a_zookeeper_put_back_to_an_earlier_state_takes_no_topic_away(new_node, server, tmp_path):
    """And one that lost everything: the node serves by what it knows, until ZooKeeper's data are back."""
    data, earlier, later = tmp_path / "zookeeper/data", tmp_path / "earlier", tmp_path / "later"
    node = new_node(connect=server.connect, zookeeper_session_timeout_ms="4000")
    node.start()
    node.create("early")
    server.stop()
    shutil.copytree(data, earlier)
    server.start()
    node.wait_for(lambda: node.create("late") in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS))
    node.wait_for(lambda: "late-0" in node.owner.directories)
    server.stop()
    view = node.seat.view.read()
    keys = [one.partitions[0].key for one in view.topics.values()]
    shutil.move(data, later)
    server.start()
    node.wait_for(lambda: node.said("ZooKeeper's state is older than what this node has already seen"))
    node.wait_for(lambda: node.said("/cluster/id is missing, but this node belongs to cluster"))
    assert node.counter(ZOOKEEPER_SESSIONS_LOST) == 1
    assert node.seat.view.read() == view
    assert look(server.connect, "/brokers/ids/0") is None
    node.kill()
    node.start(wait=False)
    node.wait_for(lambda: node.log().count("/cluster/id is missing, but this node belongs to cluster") >= 2)
    assert node.seat.view.read() == view
    server.stop()
    shutil.rmtree(data)
    shutil.move(earlier, data)
    server.start()
    node.wait_for(lambda: "late" not in node.seat.view.read().topics)
    assert node.said("topic released, its files and offsets are kept topic=late")
    node.wait_for(lambda: node.state is ProcessState.READY)
    assert sorted(node.owner.directories) == ["early-0", "late-0"]
    server.stop()
    shutil.rmtree(data)
    shutil.move(later, data)
    server.start()
    node.wait_for(lambda: "late" in node.seat.view.read().topics)
    assert [one.partitions[0].key for one in node.seat.view.read().topics.values()] == keys
    assert node.owner.strays == []


def test_a_log_directory_without_room_for_the_session_ends_nothing(new_node, chroot):
    node = new_node()
    os.mkdir(f"{node.log_dir}/{Path(SESSION_FILE).with_suffix('.tmp')}")
    node.start()
    assert node.said("ZooKeeper session not saved")
    assert node.create("t") == ErrorCode.NONE


def test_a_log_directory_of_another_cluster_ends_with_78(new_node):
    node = new_node()
    with open(f"{node.log_dir}/meta.properties", "w") as file:
        file.write("version=0\nbroker.id=0\ncluster.id=another\n")
    node.start(wait=False)
    assert node.wait_exit() == 78
    assert node.said("belongs to cluster another")


@pytest.mark.parametrize("server", ["python"], indirect=True)
def test_a_zookeeper_for_testing_is_refused_with_78_and_nothing_is_written(new_node, server):
    node = new_node(connect=server.connect, headrace_testing_zookeeper="false")
    node.start(wait=False)
    assert node.wait_exit() == 78
    assert node.said(f"zookeeper.connect={server.connect}") or node.said("testing-only ZooKeeper")
    assert look(server.connect, "/brokers") is None


def test_a_broker_id_that_another_node_holds_is_waited_for_and_ends_with_1(new_node, tmp_path):
    new_node().start()
    second = new_node(log_dir=tmp_path / "others", zookeeper_session_timeout_ms="1000")
    second.start(wait=False)
    assert second.wait_exit() == 1
    assert second.said(
        "waiting for a broker id that another session holds broker_id=0 holder=127.0.0.1:19092 session=0x"
    )
    assert second.said("broker.id 0 is held by 127.0.0.1:19092")


def test_sigterm_while_the_start_waits_for_zookeeper(new_node):
    node = new_node(connect="127.0.0.1:1", zookeeper_connection_timeout_ms=str(REQUEST_MS))
    node.start(wait=False)
    node.wait_for(lambda: node.fabric.processes.heartbeat_ns(node.wiring.controller_id))
    assert node.terminate() == 0  # or the test's own time is over


@pytest.fixture
def pair(tmp_path):
    """A controller process that is not run, and the mailbox of a network worker."""
    fabric = Fabric.create(settings_of(tmp_path), host="127.0.0.1", port=19092)
    network = Seat(fabric.wiring, NETWORK)
    seat = Seat(fabric.wiring, fabric.wiring.controller_id)
    worker = process.ControllerProcess(seat, SystemClock(), Poller(seat.doorbell))
    yield worker, Mailbox(network), fabric.wiring.controller_id
    fabric.destroy()


def handler_of(pending):
    async def handle(_context, _version, _body):
        return pending

    return handle


def told(pair, waiting):
    """What a network worker is told where the controller makes `waiting` of its request."""
    worker, asker, controller_id = pair
    worker._mailbox.serve(TEST_KIND, partial(worker._take_request, handler_of(waiting)))
    replies = []
    assert asker.ask(controller_id, TEST_KIND, b"", lambda *reply: replies.append((reply[0], bytes(reply[1]))))
    asker.flush()
    assert worker._take_requests() == 1
    worker._tasks.run(100)
    assert worker._poll_pending(0) == 1
    for _ in range(100):
        worker._mailbox.flush()
        asker.poll([controller_id])
    return replies


def test_an_answer_that_fails_costs_its_connection_and_not_the_process(pair):
    assert told(pair, PendingResponse((), 0, bool, lambda _is_done: bytes("ü", "ascii"))) == [
        (ReplyStatus.REFUSED, b"")
    ]


def test_an_answer_that_no_message_holds_goes_in_parts(pair):
    body = os.urandom(5 << 20)
    assert told(pair, PendingResponse.done(body)) == [(ReplyStatus.ANSWERED, body)]


def test_rows_are_looked_at_when_an_owner_says_that_they_have_moved_and_not_each_millisecond(pair):
    worker, asker, controller_id = pair
    looks = []
    waiting = PendingResponse(
        ["row"], REQUEST_MS + worker._monotonic_ms(), lambda item: looks.append(item) and False, bytes
    )
    worker._mailbox.serve(TEST_KIND, partial(worker._take_request, handler_of(waiting)))
    asker.ask(controller_id, TEST_KIND, b"", lambda *_reply: None)
    asker.flush()
    worker.do_work()
    assert len(looks) == 1
    worker._next_poll_ms += REQUEST_MS  # but for what is told
    for _ in range(20):
        worker.do_work()
    assert len(looks) == 1
    owner = Mailbox(Seat(worker._seat.wiring, worker._seat.wiring.partition_ids[0]))
    assert owner.tell(controller_id, RequestKind.FOLLOWED, VIEW_FOLLOWED.pack(1))
    owner.flush()
    worker.do_work()
    assert len(looks) == 2


def test_while_an_answer_is_in_the_making_the_process_sleeps_as_long_as_ever_but_to_its_deadline(pair):
    worker, asker, controller_id = pair
    waits_ms = iter((REQUEST_MS, 30))
    worker._mailbox.serve(
        TEST_KIND,
        lambda version, body, reply: worker._pending.append(
            (
                reply,
                PendingResponse(
                    ["row"], worker._monotonic_ms() + next(waits_ms), lambda item: False, lambda is_done: b"late"
                ),
            )
        ),
    )
    bounds_ms = []
    for _ in range(2):
        asker.ask(controller_id, TEST_KIND, b"", lambda *_reply: None)
        asker.flush()
        worker.do_work()
        bounds_ms.append(worker.sleep_bound_ms())
    assert bounds_ms[0] > 30 >= bounds_ms[1]


def test_what_can_be_followed_only_with_zookeeper_keeps_nobody_awake_without_it(pair):
    """A watch had fired when the connection was lost: the process took a third of a core until ZooKeeper was back."""
    worker, _asker, _controller_id = pair
    worker._session_id, worker._agent.is_loaded = 1, True
    worker._agent.note([znodes.TOPICS])
    assert worker._agent.next_ms(True) == 0
    for _ in range(3):
        worker.do_work()
        assert worker.sleep_bound_ms() > 0


def test_an_asker_that_died_is_not_waited_for(pair):
    worker, asker, controller_id = pair
    waiting = PendingResponse(["row"], REQUEST_MS + worker._monotonic_ms(), lambda item: False, bytes)
    worker._mailbox.serve(TEST_KIND, partial(worker._take_request, handler_of(waiting)))
    asker.ask(controller_id, TEST_KIND, b"", lambda *_reply: None)
    asker.flush()
    worker.do_work()
    assert len(worker._pending) == 1
    worker._mailbox.forget(NETWORK)
    worker._poll_pending(0)
    assert not worker._pending


@pytest.mark.parametrize("is_other_boot", [False, True])
def test_a_new_life_registers_anew_once_the_isrs_of_others_are_without_it(new_node, chroot, is_other_boot):
    first = new_node()
    first.start()
    registered = look(chroot, "/brokers/ids/0")
    first.kill()
    node = new_node()  # another supervisor
    for path in Path(node.log_dir).glob(SESSION_FILE) if is_other_boot else ():
        path.write_text(json.dumps({**json.loads(path.read_text()), "boot": "before"}))
    others = ZooKeeperClient(chroot, SESSION_MS)
    others.start(DEADLINE_S)
    try:
        others.create("/brokers/ids/7", znodes.encode_broker("there", 9092, None, 5), is_ephemeral=True)
        assignment = znodes.TopicAssignment("", ((0, 7),))
        for path, data in (
            ("/brokers/topics/t", znodes.encode_topic(assignment)),
            ("/brokers/topics/t/partitions", b""),
            ("/brokers/topics/t/partitions/0", b""),
            ("/brokers/topics/t/partitions/0/state", znodes.encode_state(znodes.PartitionState(0, 3, (0, 7), 1))),
        ):
            others.create(path, data)
        for times in range(1, 3):  # a process that is killed while it waits waits again
            node.start(wait=False)
            wait_until(lambda times=times: node.log().count(WAITING) == times, node.log)
            assert look(chroot, "/brokers/ids/0") is None
            node.kill()
        node.start(wait=False)
        others.set("/brokers/topics/t/partitions/0/state", znodes.encode_state(znodes.PartitionState(7, 4, (7,), 1)), 0)
        wait_until(lambda: look(chroot, "/brokers/ids/0") is not None, node.log)
        _data, session, epoch = look(chroot, "/brokers/ids/0")
        assert (session == registered[1]) is not is_other_boot
        assert epoch > registered[2]
        node.wait_for(lambda: node.state is ProcessState.READY)
        node.kill()
        node.start()
        assert look(chroot, "/brokers/ids/0")[1:] == (session, epoch), "a process that is restarted alone keeps it"
    finally:
        others.stop()


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_node_whose_disk_may_be_another_holds_what_is_in_sync_before_it_registers(new_node, chroot, is_swapped):
    """Else it is elected before it is known that its log is missing, and left alone in the ISR."""
    node = new_node()
    if is_swapped:
        node.renew_directories()
    other = ZooKeeperClient(chroot, SESSION_MS)
    other.start(DEADLINE_S)
    try:
        other.create("/brokers/topics/t", znodes.encode_topic(znodes.TopicAssignment("", ((0, 7),))))
        other.create("/brokers/topics/t/partitions", b"")
        other.create("/brokers/topics/t/partitions/0", b"")
        state = znodes.PartitionState(-1, 3, (0, 7), 1)
        other.create("/brokers/topics/t/partitions/0/state", znodes.encode_state(state))
        node.start()
        found = look(chroot, "/headrace/held/0/t")
        assert (found is not None) is is_swapped
        assert found is None or found[2] < look(chroot, "/brokers/ids/0")[2]
        if is_swapped:
            data = look(chroot, "/brokers/topics/t/partitions/0/state")[0]
            assert znodes.decode_state("", data, 0).leader == -1
            assert znodes.decode_state("", data, 0).isr == (0, 7)
    finally:
        other.stop()


@pytest.mark.parametrize(
    ("code", "is_known", "outcome"),
    [
        (errno.EMFILE, True, "retried"), (errno.ENFILE, True, "retried"), (errno.ENOSPC, False, "used"),
        (errno.EMFILE, False, "used"), (errno.EIO, True, "offline"), (errno.EROFS, False, "offline"),
    ],
)  # fmt: skip
def test_what_passes_takes_no_log_directory_offline(tmp_path, monkeypatch, code, is_known, outcome):
    """One that says of which cluster it is waits for a descriptor to be compared; a new one is used without saying so."""

    def refuse(*_arguments):
        raise OSError(code, os.strerror(code))

    if is_known:
        (tmp_path / "meta.properties").write_text("cluster.id=another")
    monkeypatch.setattr(process.meta_properties, "check_or_write", refuse)
    seat = FakeSeat([tmp_path])
    host = SimpleNamespace(_log_dirs=[tmp_path], _seat=seat, _node_id=0)
    with pytest.raises(NotAvailable) if outcome == "retried" else nullcontext():
        process.ControllerProcess._check_log_dirs(host, "cluster")
    assert seat.mask == (outcome == "offline")
