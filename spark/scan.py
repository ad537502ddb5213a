"""`scan`: a DataFrame over segment files, read in place.

The driver plans ranges; a small RDD of them carries preferred locations (all in-sync replica hosts);
`mapInArrow` reads each range in the Python worker, where projection, `where` and `map_batches` are applied,
so that only what the query needs crosses to the JVM.

    scan(spark, "clicks", bootstrap_servers="127.0.0.1:9092", columns=["value_length"])
    scan(spark, "clicks", bootstrap_servers=b, where=pc.match_substring(pc.field("value"), "error"))

Each row that crosses to the JVM costs 200 to 290 ns there, a row that stays in the worker 70 to 130 ns, decoding
included (bench/decode.py).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.arrow.planner import plan
from headrace.arrow.ranges import OffsetRange
from headrace.arrow.scan_options import Bound
from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition
from headrace.spark.decoding.decode_plan import Decode, DecodePlan, decode_plan
from headrace.spark.executor_python import prepare_workers
from headrace.spark.explain import remember
from headrace.spark.options import MAX_PARTITIONS, SOON, SourceOptions, parse_options
from headrace.spark.packing import packed
from headrace.spark.read_counts import counted
from headrace.spark.reading import Reading, Where, reading_of
from headrace.spark.result_schema import conformed

MapBatches = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]
Offsets = str | Mapping[TopicPartition, int] | None

_log = logging.getLogger("headrace.spark")


def scan(
    spark: SparkSession,
    topics: str | Sequence[str] | None = None,
    *,
    bootstrap_servers: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    decode: Decode | None = None,
    decode_mode: str = "fail",
    where: Where = None,
    start: Offsets = None,
    end: Offsets = None,
    min_partitions: int | None = None,
    pack: bool = True,
    map_batches: MapBatches | None = None,
    schema: str | StructType | None = None,
    read_committed: bool = False,
    check_crcs: bool = True,
    fail_on_data_loss: bool = True,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Records of topics as a DataFrame; the end is frozen now, at the high watermark.

    topics         a name, comma-separated names, or a sequence of names
    columns        of key, value, topic, partition, offset, timestamp, timestampType (None: these), headers,
                   key_length, value_length (the lengths cost no copy of the bytes), and decoded ones; with `decode` None: those alone
    decode         how the value is decoded, by `headrace.spark.decoding`: json("page string, ms long"), csv(...), text(), avro(...),
                   protobuf(...); a dict of decoders by "value" and "key" for both
    decode_mode    for a record that does not decode: "fail", "null" (its decoded columns are null), or "column" (as null, and
                   `_corrupt` has the reason)
    where          filter applied in the worker: an Arrow expression over the columns, or a function from a RecordBatch to
                   a boolean array; what an expression says of offset, timestamp, partition and topic narrows the plan
    start, end     "earliest", "latest", or offsets by TopicPartition; partitions not named are read from the start or to the end
    min_partitions least number of tasks; by default large partitions are split so that every core has work
    pack           small ranges share a task, if there are more than four a core; False: a task for each range
    map_batches    applied in the worker to the batches of a range, after `where`: partial aggregates, file writing;
                   `schema` (Spark DDL, or a StructType) is then the schema of what it yields
    check_crcs     verify the checksum of every batch
    options        further options of `.format("headrace")`: subscribePattern, assign, startingTimestamp, ...
    raises         ValueError, DataLoss, KafkaError, ConnectionFailed, RuntimeError: at once, not in the tasks
    """
    if (map_batches is None) != (schema is None):
        raise ValueError("map_batches and schema must be given together")
    given = {
        "subscribe": joined(topics, "topics"),
        "kafka.bootstrap.servers": joined(bootstrap_servers, "bootstrap_servers"),
        "minPartitions": min_partitions,
        "kafka.isolation.level": "read_committed" if read_committed else None,
        "checkCrcs": None if check_crcs else False,
        "failOnDataLoss": None if fail_on_data_loss else False,
    }
    reading, ranges = planned(spark, given, start, end, options, columns, where, plan_of(decode, decode_mode))
    wanted = None if schema is None else struct_of(spark, schema)
    tasks = tasks_of(spark, ranges, pack, min_partitions, options)
    return frame_of(spark, tasks, reading, map_batches, wanted)


