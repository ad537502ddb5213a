"""`.format("headrace")` as a stream: backfill, restarts from a checkpoint, what comes up while it runs."""

import json
import time

import pytest
from pyspark.errors import PySparkException

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record

A0, A1 = TopicPartition("clicks", 0), TopicPartition("clicks", 1)
DEADLINE_S = 120


@pytest.fixture
def clicks(log):
    """200 records over two partitions."""
    for name in (A0, A1):
        log.append(name, [Record(index, 1000 * index, b"k", b"v%d" % index, (("h", b"x"),)) for index in range(100)])
    return log


@pytest.fixture
def stream(spark, clicks, broker):
    """Makes a streaming DataFrame of the topic."""

    def make(**options):
        reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", broker.address)
        if "subscribePattern" not in options:
            reader = reader.option("subscribe", "clicks")
        return reader.options(**{"startingOffsets": "earliest", **options}).load()

    return make


class Batches:
    """What the micro-batches of some runs gave: for each run a list of lists of (partition, offset)."""

    def __init__(self, checkpoint):
        self.checkpoint = checkpoint
        self.runs = []

    def run(self, frame, **trigger):
        """A run to its end."""
        batches = []
        self.runs.append(batches)

        def take(rows, _batch_id):
            batches.append(sorted((row.topic, row.partition, row.offset) for row in rows.collect()))

        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(self.checkpoint))
        query = writer.trigger(**(trigger or {"availableNow": True})).start()
        try:
            if "processingTime" not in trigger:
                assert query.awaitTermination(DEADLINE_S)
            return query
        except BaseException:
            query.stop()
            raise

    def rows(self, run):
        return [row for batch in self.runs[run] for row in batch]

    def offsets(self, name):
        """All offsets of a partition, run by run and batch by batch."""
        return [
            offset
            for batches in self.runs
            for batch in batches
            for topic, partition, offset in batch
            if (topic, partition) == tuple(name)
        ]


@pytest.fixture
def batches(tmp_path):
    return Batches(tmp_path / "checkpoint")


def test_available_now_reads_everything_in_limited_batches_and_a_restart_only_what_is_new(stream, clicks, batches):
    batches.run(stream(maxOffsetsPerTrigger="80"))
    assert [len(batch) for batch in batches.runs[0]] == [80, 80, 40]
    assert batches.offsets(A0) == batches.offsets(A1) == list(range(100))
    lines = (batches.checkpoint / "offsets" / "2").read_text().splitlines()
    assert json.loads(lines[-1]) == {"clicks": {"0": 100, "1": 100}}  # the connector's
    batches.run(stream())
    assert batches.runs[1] == []
    clicks.append(A0, [(None, b"later")] * 5)
    clicks.append(TopicPartition("clicks", 2), [(None, b"new")] * 3)  # from its beginning
    batches.run(stream(startingOffsets="latest"))  # what a checkpoint overrules
    assert batches.rows(2) == [("clicks", 0, offset) for offset in range(100, 105)] + [
        ("clicks", 2, offset) for offset in range(3)
    ]


def test_small_partitions_share_a_task_of_a_micro_batch_and_its_repetition_has_the_same(stream, clicks, batches):
    for partition in range(2, 30):
        clicks.append(TopicPartition("clicks", partition), [(None, b"x")] * (partition % 3))
    tasks = []

    def counted(frame):
        def places(index, rows):
            yield index, sorted((row.partition, row.offset) for row in rows)

        def take(rows, _batch_id):
            tasks.append(dict(rows.rdd.mapPartitionsWithIndex(places).collect()))

        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(batches.checkpoint))
        assert writer.trigger(availableNow=True).start().awaitTermination(DEADLINE_S)

    counted(stream(maxPartitions="4"))
    assert len(tasks[0]) == 4
    found = sorted(row for rows in tasks[0].values() for row in rows)
    assert found == [(partition, n) for partition in range(30) for n in range(100 if partition < 2 else partition % 3)]
    for name in ("0", ".0.crc"):
        (batches.checkpoint / "commits" / name).unlink(missing_ok=True)
    counted(stream(maxPartitions="4"))
    assert tasks[1] == tasks[0]


