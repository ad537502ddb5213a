"""A node that leads, and a broker that follows as the test wants: what is committed, who is in sync, what clients are told.

Runs over a real node and its ZooKeeper; the follower is `tests/support/fake_follower.py`.
"""

import time
import uuid

import pytest

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from tests.conftest import start_node
from tests.support.fake_follower import FakeFollower
from tests.support.waiting import wait_until

FOLLOWER = 7
LAG_MS = 1_500
SETTINGS = (
    f"replica.lag.time.max.ms={LAG_MS}", "headrace.network.workers=2", "headrace.partition.workers=1",
    "zookeeper.session.timeout.ms=4000", "offsets.topic.num.partitions=1",
)  # fmt: skip


class Leading:
    """A node, a topic that it leads, its follower."""

    def __init__(self, node):
        self.node = node
        self.follower = FakeFollower(FOLLOWER, node.zookeeper)
        self.topic = ""
        self.topic_id = b""
        self.connection = Connection(*node.address)
        self.producer = Connection(*node.address)

    def create(self, **configs):
        self.topic = f"led-{uuid.uuid4().hex[:8]}"
        wait_until(lambda: FOLLOWER in self.brokers(), "the follower is not in the view")
        request = messages.CreateTopicsRequest
        topic = request.CreatableTopic(
            name=self.topic, num_partitions=-1, replication_factor=-1,
            assignments=[request.CreatableReplicaAssignment(partition_index=0, broker_ids=[0, FOLLOWER])],
            configs=[request.CreatableTopicConfig(key.replace("_", "."), str(value)) for key, value in configs.items()],
        )  # fmt: skip
        answer = self.ask(ApiKey.CREATE_TOPICS, 5, request(topics=[topic], timeout_ms=10_000)).topics[0]
        assert answer.error_code == 0, answer
        wait_until(lambda: self.describe() is not None and self.describe().leader_id == 0, "nobody leads")
        self.topic_id = self.metadata().topic_id

    def brokers(self):
        answer = self.ask(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[]))
        return {broker.node_id for broker in answer.brokers}

    def ask(self, key, version, request):
        return self.connection.request(key, version, request)

    def metadata(self):
        topic = messages.MetadataRequest.MetadataRequestTopic(name=self.topic)
        return self.ask(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[topic])).topics[0]

    def describe(self):
        partitions = self.metadata().partitions
        return partitions[0] if partitions else None

    def isr(self):
        return sorted(self.describe().isr_nodes)

    def produce(self, acks=-1, timeout_ms=1_000):
        """(error, base offset) of a batch of one record."""
        self.send(acks, timeout_ms)
        return self.produced()

    def send(self, acks=-1, timeout_ms=10_000):
        request = messages.ProduceRequest
        data = request.PartitionProduceData(0, build_batch([(None, b"value")], timestamp_ms=int(time.time() * 1000)))
        message = request(acks=acks, timeout_ms=timeout_ms, topic_data=[request.TopicProduceData(self.topic, [data])])
        self.producer.send(ApiKey.PRODUCE, 8, message)

    def produced(self):
        row = self.producer.receive().responses[0].partition_responses[0]
        return ErrorCode(row.error_code).name, row.base_offset

    def offset(self, timestamp=-1, isolation=0):
        """(error, offset, leader epoch)"""
        request = messages.ListOffsetsRequest
        wanted = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = request.ListOffsetsTopic(name=self.topic, partitions=[wanted])
        message = request(replica_id=-1, isolation_level=isolation, topics=[topic])
        row = self.ask(ApiKey.LIST_OFFSETS, 5, message).topics[0].partitions[0]
        return ErrorCode(row.error_code).name, row.offset, row.leader_epoch

    def fetch(self, offset, **options):
        return self.follower.fetch(self.node.address, self.topic_id, offset, **options)

    def delete_records(self, offset, timeout_ms):
        request = messages.DeleteRecordsRequest
        wanted = request.DeleteRecordsPartition(partition_index=0, offset=offset)
        message = request(topics=[request.DeleteRecordsTopic(self.topic, [wanted])], timeout_ms=timeout_ms)
        row = self.ask(ApiKey.DELETE_RECORDS, 1, message).topics[0].partitions[0]
        return ErrorCode(row.error_code).name, row.low_watermark

    def close(self):
        self.follower.stop()
        wait_until(lambda: FOLLOWER not in self.brokers(), "the follower stayed in the view")
        self.connection.close()
        self.producer.close()


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    running = start_node(tmp_path_factory.mktemp("leader"), *SETTINGS)
    yield running
    running.stop()


@pytest.fixture
def leading(node):
    leading = Leading(node)
    leading.follower.start()
    yield leading
    leading.close()


def test_the_mark_moves_by_the_followers_fetches_alone(leading):
    leading.create()
    assert leading.isr() == [0, FOLLOWER]
    assert leading.produce(acks=1) == ("NONE", 0)
    row = leading.fetch(0)
    assert (ErrorCode(row.error_code).name, row.high_watermark, len(row.records) > 0) == ("NONE", 0, True)
    assert leading.offset()[:2] == ("NONE", 0)
    assert leading.produce(timeout_ms=100)[0] == "REQUEST_TIMED_OUT"
    leading.fetch(2)
    wait_until(lambda: leading.offset()[:2] == ("NONE", 2), leading.offset)


