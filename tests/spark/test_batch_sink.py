"""`foreachBatch` in output mode update: a micro-batch that is repeated stores its rows once."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from headrace.ids import TopicPartition
from headrace.spark.batch_sink import write_batches

CLICKS, OUT = TopicPartition("clicks", 0), TopicPartition("out", 0)
DEADLINE_S = 300
PAGES = 20


@pytest.fixture
def topics(log):
    log.create(*OUT)
    log.create(*CLICKS)
    return log


@pytest.fixture
def run(spark, broker, tmp_path):
    """One run of the query over its checkpoint, up to the present end."""

    def run(each_batch, per_batch=40, **trigger):
        reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", broker.address)
        clicks = reader.options(subscribe="clicks", startingOffsets="earliest", maxOffsetsPerTrigger=per_batch).load()
        counts = clicks.groupBy(F.col("value").cast("string").alias("key")).count()
        rows = counts.selectExpr("key", "CAST(count AS STRING) AS value")
        writer = rows.writeStream.outputMode("update").foreachBatch(each_batch)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(DEADLINE_S)
        finally:
            query.stop()
        return query.id

    return run


def append(log, numbers):
    log.append(CLICKS, [(None, b"page%02d" % (number % PAGES)) for number in numbers])


def counts_after(records, per_batch=40):
    """What each micro-batch gives: the count so far of every page in it."""
    found = []
    for end in range(per_batch, records + 1, per_batch):
        found += [(b"page%02d" % page, b"%d" % (end // PAGES)) for page in range(PAGES)]
    return sorted(found)


def written(log):
    return sorted((record.key, record.value) for record in log.records(OUT))


class Stopped(Exception):
    """The driver dies here."""


def test_update_mode_stores_each_row_once_wherever_a_micro_batch_is_interrupted(topics, run, broker):
    append(topics, range(160))
    write = write_batches("out", bootstrap_servers=broker.address, sort="key")
    tries = []

    def interrupted(frame, batch_id):
        tries.append(batch_id)
        how_often = tries.count(batch_id)
        if batch_id == 1 and how_often == 1:  # one task of two has written when the other one fails
            broken = frame.withColumn("value", F.expr("IF(spark_partition_id() = 1, raise_error('broken'), value)"))
            write(broken, batch_id)
        write(frame, batch_id)
        if batch_id in (0, 2) and how_often <= 2:  # all is written and committed, and Spark does not know
            raise Stopped

    for _ in range(5):
        with pytest.raises((PySparkException, Stopped)):
            run(interrupted)
    run(interrupted)
    assert tries == [0, 0, 0, 1, 1, 2, 2, 2, 3]
    assert written(topics) == counts_after(160)
    append(topics, range(40))
    run(write)
    assert written(topics) == counts_after(200)


def test_two_writes_of_a_query_have_an_id_each(topics, run, broker):
    topics.create("other", 0)
    append(topics, range(40))
    into = {"bootstrap_servers": broker.address, "sort": ["key"]}
    first, other = write_batches("out", **into), write_batches("other", **into)
    again = write_batches("out", app_id="again", options={"kafka.linger.ms": 0}, **into)

    def all_three(frame, batch_id):
        for write in (first, other, again):
            write(frame, batch_id)
        if len(seen) < 2:
            seen.append(batch_id)
            raise Stopped

    seen = []
    for _ in range(2):
        with pytest.raises((PySparkException, Stopped)):
            run(all_three)
    query = run(all_three)
    assert written(topics) == sorted(counts_after(40) * 2)
    assert len(topics.records(TopicPartition("other", 0))) == PAGES
    groups = {group for group, _name in broker.committed if "repeats" not in group}
    assert groups == {f"headrace-sink-{query}", "headrace-sink-again"}


def test_a_batch_outside_of_a_query_needs_an_id(spark, topics, broker):
    frame = spark.createDataFrame([("k", "v")], "key string, value string")
    with pytest.raises(RuntimeError, match="give an app_id"):
        write_batches("out", bootstrap_servers=broker.address)(frame, 0)
    write = write_batches("out", bootstrap_servers=[broker.address], app_id="nightly")
    for _ in range(2):
        write(frame, 0)
    assert written(topics) == [(b"k", b"v")]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"app_id": " "}, "app_id ' ' is empty"),
        ({"options": {"txnVersion": 3}}, "option txnVersion is set by write_batches"),
        ({"options": {"Headrace.Exactly.Once": False}}, "option headrace.exactly.once is set by write_batches"),
        ({"options": {"topic": "b"}}, "option topic is given twice"),
        ({"bootstrap_servers": []}, r"bootstrap_servers \[\] must be"),
    ],
)
def test_bad_arguments_are_refused_at_once(given, reason):
    with pytest.raises(ValueError, match=reason):
        write_batches("out", **{"bootstrap_servers": "h:1", **given})
