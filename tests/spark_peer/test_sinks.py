"""Sinks: the same DataFrames become the same records, and what the connector refuses to write we refuse."""

import pytest

from tests.spark_peer.outcomes import Refusal, both_refuse, compare, outcome, records
from tests.spark_peer.queries import Checkpoint

pytestmark = pytest.mark.interop

PATIENCE_S = 600
HEADERS = (
    "array(named_struct('key', 'h', 'value', CAST(CAST(id AS STRING) AS BINARY)), "
    "named_struct('key', 'n', 'value', CAST(NULL AS BINARY)))"
)
ROWS = "SELECT *, CAST(id % 3 AS INT) AS third FROM range(0, 60, 1, 1)"
# the connector's producer gives up soon where there is no such topic
GIVING_UP = {
    "kafka.max.block.ms": "3000",
    "kafka.delivery.timeout.ms": "4000",
    "kafka.request.timeout.ms": "3000",
    "kafka.linger.ms": "0",
}

# columns of a frame of ids 0..59; the key places a record where no partition does
FRAMES = {
    "keys and values": ["CAST(id AS STRING) AS key", "concat('v', id) AS value"],
    "binary ones": ["CAST(CAST(id AS STRING) AS BINARY) AS key", "CAST(concat('v', id) AS BINARY) AS value"],
    "partitions": ["third AS partition", "concat('v', id) AS value"],
    "keys and partitions": ["third AS partition", "CAST(id AS STRING) AS key", "concat('v', id) AS value"],
    "headers": ["CAST(id AS STRING) AS key", "'v' AS value", f"{HEADERS} AS headers"],
    "no headers": ["CAST(id AS STRING) AS key", "'v' AS value", f"IF(id % 2 = 0, {HEADERS}, NULL) AS headers"],
    "tombstones": ["CAST(id AS STRING) AS key", "IF(id % 2 = 0, NULL, 'v') AS value"],
    "null keys": ["IF(id % 2 = 0, NULL, CAST(id AS STRING)) AS key", "third AS partition", "'v' AS value"],
    "null partitions": ["CAST(id AS STRING) AS key", "IF(id % 2 = 0, NULL, third) AS partition", "'v' AS value"],
    "more columns": ["CAST(id AS STRING) AS key", "'v' AS value", "id", "'x' AS offset", "now() AS timestamp"],
    "empty values": ["CAST(id AS STRING) AS key", "'' AS value"],
}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]

# columns, options -> refused
REFUSED = {
    "no value": (["CAST(id AS STRING) AS key"], {}),
    "a number as value": (["id AS value"], {}),
    "a number as key": (["id AS key", "'v' AS value"], {}),
    "a long partition": (["'v' AS value", "id AS partition"], {}),
    "a map of headers": (["'v' AS value", "map('a', 'b') AS headers"], {}),
    "a topic that is no string": (["'v' AS value", "id AS topic"], {"topic": None}),
    "no topic": (["'v' AS value"], {"topic": None}),
    "a null topic": (["'v' AS value", "CAST(NULL AS STRING) AS topic"], {"topic": None}),
    "no such topic": (["'v' AS value"], {"topic": "nowhere"}),
    "no such partition": (["'v' AS value", "9 AS partition"], {}),
    "a serializer": (["'v' AS value"], {"kafka.key.serializer": "x"}),
    "a serializer of values": (["'v' AS value"], {"kafka.value.serializer": "x"}),
    "another codec": (["'v' AS value"], {"kafka.compression.type": "rar"}),
    "other acks": (["'v' AS value"], {"kafka.acks": "some"}),
    "idempotence without acks": (["'v' AS value"], {"kafka.acks": "1", "kafka.enable.idempotence": "true"}),
    "a word of bytes": (["'v' AS value"], {"kafka.batch.size": "big"}),
    "minus milliseconds": (["'v' AS value"], {"kafka.linger.ms": "-1"}),
    "no server": (["'v' AS value"], {"kafka.bootstrap.servers": "here"}),
}


def write(side, topic, columns, mode="append", **options):
    frame = side.spark.sql(ROWS).selectExpr(*columns)
    given = {name: value for name, value in {"topic": topic, **options}.items() if value is not None}
    side.writer(frame.write, given).mode(mode).save()


def written(side, topic):
    return records(side.read(subscribe=topic, includeHeaders="true"), without=("timestamp",))


@pytest.mark.parametrize("name", FRAMES)
def test_the_same_rows_become_the_same_records(pair, topic, name):
    pair.create(topic, 3)

    def program(side):
        write(side, topic, FRAMES[name])
        return written(side, topic)

    assert len(compare(program, pair)) == 60


