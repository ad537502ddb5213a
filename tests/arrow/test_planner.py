"""Ranges: frozen ends, splits, hosts, and offsets that are not there."""

import contextlib
import itertools

import pytest

from headrace.arrow import planner as planner_module
from headrace.arrow.errors import DataLoss
from headrace.arrow.planner import divide, plan, split
from headrace.arrow.scan_options import Bound, ScanOptions
from headrace.client.cluster import EARLIEST, LATEST
from headrace.client.connection import ConnectionFailed
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import write_partition_metadata
from tests.support.fake_broker import FakeBroker

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
@pytest.mark.parametrize("splits", [False, True])
def test_min_partitions_splits_by_length_and_loses_nothing(topics, broker, wanted, splits):
    ranges = planned(broker, min_partitions=wanted, splits=splits)
    for partition, end in ((0, 100), (1, 10)):
        cuts = [(start, stop) for _topic, number, start, stop in ranges if number == partition]
        assert cuts[0][0] == 0
        assert cuts[-1][1] == end
        assert all(left[1] == right[0] for left, right in itertools.pairwise(cuts))
    assert len(ranges) >= min(wanted, 110) - 1


# what KafkaOffsetRangeCalculator gives: sizes of the partitions, minPartitions, maxRecordsPerPartition -> ranges of each
SPLITS = [
    ([100, 10], None, None, [1, 1]),
    ([100, 10], 2, None, [1, 1]),
    ([100, 10], 4, None, [3, 1]),
    ([100, 100], 3, None, [2, 2]),
    ([100] * 3, 4, None, [1, 1, 1]),
    ([1000, 1, 1], 6, None, [4, 1, 1]),
    ([910, 13, 13, 13, 13, 13, 13, 12], 20, None, [13, 1, 1, 1, 1, 1, 1, 1]),
    ([910, 13, 13, 13, 13, 13, 13, 12], 3, None, [1] * 8),
    ([100, 10], None, 30, [4, 1]),
    ([100, 10], 3, 30, [4, 1]),
    ([100, 0, 10], 3, None, [2, 0, 1]),
    ([1] * 5, 20, None, [1] * 5),
]


@pytest.mark.parametrize(("sizes", "least", "most", "wanted"), SPLITS)
def test_ranges_are_as_many_as_the_connector_makes(sizes, least, most, wanted):
    options = ScanOptions("h:1", min_partitions=least, max_records_per_partition=most)
    bounds = {TopicPartition("a", number): (7, 7 + size) for number, size in enumerate(sizes)}
    ranges = divide(options, bounds)
    assert [sum(name.partition == number for name, _low, _high in ranges) for number in range(len(sizes))] == wanted
    assert sum(high - low for _name, low, high in ranges) == sum(sizes)


def test_in_a_batch_of_the_connector_partitions_without_records_count():
    bounds = {A0: (0, 100), A1: (10, 10)}
    for least, wanted in ((None, [(A0, 0, 100), (A1, 10, 10)]), (2, [(A0, 0, 100), (A1, 10, 10)]), (3, 3)):
        found = divide(ScanOptions("h:1", min_partitions=least, counts_empty=True), bounds)
        assert found == wanted or (len(found) == wanted and {name for name, _low, _high in found} == {A0})
    found = divide(ScanOptions("h:1", max_records_per_partition=50, counts_empty=True), bounds)
    assert found == [(A0, 0, 50), (A0, 50, 100), (A1, 10, 10)]


def test_a_scan_splits_what_one_core_would_read_alone():
    bounds = {A0: (0, 90), A1: (0, 10)}
    assert len(divide(ScanOptions("h:1"), bounds, 4)) == 2
    assert len(divide(ScanOptions("h:1", splits=True), bounds, 4)) == 5


def test_no_range_is_longer_than_max_records(topics, broker):
    ranges = planned(broker, max_records_per_partition=30)
    assert max(end - start for _topic, _partition, start, end in ranges) <= 30
    assert sum(end - start for _topic, _partition, start, end in ranges) == 110


@pytest.mark.parametrize(("start", "end", "pieces"), [(0, 10, 3), (5, 6, 9), (0, 1000, 7), (10, 20, 10)])
def test_split_covers(start, end, pieces):
    cuts = split(start, end, pieces)
    assert [offset for low, high in cuts for offset in range(low, high)] == list(range(start, end))
    assert max(high - low for low, high in cuts) - min(high - low for low, high in cuts) <= 1


def test_a_pattern_is_found_anywhere_in_a_name_and_internal_topics_are_left_out(topics, broker, log):
    log.append(TopicPartition("ab", 0), [(None, b"x")])
    log.append(TopicPartition("a_internal", 0), [(None, b"x")])
    log.internal.add("a_internal")
    found = {
        pattern: {topic for topic, *_ in planned(broker, topics=(), pattern=pattern)} for pattern in ("a", "b$", "^a$")
    }
    assert found == {"a": {"a", "ab"}, "b$": {"ab"}, "^a$": {"a"}}


