"""A DataFrame into topics: as it was given, at least once, errors where they arise."""

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import _parse_datatype_string

from headrace.arrow.column_types import HEADERS_TYPE
from headrace.client.failures import DeliveryFailed
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.spark.errors import BadRow
from headrace.spark.sink import check_schema, write_records
from headrace.spark.sink_options import parse_sink_options
from headrace.spark.stream_sink import HeadraceStreamWriter

OUT0, OUT1 = TopicPartition("out", 0), TopicPartition("out", 1)
DEADLINE_S = 120


@pytest.fixture
def out(log):
    for name in (OUT0, OUT1):
        log.create(*name)
    return log


def options_of(broker, **options):
    return parse_sink_options({"kafka.bootstrap.servers": broker.address, **options})


def held(log, name):
    return [(record.key, record.value, record.headers) for record in log.records(name)]


def test_rows_become_records_whatever_arrow_calls_their_types(out, broker):
    batch = pa.record_batch(
        {
            "value": pa.array(["a", None], pa.large_string()),
            "key": pa.array([b"k", None], pa.binary()),
            "headers": pa.array([[{"key": "h", "value": b"x"}, {"key": "n", "value": None}], None], HEADERS_TYPE),
            "partition": pa.array([0, 1], pa.int32()),
            "topic": ["elsewhere", None],
            "more": [1, 2],
        }
    )
    assert write_records(options_of(broker, topic="out"), [batch]) == 2
    assert held(out, OUT0) == [(b"k", b"a", (("h", b"x"), ("n", None)))]
    assert held(out, OUT1) == [(None, None, ())]


def test_the_key_places_a_record_that_names_no_partition(out, broker):
    batch = pa.record_batch({"value": [b"%d" % number for number in range(100)], "key": [b"k"] * 100})
    assert write_records(options_of(broker, topic="out"), [batch, batch]) == 200
    assert sorted([len(held(out, OUT0)), len(held(out, OUT1))]) == [0, 200]


def test_a_task_of_a_stream_writes_as_one_of_a_batch_and_says_how_much(out, broker):
    writer = HeadraceStreamWriter(options_of(broker, topic="out"))
    assert writer.write(iter([pa.record_batch({"value": ["a", "b"]})] * 3)).records == 6


def test_a_lost_answer_is_no_second_record(out, broker):
    broker.lose_answers = 1
    batch = pa.record_batch({"value": [b"a", b"b"], "partition": pa.array([0, 0], pa.int32())})
    assert write_records(options_of(broker, topic="out"), [batch]) == 2
    assert [value for _key, value, _headers in held(out, OUT0)] == [b"a", b"b"]


def test_a_broker_that_is_away_for_a_moment_is_waited_for(out, broker):
    broker.drop_connections = 2
    assert write_records(options_of(broker, topic="out"), [pa.record_batch({"value": [b"a"]})]) == 1


def not_utf8(kind, rows):
    """Strings as Spark hands them on: it does not look at their bytes."""
    if kind == pa.string():
        return pa.array(rows, pa.binary()).view(kind)
    flat = [pair for row in rows for pair in row]
    names = pa.array([pair["key"] for pair in flat], pa.binary()).view(pa.string())
    pairs = pa.StructArray.from_arrays(
        [names, pa.array([pair["value"] for pair in flat], pa.binary())], ["key", "value"]
    )
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"value": ["a"], "topic": pa.array([None], pa.string())}, "a row has a null topic"),
        (
            {"value": ["a"], "topic": ["out"], "headers": pa.array([[{"key": None, "value": b""}]], HEADERS_TYPE)},
            "a header without a key",
        ),
        (
            {
                "value": ["a"],
                "topic": ["out"],
                "headers": not_utf8(HEADERS_TYPE, [[{"key": b"\xff\xfe", "value": b""}]]),
            },
            r"a header whose key is not UTF-8.*b'\\xff\\xfe'",
        ),
        ({"value": ["a"], "topic": not_utf8(pa.string(), [b"\xff"])}, "a topic that is not UTF-8"),
    ],
)
def test_a_row_that_can_not_be_a_record_is_refused(out, broker, columns, reason):
    with pytest.raises(BadRow, match=reason):
        write_records(options_of(broker), [pa.record_batch(columns)])


