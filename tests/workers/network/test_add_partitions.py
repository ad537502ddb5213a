"""AddPartitionsToTxn in the network worker: what is answered there, and what goes to owners."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.whole_node import WholeNode

REQUEST = messages.AddPartitionsToTxnRequest


@pytest.fixture
def node():
    node = WholeNode({"t": 2})
    yield node
    node.close()


@pytest.fixture
def client(node):
    return node.connect()


@pytest.mark.parametrize("version", range(4))
def test_where_one_partition_can_not_be_none_is_added(node, client, version):
    producer = client.init("x")
    found = client.add("x", producer, {"t": [0, 7], "none": [0], "__consumer_offsets": [0]}, version=version)
    assert found == {
        ("t", 0): E.OPERATION_NOT_ATTEMPTED,
        ("t", 7): E.UNKNOWN_TOPIC_OR_PARTITION,
        ("none", 0): E.UNKNOWN_TOPIC_OR_PARTITION,
        ("__consumer_offsets", 0): E.TOPIC_AUTHORIZATION_FAILED,
    }
    assert node.transaction("x").state.value == "Empty"


@pytest.mark.parametrize("version", [4, 5])
def test_what_is_no_brokers_is_refused_as_a_whole(node, client, version, monkeypatch):
    monkeypatch.setattr(node.context.broker_requests, "is_of_broker", lambda *_about: False)
    row = REQUEST.AddPartitionsToTxnTransaction("x", 1, 0, True, [REQUEST.AddPartitionsToTxnTopic("t", [0])])
    answer = client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, REQUEST(transactions=[row]))
    assert answer.error_code == E.CLUSTER_AUTHORIZATION_FAILED
    assert not answer.results_by_transaction


@pytest.mark.parametrize(("key", "request_of"), [
    (ApiKey.END_TXN, lambda name: messages.EndTxnRequest(name, 1, 0, True)),
    (ApiKey.ADD_OFFSETS_TO_TXN, lambda name: messages.AddOffsetsToTxnRequest(name, 1, 0, "g")),
])  # fmt: skip
def test_an_id_that_is_not_known_has_no_producer(client, key, request_of):
    assert client.ask(key, 3, request_of("nobody's")).error_code == E.INVALID_PRODUCER_ID_MAPPING
    assert client.ask(key, 3, request_of("")).error_code == E.INVALID_REQUEST
