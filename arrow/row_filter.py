"""`RowFilter`: a filter over batches whose keys and values are views.

    views that the filter names -> cast, for it alone -> one boolean a row -> the rows that are left; their views stay views

pyarrow computes next to nothing on views: it compares none, and can't even leave rows out of a column of them. So a filter sees keys and
values as plain binary, and the views of the rows that it keeps are copied, 16 bytes each; their bytes stay where they lie.

Runs in: every process that reads by `headrace.arrow.open`. Source: Arrow columnar format, variable-size binary view layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.target import VIEW_BYTES

KEPT = "kept"


class RowFilter:
    """A filter over the columns of a schema."""

    def __init__(self, where: pc.Expression, schema: pa.Schema) -> None:
        """raises   ValueError, where it can't be computed over these columns, or gives no boolean"""
        self._where = where
        views = [field.name for field in schema if pa.types.is_binary_view(field.type)]
        self._seen = pa.schema([(one.name, pa.binary() if one.name in views else one.type) for one in schema])
        seen = ", ".join(f"{field.name} {field.type}" for field in self._seen)
        try:
            kind = _computed(where, self._seen.empty_table())[KEPT].type
        except pa.ArrowException as failure:
            raise ValueError(f"where {where}: {failure}; it sees {seen}") from None
        if kind != pa.bool_():
            raise ValueError(f"where {where}: it returns {kind}, not a boolean; it sees {seen}")
        self._has_views = bool(views)
        unused = [name for name in views if self._does_without(name)]
        self._given = [name for name in self._seen.names if name not in unused]

    @property
    def schema(self) -> pa.Schema:
        """The columns as the filter sees them."""
        return self._seen

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that match. raises pa.ArrowException, where it can't be computed for a value"""
        if not self._has_views:
            return batch.filter(self._where)
        kinds = [self._seen.field(name).type for name in self._given]
        columns = [batch.column(name).cast(kind) for name, kind in zip(self._given, kinds, strict=True)]
        rows = pa.table(columns, names=self._given) if columns else _rows_alone(batch.num_rows)
        marks = _computed(self._where, rows)[KEPT].combine_chunks()
        marks = pc.fill_null(marks, False)
        if marks.true_count == batch.num_rows:
            return batch
        left = [_left_of(column, marks) for column in batch.columns]
        return pa.RecordBatch.from_arrays(left, schema=batch.schema)

    def _does_without(self, name: str) -> bool:
        rest = [field for field in self._seen if field.name != name]
        table = pa.schema(rest).empty_table() if rest else _rows_alone(0)
        try:
            _computed(self._where, table)
        except pa.ArrowException:
            return False
        return True


def _computed(where: pc.Expression, table: pa.Table) -> pa.Table:
    """One column, KEPT. raises pa.ArrowException"""
    from pyarrow import acero  # slow to import, and only for filters

    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(table)),
        acero.Declaration("project", acero.ProjectNodeOptions([where], [KEPT])),
    ]
    return acero.Declaration.from_sequence(steps).to_table(use_threads=False)


def _rows_alone(count: int) -> pa.Table:
    """For a filter that names no column."""
    return pa.table([pa.nulls(count)], names=[""])


def _left_of(column: pa.Array, marks: pa.BooleanArray) -> pa.Array:
    if not pa.types.is_binary_view(column.type):
        return column.filter(marks)
    _validity, places, *sources = column.buffers()
    kind = np.dtype((np.void, VIEW_BYTES))
    views = np.frombuffer(places, kind, len(column), column.offset * VIEW_BYTES)
    left = views[marks.to_numpy(zero_copy_only=False)]
    valid: Any = None
    if column.null_count:
        bits = np.packbits(column.is_valid().filter(marks).to_numpy(zero_copy_only=False), bitorder="little")
        valid = pa.py_buffer(bits)
    return pa.Array.from_buffers(column.type, len(left), [valid, pa.py_buffer(left), *sources])
