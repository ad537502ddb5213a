"""In-sync replicas as leaders want them: each rule, their order, and writes that conflict or whose reply is lost."""

import pytest

from headrace.controller.active.leaders import isr_alterations
from headrace.controller.active.leaders.isr_alterations import WantedIsr, alter, judge
from headrace.controller.active.leaders.isr_notifications import tell_isrs
from headrace.controller.active.term import Part
from headrace.controller.cluster import events
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkLost
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from tests.controller.gate import Gate

REPLICAS = (1, 2, 3)
BROKERS = {1: 100, 2: 200, 3: 300}
STATE = PartitionState(1, 5, (1, 2, 3), controller_epoch=2, version=7)


def wanted(leader=1, leader_epoch=5, isr=(1, 2), epochs=None, recovery=0, partition_epoch=7):
    return WantedIsr(leader, leader_epoch, tuple(isr), epochs or {}, recovery, partition_epoch)


def test_a_smaller_isr_is_accepted_at_the_version_that_the_leader_knows():
    assert judge(STATE, wanted(), REPLICAS, BROKERS) == STATE._replace(isr=(1, 2))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"leader_epoch": 6}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 8}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 6, "partition_epoch": 3}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 4, "partition_epoch": 6}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 4, "isr": (1, 2, 3)}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 6}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"partition_epoch": 6, "isr": (1, 9), "recovery": 1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"recovery": 1}, ErrorCode.INVALID_REQUEST),
        ({"recovery": 1, "isr": (1,)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (2, 3)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (1, 1, 2)}, ErrorCode.INVALID_REQUEST),
        ({"isr": ()}, ErrorCode.INVALID_REQUEST),
        ({"leader": 2, "isr": (1, 2)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (1, 4)}, ErrorCode.INELIGIBLE_REPLICA),
        ({"epochs": {1: 100, 2: 199}}, ErrorCode.INELIGIBLE_REPLICA),
        ({"epochs": {1: 100, 2: 201}}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_is_refused(changes, code):
    assert judge(STATE, wanted(**changes), (*REPLICAS, 4), BROKERS) is code


def test_an_equal_state_is_accepted_before_all_that_fences():
    """The first answer was lost: the partition epoch is an older one, and a broker may have gone since (KAFKA-14144)."""
    assert judge(STATE, wanted(isr=(3, 2, 1), partition_epoch=6), REPLICAS, {1: 100}) is STATE
    recovering = STATE._replace(isr=(1,), recovery=1)
    assert judge(recovering, wanted(isr=(1,), recovery=1, partition_epoch=2), REPLICAS, BROKERS) is recovering


def test_a_recovered_leader_says_so():
    recovering = STATE._replace(isr=(1,), recovery=1)
    assert judge(recovering, wanted(isr=(1, 2)), REPLICAS, BROKERS) == STATE._replace(isr=(1, 2))
    assert judge(recovering, wanted(isr=(1, 2), recovery=1), REPLICAS, BROKERS) is ErrorCode.INVALID_REQUEST


def test_broker_epochs_that_are_said_and_true_or_not_said_are_eligible():
    expected = STATE._replace(isr=(1, 2))
    assert judge(STATE, wanted(epochs={1: 100, 2: 200}), REPLICAS, BROKERS) == expected
    assert judge(STATE, wanted(epochs={1: -1, 2: -1}), REPLICAS, BROKERS) == expected


def test_brokers_that_are_no_replicas_any_more_are_left_out():
    odd = STATE._replace(isr=(1, 2, 9))
    assert judge(odd, wanted(isr=(1, 9)), REPLICAS, BROKERS) == STATE._replace(isr=(1,))


class Listener(Part):
    def __init__(self):
        self.heard = []

    def isrs_changed(self, name, indexes):
        self.heard.append((name, sorted(indexes)))


@pytest.fixture
def node(new_node, ensemble):
    """The active one of three brokers, with topic t of two partitions."""
    for broker_id in (1, 2):
        session = ensemble.session()
        data = znodes.encode_broker("b", 1, None, 0)
        ensemble.run(session.create(znodes.broker_path(broker_id), data, is_ephemeral=True))
    node = new_node()
    node.turn()
    node.create("t", ((0, 1, 2), (1, 2, 0)), {})
    node.turn()
    node.channels.told.clear()
    listener = node.listener = Listener()
    node.active.term._parts.append(listener)
    node.active.term._begun += 1
    return node


def ask(node, *isrs, epochs=(0, 0), leaders=(0, 1)):
    """What comes of wanting these ISRs, by partition."""
    asked = {("t", index): WantedIsr(leaders[index], 0, isr, {}, 0, epochs[index]) for index, isr in enumerate(isrs)}
    return node.run(alter(node.active.term, asked))


def stored(ensemble, index):
    path = znodes.state_path("t", index)
    return znodes.decode_state(path, ensemble.data(path), ensemble.nodes[path].version)


def test_all_of_a_request_is_written_in_one_transaction_and_told(node, ensemble):
    before = ensemble.writes
    outcomes = ask(node, (0, 1), (1,))
    assert ensemble.writes == before + 1
    for index, isr in enumerate(((0, 1), (1,))):
        assert stored(ensemble, index) == outcomes["t", index] == node.known.topics["t"].states[index]
        assert (outcomes["t", index].isr, outcomes["t", index].version) == (isr, 1)
        assert outcomes["t", index].controller_epoch == node.active.term.epoch
    assert node.channels.told == [("metadata", "t", [0, 1], None)]  # and no LeaderAndIsr
    assert node.listener.heard == [("t", [0, 1])]


def test_what_is_refused_keeps_nothing_else_back(node, ensemble):
    outcomes = ask(node, (0, 1), (1, 2, 0), epochs=(0, 5))
    assert outcomes["t", 1] is ErrorCode.NOT_CONTROLLER
    assert outcomes["t", 0] == stored(ensemble, 0)
    assert stored(ensemble, 1).version == 0


@pytest.mark.parametrize("leader_epoch", [0, 1])
def test_a_leader_that_knows_a_later_state_has_it_read_again(node, ensemble, leader_epoch):
    """Its node wrote it, and was killed before the note of that: NOT_CONTROLLER for ever else."""
    theirs = stored(ensemble, 1)._replace(leader_epoch=leader_epoch)
    ensemble.put(znodes.state_path("t", 1), znodes.encode_state(theirs))
    asked = {("t", 1): WantedIsr(1, leader_epoch, (1,), {}, 0, 1)}
    outcomes = node.run(alter(node.active.term, asked))
    assert outcomes["t", 1] == stored(ensemble, 1)
    assert (stored(ensemble, 1).isr, stored(ensemble, 1).version) == ((1,), 2)


def test_it_is_read_once_for_a_request_however_late_its_leader_says_it_is(node):
    read = []
    node.zk.on_read = lambda: read.append(1)
    assert ask(node, (0, 1), epochs=(9, 0))["t", 0] is ErrorCode.NOT_CONTROLLER
    assert len(read) == 1


def test_an_equal_state_writes_nothing_and_tells_nobody(node, ensemble):
    before = ensemble.writes
    assert ask(node, (2, 1, 0))["t", 0] == stored(ensemble, 0)
    assert ensemble.writes == before
    assert node.channels.told == node.listener.heard == []


def test_partitions_and_topics_that_are_unknown_say_so(node):
    asked = {("t", 2): wanted(), ("t", -1): wanted(), ("gone", 0): wanted()}
    assert set(node.run(alter(node.active.term, asked)).values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_where_somebody_else_wrote_one_state_the_others_are_written_and_that_one_is_read(node, ensemble):
    theirs = stored(ensemble, 0)._replace(isr=(0, 2))
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(theirs))
    outcomes = ask(node, (0, 1), (1,))
    assert outcomes["t", 0] is ErrorCode.INVALID_UPDATE_VERSION
    assert outcomes["t", 1] == stored(ensemble, 1)
    assert stored(ensemble, 1).isr == (1,)
    assert node.known.topics["t"].states[0] == theirs._replace(version=1)
    assert node.listener.heard == [("t", [0, 1]), ("t", [1])]  # read, written


@pytest.mark.parametrize("is_done", [True, False])
def test_a_lost_reply_has_the_state_read_and_compared(node, ensemble, is_done):
    gate = Gate(node)
    task = node.tasks.start(alter(node.active.term, {("t", 0): WantedIsr(0, 0, (0,), {}, 0, 0)}), lambda _task: None)
    node.tasks.run(1_000)
    gate.lose(is_done)
    gate.open()
    node.settle(task)
    assert task.result()["t", 0] == stored(ensemble, 0)
    assert (stored(ensemble, 0).isr, stored(ensemble, 0).version) == ((0,), 1)
    assert {*map(str, node.channels.told)} == {str(("metadata", "t", [0], None))}
    assert ("t", [0]) in node.listener.heard


def test_a_broker_that_is_about_to_go_joins_nothing(node):
    node.active.term.liveness.shutting_down.add(1)
    assert ask(node, (0, 1))["t", 0] is ErrorCode.INELIGIBLE_REPLICA
    assert ask(node, (0, 2))["t", 0].isr == (0, 2)


def test_a_zombie_alters_nothing(node, ensemble):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    with pytest.raises(ControllerMoved):
        ask(node, (0, 1))
    assert stored(ensemble, 0).version == 0
    assert node.active.term is None


def test_without_a_session_nothing_is_promised(node, ensemble):
    node.zk.is_connected = False
    with pytest.raises(ZkLost):
        ask(node, (0, 1))


def test_a_large_request_is_written_in_parts(node, ensemble, monkeypatch):
    monkeypatch.setattr(isr_alterations, "CHANGES_PER_COMMIT", 1)
    before = ensemble.writes
    ask(node, (0, 1), (1,))
    assert ensemble.writes == before + 2


def test_a_topic_that_goes_while_another_part_of_the_request_is_written_is_unknown(node, ensemble, monkeypatch):
    monkeypatch.setattr(isr_alterations, "CHANGES_PER_COMMIT", 1)
    node.create("u", ((0, 1, 2),), {})
    node.turn()
    gate = Gate(node)
    asked = {(name, 0): WantedIsr(0, 0, (0, 1), {}, 0, 0) for name in ("t", "u")}
    task = node.tasks.start(alter(node.active.term, asked), lambda _task: None)
    node.tasks.run(1_000)
    node.agent.apply(events.TopicLeaving("u"))
    gate.open()
    node.settle(task)
    assert task.result() == {("t", 0): stored(ensemble, 0), ("u", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert stored(ensemble, 0).isr == (0, 1)


def test_a_broker_that_was_restarted_and_others_lead_for_joins_nothing_yet(node):
    node.active.term.liveness.returning.add(1)
    assert ask(node, (0, 1))["t", 0] is ErrorCode.INELIGIBLE_REPLICA


def test_a_topic_may_go_while_its_change_is_written(node):
    """Leaders looked for the partition among the states of a topic that was not known any more, and the process died of it."""
    gate = Gate(node)
    task = node.tasks.start(alter(node.active.term, {("t", 0): WantedIsr(0, 0, (0, 1), {}, 0, 0)}), lambda _task: None)
    node.tasks.run(1_000)
    node.agent.apply(events.TopicLeaving("t"))
    gate.open()
    node.settle(task)
    assert task.result()["t", 0].isr == (0, 1)
    assert node.listener.heard == [("t", [0])]


@pytest.mark.parametrize("name", ["t", "gone"])
def test_states_that_are_told_after_another_topic_took_the_name_stop_nothing(node, name):
    """The write was on its way while the topic was deleted; the one that has its name now has fewer partitions, or no states yet."""
    tell_isrs(node.active.term, name, [7])
    assert node.listener.heard == [(name, [7])]
