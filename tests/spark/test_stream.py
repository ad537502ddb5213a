"""`stream`: each micro-batch is a located scan of exactly its offsets, and a group's lag is the query's."""

import uuid

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.spark import stream
from headrace.spark.decoding import json, text

A0, A1 = TopicPartition("clicks", 0), TopicPartition("clicks", 1)
DEADLINE_S = 120


@pytest.fixture
def clicks(log):
    """200 records over two partitions."""
    for name in (A0, A1):
        log.append(name, [(b"k", b"v%d" % number) for number in range(100)])
    return log


@pytest.fixture
def run(spark, broker, tmp_path):
    """Runs a stream to the present end; returns [(batch id, what `take` made of its frame)]."""

    def run(take, **arguments):
        batches = []
        given = {
            "bootstrap_servers": broker.address,
            "start": "earliest",
            "checkpoint": str(tmp_path / "c"),
            **arguments,
        }
        query = stream(
            spark,
            given.pop("topics", "clicks"),
            each_batch=lambda frame, batch_id: batches.append((batch_id, take(frame))),
            trigger={"availableNow": True},
            **given,
        )
        assert query.awaitTermination(DEADLINE_S)
        return batches

    return run


def test_each_batch_is_a_located_scan_of_its_offsets_from_files_here(run, clicks, broker):
    hosts = []

    def take(frame):
        rdd = frame._jdf.queryExecution().toRdd()
        source = rdd
        while source.dependencies().size():
            source = source.dependencies().apply(0).rdd()
        hosts.extend(source.preferredLocations(part).mkString(",") for part in source.partitions())
        return sorted((row.partition, row.offset) for row in frame.collect())

    found = run(take, columns=["partition", "offset"], max_offsets=80)
    assert [batch_id for batch_id, _rows in found] == [0, 1, 2]
    assert [len(rows) for _batch_id, rows in found] == [80, 80, 40]
    assert sorted(row for _batch_id, rows in found for row in rows) == [(p, o) for p in (0, 1) for o in range(100)]
    assert set(hosts) == {"127.0.0.1"}
    assert broker.asked[ApiKey.FETCH] == 0
    clicks.append(A1, [(None, b"later")] * 5)
    assert run(lambda frame: frame.count()) == [(3, 5)]


def test_filters_and_sums_are_made_in_the_worker(run, clicks):
    def total(batches):
        yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})

    arguments = {"columns": "value", "where": pc.match_substring(pc.field("value"), "v1"), "start": {A0: 50, A1: 0}}
    found = run(
        lambda frame: sum(row.rows for row in frame.collect()), map_batches=total, schema="rows bigint", **arguments
    )
    assert found == [(0, 11)]  # v1, v10 to v19 of partition 1


def test_values_are_decoded_in_the_worker(run, log):
    log.append(A0, [(None, b'{"page": "/%d", "ms": %d}' % (number % 3, number)) for number in range(30)])
    log.append(A0, [(None, b"no JSON")])
    found = run(
        lambda frame: sorted(map(tuple, frame.groupBy("page").count().collect()), key=str),
        columns="page,ms",
        decode=json("page string, ms long"),
        decode_mode="null",
        where=pc.is_null(pc.field("ms")) | (pc.field("ms") >= 6),
    )
    assert found == [(0, [("/0", 8), ("/1", 8), ("/2", 8), (None, 1)])]


def test_the_group_of_a_query_has_no_lag_after_its_last_batch(run, node, broker):
    topic, group = f"clicks-{uuid.uuid4().hex[:8]}", f"lag-{uuid.uuid4().hex[:8]}"
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(topic, 2)]) == {topic: None}
    with Kafka(node.bootstrap) as kafka, kafka.producer() as producer:
        for number in range(10):
            producer.send(topic, b"v%d" % number, partition=number % 2)
    found = run(lambda frame: frame.count(), topics=topic, bootstrap_servers=node.bootstrap, commit_group=group)
    assert found == [(0, 10)]
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).group_offsets(group) == {TopicPartition(topic, 0): 5, TopicPartition(topic, 1): 5}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"each_batch": "print"}, "each_batch must be a function"),
        ({"start": "soon"}, "start is 'earliest', 'latest' or offsets"),
        ({"start": {"clicks": 5}}, "start is 'earliest', 'latest' or offsets"),
        ({"columns": "val"}, "choose from"),
        ({"where": "offset > 5"}, "^where must be"),
        ({"schema": "a int"}, "must be given together"),
        ({"decode_mode": "null"}, "needs decode"),
        ({"decode": text(), "options": {"decode.value.format": "text"}}, "decode is given twice"),
        ({"max_offsets": 0}, "maxOffsetsPerTrigger 0 must be at least 1"),
        ({"options": {"endingOffsets": "latest"}}, "endingOffsets is not allowed in a stream"),
        ({"options": {"subscribe": "a"}}, "subscribe is given twice"),
    ],
)
def test_what_makes_no_sense_fails_at_once(spark, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        stream(spark, "clicks", **{"each_batch": print, "bootstrap_servers": "h:1", **arguments})
