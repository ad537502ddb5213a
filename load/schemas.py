"""A table's columns from one commit to the next: they may be added and may widen, and nothing else.

    was      may become
    int8     int16, int32, int64        int16   int32, int64      int32   int64
    float    double                     decimal(p, s)  decimal(q, s) with q > p
    absent   any; older files have null there

A column that a later load does not have stays in the table; its new rows are null there.
"""

from __future__ import annotations

import pyarrow as pa

from headrace.load.errors import SchemaConflict

_WIDER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64()),
    pa.int16(): (pa.int32(), pa.int64()),
    pa.int32(): (pa.int64(),),
    pa.float32(): (pa.float64(),),
}


def schema_to_text(schema: pa.Schema) -> str:
    return bytes(schema.serialize()).hex()


def schema_from_text(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))


def evolved(table: pa.Schema, new: pa.Schema) -> pa.Schema:
    """The table's columns after rows of `new` were added.

    raises   SchemaConflict, naming the column and both types
    """
    found = {field.name: field.type for field in table}
    for field in new:
        known = found.get(field.name)
        if known is None:
            twin = next((name for name in found if name.lower() == field.name.lower()), None)
            if twin is not None:
                raise SchemaConflict(
                    f"column {field.name}: the table has {twin}, and Spark treats names that differ only in case as one"
                )
            found[field.name] = field.type
        elif known != field.type and not _is_wider(field.type, known):
            if not _is_wider(known, field.type):
                raise SchemaConflict(
                    f"column {field.name}: the table has {known}, the load has {field.type}, which is not a wider type of the same "
                    "kind; load to another target, or give the column another name (prefix)"
                )
            found[field.name] = field.type
    return pa.schema(list(found.items()))


def _is_wider(known: pa.DataType, new: pa.DataType) -> bool:
    """Whether `new` takes all that `known` does."""
    if pa.types.is_decimal(known) and pa.types.is_decimal(new):
        return bool(known.scale == new.scale and known.precision <= new.precision)
    return new in _WIDER.get(known, ())
