"""`aggregate` against Spark's own functions over the same scan."""

import datetime
import random

import pyarrow.compute as pc
import pytest
from pyspark.sql import functions

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record
from headrace.spark import aggregate, scan
from headrace.spark.decoding import csv, json

WANTED = {
    "records": "count()",
    "bytes": "sum(value_length)",
    "first": "min(offset)",
    "last": "max(timestamp)",
    "keys": "approx_count_distinct(key)",
}


@pytest.fixture
def clicks(log):
    """Three partitions; keys, some null, over some minutes; JSON values."""
    dice = random.Random(4)
    for partition in range(3):
        for _ in range(4):
            records = [
                Record(
                    index,
                    1_700_000_000_000 + dice.randrange(300_000),
                    dice.choice([None, b"a", b"b", b"c"]),
                    b'{"page": "%s", "ms": %d}' % (dice.choice([b"x", b"y"]), dice.randrange(1000)),
                )
                for index in range(50)
            ]
            log.append(TopicPartition("clicks", partition), records)
    return log


def rows(frame):
    return sorted(str(row) for row in frame.collect())


def by_spark(frame, *keys):
    return frame.groupBy(*keys).agg(
        functions.count("*").alias("records"),
        functions.sum("value_length").alias("bytes"),
        functions.min("offset").alias("first"),
        functions.max("timestamp").alias("last"),
        functions.approx_count_distinct("key").alias("keys"),
    )


def test_groups_windows_and_totals_are_those_of_spark(spark, clicks, broker):
    frame = scan(
        spark, "clicks", bootstrap_servers=broker.address, columns="key,partition,offset,timestamp,value_length"
    )
    found = aggregate(spark, "clicks", WANTED, by="key,partition", window="1 minute", bootstrap_servers=broker.address)
    window = functions.window("timestamp", "1 minute").alias("window")
    wanted = by_spark(frame, window, "key", "partition")
    assert found.dtypes == wanted.dtypes
    assert rows(found) == rows(wanted)
    total = aggregate(spark, "clicks", WANTED, bootstrap_servers=broker.address)
    assert rows(total) == rows(by_spark(frame))


def test_decoded_columns_and_filters(spark, clicks, broker):
    decode, where = json("page string, ms long"), pc.field("ms") > 500
    found = aggregate(
        spark,
        "clicks",
        {"n": "count()", "t": "sum(ms)"},
        by=["page"],
        decode=decode,
        where=where,
        bootstrap_servers=broker.address,
    )
    frame = scan(spark, "clicks", bootstrap_servers=broker.address, decode=decode, where=where)
    wanted = frame.groupBy("page").agg(functions.count("*").alias("n"), functions.sum("ms").alias("t"))
    assert rows(found) == rows(wanted)


def test_floats_and_names_with_dots_are_those_of_spark(spark, log, broker):
    """NaN, both zeros and infinities; a dot in a name is not a field within. Which of two zeros is the larger is Spark's luck."""

    def rows(frame):
        return sorted(str(row).replace("-0.0", "0.0") for row in frame.collect())

    values = [b"1,1.5", b"1,nan", b"1,", b"2,-0.0", b"2,0.0", b"3,nan", b"4,inf", b"4,-inf", b"5,-2.5", b"5,-3.5"]
    log.append(TopicPartition("readings", 0), [(None, value) for value in values])
    decode = csv("`a.k` int, `x.y` double")
    wanted = {"the.most": "max(x.y)", "the.least": "min(x.y)", "the.sum": "sum(x.y)", "n": "count()"}
    given = {"decode": decode, "bootstrap_servers": broker.address}
    frame = scan(spark, "readings", **given)
    F = functions
    calls = [F.max("`x.y`").alias("the.most"), F.min("`x.y`").alias("the.least"), F.sum("`x.y`").alias("the.sum")]
    found = aggregate(spark, "readings", wanted, by="a.k", **given)
    assert rows(found) == rows(frame.groupBy("`a.k`").agg(*calls, F.count("*").alias("n")))
    assert rows(aggregate(spark, "readings", wanted, **given)) == rows(frame.agg(*calls, F.count("*").alias("n")))


def test_an_empty_topic_counts_nothing(spark, log, broker):
    log.create("empty")
    found = aggregate(spark, "empty", {"n": "count()", "least": "min(offset)"}, bootstrap_servers=broker.address)
    assert [tuple(row) for row in found.collect()] == [(0, None)]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"aggregates": {"n": "mean(offset)"}}, "aggregate n="),
        ({"aggregates": {"n": "sum(key)"}}, "sum of key"),
        ({"aggregates": {"n": "sum(nothing)"}}, "nothing"),
        ({"by": "nothing"}, "nothing"),
        ({"by": "headers"}, "aggregates: "),
        ({"by": "records"}, "records name more than one column"),
        ({"window": "soon"}, "window 'soon'"),
        ({"window": datetime.timedelta(0)}, "window"),
    ],
)
def test_what_can_not_be_is_refused_at_once(spark, clicks, broker, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        aggregate(spark, "clicks", **{"aggregates": WANTED, "bootstrap_servers": broker.address, **arguments})
