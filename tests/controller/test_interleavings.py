"""The controller process over a ZooKeeper that takes its time: calls, replies, watches and faults in any legal order, by lot.

A call of a session is carried out, and answered, some cycles after it was made, in the order of the session's calls. Meanwhile
clients create, delete and grow topics, brokers come and go, somebody with a shell makes topics, another node is elected, the
session expires, the process is killed and started again. In the end everything heals, and what has to hold does:

    nothing is released, for nobody removes a topic without a mark
    what was acknowledged stands, under the id that was told; what was deleted is gone, and so are its files
    the view, the rows and ZooKeeper say the same
    every write of what the cluster shares checked the controller epoch, and no leader epoch ever went back
"""

import os
import random
from collections import deque

import pytest

from headrace.controller import process
from headrace.controller.active.leaders import state_changes
from headrace.controller.active.topics import deletions, reconciliation
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkLost
from headrace.controller.zookeeper.transaction import Action
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.runtime.poller import Poller
from headrace.runtime.tasks import Future
from headrace.shm.fabric import Fabric
from headrace.shm.seat import Seat
from tests.controller.fake_channels import FakeChannels
from tests.controller.fake_node import settings_of
from tests.controller.fake_owner import FakeOwner
from tests.controller.fake_zk import FakeEnsemble, FakeZk

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("INTERLEAVINGS", "40"))
FIRST_SEED = int(os.environ.get("INTERLEAVINGS_FROM", "1"))
FOUND = (
    1342,
    2042,
    2088,
    5159,
)  # marks of a topic before, states that a growth did not know, an election without its reply
CYCLES = 400
HEALING_CYCLES = 600
NAMES = ("a", "b", "c.d", "e")


class Clock:
    """Moves with each cycle."""

    def __init__(self):
        self.ms = 1_000

    def now_ms(self):
        return self.ms

    def monotonic_ns(self):
        return self.ms * 1_000_000


class SlowZk(FakeZk):
    """A session as the controller process has it: its calls wait in `asked`, its replies in `replies`."""

    def __init__(self, ensemble, session_id):
        super().__init__(ensemble, session_id)
        self.drops = self.losses = 0
        self.asked = deque()
        self.replies = deque()
        self.tasks = None

    async def _call(self, operation):
        self.tasks.check()
        self._check()
        future = Future()
        self.asked.append((self.session_id, operation, future))
        return await future

    async def get_many(self, paths, watch=False):
        """Each by itself: what comes in between makes the first ones old."""
        return [await self.get(path, watch) for path in paths]

    def serve(self, count):
        """Let ZooKeeper carry out some calls."""
        for _ in range(min(count, len(self.asked))):
            session_id, operation, future = self.asked.popleft()
            try:
                if session_id != self.session_id or session_id not in self.ensemble.sessions:
                    raise ZkLost("SessionExpiredError")
                self.replies.append((future, operation(), None))
            except (ZkLost, ZkConflict) as failure:
                self.replies.append((future, None, failure))

    def deliver(self, count):
        """Let some replies come."""
        for _ in range(min(count, len(self.replies))):
            future, value, failure = self.replies.popleft()
            if failure is None:
                future.complete(value)
            else:
                future.fail(failure)

    def drop(self, chance):
        """The connection is lost: of what was asked some was carried out, and nothing is answered. All watches fire."""
        self.drops += 1
        self.serve(chance.randrange(len(self.asked) + 1))
        self.replies.extend((future, None, None) for _session_id, _operation, future in self.asked)
        self.asked.clear()
        replies, self.replies = self.replies, deque()
        for future, _value, _failure in replies:
            future.fail(ZkLost("ConnectionLoss"))
        self.changes.update(dict.fromkeys(self.watched))
        self.watched.clear()

    def expire(self):
        super().expire()
        self.losses += 1
        self.changes.update(dict.fromkeys(self.watched))
        self.watched.clear()
        self.session_id += 1000
        self.ensemble.sessions[self.session_id] = self

    def save_session(self):
        pass

    def take_replies(self):
        return 0


