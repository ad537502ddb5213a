"""What a task reads of a range: columns, decoded, filtered.

Runs in: made and checked in Spark's driver, pickled, used in the Python workers, for `scan`, `.format("headrace")` and
`write_parquet` alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql.types import StructType

from headrace.arrow.column_types import ARROW_TYPES, check_columns
from headrace.arrow.ranges import ROWS_PER_BATCH, OffsetRange, read_range
from headrace.arrow.substring import Contains
from headrace.arrow.tally import Tally
from headrace.spark.column_types import SPARK_TYPES
from headrace.spark.decoding.ddl import parse_ddl
from headrace.spark.decoding.decode_plan import DecodePlan
from headrace.spark.decoding.spark_types import arrow_type
from headrace.spark.options import SourceOptions

Where = Any  # pyarrow.compute.Expression, or RecordBatch -> boolean array


@dataclass(frozen=True)
class Reading:
    """Columns of the result in their order; which of them are decoded, and how; the filter.

    count   called after each range with the bytes read of it (`read_counts.py`)
    """

    names: tuple[str, ...]
    decode: DecodePlan | None = None
    where: Where = None
    count: Callable[[Tally], None] | None = None

    def spark_schema(self) -> StructType:
        """The result's columns as Spark types."""
        decoded = {} if self.decode is None else {field.name: field for field in self.decode.fields().fields}
        found = StructType([])
        for name in self.names:
            found.add(decoded[name] if name in decoded else parse_ddl(f"{name} {SPARK_TYPES[name]}").fields[0])
        return found

    def arrow_schema(self) -> pa.Schema:
        """The same as Arrow types."""
        decoded = set() if self.decode is None else set(self.decode.fields().names)
        return pa.schema(
            [
                (field.name, arrow_type(field.dataType) if field.name in decoded else ARROW_TYPES[field.name])
                for field in self.spark_schema().fields
            ]
        )

    def sources(self) -> tuple[str, ...]:
        """Kafka's columns that have to be read."""
        if self.decode is None:
            return self.names
        decoded = self.decode.fields().names
        needed = [*(name for name in self.names if name not in decoded), *self.decode.sources(self.names)]
        if self.decode.mode == "fail":
            needed.append("offset")  # to name a record in the error; it costs no copy
        return tuple(dict.fromkeys(needed))

    def batches(self, one: OffsetRange, rows_per_batch: int = ROWS_PER_BATCH) -> Iterator[pa.RecordBatch]:
        """The records of a range. raises what `read_range` raises; UndecodableRecord; RegistryUnavailable"""
        found = self._read(one, rows_per_batch)
        if self.decode is not None:
            found = _decoded(found, self.decode, self.names, one)
        return _filtered(found, self.where)

    def _read(self, one: OffsetRange, rows_per_batch: int) -> Iterator[pa.RecordBatch]:
        tally = Tally()
        try:
            yield from read_range(one, self.sources(), rows_per_batch, tally=tally)
        finally:
            if self.count is not None:
                self.count(tally)


def reading_of(options: SourceOptions, columns: str | Sequence[str] | None, where: Where = None) -> Reading:
    """What arguments and options ask for; without columns kafka's, or what is decoded.

    raises   ValueError
    """
    if columns is not None and options.columns is not None:
        raise ValueError("option columns is given twice, as an argument and in options")
    decoded = () if options.decode is None else tuple(options.decode.fields().names)
    if columns is not None:
        names = check_columns(columns, decoded)
    else:
        names = options.columns or decoded or check_columns(None)
        if options.columns is None and options.includes_headers:
            names = (*names, "headers")
    found = Reading(names, options.decode, where)
    _check_where(found)
    return found


def _decoded(
    batches: Iterator[pa.RecordBatch], decode: DecodePlan, names: Sequence[str], one: OffsetRange
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield decode.apply(batch, names, one.topic, one.partition)


def _filtered(batches: Iterator[pa.RecordBatch], where: Where) -> Iterator[pa.RecordBatch]:
    if where is None:
        yield from batches
        return
    where = Contains.of(where) or where
    is_function = callable(where)
    for batch in batches:
        kept = batch.filter(where(batch)) if is_function else batch.filter(where)
        if kept.num_rows:
            yield kept


def _check_where(reading: Reading) -> None:
    """Check a filter on the driver, before a task uses it. raises ValueError"""
    where = reading.where
    if where is None:
        return
    if isinstance(where, pc.Expression):
        import pyarrow.dataset as ds  # the driver's alone

        try:
            ds.dataset(reading.arrow_schema().empty_table()).to_table(filter=where)
        except (pa.ArrowException, KeyError) as failure:
            raise ValueError(
                f"where {where}: {failure}; it sees the columns read: {', '.join(reading.names)}"
            ) from None
    elif isinstance(where, Column) or not callable(where):
        raise ValueError(
            f"where must be an Arrow expression (pyarrow.compute.field(...)) or a function of a RecordBatch, not {where!r}; "
            "Spark's own columns and SQL strings go into DataFrame.where"
        )