@pytest.mark.parametrize("codec", CODECS)
def test_codecs_and_acknowledgements(pair, topic, codec):
    pair.create(topic, 3)

    def program(side):
        for acks, is_idempotent in (("all", "true"), ("1", "false"), ("0", "false")):
            options = {"kafka.acks": acks, "kafka.enable.idempotence": is_idempotent}
            write(side, topic, FRAMES["keys and partitions"], **options, **{"kafka.compression.type": codec})
        return [row[1:2] + row[4:] for row in written(side, topic)]

    assert len(compare(program, pair)) == 180


def test_topics_by_column_and_by_option(pair, topic):
    pair.create(f"{topic}-a", 1)
    pair.create(f"{topic}-b", 1)
    columns = ["CAST(id AS STRING) AS value", f"concat('{topic}-', IF(id < 20, 'a', 'b')) AS topic"]

    def program(side):
        write(side, None, columns)
        write(side, f"{topic}-a", columns)
        return [written(side, f"{topic}-{name}") for name in "ab"]

    first, second = compare(program, pair)
    assert (len(first), len(second)) == (80, 40)


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(pair, topic, name):
    columns, options = REFUSED[name]
    pair.create(topic, 3)
    both_refuse(lambda side: write(side, columns=columns, **{"topic": topic, **GIVING_UP, **options}), pair)
    assert compare(lambda side: written(side, topic), pair) == []


def test_modes(pair, topic):
    """What docs/spark.md says: Spark allows a Python data source no default, so that ours has to be told `append`."""
    pair.create(topic, 1)
    columns = FRAMES["keys and values"]
    for mode in ("overwrite", "ignore"):
        both_refuse(lambda side, mode=mode: write(side, topic, columns, mode), pair)
    kafka, ours = (
        outcome(lambda side: write(side, topic, columns, "error"), pair.sides[name]) for name in ("kafka", "headrace")
    )
    assert kafka is None
    assert isinstance(ours, Refusal)
    assert "append" in ours.said.lower()


def test_a_stream_from_topic_to_topic_over_a_restart(pair, topic):
    pair.create(topic, 3)
    checkpoints = {name: Checkpoint(side) for name, side in pair.sides.items()}

    def program(side):
        frame = side.stream(
            subscribe="clicks", startingOffsets="earliest", maxOffsetsPerTrigger="200", includeHeaders="true"
        )
        frame = frame.selectExpr(
            "key", "upper(CAST(value AS STRING)) AS value", "headers", "CAST(partition % 3 AS INT) AS partition"
        )
        writer = side.writer(frame.writeStream, {"topic": topic}).option(
            "checkpointLocation", str(checkpoints[side.format].path)
        )
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE_S)
        return [row[1:2] + row[4:] for row in written(side, topic)]

    assert len(compare(program, pair)) == 457
    assert len(compare(program, pair)) == 457  # and nothing a second time


@pytest.mark.parametrize("columns", [["key"], ["CAST(offset AS INT) AS value"], ["value", "offset AS partition"]])
def test_a_stream_that_can_not_be_written_is_refused(pair, topic, columns):
    pair.create(topic, 1)

    def program(side):
        frame = side.stream(subscribe="clicks", startingOffsets="earliest").selectExpr(*columns)
        writer = side.writer(frame.writeStream, {"topic": topic}).option(
            "checkpointLocation", str(Checkpoint(side).path)
        )
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(PATIENCE_S)

    both_refuse(program, pair)


def counts(side, topic, output):
    frame = side.stream(subscribe="clicks", startingOffsets="earliest", maxOffsetsPerTrigger="200")
    frame = frame.groupBy("key").count().selectExpr("key", "CAST(count AS STRING) AS value")
    writer = side.writer(frame.writeStream, {"topic": topic}).outputMode(output)
    query = writer.option("checkpointLocation", str(Checkpoint(side).path)).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return sorted(row[4:6] for row in written(side, topic))


def test_counts_are_appended_whole_by_output_mode_complete(pair, topic):
    pair.create(topic, 1)
    assert len(compare(lambda side: counts(side, topic, "complete"), pair)) > 11


def test_output_mode_update(pair, topic):
    """What docs/spark.md says: Spark gives a Python data source none, so that ours is refused."""
    pair.create(topic, 1)
    assert len(counts(pair.sides["kafka"], topic, "update")) > 11
    refused = outcome(lambda side: counts(side, topic, "update"), pair.sides["headrace"])
    assert isinstance(refused, Refusal)
    assert "does not support Update mode" in refused.said