def frame_of(
    spark: SparkSession,
    tasks: list[list[OffsetRange]],
    reading: Reading,
    map_batches: MapBatches | None,
    wanted: StructType | None,
) -> DataFrame:
    """The ranges of tasks as a DataFrame, read where their files are; the rest as in `scan`."""
    name = remember(reading, tasks, map_batches)
    reading = counted(spark, reading, name)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in ranges_in(batches):
            found = reading.batches(one)
            yield from found if map_batches is None else conformed(map_batches(found), wanted)

    read.__name__ = name  # which Spark shows in its plans
    return located_tasks(spark, tasks).mapInArrow(read, wanted if wanted is not None else reading.spark_schema())


def planned(
    spark: SparkSession,
    given: Mapping[str, Any],
    start: Offsets,
    end: Offsets,
    options: Mapping[str, Any] | None,
    columns: str | Sequence[str] | None,
    where: Where,
    decode: DecodePlan | None = None,
) -> tuple[Reading, list[OffsetRange]]:
    """What is read, and the ranges, after all checks that the driver can make. raises what `scan` raises"""
    parsed = scan_options(given, start, end, options, decode)
    reading = reading_of(parsed, columns, where)
    prepare_workers(spark)
    if reading.where is not None:
        parsed = replace(parsed, where=reading.where, where_schema=reading.arrow_schema())
    return reading, plan(parsed, parallelism_of(spark))


def plan_of(decode: Decode | None, mode: str) -> DecodePlan | None:
    """raises   ValueError, TypeError"""
    if decode is None:
        if mode != "fail":
            raise ValueError(f"decode_mode {mode!r} needs decode; with options, set decode.mode")
        return None
    return decode_plan(decode, mode)


def scan_options(
    given: Mapping[str, Any],
    start: Offsets,
    end: Offsets,
    options: Mapping[str, Any] | None,
    decode: DecodePlan | None = None,
) -> SourceOptions:
    """Arguments and options merged and parsed. raises ValueError"""
    words = {"startingOffsets": start, "endingOffsets": end}
    for value in words.values():
        if isinstance(value, str) and value not in SOON:
            raise ValueError(f"start and end are 'earliest', 'latest' or offsets by partition, not {value!r}")
    merged = merged_options({**given, **{name: word for name, word in words.items() if isinstance(word, str)}}, options)
    parsed = replace(parse_options(merged, decode=decode), splits=True)
    if start is not None and not isinstance(start, str):
        parsed = replace(parsed, start=_bound(start, EARLIEST))
    if end is not None and not isinstance(end, str):
        parsed = replace(parsed, end=_bound(end, LATEST))
    return parsed


def merged_options(given: Mapping[str, Any], options: Mapping[str, Any] | None) -> dict[str, str]:
    """Arguments that are not None, and options, by names in lower case.

    raises   ValueError, if one is given twice, or is for `.format("headrace")` alone
    """
    merged = {key.lower(): _text(value) for key, value in (options or {}).items()}
    if MAX_PARTITIONS.lower() in merged:
        raise ValueError(
            f'option {MAX_PARTITIONS} is for .format("headrace"): scan, stream and write_parquet combine small ranges of the same hosts '
            "together by themselves; DataFrame.coalesce makes fewer tasks"
        )
    for name, value in given.items():
        if value is None:
            continue
        if name.lower() in merged:
            raise ValueError(f"option {name} is given twice, as an argument and in options")
        merged[name.lower()] = _text(value)
    return merged


def joined(names: str | Sequence[str] | None, what: str) -> str | None:
    """Names joined with commas, as options take them. raises ValueError"""
    if names is None or isinstance(names, str):
        return names
    parts = list(names)
    if not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"{what} {names!r} must be a string or a list of strings")
    return ",".join(parts)