def test_assigned_partitions_only(topics, broker):
    assert planned(broker, topics=(), assigned=(A1,)) == [("a", 1, 0, 10)]
    with pytest.raises(ValueError, match="a-7"):
        planned(broker, topics=(), assigned=(A1, TopicPartition("a", 7)))


def test_offsets_by_partition(topics, broker):
    start = Bound(EARLIEST, offsets={A0: 40})
    end = Bound(LATEST, offsets={A0: 60, A1: 3})
    assert planned(broker, start=start, end=end) == [("a", 0, 40, 60), ("a", 1, 0, 3)]


def test_offsets_given_by_an_option_name_every_partition(topics, broker):
    start = Bound(EARLIEST, offsets={A0: 40}, option="startingOffsets")
    with pytest.raises(
        ValueError, match=r"option startingOffsets must name every partition that is read: a-1, b-0 missing"
    ):
        planned(broker, start=start)
    end = Bound(LATEST, timestamps={A0: 40, B0: 3}, option="endingOffsetsByTimestamp")
    with pytest.raises(ValueError, match=r"option endingOffsetsByTimestamp must name .*: a-1 missing"):
        planned(broker, end=end)


def test_a_start_after_the_end_is_refused(topics, broker):
    with pytest.raises(ValueError, match="a-0: the start offset 40 is after the end offset 30"):
        planned(broker, start=Bound(EARLIEST, offsets={A0: 40}), end=Bound(LATEST, offsets={A0: 30}))
    with pytest.raises(ValueError, match="a-0: the start offset 50 is after the end offset 20"):
        planned(broker, topics=("a",), start=Bound(timestamps={A0: 5000}), end=Bound(LATEST, timestamp=2000))


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
def test_lost_offsets_fail_or_give_what_is_left_with_a_warning(topics, broker, log, caplog, offset, kept):
    log.starts[A0] = 20
    start = Bound(EARLIEST, offsets={A0: offset})
    with pytest.raises(DataLoss, match=f"a-0: offset {offset}"):
        planned(broker, start=start)
    left = [("a", 0, kept, 100)] if kept < 100 else []
    assert planned(broker, start=start, fails_on_data_loss=False) == [*left, ("a", 1, 0, 10)]
    assert [record.levelname for record in caplog.records if f"a-0: offset {offset} is not" in record.message] == [
        "WARNING"
    ]


def test_a_range_carries_the_topics_id_from_the_cluster_or_from_files_here(topics, broker, remote_broker, log):
    assert plan(ScanOptions(broker.address, ("a",)))[0].topic_id == ""
    write_partition_metadata(log.partition_directory(A0) / "partition.metadata", "ab" * 16)
    assert plan(ScanOptions(broker.address, ("a",)))[0].topic_id == "ab" * 16
    assert plan(ScanOptions(remote_broker.address, ("a",)))[0].topic_id == ""
    remote_broker.topic_ids["a"] = "cd" * 16
    assert plan(ScanOptions(remote_broker.address, ("a",)))[0].topic_id == "cd" * 16


class Time:
    """A clock that sleeping moves, and something that happens at a time."""

    def __init__(self, at_s=1e9, event=None):
        self.now_s = 0.0
        self._at_s, self._event = at_s, event

    def sleep(self, seconds):
        self.now_s += seconds
        if self.now_s >= self._at_s and self._event:
            event, self._event = self._event, None
            event()

    def clock(self):
        return self.now_s


def test_planning_waits_for_a_node_that_restarts_and_says_so(topics, log, caplog):
    with FakeBroker(log) as gone:
        options = ScanOptions(gone.address, ("a",))
        port = gone.port
    back = contextlib.ExitStack()
    time = Time(20, lambda: back.enter_context(FakeBroker(log, port=port)))
    with back:
        assert len(plan(options, 1, time.clock, time.sleep)) == 2
    assert 20 <= time.now_s < 30
    assert [record.message.partition(":")[0] for record in caplog.records] == ["planning waits up to 30 s"]


def test_planning_gives_up_in_the_end_and_at_once_where_waiting_does_not_help(topics, log, broker):
    with FakeBroker(log) as gone:
        options = ScanOptions(gone.address, ("a",), attempts=2)
    time = Time()
    with pytest.raises(ConnectionFailed, match="no broker responded"):
        plan(options, 1, time.clock, time.sleep)
    assert 20 <= time.now_s < 22
    time = Time()
    with pytest.raises(KafkaError, match="nowhere"):
        plan(ScanOptions(broker.address, ("nowhere",)), 1, time.clock, time.sleep)
    assert time.now_s == 0


def test_a_directory_that_is_here_and_closed_is_told(topics, broker, log, caplog, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(planner_module, "is_directory_of", refuse)
    plan(ScanOptions(broker.address, ("a",)))
    (told,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert f"{log.directory} is on this host but not readable" in told.message
