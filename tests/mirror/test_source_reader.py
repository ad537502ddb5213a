"""A partition that can't be fetched waits by itself, the others of its source go on. A source that does not respond is left alone."""

from types import SimpleNamespace

from headrace.client.connection import ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.mirror.identity import LaneName
from headrace.mirror.outage import AWAY_FIRST_S, SHARE, Outage
from headrace.mirror.partition_copy import CopyState, PartitionCopy
from headrace.mirror.source import Source
from headrace.mirror.source_reader import UNKNOWN_PAUSE_S, SourceReader


class FakeConnection:
    """Takes fetches; a test gives the answers."""

    address = "fake:9092"

    def __init__(self):
        self.asked = []
        self.answer = None

    def version(self, _key, _low, high):
        return high

    def send(self, _key, _version, request):
        self.asked.append([topic.topic for topic in request.topics])

    def receive(self, _timeout_s):
        return self.answer


class FakeCluster:
    """Leader 1 has all partitions. `failure` is what a refresh raises."""

    def __init__(self):
        self.topic_ids = {}
        self.failure = None
        self.refreshed = 0
        self.fake = FakeConnection()

    def refresh(self, _topics):
        self.refreshed += 1
        if self.failure is not None:
            raise self.failure

    def leader(self, _name):
        return 1

    def connection(self, _node_id):
        return self.fake


def copy_of(topic):
    lane = SimpleNamespace(next_offset=0, leader_epoch=-1, queued_bytes=0)
    one = PartitionCopy(LaneName("m", "s", topic, 0), TopicPartition(topic, 0), state=CopyState.COPYING)
    one.lane = lane
    return one


def answer(**codes):
    """Topic -> its error code."""
    rows = [
        SimpleNamespace(topic=topic, partitions=[SimpleNamespace(partition_index=0, error_code=int(code))])
        for topic, code in codes.items()
    ]
    return SimpleNamespace(error_code=0, responses=rows)


def reader_of(cluster):
    rows = []
    outage = Outage(lambda: 0.0)
    made = SourceReader(
        cluster, outage, True, lambda copy, _row: rows.append(copy.name.topic), lambda _copy, _failure: None
    )
    return made, rows


def test_a_topic_that_was_deleted_at_the_source_hinders_no_other_one():
    cluster = FakeCluster()
    reader, rows = reader_of(cluster)
    copies = [copy_of("gone"), copy_of("kept")]
    reader.send(copies, 0.0, True)
    cluster.failure = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic gone")
    cluster.fake.answer = answer(gone=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, kept=ErrorCode.NONE)
    now_s = 0.0
    for _ in range(10):
        reader.receive(1, now_s)
        cluster.fake.answer = answer(kept=ErrorCode.NONE)
        now_s += 0.05
        reader.send(copies, now_s, True)
    assert rows == ["kept"] * 10
    assert all(topics == ["kept"] for topics in cluster.fake.asked[1:])
    reader.receive(1, now_s)
    reader.send(copies, now_s + UNKNOWN_PAUSE_S, True)
    assert set(cluster.fake.asked[-1]) == {"gone", "kept"}, "it is tried again"
    assert copies[0].reason


class FakeClock:
    """Each try takes a second."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


class AbsentCluster:
    """It takes a second to find that there is nothing."""

    def __init__(self, clock):
        self.clock = clock
        self.tries = 0
        self.is_there = False
        self.cluster_id = "id"

    def refresh(self, _topics):
        self.tries += 1
        self.clock.now_s += 1.0
        if not self.is_there:
            raise ConnectionFailed("no broker responded")


def test_a_source_that_does_not_respond_takes_a_tenth_of_the_time():
    clock = FakeClock()
    cluster = AbsentCluster(clock)
    outage = Outage(clock)
    source = Source("a:1", cluster, None, outage)
    reader = SourceReader(cluster, outage, True, None, lambda _copy, _failure: None)
    assert not source.responds()
    for _ in range(SHARE):
        assert not source.responds()
        reader.send([copy_of("kept")], clock.now_s, True)
        assert cluster.tries == 1
        clock.now_s += 1.0
    reader.send([copy_of("kept")], clock.now_s, True)
    assert cluster.tries == 2, "the reader finds it away as well"
    assert not source.responds()
    assert cluster.tries == 2
    clock.now_s += SHARE
    cluster.is_there = True
    assert source.responds()
    assert source.source_id == "id"
    assert source.responds()
    assert cluster.tries == 4


def test_metadata_is_asked_for_again_after_a_pause_while_no_broker_responds():
    cluster = FakeCluster()
    cluster.failure = ConnectionFailed("no broker responded")
    clock = FakeClock()
    outage = Outage(clock)
    reader = SourceReader(cluster, outage, True, None, lambda _copy, _failure: None)
    for number in range(10):
        clock.now_s = 100.0 + number * AWAY_FIRST_S / 5
        reader.send([copy_of("kept")], clock.now_s, True)
    assert cluster.refreshed == 2
