"""Ranges: frozen ends, splits, hosts, and offsets that are not there."""

import itertools

import pytest

from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition
from headrace.spark.options import Bound, ScanOptions
from headrace.spark.planner import DataLoss, plan, split

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.fixture
def topics(log):
    """a-0: offsets 0 to 99, ten for each second; a-1: 0 to 9; b-0: empty."""
    for second in range(10):
        log.append(A0, [(None, b"x")] * 10, timestamp_ms=1000 * second)
    log.append(A1, [(None, b"x")] * 10, timestamp_ms=500)
    log.create(*B0)


def planned(broker, **options):
    return [
        (one.topic, one.partition, one.start, one.end)
        for one in plan(ScanOptions(broker.address, **{"topics": ("a", "b"), **options}))
    ]


def test_one_range_a_partition_none_for_an_empty_one(topics, broker):
    assert planned(broker) == [("a", 0, 0, 100), ("a", 1, 0, 10)]


def test_a_range_knows_cluster_hosts_and_directory(topics, broker, log):
    one = plan(ScanOptions(broker.address, ("a",)))[0]
    assert one.cluster_id == "fake-cluster"
    assert one.replicas == ((0, "127.0.0.1", str(log.directory)),)


def test_a_broker_that_tells_no_directories_still_is_a_host(topics, remote_broker):
    assert plan(ScanOptions(remote_broker.address, ("a",)))[0].replicas == ((0, "127.0.0.1", ""),)


@pytest.mark.parametrize("wanted", [1, 2, 4, 11, 300])
def test_min_partitions_splits_by_length_and_loses_nothing(topics, broker, wanted):
    ranges = planned(broker, min_partitions=wanted)
    for partition, end in ((0, 100), (1, 10)):
        cuts = [(start, stop) for _topic, number, start, stop in ranges if number == partition]
        assert cuts[0][0] == 0
        assert cuts[-1][1] == end
        assert all(left[1] == right[0] for left, right in itertools.pairwise(cuts))
    assert len(ranges) >= min(wanted, 110) - 1


def test_no_range_is_longer_than_max_records(topics, broker):
    ranges = planned(broker, max_records_per_partition=30)
    assert max(end - start for _topic, _partition, start, end in ranges) <= 30
    assert sum(end - start for _topic, _partition, start, end in ranges) == 110


@pytest.mark.parametrize(("start", "end", "pieces"), [(0, 10, 3), (5, 6, 9), (0, 1000, 7), (10, 20, 10)])
def test_split_covers(start, end, pieces):
    cuts = split(start, end, pieces)
    assert [offset for low, high in cuts for offset in range(low, high)] == list(range(start, end))
    assert max(high - low for low, high in cuts) - min(high - low for low, high in cuts) <= 1


def test_a_pattern_matches_whole_names_and_leaves_internal_topics_out(topics, broker, log):
    log.append(TopicPartition("ab", 0), [(None, b"x")])
    log.append(TopicPartition("a_internal", 0), [(None, b"x")])
    log.internal.add("a_internal")
    assert {topic for topic, *_ in planned(broker, topics=(), pattern="a")} == {"a"}
    assert {topic for topic, *_ in planned(broker, topics=(), pattern="a.*")} == {"a", "ab"}


def test_assigned_partitions_only(topics, broker):
    assert planned(broker, topics=(), assigned=(A1,)) == [("a", 1, 0, 10)]
    with pytest.raises(ValueError, match="a-7"):
        planned(broker, topics=(), assigned=(A1, TopicPartition("a", 7)))


def test_offsets_by_partition(topics, broker):
    start = Bound(EARLIEST, offsets={A0: 40})
    end = Bound(LATEST, offsets={A0: 60, A1: 3})
    assert planned(broker, start=start, end=end) == [("a", 0, 40, 60), ("a", 1, 0, 3)]


def test_offsets_for_a_partition_that_is_not_read(topics, broker):
    with pytest.raises(ValueError, match="c-0"):
        planned(broker, start=Bound(EARLIEST, offsets={TopicPartition("c", 0): 1}))


def test_timestamps(topics, broker):
    between = {"start": Bound(timestamp=2000), "end": Bound(LATEST, timestamp=4000)}
    assert planned(broker, topics=("a",), unmatched_timestamp_is_latest=True, **between) == [("a", 0, 20, 40)]
    with pytest.raises(ValueError, match=r"a-1.*2000"):
        planned(broker, topics=("a",), **between)
    by_partition = Bound(EARLIEST, timestamps={A0: 9000})
    assert planned(broker, start=by_partition) == [("a", 0, 90, 100), ("a", 1, 0, 10)]


@pytest.mark.parametrize(("offset", "kept"), [(5, 20), (101, 100)])
def test_lost_offsets_fail_or_give_what_is_left(topics, broker, log, offset, kept):
    log.starts[A0] = 20
    start = Bound(EARLIEST, offsets={A0: offset})
    with pytest.raises(DataLoss, match=f"a-0: offset {offset}"):
        planned(broker, start=start)
    left = [("a", 0, kept, 100)] if kept < 100 else []
    assert planned(broker, start=start, fails_on_data_loss=False) == [*left, ("a", 1, 0, 10)]