def test_what_the_broker_refuses_fails_the_task(out, broker):
    one = pa.record_batch({"value": [b"a"], "partition": pa.array([7], pa.int32())})
    with pytest.raises(KafkaError, match="no partition 7"):
        write_records(options_of(broker, topic="out"), [one])
    broker.fail[ApiKey.PRODUCE, 87] = 1
    with pytest.raises(DeliveryFailed, match="INVALID_RECORD"):
        write_records(options_of(broker, topic="out"), [pa.record_batch({"value": [b"a"]})])


SCHEMAS = [
    ("key string, headers array<struct<key:string,value:binary>>", "t", "required column value is missing"),
    ("value string", "", "option topic must be set if the DataFrame has no column topic"),
    ("value int", "t", "column value is int, but must be string or binary"),
    ("value string, key double", "t", "column key is double"),
    ("value string, topic binary", "", "column topic is binary, but must be string"),
    ("value string, partition bigint", "t", "column partition is bigint, but must be int"),
    ("value string, headers map<string,binary>", "t", "column headers is map<string,binary>"),
]


@pytest.mark.parametrize(("ddl", "topic", "reason"), SCHEMAS)
def test_columns_that_are_no_record_are_refused(spark, ddl, topic, reason):
    options = parse_sink_options({"kafka.bootstrap.servers": "h:1", **({"topic": topic} if topic else {})})
    with pytest.raises(ValueError, match=reason.replace("<", "[<]")):
        check_schema(_parse_datatype_string(ddl), options)
    check_schema(_parse_datatype_string("value binary, topic string, more int"), options)


def test_a_round_trip_through_a_topic(spark, out, broker):
    frame = spark.range(100).selectExpr(
        "CAST(id AS STRING) AS key",
        "concat('v', id) AS value",
        "array(named_struct('key', 'h', 'value', CAST('x' AS BINARY))) AS headers",
        "CAST(id % 2 AS INT) AS partition",
        "'out' AS topic",
    )
    frame.write.format("headrace").option("kafka.bootstrap.servers", broker.address).mode("append").save()
    reader = spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address)
    back = reader.option("subscribe", "out").option("includeHeaders", "true").load().collect()
    assert {(bytes(row.key), bytes(row.value), row.partition) for row in back} == {
        (b"%d" % number, b"v%d" % number, number % 2) for number in range(100)
    }
    assert {(header.key, bytes(header.value)) for row in back for header in row.headers} == {("h", b"x")}


def test_a_batch_is_refused_before_it_writes_or_fails_with_its_task(spark, out, broker):
    frame = spark.range(10).selectExpr("CAST(id AS STRING) AS value")
    writer = frame.write.format("headrace").option("kafka.bootstrap.servers", broker.address)
    with pytest.raises(PySparkException, match="option topic must be set"):
        writer.mode("append").save()
    with pytest.raises(PySparkException, match="a topic is append-only"):
        writer.option("topic", "out").mode("overwrite").save()
    with pytest.raises(PySparkException, match="UNKNOWN_TOPIC_OR_PARTITION: topic nowhere"):
        writer.option("topic", "nowhere").mode("append").save()
    assert held(out, OUT0) == held(out, OUT1) == []


def test_a_stream_from_topic_to_topic(spark, out, broker, tmp_path):
    source = TopicPartition("source", 0)
    out.append(source, [(b"k%d" % number, b"v%d" % number) for number in range(50)])
    reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", broker.address)
    frame = reader.option("subscribe", "source").option("startingOffsets", "earliest").load()
    for expected in (50, 80):
        writer = frame.select("key", "value").writeStream.format("headrace").option("topic", "out")
        writer = writer.option("kafka.bootstrap.servers", broker.address)
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        assert query.awaitTermination(DEADLINE_S)
        assert len(held(out, OUT0)) + len(held(out, OUT1)) == expected
        out.append(source, [(b"k", b"later")] * 30)
