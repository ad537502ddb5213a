"""`headrace.spark.table`: a topic's loaded history and the live log after it, as one DataFrame.

Runs in: Spark's driver. The files are read by Spark's Parquet reader, the log by a located scan, from exactly the offsets of the
commit whose files they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from headrace.arrow.scan_options import ScanOptions
from headrace.load.contents import CORRUPT, MODES, contents_of
from headrace.load.live_table import joint_schema, loaded_paths, read_moment
from headrace.load.target import Target, open_target
from headrace.spark.column_types import quoted

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
    read_committed: bool | None = None,
) -> DataFrame:
    """One topic, past and present; frozen now, at a commit and at the high watermarks. Call it again for newer records.

    The arguments are those of `headrace.table`.

    raises   ValueError, DataLoss, TopicReplaced, what `scan` raises
    """
    target = open_target(history)
    if isinstance(columns, str):
        columns = [part.strip() for part in columns.split(",") if part.strip()]
    contents = contents_of(None, decode, decode_mode, with_headers=True)

    def planned(options: ScanOptions) -> Any:
        return _live(spark, topic, bootstrap_servers, options, schema.names, decode, decode_mode)

    schema = joint_schema(target.read(), contents, columns)
    snapshot, live = read_moment(target, topic, bootstrap_servers, planned, read_committed)
    live = live.select(*(live[quoted(field.name)].cast(_spark_type(field.type)).alias(field.name) for field in schema))
    paths = loaded_paths(target, snapshot, topic)
    if not paths:
        return cast("DataFrame", live)
    past: DataFrame = spark.read.schema(_spark_schema(schema)).parquet(*paths).select(*map(quoted, schema.names))
    return past.unionByName(live)


def _live(
    spark: SparkSession,
    topic: str,
    bootstrap_servers: str,
    options: ScanOptions,
    names: Sequence[str],
    decode: Decode | None,
    decode_mode: str,
) -> DataFrame:
    from headrace.spark.scan import scan

    mode = MODES[decode_mode]
    wanted = [*names, CORRUPT] if mode == "column" else list(names)
    frame = scan(
        spark,
        topic,
        bootstrap_servers=bootstrap_servers,
        columns=wanted,
        decode=decode,
        decode_mode=mode,
        start=dict(options.start.offsets),
        read_committed=options.read_committed,
    )
    return frame.where(f"{CORRUPT} is null").drop(CORRUPT) if mode == "column" else frame


def _spark_type(kind: pa.DataType) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind)


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, _spark_type(field.type)) for field in schema])
