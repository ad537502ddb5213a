"""What a transactional producer sent before its transaction ended and what comes after: refused, and nothing is held up (KIP-890).

The requests are made by hand: a client would not send them in this order, a network does.
"""

import uuid

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.client.connection import Connection
from headrace.errors import ErrorCode as E
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.testing.cluster import KafkaCluster
from tests.support.raw_producer import RawProducer, offsets
from tests.support.waiting import DEADLINE_S, wait_until


@pytest.fixture
def name(node):
    return f"late-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def connection(node):
    connection = Connection(*node.address)
    yield connection
    connection.close()


@pytest.fixture
def producer(node, name, connection):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(DEADLINE_S)
    found = messages.FindCoordinatorRequest(key="g", key_type=0, coordinator_keys=["g"])
    wait_until(lambda: not connection.request(ApiKey.FIND_COORDINATOR, 4, found).coordinators[0].error_code)
    return RawProducer(name, connection)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_batch_that_comes_after_its_transaction_opens_none(producer, name, connection, is_commit):
    producer.add(name, 0)
    assert producer.produce(name, 0) == [E.NONE]
    producer.end(is_commit=is_commit)
    wait_until(lambda: offsets(connection, name) == (2, 2))
    assert producer.produce(name, 0, sequence=1) == [E.INVALID_TXN_STATE]
    assert producer.produce(name, 0, sequence=1, version=11) == [E.TRANSACTION_ABORTABLE]
    assert offsets(connection, name) == (2, 2)
    producer.add(name, 0)
    assert producer.produce(name, 0, sequence=1) == [E.NONE], "in the next transaction it is welcome"
    assert offsets(connection, name) == (2, 3)


def test_a_partition_that_is_not_in_the_transaction_is_refused_and_the_others_are_not(producer, name, connection):
    producer.add(name, 1)
    assert producer.produce(name, 0, 1) == [E.INVALID_TXN_STATE, E.NONE]
    assert offsets(connection, name) == (0, 0)
    producer.end(is_commit=True)
    wait_until(lambda: offsets(connection, name, 1) == (2, 2))


def test_a_batch_of_a_producer_that_was_fenced_is_refused(producer, name, connection):
    producer.add(name, 0)
    RawProducer(name, connection)
    assert producer.produce(name, 0) in ([E.INVALID_PRODUCER_EPOCH], [E.INVALID_TXN_STATE])
    wait_until(lambda: len(set(offsets(connection, name))) == 1)


def test_a_transactional_batch_needs_a_transactional_id(producer, name):
    producer.add(name, 0)
    assert producer.produce(name, 0, name=None) == [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]


def test_an_id_that_no_coordinator_knows_begins_nothing(producer, name, connection):
    assert producer.produce(name, 0, name="unknown") == [E.INVALID_PRODUCER_ID_MAPPING]
    assert offsets(connection, name) == (0, 0)


@pytest.mark.parametrize(("version", "error"), [(3, E.INVALID_TXN_STATE), (4, E.TRANSACTION_ABORTABLE)])
def test_offsets_that_come_after_their_transaction_are_refused(producer, name, version, error):
    producer.add_offsets(name)
    assert producer.commit_offset(name, name, 1) == E.NONE
    producer.end(is_commit=True)
    fetch = messages.OffsetFetchRequest(
        groups=[messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None)], require_stable=True
    )

    def committed():
        (group,) = producer.leader.request(ApiKey.OFFSET_FETCH, 8, fetch).groups
        return [(row.committed_offset, row.error_code) for topic in group.topics for row in topic.partitions]

    wait_until(lambda: committed() == [(1, 0)])
    assert producer.commit_offset(name, name, 2, version) == error
    assert committed() == [(1, 0)], "nothing is pending"


def test_a_coordinator_on_another_node_is_asked():
    with KafkaCluster(3) as cluster:
        cluster.create_topic("t", partitions=3, replication_factor=1)
        addresses = [address.rsplit(":", 1) for address in cluster.bootstrap_servers.split(",")]
        connections = [Connection(host, int(port)) for host, port in addresses]
        request = messages.FindCoordinatorRequest(key_type=1, coordinator_keys=["copier"])
        found = []

        def has_coordinator():
            found[:] = connections[0].request(ApiKey.FIND_COORDINATOR, 4, request).coordinators
            return not found[0].error_code

        wait_until(has_coordinator)
        view = connections[0].request(
            ApiKey.METADATA,
            8,
            messages.MetadataRequest(topics=[messages.MetadataRequest.MetadataRequestTopic(name="t")]),
        )
        by_node = {broker.node_id: (broker.host, broker.port) for broker in view.brokers}
        leaders = {row.partition_index: row.leader_id for row in view.topics[0].partitions}
        index = next(index for index, leader in leaders.items() if leader != found[0].node_id)
        coordinator = Connection(*by_node[found[0].node_id])
        leader = Connection(*by_node[leaders[index]])
        producer = RawProducer("copier", coordinator, leader)
        assert producer.produce("t", index) == [E.INVALID_TXN_STATE]
        producer.add("t", index)
        assert producer.produce("t", index) == [E.NONE]
        producer.end(is_commit=False)
        wait_until(lambda: offsets(leader, "t", index) == (2, 2))
        assert producer.produce("t", index, sequence=1) == [E.INVALID_TXN_STATE]
        assert offsets(leader, "t", index) == (2, 2)
        for connection in (*connections, coordinator, leader):
            connection.close()