def tasks_of(
    spark: SparkSession,
    ranges: list[OffsetRange],
    pack: bool,
    min_partitions: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[list[OffsetRange]]:
    """The ranges of each task. `minPartitions` of the options counts as `min_partitions` does."""
    if not pack:
        return [[one] for one in ranges]
    named = {name.lower(): value for name, value in (options or {}).items()}.get("minpartitions")
    return packed(ranges, parallelism_of(spark), int(min_partitions or named or 1))


def located(spark: SparkSession, ranges: list[OffsetRange]) -> DataFrame:
    """A Spark partition for each range, preferably on its replicas' hosts; `ranges_in` tells a task its own."""
    return located_tasks(spark, [[one] for one in ranges])


def located_tasks(spark: SparkSession, tasks: list[list[OffsetRange]]) -> DataFrame:
    """One row and one Spark partition for each task, preferably on its replicas' hosts; `ranges_in` tells a task its ranges."""
    schema = "descriptor binary"
    if not tasks:
        return spark.createDataFrame([], schema)
    rows = [bytearray(b"\n".join(one.to_bytes() for one in task)) for task in tasks]
    context = getattr(spark, "sparkContext", None) if hasattr(spark, "_jsparkSession") else None
    if context is None:  # Spark Connect has no way to say where
        return spark.createDataFrame([(row,) for row in rows], schema).repartition(len(rows))
    tell_placement(context, [one for task in tasks for one in task])
    return _located_dataset(spark, context, rows, tasks)


def ranges_in(batches: Iterable[pa.RecordBatch]) -> Iterator[OffsetRange]:
    """The ranges that a task was given, in the worker."""
    for batch in batches:
        for row in batch.column(0).to_pylist():
            yield from map(OffsetRange.from_bytes, row.split(b"\n"))


def tell_placement(context: Any, ranges: list[OffsetRange]) -> None:
    """Warn if no executor runs on a host that has the files: nothing else shows it."""
    if str(context.master).partition("[")[0] == "local":
        return
    # The driver is among them: it counts as an executor, for it can't be distinguished from one beside it.
    status = context._jsc.sc().getExecutorMemoryStatus().keys().mkString(",")
    executors = {address.rpartition(":")[0] for address in status.split(",")}
    hosts = {host for one in ranges for _broker_id, host, _log_dir in one.replicas}
    if hosts and not hosts & executors:
        _log.warning(
            "no executor runs on a broker's host (%s, executors on %s): all records are fetched over the network",
            ", ".join(sorted(hosts)),
            ", ".join(sorted(executors)),
        )


def _located_dataset(
    spark: SparkSession, context: Any, rows: list[bytearray], tasks: list[list[OffsetRange]]
) -> DataFrame:
    """A row a partition with preferred locations: only Scala's `makeRDD` can set them. As a Dataset of the JVM's, whose rows no Python
    worker has to make first."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    jvm = context._jvm
    pairs = jvm.java.util.ArrayList()
    known: dict[tuple[str, ...], Any] = {}
    for row, task in zip(rows, tasks, strict=True):
        names = tuple(dict.fromkeys(host for _broker_id, host, _log_dir in task[0].replicas))
        if names not in known:
            hosts = jvm.java.util.ArrayList()
            for host in names:
                hosts.add(host)
            known[names] = _scala_seq(jvm, hosts)
        pairs.add(jvm.scala.Tuple2(row, known[names]))
    byte_array = jvm.java.lang.Class.forName("[B")
    tag = jvm.scala.reflect.ClassTag.apply(byte_array)
    made = context._jsc.sc().makeRDD(_scala_seq(jvm, pairs), tag)
    dataset = spark._jsparkSession.createDataset(made, jvm.org.apache.spark.sql.Encoders.BINARY())
    return ClassicDataFrame(dataset.toDF(), spark).toDF("descriptor")


def _scala_seq(jvm: Any, items: Any) -> Any:
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq()


def struct_of(spark: SparkSession, schema: str | StructType) -> StructType:
    """raises   ParseException, for invalid DDL"""
    return schema if isinstance(schema, StructType) else cast("StructType", StructType.fromDDL(schema))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bound(given: Mapping[TopicPartition, int], default: int) -> Bound:
    try:
        return Bound(default, offsets={TopicPartition(*name): int(offset) for name, offset in given.items()})
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"start and end are 'earliest', 'latest' or offsets by (topic, partition), not {given!r}"
        ) from None


def parallelism_of(spark: SparkSession) -> int:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect
        return int(spark.conf.get("spark.default.parallelism", "2") or 2)
