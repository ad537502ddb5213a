"""A table as a LazyFrame of Polars, which pushes projections, filters and `head` down.

Polars hands on a filter as an expression of its own. Parts of it that mean the same to Arrow go into the scan: comparisons of columns
with constants, membership, tests for null, and what and, or and not make of them. They narrow what is read; the filter as a whole is
Polars' own, applied to what comes. A part that is not understood is only applied.

    floats        stay with Polars: NaN is the greatest there, and statistics leave it out
    n_rows        are counted before the filter
    hints         of a sort with a limit ("dynamic_pred") are no filter, and are left out

Source: polars.io.plugins.register_io_source.
"""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars
import pyarrow as pa
import pyarrow.compute as pc
from polars.io.plugins import register_io_source

if TYPE_CHECKING:
    from headrace.load.scanned_table import ScannedTable

HINT = "dynamic_pred"
AND, OR = ("And", "LogicalAnd"), ("Or", "LogicalOr")
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtEq": operator.le,
    "Gt": operator.gt,
    "GtEq": operator.ge,
}
_MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_BOUNDS = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}


class _Foreign(Exception):
    """A part that Arrow might understand otherwise."""


def lazy_frame(table: ScannedTable) -> polars.LazyFrame:
    """A frame whose every collection is a scan of the table."""

    def source(
        with_columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        parts = [] if predicate is None else [one for one in _conjuncts(predicate) if HINT not in _as_json(one)]
        rest = reduce(operator.and_, parts) if parts else None
        where = None if n_rows is not None else pushable(parts, table.schema)
        left = n_rows
        for batch in table.scanner(with_columns, where).to_batches():
            frame = polars.DataFrame(polars.from_arrow(batch))
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame if rest is None else frame.filter(rest)
            if left == 0:
                return

    def schema() -> polars.Schema:
        return polars.DataFrame(polars.from_arrow(table.schema.empty_table())).schema

    return register_io_source(source, schema=schema, is_pure=True)


def pushable(parts: Sequence[polars.Expr], schema: pa.Schema) -> pc.Expression | None:
    """What Arrow may apply before: all rows that match all parts of a filter match this."""
    found = []
    for part in parts:
        try:
            found.append(_expression(json.loads(_as_json(part)), schema))
        except (_Foreign, KeyError, TypeError, ValueError, pa.ArrowException, polars.exceptions.PolarsError):
            continue  # its form is not known to us, or a constant has no place in the column's type
    return reduce(operator.and_, found) if found else None


def _conjuncts(predicate: polars.Expr) -> list[polars.Expr]:
    """The parts of which all must hold. As expressions: infinity and NaN have no JSON."""
    found = json.loads(_as_json(predicate)).get("BinaryExpr")
    if found is None or found["op"] not in AND:
        return [predicate]
    return [part for one in reversed(predicate.meta.pop()) for part in _conjuncts(one)]


def _expression(tree: Any, schema: pa.Schema) -> pc.Expression:
    """The same to Arrow. raises _Foreign"""
    ((kind, found),) = tree.items()
    if kind == "BinaryExpr":
        return _of_two(found["op"], found["left"], found["right"], schema)
    if kind == "Function":
        return _of_function(found["function"], found["input"], schema)
    raise _Foreign(kind)


def _of_two(name: str, left: Any, right: Any, schema: pa.Schema) -> pc.Expression:
    if name in AND:
        return _expression(left, schema) & _expression(right, schema)
    if name in OR:
        return _expression(left, schema) | _expression(right, schema)
    if name not in _COMPARISONS:
        raise _Foreign(name)
    if not _is_column(left):
        name, left, right = _MIRRORED[name], right, left
    return _compared(name, left, right, schema)


def _compared(name: str, column: Any, constant: Any, schema: pa.Schema) -> pc.Expression:
    field, kind = _column(column, schema)
    (value,) = _constants(constant, kind)
    return _COMPARISONS[name](field, value)


def _of_function(function: Any, given: list[Any], schema: pa.Schema) -> pc.Expression:
    if not isinstance(function, dict) or "Boolean" not in function:
        raise _Foreign(str(function))
    found = function["Boolean"]
    name, options = next(iter(found.items())) if isinstance(found, dict) else (found, {})
    if name == "Not":
        return ~_expression(given[0], schema)
    if name == "IsNull":
        return _column(given[0], schema)[0].is_null()
    if name == "IsNotNull":
        return _column(given[0], schema)[0].is_valid()
    if name == "IsBetween":
        low, high = _BOUNDS[options["closed"]]
        return _compared(low, given[0], given[1], schema) & _compared(high, given[0], given[2], schema)
    if name == "IsIn":
        field, kind = _column(given[0], schema)
        values = _constants(given[1], kind)
        # Arrow gives false for null where Polars gives null: whatever is made of it, no row that matches is left out.
        return field.isin(pa.array(values, kind))
    raise _Foreign(name)


def _is_column(tree: Any) -> bool:
    return isinstance(tree, dict) and "Column" in tree


def _column(tree: Any, schema: pa.Schema) -> tuple[pc.Expression, pa.DataType]:
    """raises   _Foreign, for what is no column of a type that compares the same in both"""
    if not _is_column(tree):
        raise _Foreign("no column")
    kind = schema.field(tree["Column"]).type
    types = pa.types
    if not (
        types.is_integer(kind) or types.is_string(kind) or types.is_binary(kind) or types.is_boolean(kind)
        or types.is_timestamp(kind) or types.is_date32(kind)
    ):  # fmt: skip
        raise _Foreign(str(kind))
    return pc.field(tree["Column"]), kind


def _constants(tree: Any, kind: pa.DataType) -> list[pa.Scalar]:
    """The values of what names no column, one by one, in a column's type. raises _Foreign"""
    if '"Column"' in json.dumps(tree):
        raise _Foreign("not a constant")
    series = polars.select(_from_json(tree)).to_series()
    if series.dtype == polars.List:
        series = series.explode()
    array = series.to_arrow()
    if array.null_count or not _is_like(array.type, kind):
        raise _Foreign(str(array.type))
    return list(array.cast(kind))  # or the constant has no place in it: an error


def _is_like(given: pa.DataType, kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return bool(types.is_timestamp(given) and (given.tz is None) == (kind.tz is None))
    if types.is_string(kind):
        return bool(types.is_large_string(given) or types.is_string(given) or types.is_string_view(given))
    if types.is_binary(kind):
        return bool(types.is_large_binary(given) or types.is_binary(given) or types.is_binary_view(given))
    return bool(types.is_integer(kind) and types.is_integer(given)) or given == kind


def _as_json(expression: polars.Expr) -> str:
    return str(expression.meta.serialize(format="json"))


def _from_json(tree: Any) -> polars.Expr:
    return polars.Expr.deserialize(io.BytesIO(json.dumps(tree).encode()), format="json")
