"""Spark SQL types as the Arrow types that decoders build and the JVM reads.

Runs in: Spark's driver and Python workers. Timestamps are microseconds in UTC, as Spark stores them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from headrace.spark.decoding.ddl import parse_ddl

_ARROW: dict[str, Any] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def struct_of(schema: str | StructType) -> StructType:
    """A schema given as DDL or StructType, in which everything may be null, as in from_json.

    raises   ValueError, for DDL that is invalid, no column, or one listed twice; TypeError, for neither
    """
    if isinstance(schema, str):
        return parse_ddl(schema)
    if not isinstance(schema, StructType):
        raise TypeError(f"schema must be Spark DDL or a StructType, not {type(schema).__name__}")
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice or not schema.names:
        raise ValueError(f"schema {schema.simpleString()}: " + (f"{', '.join(twice)} twice" if twice else "no column"))
    found = _nullable(schema)
    assert isinstance(found, StructType)
    return found


def _nullable(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _nullable(field.dataType)) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType))
    return kind


def arrow_type(kind: DataType, leaf: Callable[[str, pa.DataType], pa.DataType] = lambda _name, found: found) -> Any:
    """The Arrow type of a Spark type; `leaf` may replace what is not nested, by Spark's name of it.

    raises   ValueError, for a type that no decoder builds
    """
    if isinstance(kind, StructType):
        return pa.struct([pa.field(field.name, arrow_type(field.dataType, leaf)) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return pa.list_(arrow_type(kind.elementType, leaf))
    if isinstance(kind, MapType):
        return pa.map_(arrow_type(kind.keyType, leaf), arrow_type(kind.valueType, leaf))
    if isinstance(kind, DecimalType):
        return leaf("decimal", pa.decimal128(kind.precision, kind.scale))
    name = kind.typeName()
    if name not in _ARROW:
        raise ValueError(f"type {kind.simpleString()} can't be decoded; choose from {', '.join(_ARROW)}, decimal, "
                         "struct, array, map")  # fmt: skip
    return leaf(name, _ARROW[name])


def names_within(kind: DataType) -> set[str]:
    """Spark's names of a type and all types in it."""
    if isinstance(kind, StructType):
        return {"struct"}.union(*(names_within(field.dataType) for field in kind.fields))
    if isinstance(kind, ArrayType):
        return {"array"} | names_within(kind.elementType)
    if isinstance(kind, MapType):
        return {"map"} | names_within(kind.keyType) | names_within(kind.valueType)
    return {kind.typeName()}
