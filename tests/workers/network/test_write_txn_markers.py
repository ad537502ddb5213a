"""WriteTxnMarkers through a whole node: each marker to the owner of its partition, and one answer for all."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.whole_node import WholeNode

REQUEST = messages.WriteTxnMarkersRequest


@pytest.fixture
def node():
    node = WholeNode({"t": 4})
    yield node
    node.close()


@pytest.fixture
def client(node):
    return node.connect()


def marker(producer_id, topics, epoch=0, coordinator_epoch=1):
    rows = [REQUEST.WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
    return REQUEST.WritableTxnMarker(producer_id, epoch, True, rows, coordinator_epoch)


def ask(client, version, *markers):
    """By producer id: error codes by (topic, index)."""
    answer = client.ask(ApiKey.WRITE_TXN_MARKERS, version, REQUEST(markers=list(markers)))
    return {
        row.producer_id: {
            (topic.name, one.partition_index): one.error_code for topic in row.topics for one in topic.partitions
        }
        for row in answer.markers
    }


@pytest.mark.parametrize("version", [0, 1])
def test_markers_go_to_all_owners_and_are_answered_together(node, client, version):
    found = ask(client, version, marker(7, {"t": [0, 1, 2, 3]}), marker(8, {"t": [3]}))
    assert found == {7: {("t", index): 0 for index in range(4)}, 8: {("t", 3): 0}}
    written = [replica.log.log_end_offset for worker in node.workers for replica in worker._replicas.by_slot.values()
               if replica.partition.topic == "t"]  # fmt: skip
    assert sorted(written) == [1, 1, 1, 2]


def test_what_is_not_there_has_its_own_error_and_the_others_are_written(client):
    found = ask(client, 1, marker(7, {"t": [0, 9], "none": [0]}))
    assert found[7] == {
        ("t", 0): 0,
        ("t", 9): E.UNKNOWN_TOPIC_OR_PARTITION,
        ("none", 0): E.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_an_older_coordinator_and_an_older_producer_are_refused(client):
    assert ask(client, 1, marker(7, {"t": [0]}, epoch=3, coordinator_epoch=5)) == {7: {("t", 0): 0}}
    older = ask(client, 1, marker(7, {"t": [0]}, epoch=3, coordinator_epoch=4))
    assert older == {7: {("t", 0): E.TRANSACTION_COORDINATOR_FENCED}}
    assert ask(client, 1, marker(7, {"t": [0]}, epoch=2, coordinator_epoch=5)) == {
        7: {("t", 0): E.INVALID_PRODUCER_EPOCH}
    }


def test_no_markers_are_answered_with_none(client):
    assert ask(client, 1) == {}


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_no_brokers_is_refused_for_each_partition(node, client, version, monkeypatch):
    monkeypatch.setattr(node.context.broker_requests, "is_of_broker", lambda *_about: False)
    assert ask(client, version, marker(7, {"t": [0, 1]})) == {
        7: {("t", 0): E.CLUSTER_AUTHORIZATION_FAILED, ("t", 1): E.CLUSTER_AUTHORIZATION_FAILED}
    }
