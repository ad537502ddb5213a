"""Topics without an id get one where the version between brokers knows ids, and keep everything else."""

import pytest

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode, KafkaError

STATE = PartitionState(0, 5, (0,), 1)


def put_topic(ensemble, name, assignment=None, topic_id=""):
    ensemble.put(znodes.topic_path(name), znodes.encode_topic(assignment or TopicAssignment(topic_id, ((0,),))))
    ensemble.put(znodes.partition_path(name, 0))
    ensemble.put(znodes.state_path(name, 0), znodes.encode_state(STATE))


def stored(ensemble, name):
    return znodes.decode_topic(name, ensemble.data(znodes.topic_path(name)))


def test_a_topic_from_before_ids_gets_one_when_a_term_begins(new_node, ensemble):
    put_topic(ensemble, "old")
    put_topic(ensemble, "new", topic_id="ab" * 16)
    node = new_node()
    topic_id = stored(ensemble, "old").topic_id
    assert len(topic_id) == 32
    assert stored(ensemble, "new").topic_id == "ab" * 16
    known = node.known
    assert known.topics["old"].topic_id == topic_id
    assert known.name_of(topic_id) == "old"
    assert known.topics["old"].states == [STATE]
    assert "old" not in known.deleted


def test_brokers_are_told_of_it_with_its_id(new_node, ensemble):
    put_topic(ensemble, "old")
    node = new_node()
    told = [entry for entry in node.channels.told if entry[0] == "leaders"]
    assert told == [("leaders", "old", [0], None, False)]


def test_moves_and_fields_of_others_stay(new_node, ensemble):
    assignment = TopicAssignment("", ((0, 1),), {0: (1,)}, {}, {"somebody's": 1})
    put_topic(ensemble, "old", assignment)
    new_node()
    found = stored(ensemble, "old")
    assert found.topic_id
    assert found.others == {"somebody's": 1}
    assert found.adding == {0: (1,)} or found.replicas != ((0, 1),)


def test_below_2_8_there_are_no_ids(new_node, ensemble):
    put_topic(ensemble, "old")
    node = new_node(inter_broker_protocol_version="2.7")
    assert stored(ensemble, "old").topic_id == ""
    assert node.known.topics["old"].topic_id == ""


def test_a_topic_that_somebody_makes_by_hand_gets_one(new_node, ensemble):
    node = new_node()
    put_topic(ensemble, "by-hand")
    node.follow()
    topic_id = stored(ensemble, "by-hand").topic_id
    assert topic_id
    assert node.known.topics["by-hand"].topic_id == topic_id


def test_many_get_theirs(new_node, ensemble):
    names = [f"old-{number}" for number in range(250)]
    for name in names:
        put_topic(ensemble, name)
    new_node()
    assert len({stored(ensemble, name).topic_id for name in names}) == 250


def test_a_topic_is_not_grown_by_who_does_not_know_its_id(new_node, ensemble):
    """KAFKA-12835: the id would be dropped."""
    node = new_node()
    put_topic(ensemble, "t", topic_id="ab" * 16)
    node.follow()
    topic = node.known.topics["t"]
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment("cd" * 16, ((0,),))))
    with pytest.raises(KafkaError) as refused:
        node.run(node.active.grow(topic, ((0,), (0,))))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert stored(ensemble, "t").topic_id == "cd" * 16
