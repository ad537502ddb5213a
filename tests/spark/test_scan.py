"""`scan`: what crosses to the JVM is what was asked for."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, functions
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headrace.arrow.errors import DataLoss
from headrace.arrow.planner import plan
from headrace.arrow.scan_options import ScanOptions
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import Record
from headrace.spark import explain, read_counts, scan
from headrace.spark.scan import located, tell_placement

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


def test_a_filter_narrows_the_plan_and_explain_says_so(spark, clicks, broker):
    where = (pc.field("offset") >= 190) & (pc.field("partition") == 1)
    frame = scan(spark, "clicks", bootstrap_servers=broker.address, columns="partition,offset", where=where)
    assert sorted(map(tuple, frame.collect())) == [(1, offset) for offset in range(190, 200)]
    told = explain(frame)
    assert "10 offsets" in told
    assert "pushed  offset >= 190: offsets before and after are not read" in told


def test_bytes_are_counted_by_where_they_come_from(spark, clicks, broker, remote_broker):
    stored = sum(path.stat().st_size for name in NAMES for path in clicks.partition_directory(name).glob("*.log"))
    here = scan(spark, "clicks", bootstrap_servers=broker.address, min_partitions=3)
    away = scan(spark, "clicks", bootstrap_servers=remote_broker.address, min_partitions=3)
    assert (read_counts(here), read_counts(here).local_share) == ((0, 0), 1.0)
    assert here.count() == 600
    assert away.where("partition > 0").count() == 400
    assert read_counts(here) == (stored, 0)
    assert read_counts(away) == (0, stored)
    assert f"{stored:,} bytes from files of the tasks' hosts, 0 over the network" in explain(here)
    both = here.select("offset").union(away.select("offset"))
    assert both.count() == 1200  # which reads both once more
    assert read_counts(both) == (2 * stored, 2 * stored)
    assert read_counts(both).local_share == 0.5
    with pytest.raises(ValueError, match="does not read through headrace's scan"):
        read_counts(spark.range(3))


def test_an_empty_topic_is_an_empty_frame(spark, log, broker):
    log.create("empty")
    assert scan(spark, "empty", bootstrap_servers=broker.address).collect() == []


def test_a_limit_that_stops_early_leaves_nothing_behind(spark, clicks, broker):
    frame = scan(spark, "clicks", bootstrap_servers=broker.address)
    assert len(frame.limit(3).collect()) == 3
    assert len(frame.take(1)) == 1


def test_tasks_prefer_the_hosts_of_the_replicas(spark, clicks, broker):
    ranges = plan(ScanOptions(broker.address, ("clicks",), splits=True), 3)
    frame = located(spark, ranges)
    assert frame.rdd.getNumPartitions() == 3
    rdd = frame._jdf.queryExecution().toRdd()
    while not rdd.preferredLocations(rdd.partitions()[0]).size():
        rdd = rdd.dependencies().head().rdd()
    for partition in rdd.partitions():
        assert rdd.preferredLocations(partition).mkString(",") == "127.0.0.1"


def test_small_partitions_share_a_task_and_keep_their_hosts(spark, log, broker):
    names = [TopicPartition("many", partition) for partition in range(60)]
    for name in names:
        log.append(name, [(b"k%d" % name.partition, b"v")] * 3)
    frame = scan(spark, "many", bootstrap_servers=broker.address, columns="partition,offset")
    assert 8 <= frame.rdd.getNumPartitions() <= 9
    wanted = [(name.partition, offset) for name in names for offset in range(3)]
    assert sorted(map(tuple, frame.collect())) == wanted
    rdd = frame._jdf.queryExecution().toRdd()
    while not rdd.preferredLocations(rdd.partitions()[0]).size():
        rdd = rdd.dependencies().head().rdd()
    assert {rdd.preferredLocations(one).mkString(",") for one in rdd.partitions()} == {"127.0.0.1"}
    apart = scan(spark, "many", bootstrap_servers=broker.address, columns="partition,offset", pack=False)
    assert apart.rdd.getNumPartitions() == 60
    assert scan(spark, "many", bootstrap_servers=broker.address, min_partitions=20).rdd.getNumPartitions() >= 20


def test_brokers_on_hosts_without_an_executor_are_told(spark, clicks, broker, caplog):
    (one, *_) = plan(ScanOptions(broker.address, ("clicks",)))
    cluster = SimpleNamespace(master="spark://host:7077", _jsc=spark.sparkContext._jsc)
    here = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keys().head().rpartition(":")[0]
    tell_placement(cluster, [replace(one, replicas=((0, here, "/data"),))])
    assert not caplog.records
    elsewhere = replace(one, replicas=((0, "elsewhere", "/data"),))
    tell_placement(spark.sparkContext, [elsewhere])
    assert not caplog.records
    tell_placement(cluster, [elsewhere])
    assert "no executor runs on a broker's host (elsewhere, executors on " in caplog.records[0].message


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": ["val"]},
        {"columns": []},
        {"columns": "value,value"},
        {"start": "soon"},
        {"start": {"clicks": 5}},
        {"map_batches": iter},
        {"schema": "a int"},
        {"bootstrap_servers": "nohost"},
        {"bootstrap_servers": None},
        {"bootstrap_servers": [1]},
        {"min_partitions": 0},
        {"min_partitions": -1},
        {"where": "offset > 5"},
        {"where": Column},
        {"where": pc.field("key_length") > 5},
        {"where": pc.add(pc.field("offset"), 1)},
        {"options": {"subscribePattern": "x"}},
        {"options": {"startingOffsets": "latest"}},
        {"options": {"kafka.bootstrap.servers": "h:1"}},
        {"options": {"kafka.ssl.keystore.location": "x"}},
    ],
    ids=str,
)
def test_what_makes_no_sense_fails_at_once(spark, clicks, broker, arguments):
    if arguments.get("where") is Column:
        arguments = {"where": functions.col("offset") > 5}
    named = (
        r"columns|start and end|given together|bootstrap.server|minPartitions|^where|exactly one|not allowed|twice|TLS"
    )
    with pytest.raises(ValueError, match=named):
        scan(spark, "clicks", **{"bootstrap_servers": broker.address, **arguments})


def test_names_as_a_string_or_a_list(spark, clicks, log, broker):
    log.append(TopicPartition("other", 0), [(None, b"x")])
    two = [broker.address, "127.0.0.1:1"]
    for topics in ("clicks, other", ["clicks", "other"]):
        frame = scan(spark, topics, bootstrap_servers=two, columns="value_length,topic")
        assert frame.columns == ["value_length", "topic"]
        assert frame.count() == 601


def test_options_go_by_the_names_of_the_source(spark, clicks, broker):
    options = {"assign": {"clicks": [1]}, "startingOffsets": {"clicks": {"1": 150}}, "includeHeaders": True}
    frame = scan(spark, bootstrap_servers=broker.address, options=options)
    assert frame.columns[-1] == "headers"
    assert sorted(row.offset for row in frame.collect()) == list(range(150, 200))
    assert scan(spark, bootstrap_servers=broker.address, options={"subscribePattern": "ick"}).count() == 600


def test_a_damaged_batch_is_refused_or_read_as_asked(spark, clicks, broker):
    path = clicks.partition_directory(NAMES[2]) / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[80] ^= 1
    path.write_bytes(data)
    with pytest.raises(PySparkException, match=r"clicks-2: the batch at offset 0 .* is corrupt"):
        scan(spark, "clicks", bootstrap_servers=broker.address).count()
    assert scan(spark, "clicks", bootstrap_servers=broker.address, columns="offset", check_crcs=False).count() == 600


def test_records_that_are_gone_are_skipped_where_that_was_asked_for(spark, clicks, broker):
    clicks.starts[NAMES[0]] = 50
    start = {"start": {NAMES[0]: 10}, "bootstrap_servers": broker.address, "columns": ["offset"]}
    with pytest.raises(DataLoss, match=r"clicks-0: offset 10 .*scan: fail_on_data_loss=False"):
        scan(spark, "clicks", **start)
    assert scan(spark, "clicks", **start, fail_on_data_loss=False).count() == 550


def counting(spark, broker, yields, schema):
    def count(batches):
        rows = sum(batch.num_rows for batch in batches)
        yield yields(rows)

    return scan(
        spark, "clicks", bootstrap_servers=broker.address, columns="offset", map_batches=count, schema=schema
    ).collect()


def test_map_batches_with_a_struct_type_and_columns_in_another_order(spark, clicks, broker):
    schema = StructType([StructField("rows", LongType()), StructField("name", StringType())])

    def yields(rows):
        return pa.RecordBatch.from_pydict({"name": ["n"], "rows": [rows]})

    assert [(row.rows, row.name) for row in counting(spark, broker, yields, schema)] == [(200, "n")] * 3


@pytest.mark.parametrize(
    ("yields", "reason"),
    [
        (
            lambda rows: pa.RecordBatch.from_arrays([pa.array([rows], pa.int32())], ["rows"]),
            r"the column rows as int32, the schema says rows bigint \(Arrow's int64\)",
        ),
        (
            lambda rows: pa.RecordBatch.from_pydict({"rows": [rows], "more": [1]}),
            r"yields the columns \['rows', 'more'\]",
        ),
        (lambda rows: rows, r"must yield pyarrow.RecordBatch, not int"),
    ],
)
def test_what_map_batches_yields_is_held_against_the_schema(spark, clicks, broker, yields, reason):
    with pytest.raises(PySparkException, match=reason):
        counting(spark, broker, yields, "rows bigint")


def test_a_topic_that_is_not_there_fails_at_once(spark, clicks, broker):
    with pytest.raises(KafkaError, match="nowhere"):
        scan(spark, "nowhere", bootstrap_servers=broker.address)


def test_workers_are_forked_with_their_imports_done(spark):
    def modules(batches):
        import sys

        list(batches)
        fork = Path(f"/proc/{os.getppid()}/cmdline").read_text()
        found = {
            "daemon": fork.split("\0")[2],
            "pyspark": sys.modules["pyspark"].__file__,
            "kernels": "headrace.arrow.decode" in sys.modules,
        }
        yield pa.RecordBatch.from_pylist([found])

    frame = spark.range(1).mapInArrow(modules, "daemon string, pyspark string, kernels boolean")
    row = frame.collect()[0]
    assert row.daemon == "headrace.cli.spark_daemon"
    assert ".zip" not in row.pyspark
    assert row.kernels
