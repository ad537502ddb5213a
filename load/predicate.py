"""A condition over a table's rows, as DuckDB reads SQL: which rows it is true for.

    "key" = 'user-5'  or  "page" like '%/private/%'

DuckDB only says true or not, row by row in the order of the rows; it writes nothing, so that the types of what stays are never its own. A
condition that is null for a row is not true.

The text is one expression over columns of one row: no statement, no query in it, no aggregate. DuckDB is opened without access to
files, extensions or Python's variables.

What it compares with a constant, and has no `or` around it, is also compared with the statistics of a file's row groups, so that a
file without such rows is not read.

Source: DuckDB's expressions; its `json_serialize_sql` for which columns a text names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REFUSED = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window over other rows",
    "PARAMETER": "a parameter",
    "STAR": "a star for columns",
}
_BARE_OFFSET = re.compile(r'(?<!")\boffset\b(?!")', re.IGNORECASE)
_COMPARED = {
    "COMPARE_EQUAL": "==",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_TURNED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Predicate:
    """One condition.

    text      as it was given
    columns   that it names, among those it was checked with
    """

    def __init__(self, text: str) -> None:
        """raises   ValueError, for a text that is no condition; ImportError, if duckdb is not installed"""
        self.text = text
        self._duckdb = _duckdb()
        self._connection = self._duckdb.connect(
            config={
                "enable_external_access": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        )
        self._connection.execute("set TimeZone='UTC'")
        self._connection.execute("set python_enable_replacements=false")
        self._connection.execute("set lock_configuration=true")
        try:
            self._duckdb.SQLExpression(text)
        except self._duckdb.Error as failure:
            raise self._wrong(failure) from None
        self._tree = self._parsed()
        for node in _nodes(self._tree):
            if node.get("class") in REFUSED:
                raise ValueError(f"where {text!r} has {REFUSED[node['class']]}: expected a condition on one row")

    def columns(self, schema: pa.Schema) -> tuple[str, ...]:
        """Those that the text names, in the schema's order.

        raises   ValueError, where it names others, does not suit their types, or is no condition
        """
        try:
            found = self._relation(schema.empty_table()).select(self._duckdb.SQLExpression(self.text))
            kind, rows = str(found.types[0]), found.to_arrow_table().num_rows
        except self._duckdb.Error as failure:
            raise self._wrong(failure, f"; the columns are {', '.join(schema.names)}") from None
        if kind != "BOOLEAN":
            raise ValueError(f"where {self.text!r} is a {kind}, not a condition")
        if rows:
            raise ValueError(f"where {self.text!r} is about all rows together: expected a condition on one row")
        named = {str(name).lower() for node in _nodes(self._tree) for name in node.get("column_names", ())[:1]}
        return tuple(name for name in schema.names if name.lower() in named)

    def mask(self, rows: pa.Table) -> np.ndarray:
        """For each row whether the condition is true. raises ValueError, where it fails for a row"""
        if not rows.num_rows:
            return np.empty(0, bool)
        is_true = self._duckdb.CoalesceOperator(
            self._duckdb.SQLExpression(self.text), self._duckdb.ConstantExpression(False)
        )
        try:
            found = self._relation(rows).select(is_true).to_arrow_table().column(0)
        except self._duckdb.Error as failure:
            raise self._wrong(failure) from None
        if len(found) != rows.num_rows:
            raise ValueError(f"where {self.text!r} returns {len(found)} rows for {rows.num_rows}")
        return np.asarray(found.combine_chunks().to_numpy(zero_copy_only=False), bool)

    def bounds(self, schema: pa.Schema) -> pc.Expression | None:
        """What is true of each row that the condition is true for, in terms that statistics answer; None: nothing."""
        found = None
        for column, sign, value in _compared(self._tree):
            name = next((one for one in schema.names if one.lower() == column.lower()), None)
            if name is None or not _suits(schema.field(name).type, value):
                continue
            one = _expression(pc.field(name), sign, pa.scalar(value, schema.field(name).type))
            found = one if found is None else found & one
        return found

    def _relation(self, rows: pa.Table) -> Any:
        if not rows.num_columns:
            rows = pa.table({"_": pa.nulls(rows.num_rows, pa.int8())})
        return self._connection.from_arrow(rows)

    def _parsed(self) -> Any:
        """The tree of the expression. raises ValueError"""
        text = f"select ({self.text}\n) from rows"
        asked = "select json_serialize_sql(?, skip_null := true, skip_empty := true, skip_default := true)"
        answers: Any = self._connection.execute(asked, [text]).fetchall()
        found = json.loads(answers[0][0])
        statements = found.get("statements", ())
        selected: Any = statements[0]["node"].get("select_list", ()) if len(statements) == 1 else ()
        if found.get("error") or len(selected) != 1:
            raise ValueError(
                f"where {self.text!r} is not one expression: {found.get('error_message', 'it has several')}"
            )
        return selected[0]

    def _wrong(self, failure: Exception, more: str = "") -> ValueError:
        said = str(failure).partition("\n")[0]
        advice = '; write "offset" in double quotes, it is a word of SQL' if _BARE_OFFSET.search(self.text) else ""
        return ValueError(f"where {self.text!r}: {said}{more}{advice}")


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as failure:
        raise ImportError(f"deleting by a condition needs duckdb: pip install 'headrace[load]' ({failure})") from None
    return duckdb


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every part of a tree."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _compared(tree: Any) -> Iterator[tuple[str, str, int | str]]:
    """Columns that are compared with a constant, in a tree that is true only if all of these are."""
    if tree.get("type") == "CONJUNCTION_AND":
        for child in tree.get("children", ()):
            yield from _compared(child)
        return
    sign = _COMPARED.get(tree.get("type", ""))
    if tree.get("class") != "COMPARISON" or sign is None:
        return
    left, right = tree.get("left", {}), tree.get("right", {})
    if left.get("class") == "CONSTANT":
        left, right, sign = right, left, _TURNED[sign]
    names, value = left.get("column_names", ()), _constant(right)
    if left.get("class") == "COLUMN_REF" and len(names) == 1 and value is not None:
        yield str(names[0]), sign, value


def _constant(node: Any) -> int | str | None:
    """A whole number or a text; None for all else. DuckDB 2 and 1 spell them differently."""
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal")
    if literal is None:
        value = node.get("value", {}).get("value")
        return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    text = literal.get("text")
    if literal.get("kind") == "INTEGER":
        return int(text)
    return str(text) if literal.get("kind") == "STRING" else None


def _suits(kind: pa.DataType, value: int | str) -> bool:
    """Whether statistics of that type are compared as DuckDB compares the column."""
    if isinstance(value, str):
        return bool(pa.types.is_string(kind))
    return bool(pa.types.is_signed_integer(kind)) and -(2 ** (kind.bit_width - 1)) <= value < 2 ** (kind.bit_width - 1)


def _expression(field: pc.Expression, sign: str, value: pa.Scalar) -> pc.Expression:
    if sign == "==":
        return field == value
    if sign == "<":
        return field < value
    if sign == "<=":
        return field <= value
    return field > value if sign == ">" else field >= value