def test_a_produce_of_a_client_is_answered_by_the_fetch_that_has_it(leading):
    leading.create()
    leading.send()
    row = leading.fetch(0, max_wait_ms=5_000)
    assert len(row.records), "a fetch that waits hears of it"
    leading.fetch(1)
    assert leading.produced() == ("NONE", 0)


def test_the_isr_shrinks_when_it_stops_and_grows_when_it_is_back(leading):
    leading.create()
    assert leading.produce(acks=1) == ("NONE", 0)
    leading.send()
    assert leading.produced() == ("NONE", 1), "it is late, and waited for no more"
    assert leading.isr() == [0]
    assert leading.offset()[:2] == ("NONE", 2)
    leading.fetch(1)
    time.sleep(0.2)
    assert leading.isr() == [0], "it lacks what is committed"
    leading.fetch(2)
    wait_until(lambda: leading.isr() == [0, FOLLOWER], leading.isr)
    assert leading.produce(timeout_ms=100)[0] == "REQUEST_TIMED_OUT"


def test_at_the_logs_end_nobody_is_late(leading):
    leading.create()
    leading.produce(acks=1)
    leading.fetch(1)
    time.sleep(2 * LAG_MS / 1000)
    assert leading.isr() == [0, FOLLOWER]


def test_a_follower_of_an_earlier_life_comes_not_into_the_isr(leading):
    """KAFKA-14617, KIP-903."""
    leading.create()
    leading.produce(acks=1)
    leading.send()
    assert leading.produced()[0] == "NONE"
    assert leading.isr() == [0]
    row = leading.fetch(2, broker_epoch=leading.follower.epoch - 1)
    assert ErrorCode(row.error_code).name == "NOT_LEADER_OR_FOLLOWER"
    time.sleep(0.2)
    assert leading.isr() == [0]


def test_below_the_minimum_of_in_sync_replicas_nothing_is_taken_nor_committed(leading):
    leading.create(min_insync_replicas=2)
    assert leading.produce(acks=1) == ("NONE", 0)
    wait_until(lambda: leading.isr() == [0], leading.isr)
    assert leading.produce()[0] == "NOT_ENOUGH_REPLICAS"
    assert leading.produce(acks=1) == ("NONE", 1)
    assert leading.offset()[:2] == ("NONE", 0)
    leading.fetch(2)
    wait_until(lambda: leading.isr() == [0, FOLLOWER], leading.isr)
    wait_until(lambda: leading.offset()[:2] == ("NONE", 2), leading.offset)


@pytest.mark.parametrize("process", ["hr-partition-0", "hr-controlle-0"])
def test_a_process_that_is_killed_commits_nothing_by_itself(leading, process):
    leading.create()
    leading.produce(acks=1)
    leading.fetch(1)
    wait_until(lambda: leading.offset()[1] == 1, leading.offset)
    leading.produce(acks=1)
    leading.node.kill(process)

    def is_served():
        error, offset, _epoch = leading.offset()
        assert (error, offset) != ("NONE", 2)
        return (error, offset) == ("NONE", 1) and leading.fetch(1).error_code == 0

    wait_until(is_served, leading.offset)
    leading.fetch(2)
    wait_until(lambda: leading.offset()[1] == 2, leading.offset)
    leading.produce(acks=1)
    wait_until(lambda: leading.isr() == [0], leading.isr)
    leading.fetch(3)
    wait_until(lambda: leading.isr() == [0, FOLLOWER], leading.isr)


def test_records_are_deleted_once_the_follower_has_deleted_them(leading):
    leading.create()
    for _ in range(3):
        leading.produce(acks=1)
    leading.fetch(3)
    wait_until(lambda: leading.offset()[1] == 3, leading.offset)
    assert leading.delete_records(2, 200) == ("REQUEST_TIMED_OUT", -1)
    row = leading.fetch(3)
    assert row.log_start_offset == 2
    leading.fetch(3, log_start=2)
    assert leading.delete_records(2, 5_000) == ("NONE", 2)


def test_a_follower_with_another_history_is_told_where_it_ends(leading):
    leading.create()
    leading.produce(acks=1)
    row = leading.fetch(5, leader_epoch=0, fetched_epoch=0)
    assert (row.error_code, row.diverging_epoch) == (0, (0, 1))
    assert ErrorCode(leading.fetch(0, leader_epoch=1).error_code).name == "UNKNOWN_LEADER_EPOCH"


def test_who_is_no_broker_gets_nothing(leading):
    """CVE-2018-1288."""
    leading.create()
    leading.produce(acks=1)
    leading.follower.node_id = 8
    assert ErrorCode(leading.fetch(0).error_code).name == "CLUSTER_AUTHORIZATION_FAILED"
    leading.follower.node_id = 0
    assert ErrorCode(leading.fetch(0).error_code).name == "CLUSTER_AUTHORIZATION_FAILED"
