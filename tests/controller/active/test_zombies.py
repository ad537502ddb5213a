"""A controller that another one has replaced, and has not heard of it: whatever it is asked, or finds by itself, changes nothing.

And one that is killed at any write of a creation: the next one completes what stands in ZooKeeper, or nothing does.
"""

import pytest

from headrace.controller.active.leaders.controlled_shutdown import shut_down
from headrace.controller.active.leaders.isr_alterations import WantedIsr, alter
from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.active.topics import reconciliation
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkError, ZkLost
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode
from tests.controller.fake_zk import Killed


def register(ensemble, *brokers):
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("127.0.0.1", 9092, None, 0))


def ask(node, procedure):
    """It is refused, or nothing comes of it."""
    try:
        node.run(procedure)
    except (ControllerMoved, ZkError):
        pass
    node.turn()


def create(node, _ensemble):
    ask(node, node.active.create("new", ((0, 1),), {}))


def grow(node, _ensemble):
    topic = node.known.topics["t"]
    ask(node, node.active.grow(topic, (*topic.replicas, (0,))))


def mark(node, _ensemble):
    ask(node, node.active.mark("t"))


def delete(node, ensemble):
    ensemble.put(znodes.delete_topic_path("t"))
    node.channels.answer_stops({1, 2})
    node.turn()
    node.channels.answer_stops({1, 2})
    node.turn()
    ensemble.remove(znodes.delete_topic_path("t"))  # as it was


def lose_a_broker(node, ensemble):
    data = ensemble.data(znodes.broker_path(1))
    ensemble.remove(znodes.broker_path(1))
    node.turn()
    ensemble.put(znodes.broker_path(1), data)


def lose_a_directory(node, _ensemble):
    [leaders] = [part for part in node.active.term.parts() if isinstance(part, Leaders)]
    leaders.leaders_answered(1, {("t", 1): ErrorCode.KAFKA_STORAGE_ERROR})
    node.turn()


def shut_a_broker_down(node, _ensemble):
    ask(node, shut_down(node.active.term, 1, -1))


def alter_an_isr(node, _ensemble):
    state = node.known.topics["t"].states[1]
    wanted = WantedIsr(1, state.leader_epoch, (1,), {}, 0, state.version)
    ask(node, alter(node.active.term, {("t", 1): wanted}))


def write_first_states(node, ensemble):
    assignment = TopicAssignment(znodes.new_uuid(), ((0,), (1,)))
    ensemble.put(znodes.topic_path("hand"), znodes.encode_topic(assignment))
    node.turn()
    if znodes.partitions_path("hand") not in ensemble.nodes:
        ensemble.remove(znodes.topic_path("hand"))


def note_a_directory(node, ensemble):
    path = f"{znodes.LOG_DIR_EVENT_PREFIX}0000000000"
    ensemble.put(path, znodes.encode_log_dir_event(1))
    node.turn()
    take_back(ensemble, path)


def note_an_isr(node, ensemble):
    path = f"{znodes.ISR_CHANGES}/isr_change_0000000000"
    ensemble.put(path, znodes.encode_isr_change([("t", 0)]))
    node.turn()
    take_back(ensemble, path)


def take_back(ensemble, path):
    """Remove a note; where somebody else has, that is to be seen."""
    if path in ensemble.nodes:
        ensemble.remove(path)
    else:
        ensemble.put("/removed")


WRITES = (
    create,
    grow,
    mark,
    delete,
    lose_a_broker,
    lose_a_directory,
    shut_a_broker_down,
    alter_an_isr,
    write_first_states,
    note_a_directory,
    note_an_isr,
)


@pytest.mark.parametrize("do", WRITES, ids=lambda do: do.__name__)
@pytest.mark.parametrize("is_zombie", [True, False])
def test_a_zombie_changes_nothing(new_node, ensemble, do, is_zombie):
    register(ensemble, 1, 2)
    node = new_node(0)
    node.turn()
    node.create("t", ((0, 1), (1, 2)))
    node.turn()
    if is_zombie:
        ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
        ensemble.remove(znodes.CONTROLLER)
        ensemble.put(znodes.CONTROLLER, znodes.encode_controller(7, 0))
        node.zk.take_changes()  # it has not heard of that
    before = data_of(ensemble)
    do(node, ensemble)
    assert (data_of(ensemble) == before) == is_zombie


def data_of(ensemble):
    return {path: node.data for path, node in ensemble.nodes.items()}


@pytest.mark.filterwarnings("ignore:coroutine")  # of a killed process
@pytest.mark.parametrize("fault", ["on_write", "after_write"])
@pytest.mark.parametrize("failure", [Killed, ZkLost])
def test_a_creation_interrupted_at_any_write_is_whole_or_not_there(new_node, ensemble, monkeypatch, fault, failure):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 2)
    register(ensemble, 1, 2)
    node = new_node(0)
    node.turn()
    ordinal = 0
    while True:
        ensemble.writes = 0
        name = f"t{ordinal}"

        def strike(number, at=ordinal):
            if number == at:
                raise failure("here")

        setattr(ensemble, fault, strike)
        try:
            node.create(name, ((0, 1), (1, 2), (2, 0), (0, 1, 2), (2, 1)), {"retention.ms": "5"})
        except failure:
            pass
        setattr(ensemble, fault, lambda _ordinal: None)
        if ensemble.writes <= ordinal:
            break
        if failure is Killed:
            node = node.restarted()
        node.turn()
        is_there = znodes.topic_path(name) in ensemble.nodes
        assert is_there == (ordinal > 0 or fault == "after_write"), ordinal
        assert (name in node.known.topics) == is_there
        if is_there:
            states = [ensemble.data(znodes.state_path(name, index)) for index in range(5)]
            leaders = [znodes.decode_state("", data, 0).leader for data in states]
            assert leaders == [0, 1, 2, 0, 2], ordinal
            assert znodes.decode_config("", ensemble.data(znodes.topic_config_path(name))) == {"retention.ms": "5"}
            told = [set(indexes) for topic, indexes, *_ in node.channels.of("leaders") if topic == name]
            assert set().union(*told) == set(range(5)), ordinal
        ordinal += 1
    assert ordinal == 3
