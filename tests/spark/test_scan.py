"""`scan`: what crosses to the JVM is what was asked for."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import Record
from headrace.spark import scan
from headrace.spark.scan import located

NAMES = [TopicPartition("clicks", partition) for partition in range(3)]


@pytest.fixture
def clicks(log):
    """Three partitions of 200 records."""
    for name in NAMES:
        for number in range(4):
            records = [
                Record(index, 1000 * number + index, b"k%d" % (index % 5), b"value-%03d" % (50 * number + index))
                for index in range(50)
            ]
            log.append(name, records, codec=number)
    return log


def test_all_columns_as_the_kafka_source_types_them(spark, clicks, broker):
    frame = scan(spark, "clicks", bootstrap_servers=broker.address)
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    found = {(row.partition, row.offset, bytes(row.key), bytes(row.value)) for row in frame.collect()}
    assert found == {
        (name.partition, record.offset, record.key, record.value) for name in NAMES for record in clicks.records(name)
    }
    assert broker.asked[ApiKey.FETCH] == 0


def test_what_can_not_be_read_here_comes_over_the_network(spark, clicks, remote_broker):
    frame = scan(spark, "clicks", bootstrap_servers=remote_broker.address, columns=["offset"])
    assert sorted(row.offset for row in frame.collect()) == sorted(3 * list(range(200)))
    assert remote_broker.asked[ApiKey.FETCH] >= 3


def test_where_as_an_expression(spark, clicks, broker):
    where = pc.match_substring(pc.field("value"), "value-01")
    frame = scan(spark, "clicks", bootstrap_servers=broker.address, columns=["value"], where=where)
    assert frame.count() == 3 * 10


def test_where_as_a_function(spark, clicks, broker):
    frame = scan(
        spark,
        "clicks",
        bootstrap_servers=broker.address,
        columns=["offset", "partition"],
        where=lambda batch: pc.and_(pc.equal(batch["partition"], 1), pc.less(batch["offset"], 7)),
    )
    assert sorted(row.offset for row in frame.collect()) == list(range(7))


def test_map_batches_sums_in_the_worker(spark, clicks, broker):
    def total(batches):
        rows = size = 0
        for batch in batches:
            rows += batch.num_rows
            size += pc.sum(batch["value_length"]).as_py()
        yield pa.RecordBatch.from_pydict({"rows": [rows], "size": [size]})

    frame = scan(
        spark,
        "clicks",
        bootstrap_servers=broker.address,
        columns=["value_length"],
        map_batches=total,
        schema="rows bigint, size bigint",
    )
    found = frame.collect()
    assert len(found) == 3
    assert (sum(row.rows for row in found), sum(row.size for row in found)) == (600, 600 * len(b"value-000"))


def test_start_and_end_by_partition(spark, clicks, broker):
    frame = scan(
        spark,
        ["clicks"],
        bootstrap_servers=broker.address,
        columns=["partition", "offset"],
        start={NAMES[0]: 190, NAMES[1]: 200},
        end={NAMES[2]: 5},
    )
    found = sorted((row.partition, row.offset) for row in frame.collect())
    assert found == [(0, offset) for offset in range(190, 200)] + [(2, offset) for offset in range(5)]


def test_the_end_is_frozen_when_scan_is_called(spark, clicks, broker):
    frame = scan(spark, "clicks", bootstrap_servers=broker.address, columns=["offset"])
    clicks.append(NAMES[0], [(None, b"later")])
    assert frame.count() == 600


def test_min_partitions(spark, clicks, broker):
    frame = scan(spark, "clicks", bootstrap_servers=broker.address, columns=["offset"], min_partitions=12)
    assert frame.rdd.getNumPartitions() == 12
    assert frame.count() == 600


def test_an_empty_topic_is_an_empty_frame(spark, log, broker):
    log.create("empty")
    assert scan(spark, "empty", bootstrap_servers=broker.address).collect() == []


def test_a_limit_that_stops_early_leaves_nothing_behind(spark, clicks, broker):
    frame = scan(spark, "clicks", bootstrap_servers=broker.address)
    assert len(frame.limit(3).collect()) == 3
    assert len(frame.take(1)) == 1


def test_tasks_prefer_the_hosts_of_the_replicas(spark, clicks, broker):
    from headrace.spark.options import ScanOptions
    from headrace.spark.planner import plan

    ranges = plan(ScanOptions(broker.address, ("clicks",)), 3)
    frame = located(spark, ranges)
    assert frame.rdd.getNumPartitions() == 3
    rdd = frame._jdf.queryExecution().toRdd()
    while not rdd.preferredLocations(rdd.partitions()[0]).size():
        rdd = rdd.dependencies().head().rdd()
    for partition in rdd.partitions():
        assert rdd.preferredLocations(partition).mkString(",") == "127.0.0.1"


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": ["val"]},
        {"columns": []},
        {"start": "soon"},
        {"map_batches": iter},
        {"schema": "a int"},
        {"bootstrap_servers": "nohost"},
    ],
)
def test_what_makes_no_sense_fails_at_once(spark, clicks, broker, arguments):
    with pytest.raises(ValueError, match=r"columns|start and end|go together|bootstrap server"):
        scan(spark, "clicks", **{"bootstrap_servers": broker.address, **arguments})


def test_a_topic_that_is_not_there_fails_at_once(spark, clicks, broker):
    with pytest.raises(KafkaError, match="nowhere"):
        scan(spark, "nowhere", bootstrap_servers=broker.address)
