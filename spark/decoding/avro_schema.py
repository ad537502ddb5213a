"""An Avro schema as Spark types, and as fastavro is to read it.

Runs in: Spark's driver and Python workers. Timestamps, dates and times are read as the integers they are, and become
timestamps in Arrow, by the column: so their logical types are taken out of what fastavro is given. Decimals stay.

Source: Avro 1.12 specification; Spark's from_avro, for the types that schemas become.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headrace.client.schemas.avro_codec import parse
from headrace.spark.decoding.ddl import DECIMAL_DIGITS_MAX

_PRIMITIVES: dict[str, tuple[DataType, Any]] = {
    "boolean": (BooleanType(), pa.bool_()),
    "int": (IntegerType(), pa.int32()),
    "long": (LongType(), pa.int64()),
    "float": (FloatType(), pa.float32()),
    "double": (DoubleType(), pa.float64()),
    "bytes": (BinaryType(), pa.binary()),
    "string": (StringType(), pa.string()),
}
_LOGICAL: dict[tuple[str, str], tuple[DataType, Any]] = {
    ("int", "date"): (DateType(), pa.date32()),
    ("long", "timestamp-millis"): (TimestampType(), pa.timestamp("ms", tz="UTC")),
    ("long", "timestamp-micros"): (TimestampType(), pa.timestamp("us", tz="UTC")),
    ("long", "local-timestamp-millis"): (TimestampNTZType(), pa.timestamp("ms")),
    ("long", "local-timestamp-micros"): (TimestampNTZType(), pa.timestamp("us")),
}
_WIDENED = {frozenset(("int", "long")): "long", frozenset(("float", "double")): "double"}


class AvroSchema(NamedTuple):
    """A schema parsed.

    plain    as fastavro reads it, without logical types
    fields   the columns: a record's fields, or one without a name
    sources  the Arrow types of what fastavro gives, by column
    """

    plain: Any
    fields: StructType
    sources: tuple[Any, ...]

    def projected(self, names: list[str]) -> Any:
        """The schema with only these fields of its record."""
        if not self.fields.names[0]:
            return self.plain
        by_name = {field["name"]: field for field in self.plain["fields"]}
        return {**self.plain, "fields": [by_name[name] for name in names]}


@lru_cache(maxsize=1000)
def avro_schema(text: str, references: tuple[tuple[str, str], ...] = ()) -> AvroSchema:
    """A schema in JSON; `references` are (name, schema) of types defined elsewhere, in order.

    raises   ValueError, for an invalid schema, or one that Spark has no type for
    """
    named: dict[str, Any] = {}
    plain = avro_plain(text, references)
    parsed = parse(text, references, named, lambda schema: schema)
    kind, source = _types(parsed, named, "", ())
    if isinstance(kind, StructType):
        if not kind.fields:
            raise ValueError(f"Avro schema {text[:80]!r} has no field")
        return AvroSchema(plain, kind, tuple(source.field(index).type for index in range(source.num_fields)))
    return AvroSchema(plain, StructType([StructField("", kind)]), (source,))


@lru_cache(maxsize=1000)
def avro_plain(text: str, references: tuple[tuple[str, str], ...] = ()) -> Any:
    """The schema that records were written with, as fastavro reads it. raises ValueError"""
    return parse(text, references, {}, _without_logical)


def _without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_kept = schema.get("logicalType") == "decimal"
    left = {key: value for key, value in schema.items() if key != "logicalType" or is_kept}
    for key in ("type", "items", "values"):
        if key in left:
            left[key] = _without_logical(left[key])
    if isinstance(left.get("fields"), list):
        left["fields"] = [_without_logical(field) for field in left["fields"]]
    return left


def _types(schema: Any, named: dict[str, Any], path: str, within: tuple[str, ...]) -> tuple[DataType, Any]:
    """(Spark's type, Arrow's of the raw values). raises ValueError"""
    where = path or "the record"
    if isinstance(schema, list):
        return _union(schema, named, path, within)
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        if schema not in named:
            raise ValueError(f"Avro schema: {where} has the type {schema}, which Spark has no type for")
        if schema in within:
            raise ValueError(f"Avro schema: {where} is recursive ({schema}): Spark has no such type")
        return _types(named[schema], named, path, within)
    kind, logical = schema["type"], str(schema.get("logicalType", ""))
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = int(schema["precision"]), int(schema.get("scale", 0))
        if not 0 < precision <= DECIMAL_DIGITS_MAX:
            raise ValueError(
                f"Avro schema: {where} is decimal({precision},{scale}), at most {DECIMAL_DIGITS_MAX} digits fit"
            )
        return DecimalType(precision, scale), pa.decimal128(precision, scale)
    if isinstance(kind, str) and (kind, logical) in _LOGICAL:
        return _LOGICAL[kind, logical]
    if kind in ("record", "error"):
        return _record(schema, named, path, within)
    if kind == "array":
        element, source = _types(schema["items"], named, f"{path}[]", within)
        return ArrayType(element), pa.list_(source)
    if kind == "map":
        value, source = _types(schema["values"], named, f"{path}{{}}", within)
        return MapType(StringType(), value), pa.map_(pa.string(), source)
    if kind == "enum":
        return _PRIMITIVES["string"]
    if kind == "fixed":
        return _PRIMITIVES["bytes"]
    return _types(kind, named, path, within)


def _record(schema: Any, named: dict[str, Any], path: str, within: tuple[str, ...]) -> tuple[DataType, Any]:
    within = (*within, schema["name"])
    fields, sources = StructType([]), []
    for one in schema["fields"]:
        kind, source = _types(one["type"], named, f"{path}.{one['name']}".lstrip("."), within)
        fields.add(StructField(one["name"], kind))
        sources.append(pa.field(one["name"], source))
    return fields, pa.struct(sources)


def _union(schema: list[Any], named: dict[str, Any], path: str, within: tuple[str, ...]) -> tuple[DataType, Any]:
    kinds = [one for one in schema if one != "null"]
    if len(kinds) == 1:
        return _types(kinds[0], named, path, within)
    if all(isinstance(one, str) for one in kinds) and frozenset(kinds) in _WIDENED:
        return _PRIMITIVES[_WIDENED[frozenset(kinds)]]
    raise ValueError(
        f"Avro schema: {path or 'the record'} is a union of {len(kinds)} types: give a schema with one of them (and null), if all "
        "records have it"
    )
