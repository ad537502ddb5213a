"""`aggregate`: counts, sums, extremes and distinct counts of topics, partly in the Python workers, merged by Spark.

    aggregate(spark, "clicks", {"records": "count()", "bytes": "sum(value_length)"}, by="page", window="1 minute",
              decode=json("page string, ms long"), bootstrap_servers=b)

Runs in: Spark's driver; the partial rows are made by `partial_aggregates.py` in the tasks of a `scan`. The result is a DataFrame, equal to
what Spark's own functions give over the same scan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegralType, LongType, StructType

from headrace.spark.column_types import quoted
from headrace.spark.decoding.decode_plan import Decode
from headrace.spark.partial_aggregates import DISTINCT, WINDOW_START, Aggregate, Partials, parse_aggregates
from headrace.spark.reading import Reading
from headrace.spark.scan import frame_of, joined, plan_of, planned, tasks_of

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_WINDOW = re.compile(r"\s*(\d{1,9})\s+(second|minute|hour|day|week)s?\s*")


def aggregate(
    spark: SparkSession,
    topics: str | Sequence[str] | None,
    aggregates: Mapping[str, str],
    *,
    by: str | Sequence[str] = (),
    window: str | timedelta | None = None,
    bootstrap_servers: str | Sequence[str] | None = None,
    decode: Decode | None = None,
    decode_mode: str = "fail",
    where: Any = None,
    start: Any = None,
    end: Any = None,
    read_committed: bool = False,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Aggregates over topics as they are now.

    aggregates   by the name of the result's column: "count()", or sum, min, max, approx_count_distinct of a column
    by           columns to group by: Kafka's or decoded ones
    window       tumbling windows of `timestamp`, as a timedelta or "10 minutes": the column `window`, as Spark's function gives it
    returns      a row for each group: window, the columns of `by`, the aggregates; without groups one row
    raises       ValueError, and what `scan` raises: at once

    The other arguments are those of `scan`; `where` sees the columns named here.
    """
    keys = tuple(part.strip() for part in (by.split(",") if isinstance(by, str) else by) if part.strip())
    partials = Partials(keys, parse_aggregates(aggregates), _window_us(window))
    _check_names(partials)
    given = {
        "subscribe": joined(topics, "topics"),
        "kafka.bootstrap.servers": joined(bootstrap_servers, "bootstrap_servers"),
        "kafka.isolation.level": "read_committed" if read_committed else None,
    }
    columns = partials.columns()
    reading, ranges = planned(spark, given, start, end, options, columns, where, plan_of(decode, decode_mode))
    read = reading.arrow_schema()
    _check(partials, read)

    def partly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from partials.of(batches, read)

    tasks = tasks_of(spark, ranges, pack=True, options=options)
    frame = frame_of(spark, tasks, reading, partly, _spark_schema(partials, reading))
    return _final(frame, partials)


def _final(frame: DataFrame, partials: Partials) -> DataFrame:
    """The partial rows merged by Spark."""
    merged = [_merged(one).alias(one.name) for one in partials.aggregates]
    names = [*([WINDOW_START] if partials.window_us else []), *partials.keys]
    found = frame.groupBy(*map(quoted, names)).agg(*merged) if names else frame.agg(*merged)
    if not partials.window_us:
        return found
    end = F.timestamp_micros(F.unix_micros(WINDOW_START) + partials.window_us)
    spans = F.struct(F.col(WINDOW_START).alias("start"), end.alias("end")).alias("window")
    names = [*partials.keys, *(one.name for one in partials.aggregates)]
    return found.select(spans, *map(quoted, names))


def _merged(one: Aggregate) -> Column:
    name = quoted(one.name)
    if one.function == "count":
        return F.coalesce(F.sum(name), F.lit(0).cast("long"))
    return {"sum": F.sum, "min": F.min, "max": F.max, DISTINCT: F.approx_count_distinct}[one.function](name)


def _spark_schema(partials: Partials, reading: Reading) -> StructType:
    read = reading.spark_schema()
    found = StructType([read[name] for name in partials.keys])
    if partials.window_us:
        found.add(WINDOW_START, read["timestamp"].dataType)
    for one in partials.aggregates:
        kind: Any = LongType() if one.function == "count" else read[one.column].dataType
        if one.function == "sum":
            kind = LongType() if isinstance(kind, IntegralType) else DoubleType()
        found.add(one.name, kind)
    return found


def _check(partials: Partials, read: pa.Schema) -> None:
    """That Arrow can do it, on a batch without rows. raises ValueError"""
    try:
        empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in read], schema=read)
        list(partials.of(iter([empty]), read))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as failure:
        raise ValueError(f"aggregates: {failure}") from None


def _check_names(partials: Partials) -> None:
    """raises   ValueError, for a name that would stand for two columns"""
    names = [*partials.keys, *(one.name for one in partials.aggregates), *(["window"] if partials.window_us else [])]
    twice = sorted({name for name in names if names.count(name) > 1 or name == WINDOW_START})
    if twice:
        raise ValueError(f"aggregates: {', '.join(twice)} name more than one column of the result")


def _window_us(window: str | timedelta | None) -> int:
    """raises   ValueError"""
    if window is None:
        return 0
    if isinstance(window, timedelta):
        found = window // timedelta(microseconds=1)
    else:
        match = _WINDOW.fullmatch(window)
        found = int(match[1]) * _UNITS[match[2]] * 1_000_000 if match else 0
    if found <= 0:
        raise ValueError(f"window {window!r}: expected a timedelta above zero, or a string such as '10 minutes'")
    return found