def test_the_checkpoint_keeps_leader_epochs_and_a_log_that_was_cut_since_is_data_loss(stream, clicks, broker, batches):
    clicks.append(A0, [(None, b"old")] * 50)
    broker.epochs = {A0: [(0, 0), (1, 100)], A1: [(0, 0)]}
    batches.run(stream())
    last = json.loads((batches.checkpoint / "offsets" / "0").read_text().splitlines()[-1])
    epochs = 'leader epochs {"clicks": {"0": 1, "1": 0}}'
    assert last == {"clicks": {"0": 150, "1": 100}, epochs: {}}
    batches.run(stream())
    assert batches.runs[1] == []
    clicks.cut(A0, 100)
    clicks.append(A0, [(None, b"new")] * 80)
    broker.epochs[A0] = [(0, 0), (4, 100)]
    with pytest.raises(PySparkException, match="clicks-0: the log was truncated"):
        batches.run(stream())
    batches.run(stream(failOnDataLoss="false"))
    assert batches.rows(3) == [("clicks", 0, offset) for offset in range(100, 180)]


def test_a_batch_that_was_not_committed_is_read_again_and_the_same(stream, clicks, batches):
    batches.run(stream(maxOffsetsPerTrigger="80"))
    (batches.checkpoint / "commits" / "2").unlink()
    (batches.checkpoint / "commits" / ".2.crc").unlink(missing_ok=True)
    clicks.append(A0, [(None, b"later")] * 5)
    batches.run(stream())
    assert batches.runs[1][0] == batches.runs[0][2]
    assert batches.runs[1][1] == [("clicks", 0, offset) for offset in range(100, 105)]


def test_a_query_from_the_latest_offset_that_died_in_its_first_batch_loses_nothing(stream, clicks, batches):
    batches.run(stream(startingOffsets="latest"))
    assert batches.runs[0] == [[]]
    (batches.checkpoint / "commits" / "0").unlink()
    (batches.checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    clicks.append(A0, [(None, b"later")] * 5)
    batches.run(stream(startingOffsets="latest"))
    assert batches.rows(1) == [("clicks", 0, offset) for offset in range(100, 105)]


def wait_for(query, condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert query.exception() is None
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_a_running_stream_follows_topics_of_a_pattern_from_the_latest_offset(stream, clicks, batches, log):
    frame = stream(subscribePattern="^cl", startingOffsets="latest", includeHeaders="true", minPartitions="4")
    assert frame.columns[-1] == "headers"
    query = batches.run(frame, processingTime="100 milliseconds")
    try:
        wait_for(query, lambda: len(batches.runs[0]) >= 1)
        assert batches.runs[0][0] == []  # it only says where the stream starts
        clicks.append(A1, [(None, b"later")] * 8)
        log.append(TopicPartition("clacks", 0), [(None, b"new")] * 2)
        wait_for(query, lambda: len(batches.rows(0)) >= 10)
    finally:
        query.stop()
    assert batches.offsets(A1) == list(range(100, 108))
    assert batches.offsets(TopicPartition("clacks", 0)) == [0, 1]


def test_a_start_by_time_and_columns_that_are_asked_for(stream, batches, spark, tmp_path):
    frame = stream(startingTimestamp="98000", columns="topic,partition,offset,value_length")
    assert frame.columns == ["topic", "partition", "offset", "value_length"]
    batches.run(frame)
    assert batches.offsets(A0) == batches.offsets(A1) == [98, 99]


def test_records_that_are_gone_stop_the_stream_or_are_passed_over(stream, clicks, batches):
    batches.run(stream(maxOffsetsPerTrigger="80"))
    clicks.append(A0, [(None, b"later")] * 20)
    clicks.starts[A0] = 110
    with pytest.raises(PySparkException, match=r"clicks-0: 100\.\.120 was to be read, but the log holds 110\.\.120"):
        batches.run(stream())
    batches.run(stream(failOnDataLoss="false"))
    assert batches.rows(2) == [("clicks", 0, offset) for offset in range(110, 120)]


def test_what_only_a_batch_takes_is_refused_at_start(stream, batches):
    with pytest.raises(PySparkException, match="option endingOffsets is not allowed in a stream"):
        batches.run(stream(endingOffsets="latest"))
