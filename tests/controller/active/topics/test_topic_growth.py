import json

import pytest

from headrace.controller.active.topics import reconciliation
from headrace.controller.active.topics.topic_growth import placed
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode, KafkaError


def make(node, name, replicas=((0,),)):
    node.create(name, replicas, {})
    return node.known.topics[name]


def topic_of(*replicas):
    return Topic("t", "", replicas, {}, [None] * len(replicas))


def refusal(topic, count, assignment, live):
    with pytest.raises(KafkaError) as failure:
        placed(topic, count, assignment, dict.fromkeys(live))
    return failure.value.code


def test_new_partitions_go_on_round_the_brokers():
    topic = topic_of((1, 2), (2, 3))
    replicas = placed(topic, 6, None, dict.fromkeys((1, 2, 3)))
    assert replicas[:2] == topic.replicas
    assert [row[0] for row in replicas] == [1, 2, 3, 1, 2, 3]
    assert all(len(set(row)) == 2 for row in replicas)


@pytest.mark.parametrize("count", [-1, 0, 1, 2, 100_001])
def test_a_topic_only_grows(count):
    assert refusal(topic_of((0,), (0,)), count, None, [0]) is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("assignment", [[], [[0, 1]], [[0, 1], [0]], [[0, 1], [1, 1]], [[0, 1], [1, 9]], [[0, 1]] * 3])
def test_assignments_that_can_not_be(assignment):
    assert refusal(topic_of((0, 1)), 3, assignment, [0, 1]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_an_assignment_by_hand():
    assert placed(topic_of((0, 1)), 3, [[1, 0], [0, 1]], {0: None, 1: None}) == ((0, 1), (1, 0), (0, 1))


def test_too_few_live_brokers():
    assert refusal(topic_of((0, 1)), 2, None, [0]) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_assignment_and_states_are_written_and_served(new_node, ensemble):
    node = new_node()
    topic = make(node, "t")
    node.run(node.active.grow(topic, ((0,), (0,), (0,))))
    node.publish()
    node.turn()
    stored = json.loads(ensemble.data(znodes.topic_path("t")))
    assert stored["partitions"] == {"0": [0], "1": [0], "2": [0]}
    assert stored["topic_id"] == znodes.encode_uuid(topic.topic_id)
    assert [row.leader for row in node.view.topics["t"].partitions] == [0, 0, 0]
    assert sorted(node.owner.directories) == ["t-0", "t-1", "t-2"]


def test_more_than_a_transaction_holds(new_node, monkeypatch):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 2)
    node = new_node()
    node.run(node.active.grow(make(node, "t"), ((0,),) * 8))
    assert len(node.known.topics["t"].states) == 8
    assert not node.known.missing


def test_a_topic_without_an_id_gets_none_by_growing(new_node, ensemble):
    node = new_node(inter_broker_protocol_version="2.7")
    ensemble.put(znodes.topic_path("t"), b'{"version":1,"partitions":{"0":[0]}}')
    node.turn()
    node.run(node.active.grow(node.known.topics["t"], ((0,), (0,))))
    assert "topic_id" not in json.loads(ensemble.data(znodes.topic_path("t")))


def test_a_reassignment_under_way_is_not_overwritten(new_node, ensemble):
    node = new_node()
    topic = make(node, "t")
    fields = json.loads(ensemble.data(znodes.topic_path("t")))
    ensemble.put(znodes.topic_path("t"), json.dumps({**fields, "adding_replicas": {"0": [1]}}).encode())
    with pytest.raises(KafkaError) as failure:
        node.run(node.active.grow(topic, ((0,), (0,))))
    assert failure.value.code is ErrorCode.REASSIGNMENT_IN_PROGRESS


def test_no_room_for_more_replicas(new_node):
    node = new_node(headrace_partitions_max="16")
    with pytest.raises(KafkaError, match=r"headrace\.partitions\.max") as failure:
        node.run(node.active.grow(make(node, "t"), ((0,),) * 18))
    assert failure.value.code is ErrorCode.POLICY_VIOLATION


def test_a_topic_that_another_controller_let_grow_is_followed(new_node, ensemble):
    active, follower = new_node(0), new_node(1)
    active.turn()
    topic = make(active, "t", ((1,),))
    follower.turn()
    assert len(follower.view.topics["t"].partitions) == 1
    active.run(active.active.grow(topic, ((1,), (1,))))
    follower.turn()
    assert [row.leader for row in follower.view.topics["t"].partitions] == [1, 1]
    assert "t-1" in follower.owner.directories
    for wrong in (b"{", znodes.encode_topic(TopicAssignment(topic.topic_id, ((1,),)))):
        ensemble.put(znodes.topic_path("t"), wrong)
        follower.turn()
        assert len(follower.view.topics["t"].partitions) == 2


def test_what_another_has_written_into_the_node_stays(new_node, ensemble):
    """Its watch is late. Replicas that are to be deleted yet are named there, among others."""
    node = new_node()
    topic = make(node, "t")
    path = znodes.topic_path("t")
    fields = json.loads(ensemble.data(path)) | {"headrace_unwanted": {"0": [7]}, "of_a_later_kafka": 1}
    ensemble.put(path, json.dumps(fields).encode())
    node.run(node.active.grow(topic, ((0,), (0,))))
    stored = json.loads(ensemble.data(path))
    assert (stored["headrace_unwanted"], stored["of_a_later_kafka"]) == ({"0": [7]}, 1)
    assert stored["partitions"] == {"0": [0], "1": [0]}
