"""Aggregates of a range in the worker: what crosses to the JVM is a row for each group, not for each record.

    batch -> group_by(keys) -> partials, merged when there are many -> rows: keys | a column for each aggregate

`count`, `sum`, `min` and `max` have partials that merge by sum, sum, min, max. For `approx_count_distinct` the worker gives each distinct
value of a group once, in rows whose other partials are null, and Spark's own function counts them.

NaN is Spark's largest number, and Arrow's `max` passes over it: of floats the maxima are those of their ranks (`float_ranks.py`).

Runs in: made in Spark's driver, used in the Python workers. Memory: PARTIAL_GROUPS_MAX partial rows and a batch; beyond, partials are
handed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.limits import PARTIAL_GROUPS_MAX
from headrace.spark.float_ranks import floats_of, ranks_of

FUNCTIONS = ("count", "sum", "min", "max", "approx_count_distinct")
DISTINCT = "approx_count_distinct"
WINDOW_START = "window_start"
_MERGED_BY = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
_CALL = re.compile(r"\s*(\w+)\s*\(\s*([^(),]*?)\s*\)\s*")
_ALL = "_all"  # a key for aggregates without one


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One column of the result: a function of a column; `count` has none."""

    name: str
    function: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class Partials:
    """What a worker makes of batches.

    keys        columns to group by
    window_us   tumbling windows of `timestamp` as a further key, WINDOW_START; 0: none
    """

    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    window_us: int = 0

    def columns(self) -> tuple[str, ...]:
        """What has to be read."""
        named = [one.column for one in self.aggregates if one.column]
        window = ["timestamp"] if self.window_us else []
        return tuple(dict.fromkeys([*self.keys, *window, *named])) or ("offset",)

    def schema(self, read: pa.Schema) -> pa.Schema:
        """Of the partial rows, from that of the columns that are read. raises ValueError, for what can't be summed"""
        fields = [read.field(name) for name in self.keys]
        if self.window_us:
            fields.append(pa.field(WINDOW_START, read.field("timestamp").type))
        for one in self.aggregates:
            kind = pa.int64() if one.function == "count" else read.field(one.column).type
            if one.function == "sum":
                if not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
                    raise ValueError(
                        f"{one.name}: sum of {one.column}, which is {kind}; it must be an integer or a float"
                    )
                kind = pa.int64() if pa.types.is_integer(kind) else pa.float64()
            fields.append(pa.field(one.name, kind))
        return pa.schema(fields)

    def of(self, batches: Iterator[pa.RecordBatch], read: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Partial rows; a group may come more than once. raises HeadraceError, for a sum that passes int64 in a batch"""
        schema = self.schema(read)
        sums = [one for one in self.aggregates if one.function != DISTINCT]
        distinct = [one for one in self.aggregates if one.function == DISTINCT]
        kept: dict[str, list[pa.Table]] = {one.name: [] for one in [*sums[:1], *distinct]}
        for batch in batches:
            table = self._keyed(batch)
            if sums:
                kept[sums[0].name].append(self._first(table, sums))
            for one in distinct:
                kept[one.name].append(_distinct(table, self._names(), one))
            if sum(part.num_rows for parts in kept.values() for part in parts) > PARTIAL_GROUPS_MAX:
                yield from self._handed_on(kept, sums, schema, PARTIAL_GROUPS_MAX // 2)
        yield from self._handed_on(kept, sums, schema, 0)

    def _names(self) -> list[str]:
        return [*self.keys, *([WINDOW_START] if self.window_us else [])] or [_ALL]

    def _keyed(self, batch: pa.RecordBatch) -> pa.Table:
        table = pa.Table.from_batches([batch])
        if self.window_us:
            times = table["timestamp"].cast(pa.int64()).to_numpy()
            starts = np.floor_divide(times, self.window_us) * self.window_us
            table = table.append_column(WINDOW_START, pa.array(starts).cast(table["timestamp"].type))
        if self._names() == [_ALL]:
            table = table.append_column(_ALL, pa.array(np.zeros(len(table), np.int8)))
        return table

    def _first(self, table: pa.Table, sums: Sequence[Aggregate]) -> pa.Table:
        """Of one batch."""
        for one in sums:
            if one.function == "sum":
                _check_sum(table[one.column], one.name)
        calls = [(one.column, one.function) for one in sums]
        return _grouped(table, self._names(), calls, [one.name for one in sums])

    def _handed_on(
        self, kept: dict[str, list[pa.Table]], sums: Sequence[Aggregate], schema: pa.Schema, spared: int
    ) -> Iterator[pa.RecordBatch]:
        """Merge what is kept; rows of what has more than `spared` groups, which is then forgotten."""
        names = self._names()
        for kind, parts in kept.items():
            if not parts:
                continue
            table = pa.concat_tables(parts)
            is_sums = bool(sums) and kind == sums[0].name
            if is_sums:
                if any(one.function in ("count", "sum") and _may_overflow(table[one.name]) for one in sums):
                    merged, spared_now = table, 0  # Spark adds them up, and says so if they overflow
                else:
                    merged, spared_now = _merged(table, names, sums), spared
            else:
                merged, spared_now = table.group_by([*names, kind], use_threads=False).aggregate([]), spared
            kept[kind] = [merged]
            if merged.num_rows > spared_now:
                kept[kind] = []
                yield from _rows(merged, schema)


def parse_aggregates(given: Mapping[str, str]) -> tuple[Aggregate, ...]:
    """{"records": "count()", "bytes": "sum(value_length)"}. raises ValueError, naming what is wrong"""
    found = []
    for name, text in given.items():
        match = _CALL.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[1] not in FUNCTIONS or (match[1] == "count") != (match[2] in ("", "*")):
            raise ValueError(
                f"aggregate {name}={text!r}: expected count(), or one of {', '.join(FUNCTIONS[1:])} of a column"
            )
        found.append(Aggregate(name, match[1], "" if match[1] == "count" else match[2]))
    if not found:
        raise ValueError('aggregates: expected at least one, such as {"records": "count()"}')
    return tuple(found)


def _distinct(table: pa.Table, names: Sequence[str], one: Aggregate) -> pa.Table:
    kept = table.select(list(dict.fromkeys(names))).append_column(one.name, table[one.column])
    return kept.group_by([*names, one.name], use_threads=False).aggregate([])


def _merged(table: pa.Table, names: list[str], sums: Sequence[Aggregate]) -> pa.Table:
    return _grouped(table, names, [(one.name, _MERGED_BY[one.function]) for one in sums], [one.name for one in sums])


def _grouped(
    table: pa.Table, names: Sequence[str], calls: Sequence[tuple[str, str]], results: Sequence[str]
) -> pa.Table:
    """The groups of `names`, and of each call (column, function) a column of `results`."""
    columns = [table[name] for name in names]  # Arrow has them by number: names can't collide
    asked: dict[tuple[str, str], Any] = {}
    for column, function in calls:
        if function == "count":
            asked[column, function] = [], "count_all"
        elif (column, function) not in asked:
            asked[column, function] = str(len(columns)), function
            columns.append(ranks_of(table[column]) if _is_ranked(table, column, function) else table[column])
    numbered = pa.table(columns, names=[str(number) for number in range(len(columns))])
    keys = [str(number) for number in range(len(names))]
    found = numbered.group_by(keys, use_threads=False).aggregate(list(asked.values()))
    arrays = [found[key] for key in keys]
    for column, function in calls:
        number, called = asked[column, function]
        values = found[f"{number}_{called}" if number else called]
        arrays.append(floats_of(values) if _is_ranked(table, column, function) else values)
    return pa.table(arrays, names=[*names, *results])


def _is_ranked(table: pa.Table, column: str, function: str) -> bool:
    return function == "max" and pa.types.is_floating(table[column].type)


def _rows(table: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in schema
    ]
    yield from pa.table(columns, schema=schema).to_batches()


def _may_overflow(values: pa.ChunkedArray) -> bool:
    if not pa.types.is_integer(values.type):
        return False
    least, most = pc.min_max(values).as_py().values()
    return least is not None and max(-least, most) * len(values) >= 2**63


def _check_sum(values: pa.ChunkedArray, name: str) -> None:
    if _may_overflow(values) and abs(sum(value or 0 for value in values.to_pylist())) >= 2**63:
        raise HeadraceError(f"{name}: the sum of one batch does not fit a long")
