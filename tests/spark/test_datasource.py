"""`.format("headrace")` stands where `.format("kafka")` stood."""

import pytest
from pyspark.errors import PySparkException

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record
from headrace.spark import explain, refresh, scan, stream, write_parquet
from headrace.spark.datasource import HeadraceDataSource
from headrace.spark.pyspark_headrace import DefaultSource

NAME = TopicPartition("clicks", 0)


@pytest.fixture
def load(spark, log, broker):
    """200 records over two partitions, a second apart; returns a loader."""
    for partition in range(2):
        records = [Record(index, 1000 * index, b"k", b"v%d" % index, (("h", b"x"),)) for index in range(100)]
        log.append(TopicPartition("clicks", partition), records)

    def load(**options):
        reader = spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address)
        if not any(key in options for key in ("assign", "subscribePattern")):
            reader = reader.option("subscribe", "clicks")
        return reader.options(**options).load()

    return load


def test_the_columns_of_the_kafka_source(load):
    assert load().columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    row = load().where("partition = 1 and offset = 7").first()
    assert (bytes(row.key), bytes(row.value), row.topic, row.timestampType) == (b"k", b"v7", "clicks", 0)
    assert row.timestamp.timestamp() == 7


def test_headers_where_asked_for(load):
    row = load(includeHeaders="true").first()
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("h", b"x")]


def test_casts_and_aggregates_as_over_kafka(load):
    frame = load().selectExpr("CAST(value AS STRING) AS text", "partition")
    assert frame.groupBy("partition").count().orderBy("partition").collect() == [(0, 100), (1, 100)]
    assert frame.where("text = 'v42'").count() == 2


def test_columns_named_in_the_option_only(load):
    assert load(columns="offset,value_length").dtypes == [("offset", "bigint"), ("value_length", "int")]


def test_offsets(load):
    frame = load(startingOffsets='{"clicks":{"0":90,"1":-2}}', endingOffsets='{"clicks":{"0":-1,"1":5}}')
    assert frame.groupBy("partition").count().orderBy("partition").collect() == [(0, 10), (1, 5)]


def test_timestamps(load):
    assert load(startingTimestamp="98000").count() == 4
    by_partition = '{"clicks":{"0":99000,"1":97000}}'
    assert load(startingOffsetsByTimestamp=by_partition, endingTimestamp="99000").count() == 2


def test_assign_and_pattern(load):
    assert load(assign='{"clicks":[1]}').count() == 100
    assert load(subscribePattern="ick").count() == 200


def test_partitions_are_as_many_as_the_connectors(load, log):
    log.append(NAME, [(None, b"x")] * 700)  # of which one is nearly all, on two cores
    assert load().rdd.getNumPartitions() == 2
    assert load(minPartitions="9").rdd.getNumPartitions() == 9
    assert load(maxRecordsPerPartition="300").rdd.getNumPartitions() == 4


def test_small_partitions_share_a_task_where_at_most_so_many_are_wanted(load, log):
    for partition in range(2, 40):
        log.append(TopicPartition("clicks", partition), [(None, b"x")] * (partition % 3))
    assert load().rdd.getNumPartitions() == 40
    frame = load(maxPartitions="3", columns="partition,offset")
    assert frame.rdd.getNumPartitions() == 3
    wanted = {(partition, n) for partition in range(40) for n in range(100 if partition < 2 else partition % 3)}
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(wanted)
    assert set(found) == wanted
    assert load(maxPartitions="5", minPartitions="4").rdd.getNumPartitions() == 5
    assert "in at most 3 tasks" in explain(frame)


def test_a_topic_without_records_is_read_in_few_tasks_too(load, log):
    log.starts[NAME] = log.starts[TopicPartition("clicks", 1)] = 100
    assert load(maxPartitions="3").collect() == []