class GuardedEnsemble(FakeEnsemble):
    """Notes what no write may do."""

    def __init__(self):
        super().__init__()
        self.epochs = {}  # (topic id, path) -> leader epoch
        self.faults = []
        self.ours = set()  # sessions of the node under test

    def apply(self, transaction, session_id):
        paths = {operation.path for operation in transaction.operations if operation.action is not Action.CHECK}
        checked = {operation.path for operation in transaction.operations if operation.action is Action.CHECK}
        shared = [path for path in paths if path.startswith(f"{znodes.TOPICS}/")]
        if session_id in self.ours and shared and znodes.CONTROLLER_EPOCH not in checked:
            self.faults.append(f"unguarded: {shared}")
        super().apply(transaction, session_id)
        for operation in transaction.operations:
            if operation.path.endswith("/state") and operation.action in (Action.CREATE, Action.SET):
                self._note(operation.path, operation.data)

    def _note(self, path, data):
        name = path.split("/")[3]
        epoch = znodes.decode_state(path, data, 0).leader_epoch
        topic = self.nodes.get(znodes.topic_path(name))
        key = (znodes.decode_topic(name, topic.data).topic_id if topic else "", path)
        if epoch < self.epochs.get(key, 0):
            self.faults.append(f"{path}: epoch {epoch} after {self.epochs[key]}")
        self.epochs[key] = epoch


class Brokers(FakeChannels):
    """Brokers of another kind, which make replicas as they are told, and delete them when they are asked to.

    live   those that take what is said now
    held   by broker, (topic, topic id, partition) of what stands on its disks, whether it lives or not
    """

    def __init__(self, term, live, held, id_of):
        super().__init__(term, lambda: True)
        self.live = live
        self.held = held
        self._id_of = id_of

    def tell_leaders(self, topic, indexes, brokers=None, *, is_new=False):
        super().tell_leaders(topic, indexes, brokers, is_new=is_new)
        topic_id, replicas = self._id_of(topic)
        for index in indexes if topic_id and not self.is_closed else ():
            for broker in set(replicas[index] if brokers is None else brokers) & self.live.keys():
                self.held.setdefault(broker, set()).add((topic, topic_id, index))

    def take_brokers(self, gone, come):
        """What was said to those that went is lost."""
        super().take_brokers(gone, come)
        self.told = [notice for notice in self.told if notice[0] != "stop" or notice[1] not in gone]

    def answer(self):
        for broker, topic, index, _epoch, is_deleted in [notice[1:6] for notice in self.told if notice[0] == "stop"]:
            if is_deleted and broker in self.live:
                self.held[broker] = {one for one in self.held.get(broker, ()) if (one[0], one[2]) != (topic, index)}
        self.answer_stops(set(self.live))


