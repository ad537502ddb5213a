"""Leader epochs of a stream: kept with its offsets, compared before a micro-batch is read."""

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from headrace.arrow.errors import DataLoss
from headrace.arrow.offset_range import OffsetRange
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.spark.reading import reading_of
from headrace.spark.stream_offsets import epochs_from_json, from_json, to_json
from headrace.spark.stream_options import parse_stream_options
from headrace.spark.stream_reader import HeadraceStreamReader

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


@pytest.fixture
def topics(log, broker):
    for _ in range(3):
        log.append(A0, [(None, b"x")] * 50)
    log.append(A1, [(None, b"x")] * 10)
    broker.epochs = {A0: [(0, 0), (1, 100)], A1: [(0, 0)]}
    return log


@pytest.fixture
def new(topics, broker):
    def make(**options):
        given = {"kafka.bootstrap.servers": broker.address, "subscribe": "a", "startingOffsets": "earliest", **options}
        parsed = parse_stream_options(given)
        return HeadraceStreamReader(parsed, reading_of(parsed.scan, None, None))

    return make


def end_of(reader, start):
    return reader.latestOffset(start, ReadAllAvailable())


def cuts(reader, start, end):
    ranges = [OffsetRange.from_bytes(data) for one in reader.partitions(start, end) for data in one.value]
    return sorted((one.partition, one.start, one.end) for one in ranges)


def cut_and_grow(log, broker):
    """a-0 loses its last 50 records, and gets 80 others from a later leader."""
    log.cut(A0, 100)
    broker.epochs[A0] = [(0, 0), (4, 100)]
    log.append(A0, [(None, b"y")] * 80)


def test_offsets_have_the_epochs_of_the_last_records_and_stay_the_same_text_while_nothing_comes(new, topics, broker):
    reader = new()
    start = reader.initialOffset()
    end = end_of(reader, start)
    assert (from_json(end), epochs_from_json(end)) == ({A0: 150, A1: 10}, {A0: 1, A1: 0})
    assert cuts(reader, start, end) == [(0, 0, 150), (1, 0, 10)]
    broker.leader_epochs = {A0: 3, A1: 3}
    assert end_of(reader, end) == end
    assert cuts(reader, end, end) == []
    topics.append(A1, [(None, b"x")] * 5)
    later = end_of(reader, end)
    assert (from_json(later), epochs_from_json(later)) == ({A0: 150, A1: 15}, {A0: 1, A1: 0})
    assert cuts(reader, end, later) == [(1, 10, 15)]


def test_a_checkpoint_without_epochs_goes_on_and_gets_some_with_new_records(new, topics):
    reader = new()
    old = to_json({A0: 150, A1: 10})
    assert end_of(reader, old) == old
    topics.append(A1, [(None, b"x")] * 5)
    end = end_of(reader, old)
    assert epochs_from_json(end) == {A1: 0}
    assert cuts(reader, old, end) == [(1, 10, 15)]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_log_that_was_cut_and_grew_beyond_the_offsets_is_data_loss(new, topics, broker, is_restarted):
    reader = new()
    end = end_of(reader, reader.initialOffset())
    cut_and_grow(topics, broker)
    reader = new() if is_restarted else reader
    later = end_of(reader, end)
    assert (from_json(later), epochs_from_json(later)) == ({A0: 180, A1: 10}, {A0: 4, A1: 0})
    with pytest.raises(DataLoss, match=r"a-0: the log was truncated.* before offset 150 .*from offset 100 on"):
        reader.partitions(end, later)
    reader = new(failOnDataLoss="false")
    assert cuts(reader, end, later) == [(0, 100, 180)]  # what took the place of the others, too


def test_a_micro_batch_that_is_repeated_and_whose_end_was_cut_off_is_data_loss(new, topics, broker):
    reader = new()
    start = reader.initialOffset()
    end = end_of(reader, start)
    cut_and_grow(topics, broker)
    with pytest.raises(DataLoss, match="a-0: the log was truncated"):
        new().partitions(start, end)


def test_leaders_are_asked_once_for_each_change_of_theirs(new, topics, broker):
    asked = ApiKey.OFFSET_FOR_LEADER_EPOCH
    reader = new()
    at = end_of(reader, reader.initialOffset())
    before = broker.asked[asked]
    for _ in range(3):
        topics.append(A1, [(None, b"x")] * 5)
        end = end_of(reader, at)
        cuts(reader, at, end)
        at = end
    assert broker.asked[asked] == before
    broker.leader_epochs = {A0: 2}
    for _ in range(3):
        topics.append(A1, [(None, b"x")] * 5)
        end = end_of(reader, at)
        cuts(reader, at, end)
        at = end
    assert broker.asked[asked] == before + 1


def test_the_groups_offsets_carry_them(new, topics, broker):
    reader = new(**{"headrace.commit.group": "g"})
    end = end_of(reader, reader.initialOffset())
    reader.commit(end)
    assert broker.committed["g", A0][0] == 150
    assert {name: broker.committed_epochs["g", name] for name in (A0, A1)} == {A0: 1, A1: 0}
    end_of(reader, end)
    assert broker.committed_epochs["g", A0] == 1


def test_a_leader_that_does_not_answer_leaves_the_offsets_without_epochs(new, topics, broker):
    reader = new()
    start = reader.initialOffset()
    broker.fail[ApiKey.OFFSET_FOR_LEADER_EPOCH, 29] = 1  # TOPIC_AUTHORIZATION_FAILED: it is not tried again
    assert end_of(reader, start) == to_json({A0: 150, A1: 10})
