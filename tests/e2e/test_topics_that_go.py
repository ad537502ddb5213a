"""Topics that are deleted and made again, and topics that ZooKeeper loses: files and committed offsets over both."""

import os
import signal

import pytest

from headrace.client.connection import Connection, ConnectionFailed
from headrace.controller.zookeeper import znodes
from headrace.errors import ErrorCode
from headrace.ids import OFFSETS_TOPIC, coordinator_partition, owner_of
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch, iterate_batches
from tests.support.waiting import DEADLINE_S, stop_whole, wait_until
from tests.support.zookeeper_client import ZooKeeperClient

GROUP = "readers"
WORKERS = 2
HOST = owner_of(OFFSETS_TOPIC, coordinator_partition(GROUP, 1), WORKERS)  # index of the worker with the coordinator
TOPIC = next(name for name in map("topic{}".format, range(100)) if owner_of(name, 0, WORKERS) != HOST)
RECORDS = 20


class Client:
    """Just enough of one."""

    def __init__(self, node):
        self.node = node
        self.connection = Connection(*node.address)

    def ask(self, *request):
        """Again, where the death of a worker closed the connection."""
        try:
            return self.connection.request(*request)
        except ConnectionFailed:
            self.connection.close()
            self.connection = Connection(*self.node.address)
            return self.connection.request(*request)

    def create(self, timeout_ms=30_000):
        kind = messages.CreateTopicsRequest
        request = kind(
            topics=[kind.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)], timeout_ms=timeout_ms
        )
        return ErrorCode(self.ask(ApiKey.CREATE_TOPICS, 6, request).topics[0].error_code)

    def delete(self, timeout_ms):
        request = messages.DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=timeout_ms)
        return ErrorCode(self.ask(ApiKey.DELETE_TOPICS, 5, request).responses[0].error_code)

    def is_known(self):
        request = messages.MetadataRequest(topics=None, allow_auto_topic_creation=False)
        return TOPIC in {topic.name for topic in self.ask(ApiKey.METADATA, 8, request).topics}

    def produce(self):
        kind = messages.ProduceRequest
        batch = bytes(build_batch([(None, b"%d" % number) for number in range(RECORDS)]))
        data = kind.TopicProduceData(TOPIC, [kind.PartitionProduceData(0, batch)])
        answer = self.ask(ApiKey.PRODUCE, 8, kind(acks=-1, timeout_ms=5_000, topic_data=[data]))
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def count(self):
        """Records that are there."""
        kind = messages.FetchRequest
        row = kind.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = kind(
            max_wait_ms=0, max_bytes=1 << 20, session_epoch=-1, topics=[kind.FetchTopic(topic=TOPIC, partitions=[row])]
        )
        [[partition]] = [topic.partitions for topic in self.ask(ApiKey.FETCH, 11, request).responses]
        return sum(header.record_count for _, header, _ in iterate_batches(bytes(partition.records or b"")))

    def commit(self, offset):
        find = messages.FindCoordinatorRequest(key=GROUP)
        if self.ask(ApiKey.FIND_COORDINATOR, 2, find).error_code:
            return False
        kind = messages.OffsetCommitRequest
        row = kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = kind(group_id=GROUP, topics=[kind.OffsetCommitRequestTopic(name=TOPIC, partitions=[row])])
        answer = self.ask(ApiKey.OFFSET_COMMIT, 7, request)
        return answer.topics[0].partitions[0].error_code == 0

    def committed(self):
        """None while the groups are being read."""
        kind = messages.OffsetFetchRequest
        request = kind(group_id=GROUP, topics=[kind.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])])
        answer = self.ask(ApiKey.OFFSET_FETCH, 5, request)
        return None if answer.error_code else answer.topics[0].partitions[0].committed_offset


@pytest.fixture
def node(node_factory):
    return node_factory(
        "node",
        f"headrace.partition.workers={WORKERS}",
        "headrace.network.workers=1",
        "offsets.topic.num.partitions=1",
        f"headrace.worker.hang.timeout.ms={int(10 * DEADLINE_S * 1000)}",
    )


@pytest.fixture
def client(node):
    client = Client(node)
    assert client.create() == ErrorCode.NONE
    wait_until(lambda: client.produce() == ErrorCode.NONE)
    wait_until(lambda: client.commit(RECORDS // 2))
    assert client.committed() == RECORDS // 2
    yield client
    client.connection.close()


@pytest.mark.parametrize("comes_back_by", [signal.SIGCONT, signal.SIGKILL])
def test_a_topic_made_while_the_coordinator_slept_has_no_offsets_of_the_one_before(node, client, comes_back_by):
    pid = node.pid(f"hr-partition-{HOST}")
    stop_whole(pid)
    try:
        assert client.delete(timeout_ms=500) == ErrorCode.REQUEST_TIMED_OUT
        wait_until(lambda: not (node.log_dir / f"{TOPIC}-0").exists())
        assert client.create() == ErrorCode.TOPIC_ALREADY_EXISTS
    finally:
        os.kill(pid, comes_back_by)
    wait_until(lambda: client.create() == ErrorCode.NONE)
    assert client.committed() == -1
    wait_until(lambda: client.produce() == ErrorCode.NONE)
    assert client.count() == RECORDS
    assert client.commit(1)
    node.kill(f"hr-partition-{HOST}")
    assert wait_until(lambda: (client.committed() or 0) > 0 and client.committed()) == 1


def test_a_topic_that_zookeeper_loses_is_back_with_records_and_offsets_when_it_is_put_back(node, client):
    session = ZooKeeperClient(node.zookeeper, 10_000)
    session.start(DEADLINE_S)
    try:
        paths = session.tree(znodes.topic_path(TOPIC))
        lost = dict(zip(paths, session.get_many(paths), strict=True))
        for path in paths:
            session.delete(path)
        wait_until(lambda: not client.is_known())
        wait_until(
            lambda: "topic released, its files and offsets are kept" in (node.directory / "node.log").read_text()
        )
        node.kill(f"hr-partition-{HOST}")
        assert wait_until(lambda: client.committed() is not None and client.committed()) == RECORDS // 2
        assert (node.log_dir / f"{TOPIC}-0").is_dir()
        for path in reversed(paths):
            session.ensure(path, lost[path].data)  # the controller may be faster with the states
        wait_until(lambda: client.is_known() and client.produce() == ErrorCode.NONE)
        assert client.count() == 2 * RECORDS
        assert client.committed() == RECORDS // 2
    finally:
        session.stop()
    assert not list(node.log_dir.glob("*-delete"))
