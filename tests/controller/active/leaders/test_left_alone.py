"""A broker that would be left alone in an ISR has to answer for the partition first: its directory may have failed in an earlier term."""

import pytest

from headrace.controller.active.leaders import controlled_shutdown
from headrace.controller.active.leaders.preferred_leaders import Election
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.limits import ANSWERS_ASKED_MS

FAILED = ErrorCode.KAFKA_STORAGE_ERROR


def register(ensemble, *brokers):
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("127.0.0.1", 9092, None, 0))


def state_of(ensemble):
    node = ensemble.nodes[znodes.state_path("t", 0)]
    return znodes.decode_state("", node.data, node.version)


def begin(new_node, ensemble, state, replicas, live):
    """A new term, in which no broker answers what it is told by itself."""
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path)
    register(ensemble, *live)
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(znodes.TopicAssignment("1" * 32, (replicas,))))
    ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({}))
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(state))
    node = new_node(join=False)
    node.is_answering = False
    node.join()
    node.turn()
    return node


def answer(node, broker, error=ErrorCode.NONE):
    node.channels.answer_leaders((broker,), "t", error=error)
    node.turn()


def goes(_node, ensemble):
    ensemble.remove(znodes.broker_path(2))


def asks_to_go(node, ensemble):
    node.run(controlled_shutdown.shut_down(node.active.term, 2, NO_EPOCH))
    goes(node, ensemble)


def is_gone(_node, _ensemble):
    pass


def comes(_node, ensemble):
    register(ensemble, 3)


def is_read(node, _ensemble):
    for part in node.active.term.parts():
        part.topics_read(("t",))


CASES = {  # the state as the term begins, who is alive, what happens
    "2 is away": (PartitionState(1, 5, (1, 2), 1), (1,), is_gone),
    "2 is away, and nobody leads": (PartitionState(NO_LEADER, 5, (1, 2), 1), (1,), is_gone),
    "a third one comes meanwhile": (PartitionState(NO_LEADER, 5, (1, 2), 1), (1,), comes),
    "the topic is read meanwhile": (PartitionState(NO_LEADER, 5, (1, 2), 1), (1,), is_read),
    "2 leads, and goes": (PartitionState(2, 5, (1, 2), 1), (1, 2), goes),
    "2 leads, and asks to go": (PartitionState(2, 5, (1, 2), 1), (1, 2), asks_to_go),
    "2 follows, and goes": (PartitionState(1, 5, (1, 2), 1), (1, 2), goes),
    "2 follows, and asks to go": (PartitionState(1, 5, (1, 2), 1), (1, 2), asks_to_go),
}
is_any_case = pytest.mark.parametrize(("state", "live", "happens"), CASES.values(), ids=CASES)


@is_any_case
def test_one_whose_directory_failed_is_not_left_alone_before_it_says_so(new_node, ensemble, state, live, happens):
    node = begin(new_node, ensemble, state, (1, 2, 3), live)
    happens(node, ensemble)
    node.turn()
    assert set(state_of(ensemble).isr) == {1, 2}
    answer(node, 1, FAILED)
    assert set(state_of(ensemble).isr) == {1, 2}
    register(ensemble, 2)
    node.turn()
    answer(node, 2)
    assert state_of(ensemble).leader == 2, "it has all records"


@is_any_case
def test_one_that_serves_leads_alone_once_it_has_answered(new_node, ensemble, state, live, happens):
    node = begin(new_node, ensemble, state, (1, 2, 3), live)
    happens(node, ensemble)
    node.turn()
    answer(node, 1)
    assert (state_of(ensemble).leader, state_of(ensemble).isr) == (1, (1,))
    assert not node.active.term.states.is_waiting


def test_one_that_is_alone_already_leads_at_once(new_node, ensemble):
    begin(new_node, ensemble, PartitionState(NO_LEADER, 5, (1,), 1), (1, 2), (1,))
    assert state_of(ensemble).leader == 1


def test_two_that_are_left_are_not_waited_for(new_node, ensemble):
    begin(new_node, ensemble, PartitionState(3, 5, (1, 2, 3), 1), (1, 2, 3), (1, 2))
    assert (state_of(ensemble).leader, state_of(ensemble).isr) == (1, (1, 2))


def test_a_broker_that_is_started_again_has_answered_nothing_yet(new_node, ensemble):
    node = begin(new_node, ensemble, PartitionState(2, 5, (1, 2), 1), (1, 2), (1, 2))
    answer(node, 1)
    ensemble.remove(znodes.broker_path(1))
    node.follow()
    register(ensemble, 1)
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(state_of(ensemble)._replace(isr=(1, 2))))
    node.react(znodes.topic_path("t"))
    goes(node, ensemble)
    node.turn()
    assert set(state_of(ensemble).isr) == {1, 2}
    answer(node, 1)
    assert (state_of(ensemble).leader, state_of(ensemble).isr) == (1, (1,))


def test_one_out_of_sync_is_elected_by_hand_once_it_has_answered(new_node, ensemble):
    node = begin(new_node, ensemble, PartitionState(NO_LEADER, 5, (2,), 1), (1, 2), (1,))
    part = node.active.preferred_leaders()
    [error] = node.run(part.elect([("t", 0)], Election.UNCLEAN)).values()
    assert error.code is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert "has not answered" in error.message
    answer(node, 1)
    assert node.run(part.elect([("t", 0)], Election.UNCLEAN)) == {("t", 0): None}
    assert state_of(ensemble).isr == (1,)


def test_a_broker_whose_answer_says_nothing_of_its_log_is_asked_again(new_node, ensemble, caplog):
    """Its owner was opening other logs for as long as an answer may take: nothing else would ask it."""
    node = begin(new_node, ensemble, PartitionState(NO_LEADER, 5, (1, 2), 1), (1, 2), (1,))
    answer(node, 1, ErrorCode.REQUEST_TIMED_OUT)
    node.channels.told.clear()
    node.now_ms += ANSWERS_ASKED_MS
    node.tasks.run(1000)
    node.turn()
    assert node.channels.of("leaders") == [("t", [0], (1,), False)]
    assert "elections wait for a broker that has not answered" in caplog.text
    answer(node, 1)
    assert (state_of(ensemble).leader, state_of(ensemble).isr) == (1, (1,))


def test_an_answer_for_a_topic_of_the_same_name_counts_for_none_made_since(new_node, ensemble):
    node = begin(new_node, ensemble, PartitionState(2, 5, (1, 2), 1), (1, 2), (1, 2))
    answer(node, 1)
    answers, topic = node.active.term.answers, node.known.topics["t"]
    assert answers.is_well(1, topic, 0, 5)
    assert not answers.is_well(1, topic, 0, 6)
    assert not answers.is_well(2, topic, 0)
    topic.topic_id = "2" * 32
    assert not answers.is_well(1, topic, 0)
