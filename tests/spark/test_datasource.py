"""`.format("headrace")` stands where `.format("kafka")` stood."""

import pytest
from pyspark.errors import PySparkException

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record

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
    assert load(subscribePattern="cl.*").count() == 200


def test_partitions(load):
    assert load().rdd.getNumPartitions() == 2
    assert load(minPartitions="6").rdd.getNumPartitions() == 6
    assert load(maxRecordsPerPartition="30").rdd.getNumPartitions() == 8


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
        ({"startingOffsets": "latest"}, "makes no sense in a batch"),
        ({"columns": "val"}, "choose from"),
    ],
)
def test_a_refusal_says_what_and_why(load, option, reason):
    with pytest.raises(PySparkException, match=reason):
        load(**option).count()


def test_nothing_to_read(load, log, spark, broker):
    log.create("empty")
    assert load(subscribePattern="empty").collect() == []
