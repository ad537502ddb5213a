"""A term: the order of a failover, who hears of what, and what every change tells the brokers."""

import pytest

from headrace.controller.active import active_controller
from headrace.controller.active.term import SLOW_MS, Part, is_told
from headrace.controller.cluster import events
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.runtime.tasks import Future


def start_broker(ensemble, broker_id):
    session = ensemble.session()
    data = znodes.encode_broker("b", 1, None, 0)
    ensemble.run(session.create(znodes.broker_path(broker_id), data, is_ephemeral=True))
    return session


class Noted(Part):
    """A part that notes what it hears."""

    heard = None  # of all parts, set for each test
    name = ""

    def __init__(self, term):
        self.term = term

    async def begin(self):
        self.heard.append((self.name, "begin", list(self.term.notices.told)))

    def brokers_changed(self, gone, come):
        self.heard.append((self.name, "brokers", sorted(gone), sorted(come)))

    def topics_read(self, names):
        self.heard.append((self.name, "read", sorted(names)))

    def topic_written(self, name):
        self.heard.append((self.name, "written", name))

    def notified(self):
        self.heard.append((self.name, "notified"))

    def end(self):
        self.heard.append((self.name, "end"))


@pytest.fixture
def heard(monkeypatch):
    """What two parts hear that are put before the others, and after them."""
    heard = []
    first = type("First", (Noted,), {"heard": heard, "name": "first", "watched": znodes.REASSIGN_PARTITIONS})
    last = type("Last", (Noted,), {"heard": heard, "name": "last"})
    monkeypatch.setattr(active_controller, "PARTS", (first, *active_controller.PARTS, last))
    return heard


def test_live_brokers_are_told_first_and_the_parts_begin_in_their_order(new_node, ensemble, heard):
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,),))))
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(znodes.PartitionState(0, 1, (0,), 1)))
    new_node()
    assert heard[0] == ("first", "begin", [("brokers", None)])
    begun = [entry for entry in heard if entry[1] == "begin"]
    assert [entry[0] for entry in begun] == ["first", "last"]
    assert ("leaders", "t", [0], None, False) in begun[1][2]  # of the part between them


def test_a_part_begins_when_the_one_before_it_has_and_again_where_zookeeper_fails(new_node, heard):
    tries = []
    wait = Future()

    async def begin(part):
        tries.append(part.name)
        if len(tries) < 3:
            raise ZkLost("here")
        await wait

    first = active_controller.PARTS[0]
    first.begin = begin
    node = new_node(join=False)
    joining = node.tasks.start(node.joining(), lambda _task: None)
    for _ in range(20):
        node.tasks.run(1_000)
        node.now_ms += 100
    assert joining.is_done
    assert tries == ["first"] * 3
    assert heard == []
    node.active.take(events.TopicsRead(("t",)))
    assert heard == [("first", "read", ["t"])]  # it has begun to begin, the last one has not
    wait.complete(None)
    node.settle()
    assert [entry[:2] for entry in heard[1:]] == [("last", "begin")]


def test_brokers_that_come_and_go_are_told_of_once(new_node, ensemble, heard):
    node = new_node()
    heard.clear()
    session = start_broker(ensemble, 1)
    node.turn()
    session.expire()
    node.turn()
    brokers = [entry[2:] for entry in heard if entry[:2] == ("last", "brokers")]
    assert brokers == [([], [1]), ([1], [])]
    assert node.channels.of("changed") == [([], [1]), ([1], [])]


def test_a_broker_with_another_epoch_went_and_came(new_node, ensemble, heard):
    start_broker(ensemble, 1)
    node = new_node()
    known = node.known.brokers
    node.active.term.brokers[1] = -1  # as a view of before has it
    heard.clear()
    for epoch in (5, 5, 6):
        known[1] = known[1]._replace(epoch=epoch)
        node.active.take(events.BrokersChanged(frozenset((1,))))
    node.settle()
    brokers = [entry[2:] for entry in heard if entry[:2] == ("last", "brokers")]
    assert brokers == [([1], []), ([], [1])]  # 5 was not known before


def test_a_broker_that_listens_elsewhere_has_not_gone(new_node, ensemble, heard):
    """Its session is the same: it was started again with another listener, or given one while it runs."""
    start_broker(ensemble, 1)
    node = new_node()
    node.turn()
    heard.clear()
    node.channels.told.clear()
    for host in ("elsewhere", "elsewhere", "there"):
        ensemble.put(znodes.broker_path(1), znodes.encode_broker(host, 9, None, 0))
        node.turn()
        assert node.view.brokers[1].host == host
    assert node.channels.told == [("moved", [1])] * 2
    assert heard == []


