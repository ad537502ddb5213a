"""AlterPartitionReassignments, and ListPartitionReassignments."""

import pytest

from headrace.controller.admin import a45_alter_partition_reassignments, a46_list_partition_reassignments
from headrace.controller.zookeeper import znodes
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

Alter = messages.AlterPartitionReassignmentsRequest
List = messages.ListPartitionReassignmentsRequest


@pytest.fixture
def node(new_node, ensemble):
    for broker in (1, 2, 3):
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("h", 9000 + broker, None, 0))
    node = new_node()
    node.create("t", ((1, 2),) * 3)
    node.turn()
    return node


def alter(node, *rows):
    """rows: (topic, partition, replicas)"""
    topics = [Alter.ReassignableTopic(topic, [Alter.ReassignablePartition(index, ids)]) for topic, index, ids in rows]
    key = ApiKey.ALTER_PARTITION_REASSIGNMENTS
    body = encode_request(key, 0, Alter(topics=topics, timeout_ms=1000))
    waiting = node.handle(a45_alter_partition_reassignments.handle, 0, memoryview(bytes(body)))
    return decode_response(key, 0, memoryview(waiting.poll(0)))


def listed(node, topics=None):
    key = ApiKey.LIST_PARTITION_REASSIGNMENTS
    rows = None if topics is None else [List.ListPartitionReassignmentsTopics(*row) for row in topics]
    body = encode_request(key, 0, List(topics=rows, timeout_ms=1000))
    waiting = node.handle(a46_list_partition_reassignments.handle, 0, memoryview(bytes(body)))
    answer = decode_response(key, 0, memoryview(waiting.poll(0)))
    return answer.error_code, {
        (topic.name, row.partition_index): (row.replicas, row.adding_replicas, row.removing_replicas)
        for topic in answer.topics
        for row in topic.partitions
    }


def codes(answer):
    return {(topic.name, row.partition_index): row.error_code for topic in answer.responses for row in topic.partitions}


def test_partitions_of_a_request_fail_by_themselves_and_the_last_mention_counts(node):
    answer = alter(node, ("t", 0, [9]), ("t", 1, [1, 9]), ("absent", 0, [1]), ("t", 0, [3, 2]), ("t", 2, None))
    assert answer.error_code == 0
    assert codes(answer) == {
        ("t", 0): 0,
        ("t", 1): ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ("t", 2): ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ("absent", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    moving = {("t", 0): ([3, 2, 1], [3], [1])}
    assert listed(node) == (0, moving)
    assert listed(node, [("t", [0, 1, 9]), ("absent", [0])]) == (0, moving)
    assert listed(node, [("t", [1])]) == (0, {})


def test_only_the_active_controller_answers(node, ensemble):
    ensemble.put(znodes.CONTROLLER, znodes.encode_controller(1, 0))
    node.zk.ensemble.remove(znodes.CONTROLLER)
    ensemble.put(znodes.CONTROLLER, znodes.encode_controller(1, 0))
    ensemble.put(znodes.CONTROLLER_EPOCH, b"5")
    node.follow()
    answer = alter(node, ("t", 0, [3, 2]))
    assert (answer.error_code, answer.responses) == (ErrorCode.NOT_CONTROLLER, [])
    assert listed(node) == (ErrorCode.NOT_CONTROLLER, {})


def test_a_term_that_ends_meanwhile_is_said_of_the_whole_request(node, ensemble):
    """Clients ask again elsewhere; of a single partition's error they would not."""
    ensemble.put(znodes.CONTROLLER_EPOCH, b"5")
    answer = alter(node, ("t", 0, [3, 2]))
    assert (answer.error_code, answer.responses) == (ErrorCode.NOT_CONTROLLER, [])
