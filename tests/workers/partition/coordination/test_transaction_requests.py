"""Requests about transactions through a whole node: what clients of each version get, and what becomes of topics that go."""

import logging

import pytest

from headrace.errors import ErrorCode as E
from headrace.ids import owner_of
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.whole_node import WholeNode, errors_of

PLACES = {"t": [0, 1]}


@pytest.fixture
def node():
    node = WholeNode({"t": 2, "u": 1})
    yield node
    node.close()


@pytest.fixture
def client(node):
    return node.connect()


def begun(client, name="x", **topics):
    producer = client.init(name)
    assert set(client.add(name, producer, topics or PLACES).values()) == {0}
    return producer


@pytest.mark.parametrize("version", range(4))
def test_a_transaction_of_each_version_is_committed(node, client, version):
    producer = client.init("x", version=version)
    assert (producer.error_code, producer.producer_epoch) == (0, 0)
    assert client.add("x", producer, PLACES, version=version) == {("t", 0): 0, ("t", 1): 0}
    assert client.end("x", producer, version=version).error_code == 0
    node.turn_until(lambda: node.transaction("x").state.value == "CompleteCommit")
    assert client.end("x", producer, version=version).error_code == 0, "asked again"


@pytest.mark.parametrize(("version", "error"), [(0, E.INVALID_PRODUCER_EPOCH), (3, E.PRODUCER_FENCED)])
def test_clients_of_old_versions_know_no_fenced_producer(client, version, error):
    before = client.init("x")
    client.init("x")
    assert client.add("x", before, PLACES, version=version) == {("t", 0): error, ("t", 1): error}
    assert client.end("x", before, version=version).error_code == error
    request = messages.AddOffsetsToTxnRequest("x", before.producer_id, before.producer_epoch, "g")
    assert client.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, request).error_code == error


def test_the_partition_of_a_groups_offsets_becomes_one_of_the_transactions(node, client):
    producer = begun(client)
    request = messages.AddOffsetsToTxnRequest("x", producer.producer_id, producer.producer_epoch, "g")
    assert client.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, request).error_code == 0
    assert ("__consumer_offsets", 0) in node.transaction("x").partitions


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_verify_several_transactions_at_once(client, version):
    producer = begun(client, t=[0])
    request = messages.AddPartitionsToTxnRequest
    topics = [request.AddPartitionsToTxnTopic("t", [0, 1])]
    rows = [
        request.AddPartitionsToTxnTransaction("x", producer.producer_id, 0, True, topics),
        request.AddPartitionsToTxnTransaction("nobody's", 7, 0, True, topics),
    ]
    answer = client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, request(transactions=rows))
    found = {row.transactional_id: errors_of(row.topic_results) for row in answer.results_by_transaction}
    missing = E.TRANSACTION_ABORTABLE if version == 5 else E.INVALID_TXN_STATE
    assert found["x"] == {("t", 0): 0, ("t", 1): missing}
    assert set(found["nobody's"].values()) == {E.INVALID_PRODUCER_ID_MAPPING}


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_partitions_and_connections_of_the_producer_stay_good(client, version):
    producer = begun(client, t=[0])
    request = messages.AddPartitionsToTxnRequest
    topics = [request.AddPartitionsToTxnTopic("t", [1])]
    row = request.AddPartitionsToTxnTransaction("x", producer.producer_id, 0, False, topics)
    answer = client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, request(transactions=[row]))
    assert errors_of(answer.results_by_transaction[0].topic_results) == {("t", 1): 0}
    assert client.end("x", producer).error_code == 0


def test_a_request_of_brokers_about_nothing_is_answered(client):
    assert (
        client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 5, messages.AddPartitionsToTxnRequest()).results_by_transaction == []
    )


def test_a_partition_that_the_coordinator_does_not_know_is_added_to_nothing(node, client):
    """The network worker may have an older view: what it lets through would wait for a marker for ever."""
    producer = client.init("x")
    for worker in node.workers:
        worker._topics._topics = {name: topic for name, topic in worker._topics._topics.items() if name != "u"}
    assert client.add("x", producer, {"u": [0]}) == {("u", 0): E.UNKNOWN_TOPIC_OR_PARTITION}
    assert client.add("x", producer, PLACES) == {("t", 0): 0, ("t", 1): 0}