class World:
    """The node under test, and everybody else."""

    def __init__(self, seed, tmp_path, monkeypatch):
        self.chance = random.Random(seed)
        self.ensemble = GuardedEnsemble()
        self.clock = Clock()
        self.monkeypatch = monkeypatch
        self.fabric = Fabric.create(settings_of(tmp_path), host="127.0.0.1", port=9092)
        self.seat = Seat(self.fabric.wiring, self.fabric.wiring.controller_id)
        self.owner = FakeOwner(self.seat)
        self.zk = None
        self.sessions = 0  # of brokers
        self.brokers = {}  # id -> session
        self.by_hand = {}  # name -> topic id
        self.brokers_max = 0  # of them at one time
        self.held = {}  # by broker, replicas on its disks
        self.channels = None  # of the last term
        self.possible = {name: {None} for name in NAMES}  # ids that a topic may have now; None: there is none; "?": any
        self.busy = set()  # names that a client waits for
        self.log = []
        self.start_process()

    def play(self):
        """Faults by lot, then none, and what is left is as it has to be."""
        try:
            for _ in range(CYCLES):
                self.disturb()
                self.cycle()
            self.heal()
            self.check()
        finally:
            self.fabric.destroy()

    def start_process(self):
        session_id = self.zk.session_id if self.zk is not None else 101
        before = self.zk
        self.zk = SlowZk(self.ensemble, session_id)
        if before is not None:  # what was sent may still be carried out, nobody hears of it
            before.serve(self.chance.randrange(len(before.asked) + 1))
            self.busy.clear()
        self.ensemble.ours.add(session_id)
        self.monkeypatch.setattr(process, "ZkSession", lambda *_arguments: self.zk)
        self.monkeypatch.setattr(process, "BrokerChannels", lambda term, *_arguments: self.open_channels(term))
        self.process = process.ControllerProcess(self.seat, self.clock, Poller(self.seat.doorbell))
        self.context.known._let_go = lambda topic: self.ensemble.faults.append(f"released: {topic.name}")
        self.zk.tasks = self.process._tasks

    def open_channels(self, term):
        def id_of(name):
            topic = self.context.known.topics.get(name)
            return (topic.topic_id, topic.replicas) if topic is not None else ("", ())

        self.channels = Brokers(term, self.brokers, self.held, id_of)
        return self.channels

    @property
    def context(self):
        return self.process._context

    def cycle(self):
        chance = self.chance
        self.zk.serve(chance.choice((0, 1, 2, 5, 20)))
        self.zk.deliver(chance.choice((0, 1, 2, 5, 20)))
        self.process.do_work()
        if chance.random() < 0.5:
            self.owner.follow()
        if chance.random() < 0.2 and self.channels is not None:
            self.channels.answer()
        self.clock.ms += chance.choice((0, 1, 1, 10, 50))

    # What clients do

    def ask(self, name, procedure, outcome):
        self.busy.add(name)
        started = self.process
        before = set(self.possible[name])
        self.possible[name] |= {"?", None}  # until it is answered

        def ended(task):
            if self.process is not started:
                return  # the client's node is gone with the answer
            self.busy.discard(name)
            failure = task.failure
            if failure is not None and not isinstance(failure, HeadraceError):
                raise failure
            self.log.append((name, procedure.__name__, failure))
            if isinstance(failure, ZkConflict) and not isinstance(failure, ControllerMoved):
                self.ensemble.faults.append(f"{procedure.__name__} {name}: {failure}, and nobody else writes it")
            outcome(failure, task, before)

        self.process._tasks.start(procedure, ended)

    def create(self, name):
        context = self.context

        async def create():
            await context.active.wait_free(name)
            context.agent.check_active()
            if context.active.is_deleting(name) or name in context.known.released:
                raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "is there in a way")
            context.known.names.check(name)
            rows = tuple((0, *self.brokers) for _ in range(self.chance.randrange(1, 6)))
            return await context.active.create(name, rows, {})

        def outcome(failure, task, before):
            if failure is None:
                self.possible[name] = {task.result()}
            elif isinstance(failure, KafkaError):
                self.possible[name] = before

        self.ask(name, create(), outcome)

    def delete(self, name):
        context = self.context

        async def delete():
            await context.active.wait_free(name)
            context.agent.check_active()
            if not context.known.has(name):
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic")
            await context.active.mark(name)
            context.active.begin_deletion(name, "")

        def outcome(failure, _task, before):
            if failure is None:
                self.possible[name] = {None}
            elif isinstance(failure, KafkaError):
                self.possible[name] = before

        self.ask(name, delete(), outcome)

    def grow(self, name):
        context = self.context

        async def grow():
            await context.active.wait_free(name)
            context.agent.check_active()
            topic = context.known.topics.get(name)
            if topic is None or context.active.is_deleting(name):
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic")
            more = tuple(topic.replicas[0] for _ in range(self.chance.randrange(1, 4)))
            await context.active.grow(topic, (*topic.replicas, *more))

        def outcome(_failure, _task, before):
            self.possible[name] = before

        self.ask(name, grow(), outcome)

    # What others do

    def broker_comes_or_goes(self):
        if self.brokers and self.chance.random() < 0.6:
            self.brokers.popitem()[1].expire()
        else:
            self.broker_comes()

    def broker_comes(self):
        node_id = 1 + len(self.brokers)
        self.brokers_max = max(node_id, self.brokers_max)
        self.sessions += 1
        session = FakeZk(self.ensemble, 1_000_000 + self.sessions)
        self.ensemble.run(
            session.create(znodes.broker_path(node_id), znodes.encode_broker("b", 1, None, 0), is_ephemeral=True)
        )
        self.brokers[node_id] = session

    def topic_by_hand(self):
        name = f"hand-{len(self.by_hand)}"
        topic_id = self.by_hand[name] = znodes.new_uuid()
        rows = tuple((0, *self.brokers) for _ in range(self.chance.randrange(1, 5)))
        self.ensemble.put(znodes.topic_path(name), znodes.encode_topic(znodes.TopicAssignment(topic_id, rows)))

    def another_is_elected(self):
        """For a moment."""
        if znodes.CONTROLLER_EPOCH not in self.ensemble.nodes:
            return
        if znodes.CONTROLLER in self.ensemble.nodes:
            self.ensemble.remove(znodes.CONTROLLER)
        epoch = int(self.ensemble.data(znodes.CONTROLLER_EPOCH))
        self.ensemble.put(znodes.CONTROLLER, znodes.encode_controller(7, 0))
        self.ensemble.put(znodes.CONTROLLER_EPOCH, str(epoch + 1).encode())

    def another_resigns(self):
        node = self.ensemble.nodes.get(znodes.CONTROLLER)
        if node is not None and znodes.decode_controller(node.data) == 7:
            self.ensemble.remove(znodes.CONTROLLER)

    def disturb(self):
        chance = self.chance
        free = [name for name in NAMES if name not in self.busy]
        what = chance.random()
        if what < 0.25:
            if free:
                name = chance.choice(free)
                is_there = name in self.context.known.topics
                chance.choice((self.delete, self.grow, self.grow, self.create) if is_there else (self.create,))(name)
        elif what < 0.29:
            self.broker_comes_or_goes()
        elif what < 0.305 and len(self.by_hand) < 5:
            self.topic_by_hand()
        elif what < 0.31:
            self.another_is_elected()
        elif what < 0.36:
            self.another_resigns()
        elif what < 0.37:
            self.zk.drop(chance)
        elif what < 0.375:
            self.zk.expire()
            self.ensemble.ours.add(self.zk.session_id)
        elif what < 0.385:
            self.start_process()

    def heal(self):
        self.another_resigns()
        while len(self.brokers) < self.brokers_max:  # deletions wait for whom they know
            self.broker_comes()
        for _ in range(HEALING_CYCLES):
            self.cycle()
            self.clock.ms += 20
            self.zk.serve(10)
            self.zk.deliver(10)
            self.owner.follow()

    def check(self):
        nodes, view = self.ensemble.nodes, self.seat.view.read()
        assert not self.ensemble.faults
        assert not self.busy
        found = {}
        for path, node in nodes.items():
            if path.startswith(f"{znodes.TOPICS}/") and path.count("/") == 3:
                name = path.rpartition("/")[2]
                found[name] = znodes.decode_topic(name, node.data)
        assert not [path for path in nodes if path.startswith(f"{znodes.DELETE_TOPICS}/")]
        for name in NAMES:
            topic_id = found[name].topic_id if name in found else None
            assert topic_id in self.possible[name] or "?" in self.possible[name], (name, topic_id, self.possible[name])
        assert {name: found[name].topic_id for name in self.by_hand} == self.by_hand
        assert {name: topic.topic_id for name, topic in view.topics.items()} == {
            name: topic.topic_id for name, topic in found.items()
        }
        assert view.deleted == view.doomed == view.released == ()
        alive = {(name, topic.topic_id) for name, topic in found.items()}
        left = {broker: {one for one in held if one[:2] not in alive} for broker, held in self.held.items()}
        assert not any(left.values()), left  # files that nobody would ever remove
        slots = []
        for name, topic in found.items():
            rows = view.topics[name].partitions
            assert len(rows) == len(topic.replicas)
            for index, row in enumerate(rows):
                path = znodes.state_path(name, index)
                state = znodes.decode_state(path, nodes[path].data, 0)
                assert (row.leader, row.leader_epoch, row.isr) == (state.leader, state.leader_epoch, state.isr), path
                assert state.leader in view.brokers
                slots.append(row.slot)
        assert len(set(slots)) == len(slots)
        assert -1 not in slots
        wanted = {f"{name}-{index}" for name, topic in found.items() for index in range(len(topic.replicas))}
        assert self.owner.directories.keys() == wanted
        assert self.owner.strays == []


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")  # of processes that were killed
@pytest.mark.parametrize("seed", sorted({*range(FIRST_SEED, FIRST_SEED + SEEDS), *FOUND}))
def test_any_interleaving_ends_as_it_has_to(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 2)
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 3)
    monkeypatch.setattr(state_changes, "CHANGES_PER_COMMIT", 3)
    world = World(seed, tmp_path, monkeypatch)
    world.play()