@pytest.mark.parametrize("read", [scan, write_parquet, stream], ids=lambda read: read.__name__)
def test_what_packs_by_itself_takes_no_number_of_tasks(spark, broker, tmp_path, read):
    given = {"bootstrap_servers": broker.address, "options": {"maxPartitions": 3}}
    more = {"each_batch": print} if read is stream else {}
    places = [tmp_path / "out"] if read is write_parquet else []
    with pytest.raises(ValueError, match=r"maxPartitions is for \.format"):
        read(spark, "clicks", *places, **given, **more)


def test_lost_records(load, log):
    log.starts[NAME] = 50
    lost = {"startingOffsets": '{"clicks":{"0":10,"1":-2}}'}
    with pytest.raises(PySparkException, match="clicks-0: offset 10"):
        load(**lost).count()
    assert load(**lost, failOnDataLoss="false").count() == 150


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"kafka.auto.offset.reset": "earliest"}, "use startingOffsets"),
        ({"columns": "val"}, "choose from"),
        ({"columns": "value,value"}, "columns value are listed twice"),
        ({"minPartitions": "0"}, "option minPartitions 0 must be at least 1"),
        ({"kafka.security.protocol": "SASL_SSL"}, "only PLAINTEXT is supported so far"),
        ({"kafka.fetch.max.bytes": "abc"}, "option kafka.fetch.max.bytes 'abc' must be a whole number"),
    ],
)
def test_a_refusal_says_what_and_why_at_load(load, option, reason):
    with pytest.raises(PySparkException, match=reason):
        load(**option)


def test_a_schema_names_the_columns_to_read(load, spark, broker):
    reader = (
        spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address).option("subscribe", "clicks")
    )
    frame = reader.schema("offset bigint, value binary").load()
    assert frame.columns == ["offset", "value"]
    assert {(row.offset, bytes(row.value)) for row in frame.collect()} == {(n, b"v%d" % n) for n in range(100)}
    with pytest.raises(PySparkException, match=r"can't read value as string \(it is binary\); cast it"):
        reader.schema("value string").load().count()
    with pytest.raises(PySparkException, match=r"can't read page as string \(choose from"):
        reader.schema("page string").load().count()


def test_a_damaged_batch_fails_the_query_unless_told_otherwise(load, log):
    path = log.partition_directory(NAME) / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(PySparkException, match=r"clicks-0: the batch at offset 0 .* is corrupt"):
        load().selectExpr("sum(length(value))").collect()
    assert load(checkCrcs="false").count() == 200


def test_a_plan_is_frozen_until_it_is_refreshed(load, log, spark):
    frame = load()
    frame.createOrReplaceTempView("frozen")
    assert (frame.count(), spark.sql("SELECT count(*) FROM frozen").first()[0]) == (200, 200)
    log.append(NAME, [(None, b"later")] * 50)
    assert (frame.count(), spark.sql("SELECT count(*) FROM frozen").first()[0]) == (200, 200)
    assert refresh(frame).count() == 250
    assert spark.sql("SELECT count(*) FROM frozen").first()[0] == 250
    log.append(NAME, [(None, b"later")] * 50)
    assert refresh(spark.table("frozen").where("partition = 0")).count() == 200
    assert load().count() == 300


def test_what_can_not_be_refreshed_says_so(spark):
    with pytest.raises(ValueError, match=r'this DataFrame does not read with \.format\("headrace"\)'):
        refresh(spark.range(3))
    with pytest.raises(ValueError, match="classic session"):
        refresh(object())


def test_what_only_a_stream_takes_is_refused_at_the_first_action(load):
    with pytest.raises(PySparkException, match="option startingOffsets: latest is not allowed in a batch"):
        load(startingOffsets="latest").count()


def test_the_class_that_pyspark_looks_for_is_the_source():
    assert issubclass(DefaultSource, HeadraceDataSource)
    assert DefaultSource.name() == "headrace"


def test_nothing_to_read(load, log, spark, broker):
    log.create("empty")
    assert load(subscribePattern="empty").collect() == []
