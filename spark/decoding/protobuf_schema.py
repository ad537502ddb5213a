"""A Protobuf message as Spark types, and how its fields are read into what Arrow takes.

Runs in: Spark's driver and Python workers.

A field without presence (a plain scalar of proto3) that is not in a record has its default, as in every Protobuf API; one with presence
(`optional`, messages, oneofs, proto2) is null. Spark's from_protobuf gives null for both. Enums are the names of their values.

Source: the Protobuf documentation, field presence, well-known types, descriptors; Spark's from_protobuf, for the types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.client.schemas.failures import needs

try:
    from google.protobuf import (
        any_pb2,
        descriptor_pb2,
        descriptor_pool,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass
except ImportError as failure:
    raise needs("protobuf", "protobuf", failure) from failure

Get = Callable[[Any], Any]
_SCALARS: dict[int, tuple[DataType, Any]] = {
    FieldDescriptor.CPPTYPE_INT32: (IntegerType(), pa.int32()),
    FieldDescriptor.CPPTYPE_INT64: (LongType(), pa.int64()),
    FieldDescriptor.CPPTYPE_UINT32: (LongType(), pa.int64()),
    FieldDescriptor.CPPTYPE_UINT64: (DecimalType(20, 0), pa.decimal128(20, 0)),
    FieldDescriptor.CPPTYPE_DOUBLE: (DoubleType(), pa.float64()),
    FieldDescriptor.CPPTYPE_FLOAT: (FloatType(), pa.float32()),
    FieldDescriptor.CPPTYPE_BOOL: (BooleanType(), pa.bool_()),
}
_WELL_KNOWN = (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
_TIMESTAMP = "google.protobuf.Timestamp"


class Field(NamedTuple):
    """One column: its name and types, and what gets its value out of a message."""

    name: str
    kind: DataType
    source: Any
    get: Get


class ProtobufSchema(NamedTuple):
    """A message type."""

    message: Any
    full_name: str
    fields: tuple[Field, ...]

    def spark_fields(self) -> StructType:
        return StructType([StructField(field.name, field.kind) for field in self.fields])


@lru_cache(maxsize=100)
def protobuf_schema(descriptors: bytes, name: str) -> ProtobufSchema:
    """A message of a FileDescriptorSet, by its full name; '' for the first message of the last file.

    raises   ValueError, for invalid descriptors, an unknown message, or one that Spark has no type for
    """
    files = _files(descriptors)
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    try:
        for file_name in files:
            _add(pool, files, file_name, added, ())
        if not name:
            last = files[next(reversed(files))]
            if not last.message_type:
                raise ValueError(f"descriptor: {last.name} has no message")
            name = f"{last.package}.{last.message_type[0].name}".lstrip(".")
        message = pool.FindMessageTypeByName(name)
    except KeyError:
        known = ", ".join(
            sorted(f"{one.package}.{each.name}".lstrip(".") for one in files.values() for each in one.message_type)
        )
        raise ValueError(f"message {name!r} is not in the descriptor, which has {known or 'none'}") from None
    except TypeError as failure:  # what the pool raises for descriptors that don't fit together
        raise ValueError(f"descriptor is invalid: {failure}") from None
    fields = tuple(_field(one, one.name, (message.full_name,)) for one in message.fields)
    if not fields:
        raise ValueError(f"message {name} has no field")
    return ProtobufSchema(GetMessageClass(message), message.full_name, fields)


def descriptors_of(message: type) -> tuple[bytes, str]:
    """The FileDescriptorSet of a generated message class, and its full name. raises TypeError"""
    descriptor = getattr(message, "DESCRIPTOR", None)
    if not isinstance(descriptor, Descriptor):
        raise TypeError(f"descriptor must be bytes, a path, or a generated message class, not {message!r}")
    found = descriptor_pb2.FileDescriptorSet()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name not in seen:
            seen.add(file.name)
            for dependency in file.dependencies:
                add(dependency)
            file.CopyToProto(found.file.add())

    add(descriptor.file)
    return found.SerializeToString(deterministic=True), str(descriptor.full_name)


def descriptors_from(main: bytes, main_name: str, references: Mapping[str, bytes]) -> bytes:
    """A FileDescriptorSet of what a registry gives; files are called as others refer to them. raises ValueError"""
    found = descriptor_pb2.FileDescriptorSet()
    for name, data in (*references.items(), (main_name, main)):
        file = found.file.add()
        try:
            file.ParseFromString(data)
        except DecodeError as failure:
            raise ValueError(f"descriptor {name}: {failure}") from None
        file.name = name
    return bytes(found.SerializeToString(deterministic=True))


def _files(descriptors: bytes) -> dict[str, Any]:
    found = descriptor_pb2.FileDescriptorSet()
    try:
        found.ParseFromString(descriptors)
    except DecodeError as failure:
        raise ValueError(f"descriptor is not a FileDescriptorSet (protoc --descriptor_set_out): {failure}") from None
    if not found.file:
        raise ValueError("descriptor is an empty FileDescriptorSet")
    return {file.name: file for file in found.file}


def _add(pool: Any, files: Mapping[str, Any], name: str, added: set[str], within: tuple[str, ...]) -> None:
    """A file after those that it imports. raises ValueError"""
    if name in added:
        return
    if name in within:
        raise ValueError(f"descriptor: {name} imports itself")
    file = files.get(name)
    if file is None:
        well_known = {module.DESCRIPTOR.name: module.DESCRIPTOR for module in _WELL_KNOWN}.get(name)
        if well_known is None:
            raise ValueError(f"descriptor: the imported file {name} is missing (protoc --include_imports)")
        file = descriptor_pb2.FileDescriptorProto()
        well_known.CopyToProto(file)
    for dependency in file.dependency:
        _add(pool, files, dependency, added, (*within, name))
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    added.add(name)


def _field(field: Any, path: str, within: tuple[str, ...]) -> Field:
    """raises   ValueError"""
    name = field.name
    is_message = field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE
    if is_message and field.message_type.GetOptions().map_entry:
        key, value = (_field(field.message_type.fields_by_name[part], path, within) for part in ("key", "value"))
        one = _element(field.message_type.fields_by_name["value"], path, within)[2]
        kinds = MapType(key.kind, value.kind), pa.map_(key.source, value.source)
        return Field(name, *kinds, lambda message: [(each, one(held)) for each, held in getattr(message, name).items()])
    kind, source, convert = _element(field, path, within)
    if field.is_repeated:
        return Field(
            name, ArrayType(kind), pa.list_(source), lambda message: [convert(one) for one in getattr(message, name)]
        )
    if field.has_presence:
        return Field(
            name, kind, source, lambda message: convert(getattr(message, name)) if message.HasField(name) else None
        )
    return Field(name, kind, source, lambda message: convert(getattr(message, name)))


def _element(field: Any, path: str, within: tuple[str, ...]) -> tuple[DataType, Any, Get]:
    """(Spark's type, Arrow's, conversion) of one value of a field. raises ValueError"""
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        is_bytes = field.type == FieldDescriptor.TYPE_BYTES
        return (BinaryType(), pa.binary(), _same) if is_bytes else (StringType(), pa.string(), _same)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        names = {value.number: value.name for value in field.enum_type.values}
        return StringType(), pa.string(), lambda number: names.get(number, str(number))
    if kind != FieldDescriptor.CPPTYPE_MESSAGE:
        return (*_SCALARS[kind], _same)
    message = field.message_type
    if message.full_name == _TIMESTAMP:
        return TimestampType(), pa.timestamp("us", tz="UTC"), lambda at: at.seconds * 1_000_000 + at.nanos // 1000
    if message.full_name in within:
        raise ValueError(f"message {within[0]}: {path} is recursive ({message.full_name}): Spark has no such type")
    fields = [_field(one, f"{path}.{one.name}", (*within, message.full_name)) for one in message.fields]
    if not fields:
        raise ValueError(f"message {within[0]}: {path} ({message.full_name}) has no field: Spark has no such type")
    kinds = StructType([StructField(one.name, one.kind) for one in fields])
    source = pa.struct([pa.field(one.name, one.source) for one in fields])
    return kinds, source, lambda held: {one.name: one.get(held) for one in fields}


def _same(value: Any) -> Any:
    return value
