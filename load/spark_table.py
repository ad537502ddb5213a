"""`headrace.spark.table`: a topic's loaded history and the live log after it, as one DataFrame.

Runs in: Spark's driver. The files are read by Spark's Parquet reader, the log by a located scan, from exactly the offsets of the
commit whose files they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.planner import plan
from headrace.arrow.ranges import ROWS_PER_BATCH
from headrace.arrow.scan_options import ScanOptions
from headrace.arrow.tally import Tally
from headrace.load.commits import Snapshot
from headrace.load.contents import Contents, contents_of
from headrace.load.live_table import joint_schema, read_moment
from headrace.load.table_rows import is_apart, own_paths, remaining
from headrace.load.target import Target
from headrace.load.targets import open_target
from headrace.spark.column_types import quoted
from headrace.spark.reading import Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.spark.decoding.decode_plan import Decode


def table(
    spark: SparkSession,
    topic: str,
    *,
    history: str | os.PathLike[str] | Target,
    bootstrap_servers: str = "127.0.0.1:9092",
    columns: str | Sequence[str] | None = None,
    decode: Decode | None = None,
    decode_mode: str = "fail",
    bad_times: str = "dead",
    read_committed: bool | None = None,
) -> DataFrame:
    """One topic, past and present; frozen now, at a commit and at the high watermarks. Call it again for newer records.

    The arguments are those of `headrace.table`; for its `where` there is `DataFrame.where`.

    raises   ValueError, DataLoss, TopicReplaced, what `scan` raises
    """
    from pyspark.sql.functions import lit

    target = open_target(history)
    if isinstance(columns, str):
        columns = [part.strip() for part in columns.split(",") if part.strip()]
    contents = contents_of(None, decode, decode_mode, with_headers=True, bad_times=bad_times)
    schema = joint_schema(target.read(), contents, columns)
    known = contents.schema().names
    contents = replace(contents, names=tuple(name for name in schema.names if name in known), span=target.time_span)

    def planned(options: ScanOptions) -> Any:
        return _live(spark, options, contents)

    snapshot, live = read_moment(target, topic, bootstrap_servers, planned, read_committed)
    found = {name: live[quoted(name)] for name in live.columns}
    live = live.select(
        *(found.get(field.name, lit(None)).cast(_spark_type(field.type)).alias(field.name) for field in schema)
    )
    for past in _past(spark, target, snapshot, schema, topic):
        live = past.unionByName(live)
    return cast("DataFrame", live)


def _past(
    spark: SparkSession, target: Target, snapshot: Snapshot, schema: pa.Schema, topic: str
) -> Iterator[DataFrame]:
    """The rows of the history: of our files, and of those that other programs wrote in their place."""
    from pyspark.sql.functions import col, lit

    names = [quoted(name) for name in schema.names]
    paths = own_paths(target, snapshot, topic)
    if paths:
        yield spark.read.schema(_spark_schema(schema)).parquet(*paths).select(*names)
    with_topic = schema if "topic" in schema.names else schema.append(pa.field("topic", pa.string()))
    others = [one for one in snapshot.others if one.topic in ("", topic)]
    apart = [one for one in others if is_apart(one, snapshot)]
    for is_said in (True, False):
        plain = [
            f"{target.root}/{one.path}" for one in others if bool(one.topic) == is_said and not is_apart(one, snapshot)
        ]
        if plain:
            rows = spark.read.schema(_spark_schema(with_topic)).parquet(*plain)
            rows = rows.withColumn("topic", lit(topic)) if is_said else rows.where(col("topic") == topic)
            yield rows.select(*names)
    tables = [remaining(target.root, one, with_topic, snapshot.column_ids) for one in apart]
    if tables:
        found = pa.concat_tables(tables).filter(pc.field("topic") == topic)
        yield spark.createDataFrame(found, _spark_schema(with_topic)).select(*names)


def _live(spark: SparkSession, options: ScanOptions, contents: Contents) -> DataFrame:
    """The rows of the log as a load would have them: without those of dead letters, and with times that the table holds."""
    from headrace.spark.executor_python import prepare_workers
    from headrace.spark.scan import frame_of, parallelism_of, tasks_of

    prepare_workers(spark)
    ranges = plan(replace(options, splits=True), parallelism_of(spark))
    reading = TableReading(contents.names, contents.decode, contents=contents)
    return frame_of(spark, tasks_of(spark, ranges, pack=True), reading, None, _spark_schema(contents.schema()))


@dataclass(frozen=True)
class TableReading(Reading):
    """What a task reads of a range: as `Contents` have it."""

    contents: Contents = field(default_factory=lambda: Contents(()))

    def batches(self, one: OffsetRange, rows_per_batch: int = ROWS_PER_BATCH) -> Iterator[pa.RecordBatch]:
        """The records of a range. raises what `Contents.batches` raises"""
        tally = Tally()
        try:
            for batch, _dead in self.contents.batches(one, rows_per_batch, tally):
                yield batch
        finally:
            if self.count is not None:
                self.count(tally)


def _spark_type(kind: pa.DataType) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind)


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, _spark_type(field.type)) for field in schema])
