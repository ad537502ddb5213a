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
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, build_batch
from headrace.testing.cluster import KafkaCluster
from tests.support.waiting import DEADLINE_S, wait_until

COMMIT_VERSION = 3
AGAIN = (E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.CONCURRENT_TRANSACTIONS)


class RawProducer:
    """A transactional producer that sends what it is asked to send.

    coordinator, leader, group   connections to the nodes of these
    """

    def __init__(self, name, coordinator, leader=None):
        self.name = name
        self.coordinator, self.leader = coordinator, leader or coordinator
        self.sequence = 0
        request = messages.InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        found = self._retried(ApiKey.INIT_PRODUCER_ID, 4, request)
        self.producer_id, self.epoch = found.producer_id, found.producer_epoch

    def _retried(self, api_key, version, request):
        answers = []

        def is_answered():
            answers[:] = [self.coordinator.request(api_key, version, request)]
            return answers[0].error_code not in AGAIN

        wait_until(is_answered)
        assert answers[0].error_code == E.NONE, E(answers[0].error_code)
        return answers[0]

    def add(self, topic, *partitions):
        row = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))
        request = messages.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[row],
        )

        def is_added():
            (found,) = self.coordinator.request(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request).results_by_topic_v3_and_below
            codes = {one.partition_error_code for one in found.results_by_partition}
            assert codes <= {0, *AGAIN}
            return codes == {0}

        wait_until(is_added)

    def add_offsets(self, group):
        request = messages.AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=self.producer_id, producer_epoch=self.epoch, group_id=group
        )
        self._retried(ApiKey.ADD_OFFSETS_TO_TXN, 3, request)

    def end(self, *, is_commit):
        request = messages.EndTxnRequest(
            transactional_id=self.name, producer_id=self.producer_id, producer_epoch=self.epoch, committed=is_commit
        )
        self._retried(ApiKey.END_TXN, 3, request)

    def produce(self, topic, *partitions, name="", sequence=None, version=9):
        """The errors, by partition. name: '' is the producer's own"""
        sequence = self.sequence if sequence is None else sequence
        records = build_batch(
            [(b"k", b"v")],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL_BIT,
        )
        rows = [
            messages.ProduceRequest.PartitionProduceData(index=index, records=memoryview(records))
            for index in partitions
        ]
        data = messages.ProduceRequest.TopicProduceData(name=topic, partition_data=rows)
        request = messages.ProduceRequest(
            transactional_id=self.name if name == "" else name, acks=-1, timeout_ms=20_000, topic_data=[data]
        )
        (found,) = self.leader.request(ApiKey.PRODUCE, version, request).responses
        return [E(row.error_code) for row in found.partition_responses]

    def commit_offset(self, group, topic, offset, version=COMMIT_VERSION):
        row = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        topics = [messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic, partitions=[row])]
        request = messages.TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=-1,
            member_id="",
            topics=topics,
        )
        (found,) = self.leader.request(ApiKey.TXN_OFFSET_COMMIT, version, request).topics
        return E(found.partitions[0].error_code)


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


def offsets(connection, topic, partition=0):
    """(last stable offset, high watermark)."""
    found = []
    for isolation in (1, 0):
        row = messages.ListOffsetsRequest.ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=-1, timestamp=-1
        )
        topics = [messages.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[row])]
        request = messages.ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        found.append(connection.request(ApiKey.LIST_OFFSETS, 5, request).topics[0].partitions[0].offset)
    return tuple(found)


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
