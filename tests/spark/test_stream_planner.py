"""What a stream's micro-batches read: from where, how much, and what counts as lost."""

import pytest

from headrace.arrow.errors import DataLoss
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.spark import stream_planner
from headrace.spark.stream_options import parse_stream_options
from headrace.spark.stream_planner import StreamPlanner

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class Time:
    def __init__(self):
        self.now_s = 1000.0

    def clock(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def topics(log):
    """a-0: 100 records, a-1: 10."""
    log.append(A0, [(None, b"x")] * 100, timestamp_ms=1000)
    log.append(A1, [(None, b"x")] * 10, timestamp_ms=5000)
    return log


@pytest.fixture
def new(topics, broker, time):
    def make(**options):
        given = {"kafka.bootstrap.servers": broker.address, "startingOffsets": "earliest", **options}
        if "subscribePattern" not in given and "assign" not in given:
            given["subscribe"] = "a"
        return StreamPlanner(parse_stream_options(given), time.clock, time.sleep)

    return make


def cuts(ranges):
    return sorted((TopicPartition(one.topic, one.partition), one.start, one.end) for one in ranges)


def test_a_new_query_starts_where_the_options_say(new):
    assert new().initial() == {A0: 0, A1: 0}
    assert new(startingOffsets="latest").initial() == {A0: 100, A1: 10}
    assert new(startingOffsets='{"a":{"0":7,"1":-1}}').initial() == {A0: 7, A1: 10}
    assert new(startingTimestamp="1000").initial() == {A0: 0, A1: 0}
    by_time = '{"a":{"0":2000,"1":4000}}'
    refused = new(startingOffsetsByTimestamp=by_time)
    with pytest.raises(ValueError, match="a-0: no record at or after timestamp 2000"):
        refused.latest(refused.initial(), is_limited=False)
    refused = new(startingOffsets='{"a":{"0":7}}')
    with pytest.raises(ValueError, match="must name every partition that is read: a-1 missing"):
        refused.latest(refused.initial(), is_limited=False)
    late = new(startingOffsetsByTimestamp=by_time, startingOffsetsByTimestampStrategy="latest")
    assert late.initial() == {A0: 100, A1: 0}


def test_the_start_is_resolved_once_for_spark_asks_twice(new, topics):
    planner = new(startingOffsets="latest")
    assert planner.initial() == {A0: 100, A1: 10}
    topics.append(A0, [(None, b"x")] * 5)
    assert planner.initial() == {A0: 100, A1: 10}


def test_a_micro_batch_ends_at_the_high_watermark(new, topics):
    planner = new()
    start = planner.initial()
    assert planner.latest(start, is_limited=False) == {A0: 100, A1: 10}
    assert cuts(planner.ranges(start, {A0: 100, A1: 10})) == [(A0, 0, 100), (A1, 0, 10)]
    topics.append(A1, [(None, b"x")] * 3)
    assert planner.latest({A0: 100, A1: 10}, is_limited=False) == {A0: 100, A1: 13}
    assert cuts(planner.ranges({A0: 100, A1: 10}, {A0: 100, A1: 13})) == [(A1, 10, 13)]
    assert planner.newest == {A0: 100, A1: 13}


def test_the_first_micro_batch_from_the_latest_offset_is_empty_so_that_the_checkpoint_has_the_start(new, topics):
    planner = new(startingOffsets="latest")
    start = planner.initial()
    topics.append(A0, [(None, b"x")] * 5)
    assert planner.latest(start, is_limited=False) == start
    assert planner.ranges(start, start) == []
    assert planner.latest(start, is_limited=False) == {A0: 105, A1: 10}


def test_a_restart_before_the_first_micro_batch_was_done_loses_nothing(new, topics):
    first = new(startingOffsets="latest")
    end = first.latest(first.initial(), is_limited=False)  # what the checkpoint has; the process dies
    topics.append(A0, [(None, b"x")] * 5)
    second = new(startingOffsets="latest")
    later = second.initial()
    assert later == {A0: 105, A1: 10}
    assert second.ranges(later, end) == []
    assert cuts(second.ranges(end, second.latest(end, is_limited=False))) == [(A0, 100, 105)]


def resumed(new, topics, is_now=False, **options):
    """A query whose first micro-batch was planned and not done when a partition and a topic came; what it reads then, and next."""
    options = {"subscribePattern": "^[ab]$", **options}
    first = new(**options)
    if is_now:
        first.freeze()
    end = first.latest(first.initial(), is_limited=False)  # what the checkpoint has; the process dies
    topics.append(TopicPartition("a", 2), [(None, b"x")] * 4)
    topics.append(B0, [(None, b"x")] * 6)
    second = new(**options)
    if is_now:
        second.freeze()
    again = cuts(second.ranges(second.initial(), end))
    after = second.latest(end, is_limited=False)
    return again, cuts(second.ranges(end, after))


@pytest.mark.parametrize("strictness", ["true", "false"])
@pytest.mark.parametrize("is_now", [True, False])
@pytest.mark.parametrize(
    ("start", "firsts"),
    [
        ({}, [(A0, 0, 100), (A1, 0, 10)]),
        ({"startingOffsets": "latest"}, []),
        ({"startingOffsets": '{"a":{"0":7,"1":-2}}'}, [(A0, 7, 100), (A1, 0, 10)]),
        ({"startingOffsetsByTimestamp": '{"a":{"0":900,"1":4000}}'}, [(A0, 0, 100), (A1, 0, 10)]),
        ({"startingTimestamp": "500"}, [(A0, 0, 100), (A1, 0, 10)]),
    ],
)
def test_partitions_that_came_before_the_first_micro_batch_was_done_belong_to_the_next(
    new, topics, is_now, start, firsts, strictness, caplog
):
    news = [(TopicPartition("a", 2), 0, 4), (B0, 0, 6)]
    assert resumed(new, topics, is_now, failOnDataLoss=strictness, **start) == (firsts, news)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_a_new_partition_without_a_late_record_does_not_end_a_query_that_goes_on(new, topics):
    topics.append(B0, [(None, b"x")] * 6, timestamp_ms=1)
    first = new(startingTimestamp="900")
    end = first.latest(first.initial(), is_limited=False)
    second = new(startingTimestamp="900", subscribePattern="^[ab]$")
    assert cuts(second.ranges(second.initial(), end)) == [(A0, 0, 100), (A1, 0, 10)]
    assert cuts(second.ranges(end, second.latest(end, is_limited=False))) == [(B0, 0, 6)]


def test_what_the_first_micro_batch_was_to_read_and_retention_removed_is_lost(new, topics, caplog):
    topics.append(A1, [(None, b"x")] * 20)
    topics.starts[A1] = 20
    for strictness in ("true", "false"):
        planner = new(failOnDataLoss=strictness)
        start = planner.initial()
        if strictness == "true":
            with pytest.raises(
                DataLoss,
                match="a-1: the records before 10 that the first micro-batch was to read no longer exist, the log now starts at 20",
            ):
                planner.ranges(start, {A0: 100, A1: 10})
        else:
            assert cuts(planner.ranges(start, {A0: 100, A1: 10})) == [(A0, 0, 100)]


def test_a_query_stays_where_it_is_while_no_topic_is_reported(new, topics, time, caplog):
    planner = new(subscribePattern="^a$", failOnDataLoss="false")
    end = planner.latest(planner.initial(), is_limited=False)
    kept = {name: topics.ends.pop(name) for name in (A0, A1)}
    assert planner.latest(end, is_limited=False) == planner.latest(end, is_limited=True, limit=5) == end
    assert planner.ranges(end, end) == []
    assert sum("brokers report no topic" in record.message for record in caplog.records) == 1
    topics.ends.update(kept)
    topics.append(A0, [(None, b"x")] * 3)
    assert cuts(planner.ranges(end, planner.latest(end, is_limited=False))) == [(A0, 100, 103)]


def test_a_partition_that_is_not_reported_is_asked_for_again_and_never_written_to_the_checkpoint(new, topics, time):
    planner = new(subscribePattern="^a$")
    end = planner.latest(planner.initial(), is_limited=False)
    kept = topics.ends.pop(A1)
    with pytest.raises(DataLoss, match="a-1 no longer exist"):
        planner.latest(end, is_limited=False)
    planner._sleep = lambda seconds: topics.ends.update({A1: kept})
    assert planner.latest(end, is_limited=False) == end


def test_a_limit_is_shared_by_lag_and_ignored_where_spark_says_so(new):
    planner = new(maxOffsetsPerTrigger="22")
    start = planner.initial()
    assert planner.latest(start, is_limited=True, limit=22) == {A0: 20, A1: 2}
    assert planner.latest(start, is_limited=False) == {A0: 100, A1: 10}


def test_a_limit_counts_a_new_partition_from_its_beginning(new, topics):
    topics.append(TopicPartition("a", 2), [(None, b"x")] * 20)
    topics.starts[TopicPartition("a", 2)] = 10
    found = new().latest({A0: 100, A1: 0}, is_limited=True, limit=10)
    assert found == {A0: 100, A1: 5, TopicPartition("a", 2): 15}


def test_a_micro_batch_waits_for_enough_records_but_not_for_ever(new, topics, time):
    planner = new(minOffsetsPerTrigger="50", maxTriggerDelay="60s")
    start = planner.initial()
    end = planner.latest(start, is_limited=True)
    assert end == {A0: 100, A1: 10}  # 110 are enough
    topics.append(A0, [(None, b"x")] * 49)
    time.now_s += 59
    assert planner.latest(end, is_limited=True) == end
    topics.append(A1, [(None, b"x")])
    assert planner.latest(end, is_limited=True) == {A0: 149, A1: 11}
    end = {A0: 149, A1: 11}
    topics.append(A0, [(None, b"x")])
    time.now_s += 59
    assert planner.latest(end, is_limited=True) == end
    time.now_s += 1
    assert planner.latest(end, is_limited=True) == {A0: 150, A1: 11}


def test_the_first_micro_batch_of_a_process_does_not_wait(new):
    planner = new(minOffsetsPerTrigger="1000")
    assert planner.latest(planner.initial(), is_limited=True) == {A0: 100, A1: 10}


def test_both_limits(new, topics):
    planner = new(minOffsetsPerTrigger="10", maxOffsetsPerTrigger="11")
    planner.latest(planner.initial(), is_limited=True, limit=11)
    assert planner.latest({A0: 95, A1: 9}, is_limited=True, limit=11) == {A0: 95, A1: 9}
    assert planner.latest({A0: 50, A1: 5}, is_limited=True, limit=11) == {A0: 60, A1: 6}


def test_available_now_ends_at_what_there_was(new, topics):
    planner = new(maxOffsetsPerTrigger="60", minOffsetsPerTrigger="50")
    planner.freeze()
    topics.append(A0, [(None, b"x")] * 7)
    topics.append(TopicPartition("a", 2), [(None, b"x")] * 7)
    at = planner.initial()
    seen = []
    while (end := planner.latest(at, is_limited=True, limit=60)) != at:
        assert len(seen) < 10
        seen.append(end)
        planner.ranges(at, end)
        at = end
    assert at == {A0: 100, A1: 10}
    assert len(seen) == 2


def test_available_now_from_the_latest_offset_reads_nothing(new, topics):
    planner = new(startingOffsets="latest")
    planner.freeze()
    topics.append(A0, [(None, b"x")] * 7)
    start = planner.initial()
    assert start == {A0: 107, A1: 10}
    assert planner.latest(start, is_limited=True) == planner.latest(start, is_limited=True) == start


def test_available_now_sees_a_log_that_is_shorter_than_its_checkpoint(new, topics):
    planner = new()
    planner.freeze()
    start = {A0: 100, A1: 50}
    end = planner.latest(start, is_limited=True)
    assert end == {A0: 100, A1: 10}
    with pytest.raises(DataLoss, match="a-1: the offset went back from 50 to 10"):
        planner.ranges(start, end)


def test_available_now_does_not_take_a_new_leaders_ignorance_for_an_end(new, topics):
    planner = new()
    topics.ends[A0] = 90
    planner.freeze()
    topics.ends[A0] = 100
    assert planner.latest({A0: 95, A1: 10}, is_limited=True) == {A0: 95, A1: 10}


def test_new_partitions_and_topics_are_read_from_their_beginning(new, topics):
    planner = new(subscribePattern="^[ab]$")
    end = planner.latest(planner.initial(), is_limited=False)
    topics.append(TopicPartition("a", 2), [(None, b"x")] * 4)
    topics.append(B0, [(None, b"x")] * 6)
    after = planner.latest(end, is_limited=False)
    assert after == {**end, TopicPartition("a", 2): 4, B0: 6}
    assert cuts(planner.ranges(end, after)) == [(TopicPartition("a", 2), 0, 4), (B0, 0, 6)]


def lossy(new, what, starts, ends, **options):
    """The ranges with failOnDataLoss=false, after the refusal of the same."""
    with pytest.raises(DataLoss, match=what):
        new(**options).ranges(starts, ends)
    return cuts(new(failOnDataLoss="false", **options).ranges(starts, ends))


def test_records_that_are_gone_are_data_loss(new, topics, caplog):
    topics.starts[A0] = 30
    assert lossy(
        new, r"a-0: 20\.\.100 was to be read, but the log holds 30\.\.100", {A0: 20, A1: 10}, {A0: 100, A1: 10}
    ) == [(A0, 30, 100)]
    assert any("continuing because failOnDataLoss=false: a-0: 20..100" in record.message for record in caplog.records)


def test_a_log_that_is_shorter_is_data_loss(new):
    assert lossy(new, r"a-0: 90\.\.150 was to be read", {A0: 90, A1: 10}, {A0: 150, A1: 10}) == [(A0, 90, 100)]
    assert lossy(new, "a-0: the offset went back from 150 to 100", {A0: 150, A1: 5}, {A0: 100, A1: 10}) == [(A1, 5, 10)]


def test_partitions_that_are_gone_are_data_loss(new):
    assert lossy(new, "b-0 of the last micro-batch no longer exist", {A0: 90, B0: 5}, {A0: 100}) == [(A0, 90, 100)]
    pattern = {"subscribePattern": "."}
    assert lossy(new, "b-0 were deleted before", {A0: 90, B0: 5}, {A0: 100, B0: 9}, **pattern) == [(A0, 90, 100)]


def test_a_new_partition_that_lost_its_beginning_is_data_loss(new, topics):
    topics.starts[A1] = 3
    assert lossy(new, "a-1 is new, and begins at 3", {A0: 100}, {A0: 100, A1: 10}) == [(A1, 3, 10)]


def test_a_topic_made_again_is_data_loss(new, broker, topics, caplog):
    broker.topic_ids["a"] = "ab" * 16
    strict, lax = new(), new(failOnDataLoss="false")
    end = strict.latest(strict.initial(), is_limited=False)
    lax.initial()
    broker.topic_ids["a"] = "cd" * 16
    topics.append(A0, [(None, b"x")] * 5)
    with pytest.raises(DataLoss, match="a was deleted and created again while the stream ran"):
        strict.latest(end, is_limited=False)
    assert lax.latest(end, is_limited=False) == {A0: 105, A1: 10}
    (one,) = lax.ranges(end, {A0: 105, A1: 10})
    assert (one.topic_id, one.start, one.end) == ("cd" * 16, 100, 105)
    assert sum("created again" in record.message for record in caplog.records) == 1


def test_a_topic_outside_of_the_pattern_may_be_made_again(new, broker, topics):
    topics.append(B0, [(None, b"x")])
    broker.topic_ids["b"] = "ab" * 16
    planner = new(subscribePattern="^a$")
    start = planner.initial()
    broker.topic_ids["b"] = "cd" * 16
    assert planner.latest(start, is_limited=False) == {A0: 100, A1: 10}


def test_an_end_that_a_new_leader_does_not_know_yet_is_asked_for_again(new, topics, time):
    planner = new()
    planner._sleep = lambda seconds: (time.sleep(seconds), topics.ends.update({A0: 100}))
    topics.ends[A0] = 90
    assert planner.latest({A0: 95, A1: 10}, is_limited=False) == {A0: 100, A1: 10}


def test_a_stream_waits_for_a_broker_that_restarts(new, broker):
    planner = new()
    broker.drop_connections = 2
    assert planner.initial() == {A0: 0, A1: 0}


def test_directories_are_asked_for_once_a_minute_and_ranges_are_split_as_asked(new, broker, time):
    planner = new(minPartitions="4")
    for wait_s, asked in ((0, 1), (59, 1), (1, 2)):
        time.now_s += wait_s
        found = planner.ranges({A0: 0, A1: 0}, {A0: 100, A1: 10})
        assert broker.asked[35] == asked
    assert len(found) >= 4
    assert found[0].replicas == ((0, "127.0.0.1", str(broker.log.directory)),)
    assert len(new(**{"headrace.descriptors": "4"}).ranges({A0: 0, A1: 0}, {A0: 100, A1: 10})) >= 2


class Group:
    """An admin that keeps what is committed, or refuses."""

    def __init__(self):
        self.committed = []
        self.failure = None

    def __call__(self, _cluster):
        return self

    def alter_group_offsets(self, group, offsets, _epochs=None):
        if self.failure is not None:
            raise self.failure
        self.committed.append((group, offsets))


def test_a_group_follows_the_query_and_its_failure_is_a_warning(new, monkeypatch, caplog):
    group = Group()
    monkeypatch.setattr(stream_planner, "Admin", group)
    planner = new(**{"headrace.commit.group": "g"})
    planner.commit({A0: 5})
    planner.latest({A0: 5}, is_limited=False)  # the same: Spark says so by both
    planner.latest({A0: 100, A1: 10}, is_limited=False)
    assert group.committed == [("g", {A0: 5}), ("g", {A0: 100, A1: 10})]
    group.failure = KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "group g has members")
    for end in (101, 102):
        planner.commit({A0: end})
    assert sum("offsets of the query not committed for group g" in record.message for record in caplog.records) == 1
    group.failure = None
    planner.commit({A0: 102})
    assert group.committed[-1] == ("g", {A0: 102})


def test_without_a_group_nothing_is_committed(new, monkeypatch):
    monkeypatch.setattr(stream_planner, "Admin", None)
    new().commit({A0: 5})
