"""What goes into a produce request: one batch for a partition, also where several copies write to it; whom a failure holds up."""

from types import SimpleNamespace

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.mirror.identity import LaneName
from headrace.mirror.lane import Outgoing
from headrace.mirror.partition_copy import CopyState, Outlet, PartitionCopy
from headrace.mirror.passage import Piece, Run
from headrace.mirror.target_writer import TargetWriter
from headrace.protocol.record_batch import build_batch, producer_of

TARGET = TopicPartition("clicks", 0)


class FakeConnection:
    """Takes requests, and never answers."""

    address = "fake:9092"

    def __init__(self):
        self.sent = []

    def version(self, _key, _low, high):
        return high

    def send(self, _key, _version, request):
        self.sent.append([row for topic in request.topic_data for row in topic.partition_data])

    def fileno(self):
        return 1


class FakeQueue:
    """Has so many batches."""

    def __init__(self, producer_id, batches):
        self.producer_id = producer_id
        self.left = batches
        self.is_idle = False

    def next_batch(self):
        if not self.left:
            return None
        self.left -= 1
        batch = bytearray(build_batch([(b"k", b"v")]))
        return Outgoing(Piece(batch, 1, (Run(0, 1, False),), 1, 0, -1), 0, "")

    def sequence_of(self, outgoing):
        return outgoing.ordinal


def outlet(producer_id, batches):
    copy = PartitionCopy(LaneName("m", f"source {producer_id}", "clicks", 0), TARGET, state=CopyState.COPYING)
    return Outlet(copy, TARGET, FakeQueue(producer_id, batches))


def test_copies_that_write_to_one_partition_take_turns():
    connection = FakeConnection()
    cluster = SimpleNamespace(
        refresh=lambda _topics: None, leader=lambda _name: 1, connection=lambda _node_id: connection
    )
    writer = TargetWriter(cluster, lambda _outlet: True, None, None, None)
    outlets = [outlet(1, 10), outlet(2, 10)]
    assert writer.send(outlets, 0.0) == 5
    assert all(len(rows) == 1 for rows in connection.sent), "two batches for a partition in one request"
    assert sum(one.in_flight for one in outlets) == len(connection.sent) == 5
    first = producer_of(memoryview(bytes(connection.sent[0][0].records)))[0]
    fresh, other = FakeConnection(), [outlet(1, 10), outlet(2, 10)]
    connection = fresh
    writer._lines.clear()
    writer.send(other, 0.0)
    assert producer_of(memoryview(bytes(fresh.sent[0][0].records)))[0] != first


def test_a_topic_that_was_deleted_at_the_target_hinders_no_other_one():
    connection = FakeConnection()

    def refresh(_topics):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic gone")

    def leader(name):
        if name.topic == "gone":
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(name))
        return 1

    cluster = SimpleNamespace(refresh=refresh, leader=leader, connection=lambda _node_id: connection)
    writer = TargetWriter(cluster, lambda _outlet: True, None, None, None)
    kept, gone = outlet(1, 3), outlet(2, 3)
    gone.target = TopicPartition("gone", 0)
    assert writer.send([gone, kept], 0.0) == 3
    kept.lane.left = 2
    assert writer.send([gone, kept], 0.01) == 2, "it waited for the metadata of the other one"