def test_transactions_are_described_and_listed(client):
    producer = begun(client)
    described = client.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, messages.DescribeTransactionsRequest(["x", "none"]))
    first, second = described.transaction_states
    assert (first.transaction_state, first.producer_id) == ("Ongoing", producer.producer_id)
    assert [(topic.topic, list(topic.partitions)) for topic in first.topics] == [("t", [0, 1])]
    assert second.error_code == E.TRANSACTIONAL_ID_NOT_FOUND
    listed = client.ask(ApiKey.LIST_TRANSACTIONS, 1, messages.ListTransactionsRequest(["Ongoing", "Strange"], [], -1))
    assert [row.transactional_id for row in listed.transaction_states] == ["x"]
    assert list(listed.unknown_state_filters) == ["Strange"]
    other = client.ask(ApiKey.LIST_TRANSACTIONS, 1, messages.ListTransactionsRequest(["Empty"], [], -1))
    assert not other.transaction_states


def test_a_connection_of_before_is_closed_and_says_why(node, client, caplog):
    """It was said to be an invalid response of the process that serves it."""
    caplog.set_level(logging.INFO)
    newer = node.connect()
    producer = begun(newer)
    assert client.end("x", producer) is None
    assert client.is_closed
    assert "invalid response" not in caplog.text
    assert "its producer has used a newer connection since" in caplog.text
    assert newer.end("x", producer).error_code == 0


@pytest.mark.parametrize("is_ended_first", [False, True])
def test_a_topic_that_is_deleted_leaves_a_transaction_before_its_deletion_is_followed(node, client, is_ended_first):
    """The transaction stayed in Prepare for ever, and no producer got its id."""
    producer = begun(client, t=[0], u=[0])
    if is_ended_first:
        assert client.end("x", producer).error_code == 0
    node.publish({"t": 2}, deleted=["u"])
    node.turn_until(node.has_followed)
    assert ("u", 0) not in node.transaction("x").partitions
    node.publish({"t": 2})
    node.turn_until(node.has_followed)
    assert client.end("x", producer).error_code == 0
    node.turn_until(lambda: node.transaction("x").state.value == "CompleteCommit")
    assert client.init("x").error_code == 0


def test_epoch_32767_is_nobodys_and_the_partition_lives_on(node, client):
    producer = client.init("x")
    node.transaction("x").epoch = 32767
    fenced = messages.InitProducerIdResponse(producer_id=producer.producer_id, producer_epoch=32767)
    assert client.add("x", fenced, {"t": [0]}) == {("t", 0): E.PRODUCER_FENCED}
    assert client.end("x", fenced).error_code == E.PRODUCER_FENCED
    assert client.init("x").error_code == 0


def test_offsets_of_a_producer_that_can_not_be_are_refused(client):
    request = messages.TxnOffsetCommitRequest
    rows = [request.TxnOffsetCommitRequestTopic("t", [request.TxnOffsetCommitRequestPartition(0, 41)])]
    message = request(transactional_id="x", group_id="g", producer_id=-1, producer_epoch=-1, topics=rows)
    (topic,) = client.ask(ApiKey.TXN_OFFSET_COMMIT, 3, message).topics
    assert topic.partitions[0].error_code == E.INVALID_PRODUCER_ID_MAPPING


def test_one_partition_that_does_not_replicate_holds_no_other_transaction():
    """All transactions with partitions in the same worker waited with it, for five seconds at a time."""
    coordinator = owner_of("__transaction_state", 0, 2)
    slow, well = [name for name in map("t{}".format, range(50)) if owner_of(name, 0, 2) != coordinator][:2]
    node = WholeNode({slow: 1, well: 1}, isr={slow: (0, 1)})
    try:
        client = node.connect()
        held = begun(client, "slow", **{slow: [0]})
        assert client.end("slow", held).error_code == 0
        producer = client.init("well")
        for _ in range(3):
            assert client.add("well", producer, {well: [0]}) == {(well, 0): 0}, "it waits for less than a second"
            assert client.end("well", producer).error_code == 0
        assert node.transaction("slow").state.value == "PrepareCommit"
    finally:
        node.close()