def test_a_node_that_a_part_watches_is_told_to_that_part(new_node, ensemble, heard):
    node = new_node()
    ensemble.run(node.zk.get(znodes.REASSIGN_PARTITIONS, watch=True))
    heard.clear()
    ensemble.put(znodes.REASSIGN_PARTITIONS, b"{}")
    node.turn()
    assert heard == [("first", "notified")]


def test_the_end_of_a_term_is_told_and_nothing_after_it(new_node, ensemble, heard):
    node = new_node()
    term = node.active.term
    heard.clear()
    node.leave()
    assert heard == [("first", "end"), ("last", "end")]
    assert term.is_over
    assert node.channels.is_closed
    assert node.active.term is None
    node.active.take(events.TopicsRead(("t",)))
    assert len(heard) == 2


def test_a_topic_that_is_made_is_told_as_new(new_node):
    node = new_node()
    node.channels.told.clear()
    node.create("t", ((0,), (0,)), {})
    node.turn()
    assert node.channels.told == [("leaders", "t", [0, 1], None, True)]


def test_growth_tells_the_new_partitions_alone(new_node):
    node = new_node()
    node.create("t", ((0,),) * 5, {})
    node.turn()
    node.channels.told.clear()
    node.run(node.active.grow(node.known.topics["t"], ((0,),) * 7))
    node.turn()
    assert node.channels.told == [("leaders", "t", [5, 6], None, True)]


def test_first_states_are_told_as_new(new_node, ensemble):
    node = new_node()
    node.channels.told.clear()
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,), (0,)))))
    node.turn()
    assert ("leaders", "t", [0, 1], None, True) in node.channels.told


def test_a_topic_whose_states_somebody_else_wrote_is_told_once(new_node, ensemble):
    node = new_node()
    node.channels.told.clear()
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,), (0,)))))
    for index in range(2):
        ensemble.put(znodes.state_path("t", index), znodes.encode_state(znodes.PartitionState(0, 1, (0,), 1)))
    node.turn()
    node.react(znodes.topic_path("t"))
    assert node.channels.told == [("leaders", "t", [0, 1], None, False)]


def test_other_leaders_and_isrs_are_told_as_they_change(new_node, ensemble):
    session = start_broker(ensemble, 1)
    node = new_node()
    node.turn()
    node.create("t", ((0, 1), (1, 0), (0, 1)), {})
    node.turn()
    node.channels.told.clear()
    session.expire()
    node.turn()
    assert node.channels.of("leaders") == [
        ("t", [1], None, False),
        ("t", [0, 2], (0,), False),
    ]  # the others' ISR is smaller


def test_the_next_controller_tells_everything(new_node, ensemble):
    first, second = new_node(0), new_node(1)
    first.turn()
    first.create("t", ((0, 1), (1, 0)), {})
    first.turn()
    second.turn()
    first.zk.expire()
    second.turn()
    assert second.channels.told[0] == ("brokers", None)
    assert ("leaders", "t", [0, 1], None, False) in second.channels.told


def test_a_topic_that_is_written_over_the_end_of_a_term_is_told_in_the_next_one(new_node, ensemble):
    """The last transaction went through, its reply comes when everything was read again."""
    node = new_node()
    task = node.tasks.start(node.active.create("t", ((0,),), {}), lambda _task: None)
    held = []

    async def gate(_zk, operation):
        future = Future()
        held.append((operation, future))
        return await future

    ensemble.gate = gate
    node.tasks.run(1_000)
    while not task.is_done:
        operation, future = held.pop(0)
        value = operation()
        if znodes.topic_path("t") in ensemble.nodes:
            ensemble.gate = None
            guard = node.active.term.guard
            node.active.take(events.Elected(guard.epoch, guard.epoch_version))  # everything was read meanwhile
            node.tasks.run(1_000)
        future.complete(value)
        node.tasks.run(1_000)
    node.settle()
    assert ("leaders", "t", [0], None, True) in node.channels.told


def test_what_keeps_failing_is_told_ever_more_rarely():
    """A reassignment stood still for two minutes, and the log said nothing of it."""
    assert [failures for failures in range(1, 100) if is_told(failures)] == [8, 16, 32, 64]


def test_a_part_that_has_not_begun_is_told_of(new_node, heard, monkeypatch, caplog):
    """Those after it wait for it and hear of nothing."""
    first = active_controller.PARTS[0]

    async def begin(part):
        await part.term.tasks.sleep(SLOW_MS + 1)

    monkeypatch.setattr(first, "begin", begin)
    new_node()
    assert "has not started part=First" in caplog.text
