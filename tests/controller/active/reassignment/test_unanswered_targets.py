"""A reassignment ends, and replicas are deleted, once a leader of the target has answered: its directory may have failed unheard."""

import pytest

from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.active.reassignment import reassignments
from headrace.controller.cluster.unwanted_replicas import unwanted_of
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode
from headrace.ids import NO_LEADER
from tests.controller.active.reassignment.test_reassignments import (
    alter,
    answered_turn,
    assignment,
    start,
    state,
    stops,
    write_isr,
)

FAILED = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def begin(new_node, ensemble):
    """A controller begins its term; 1 leads, the target is in sync. No broker answers by itself."""

    def begin(target, isr):
        for path in znodes.PERSISTENT_PATHS:
            ensemble.put(path)
        for broker in (1, 2, 3):
            start(ensemble, broker)
        moving = TopicAssignment("1" * 32, ((*target, 1),), {0: target}, {0: (1,)})
        ensemble.put(znodes.topic_path("t"), znodes.encode_topic(moving))
        ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({}))
        ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(1, 5, isr, 1)))
        node = new_node(join=False)
        node.is_answering = False
        node.join()
        return node

    return begin


def answer(node, *brokers, error=ErrorCode.NONE):
    node.channels.answer_leaders(brokers, "t", error=error)
    node.turn()


def recheck(node, brokers=()):
    node.now_ms += reassignments.RECHECK_MS
    answered_turn(node, set(brokers))


@pytest.mark.parametrize("target", [(2,), (2, 3)], ids=["one replica", "two"])
@pytest.mark.parametrize("is_known", [True, False], ids=["the same controller", "a new controller"])
def test_it_does_not_end_while_the_directories_of_the_target_have_failed(begin, ensemble, is_known, target):
    node = begin(target, (1,) if is_known else (1, *target))
    if is_known:
        [part] = [one for one in node.active.term.parts() if isinstance(one, Leaders)]
        for broker in target:
            part.leaders_answered(broker, {("t", 0): FAILED})
        write_isr(ensemble, 0, (1, *target))
    node.turn()
    answer(node, 1)
    assert state(ensemble).leader == 1
    answer(node, *target, error=FAILED)
    assert not stops(node)
    assert state(ensemble)[:3:2] == (1, (1,)), "the one that has everything leads on"


def test_it_ends_once_one_of_the_target_has_answered(begin, ensemble):
    node = begin((2, 3), (1, 2, 3))
    node.turn()
    assert state(ensemble).leader == 1
    answer(node, 3)
    assert state(ensemble)[:3] == (3, 6, (2, 3))


def test_nothing_is_deleted_before_the_leader_has_answered_in_the_last_epoch(begin, ensemble, caplog):
    """It answered the term before its directory failed."""
    node = begin((2,), (1, 2))
    answer(node, 2)
    assert state(ensemble)[:3] == (2, 6, (2,))
    assert not stops(node)
    assert unwanted_of(assignment(ensemble)) == {0: (1,)}, "a successor goes on with it"
    answer(node, 2, error=FAILED)
    recheck(node, (1, 2, 3))
    assert not stops(node)
    assert unwanted_of(assignment(ensemble)) == {0: (1,)}
    assert "replica not deleted yet topic=t partition=0 broker=1 reason=its leader" in caplog.text
    assert state(ensemble).leader == NO_LEADER


@pytest.mark.parametrize("is_restarted", [False, True], ids=["the same controller", "its successor"])
def test_it_is_deleted_as_soon_as_the_leader_has_answered(begin, ensemble, is_restarted):
    node = begin((2,), (1, 2))
    answer(node, 2)
    assert not stops(node)
    if is_restarted:
        node = node.restarted()
        node.is_answering = False
        node.active.term.answers.forget((1, 2, 3))
        node.turn()
        assert unwanted_of(assignment(ensemble)) == {0: (1,)}
    answer(node, 2)
    assert [broker for broker, _index, _epoch in stops(node)] in ([], [1])
    answered_turn(node, {1})
    recheck(node, {1})
    assert not unwanted_of(assignment(ensemble))


def test_an_answer_in_time_has_it_deleted_before_the_node_is_written(begin, ensemble):
    node = begin((2,), (1, 2))
    writes = []
    node.channels.answer_leaders((2,), "t")
    ensemble.on_write = lambda _ordinal: writes.append(unwanted_of(assignment(ensemble)))
    node.is_answering = True
    answered_turn(node, {1})
    assert not unwanted_of(assignment(ensemble))
    assert assignment(ensemble).replicas == ((2,),)
    assert not any(writes)


def test_an_answer_of_an_earlier_epoch_does_not_count(begin, ensemble):
    node = begin((2,), (1, 2))
    answer(node, 2)
    topic = node.known.topics["t"]
    assert node.active.term.answers.is_well(2, topic, 0, 5)
    assert not node.active.term.answers.is_well(2, topic, 0, 6)
    recheck(node, {1})
    assert not stops(node)


def test_one_that_answers_nothing_of_its_log_is_asked_again(begin, ensemble):
    node = begin((2,), (1, 2))
    answer(node, 2, error=ErrorCode.REQUEST_TIMED_OUT)
    assert state(ensemble).leader == 1
    node.channels.told.clear()
    recheck(node)
    assert ("t", [0], None, False) in node.channels.of("leaders")
    answer(node, 2)
    assert state(ensemble).leader == 2


def test_a_move_that_takes_anothers_place_leaves_nobody_alone_who_has_not_answered(begin, ensemble):
    """2 leaves the ISR, and has what was acknowledged."""
    node = begin((2, 3), (1, 2))
    node.turn()
    assert alter(node, {0: (3,)}) == {0: ErrorCode.LEADER_NOT_AVAILABLE}
    assert state(ensemble).isr == (1, 2)
    answer(node, 1)
    assert alter(node, {0: (3,)}) == {0: None}
    assert state(ensemble).isr == (1,)
