"""Checks what a user's function yields against its schema: Spark's JVM reads by position and trusts the types.

Runs in: Spark's Python workers. A batch with the schema's names in another order is put in order; with other names it is taken by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

_Check = Callable[[pa.DataType], bool]


def _any_of(*checks: _Check) -> _Check:
    return lambda kind: any(check(kind) for check in checks)


# by Spark's name: whether the JVM reads an Arrow type as that, and how the type is called; others are Spark's to judge
_TYPES: dict[str, tuple[_Check, str]] = {
    "boolean": (kinds.is_boolean, "bool"),
    "byte": (kinds.is_int8, "int8"),
    "short": (kinds.is_int16, "int16"),
    "integer": (kinds.is_int32, "int32"),
    "long": (kinds.is_int64, "int64"),
    "float": (kinds.is_float32, "float32"),
    "double": (kinds.is_float64, "float64"),
    "string": (_any_of(kinds.is_string, kinds.is_large_string, kinds.is_string_view), "string"),
    "binary": (_any_of(kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view), "binary"),
    "date": (kinds.is_date32, "date32"),
    "timestamp": (
        lambda kind: kinds.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None,
        "timestamp[us, tz=UTC]",
    ),
    "timestamp_ntz": (lambda kind: kinds.is_timestamp(kind) and kind.unit == "us" and kind.tz is None, "timestamp[us]"),
    "array": (_any_of(kinds.is_list, kinds.is_large_list), "list"),
    "struct": (kinds.is_struct, "struct"),
    "map": (kinds.is_map, "map"),
}


def conformed(batches: Iterable[pa.RecordBatch], schema: Any) -> Iterator[pa.RecordBatch]:
    """The batches, each with the columns of a StructType in their order.

    raises   ValueError, naming the column that has the wrong type; TypeError, for anything but a RecordBatch
    """
    names = schema.fieldNames()
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(f"map_batches must yield pyarrow.RecordBatch, not {type(batch).__name__}")
        if batch.num_columns != len(names):
            raise ValueError(f"map_batches yields the columns {batch.schema.names}, the schema says {names}")
        if batch.schema.names != names and sorted(batch.schema.names) == sorted(names):
            batch = batch.select(names)
        for field, column in zip(schema.fields, batch.schema, strict=True):
            check, name = _TYPES.get(field.dataType.typeName(), (None, ""))
            if check is not None and not check(column.type):
                raise ValueError(
                    f"map_batches yields the column {column.name} as {column.type}, the schema says {field.name} "
                    f"{field.dataType.simpleString()} (Arrow's {name})"
                )
        yield batch
