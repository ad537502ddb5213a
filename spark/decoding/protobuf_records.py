"""Protobuf: a message a record, plain or in Confluent's wire format, read by the protobuf package.

Runs in: Spark's Python workers. Field numbers make one descriptor read what older and newer ones wrote: in the wire format
the registry is asked only whether the message that a record names is the one that is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructType

from headrace.client.schemas.failures import BadRecord, UnknownSchema
from headrace.client.schemas.schema_registry import SchemaRegistry, registry_at
from headrace.client.schemas.wire_format import message_indexes, schema_id_of
from headrace.limits import MESSAGE_PATHS_MAX
from headrace.spark.decoding.decoder import Decoded, Decoder, arrow_types, prefixed, without_prefix
from headrace.spark.decoding.python_rows import ReadRow, decode_rows
from headrace.spark.decoding.registry import check_target, latest_of
from headrace.spark.decoding.wire_format import check_unknown

if TYPE_CHECKING:
    from headrace.spark.decoding.protobuf_schema import Field, ProtobufSchema

KIND = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class ProtobufDecoder(Decoder):
    """A message of a FileDescriptorSet; with a registry, records are in the wire format."""

    descriptors: bytes = field(repr=False)
    message: str
    registry: SchemaRegistry | None = None
    subject: str = ""
    prefix: str = ""

    def fields(self, source: str) -> StructType:
        return prefixed(self._schema().spark_fields(), self.prefix)

    def decode(self, values: pa.Array, names: Sequence[str], source: str = "value") -> Decoded:
        wanted = without_prefix(self.wanted(names, source), self.prefix)
        schema = self._schema()
        by_name = {one.name: one for one in schema.fields}
        columns = [by_name[name] for name in wanted.names]
        read = _reading(schema.message, columns)
        if self.registry is not None:
            read = _unframed(self.registry, schema.full_name, read)
        return decode_rows(values.to_pylist(), read, [one.source for one in columns], arrow_types(wanted))

    def describe(self) -> str:
        where = "" if self.registry is None else f", registry {self.registry.shown} {self.subject}".rstrip()
        return f"protobuf({self.message}: {self.fields('value').simpleString()}{where})"

    def _schema(self) -> ProtobufSchema:
        from headrace.spark.decoding.protobuf_schema import protobuf_schema

        return protobuf_schema(self.descriptors, self.message)


def protobuf(
    descriptor: bytes | str | os.PathLike[str] | type | None = None,
    message: str = "",
    *,
    registry: str | None = None,
    subject: str | None = None,
    prefix: str = "",
) -> ProtobufDecoder:
    """Protobuf messages into columns, one for each field.

    descriptor   a FileDescriptorSet (protoc --include_imports --descriptor_set_out): its bytes, or its path, read now; or a generated class
    message      full name of the message; '' for the first one of the last file, or the class
    registry     URL of a schema registry (user:password@ in it for basic authentication): records are in the Confluent wire format
    subject      such as "clicks-value": its latest schema, asked for now, is read
    prefix       put before the columns' names
    raises       ValueError, TypeError, OSError; RegistryUnavailable; ImportError, if protobuf is not installed
    """
    from headrace.client.schemas.protobuf_descriptors import descriptor_bytes
    from headrace.spark.decoding import protobuf_schema

    check_target([descriptor], registry, subject, "descriptor")
    found = None if registry is None else registry_at(registry)
    if descriptor is None:
        assert found is not None
        assert subject is not None
        latest = latest_of(found, subject, KIND)
        what = f"subject {subject!r}"
        references = {name: descriptor_bytes(text, what) for name, text in latest.references}
        data = protobuf_schema.descriptors_from(descriptor_bytes(latest.text, what), f"{latest.id}.proto", references)
    elif isinstance(descriptor, bytes):
        data = descriptor
    elif isinstance(descriptor, str | os.PathLike):
        data = Path(descriptor).read_bytes()
    else:
        data, own = protobuf_schema.descriptors_of(descriptor)
        if message not in ("", own):
            raise ValueError(f"message {message!r} is not the class given, {own}")
        message = own
    name = protobuf_schema.protobuf_schema(data, message).full_name
    return ProtobufDecoder(data, name, found, subject or "", prefix)


def _reading(message: Any, columns: Sequence[Field]) -> ReadRow:
    from google.protobuf.message import DecodeError

    parse = message.FromString
    gets = [one.get for one in columns]

    def read(record: bytes) -> Sequence[Any]:
        try:
            found = parse(record)
        except DecodeError as failure:
            raise BadRecord(f"not a message: {failure}") from None
        return [get(found) for get in gets]

    return read


def _unframed(registry: SchemaRegistry, full_name: str, read: ReadRow) -> ReadRow:
    """What reads a record after its header, if that names the message `full_name`."""
    checked: dict[tuple[int, tuple[int, ...]], str] = {}
    unknown: dict[int, str] = {}

    def read_framed(record: bytes) -> Sequence[Any]:
        schema_id = schema_id_of(record)
        indexes, position = message_indexes(record)
        key = (schema_id, indexes)
        if key not in checked:
            if len(checked) >= MESSAGE_PATHS_MAX:
                checked.clear()
            checked[key] = _mismatch(registry, key, full_name, unknown)
            check_unknown(unknown)
        if checked[key]:
            raise BadRecord(checked[key])
        return read(record[position:])

    return read_framed


def _mismatch(
    registry: SchemaRegistry, key: tuple[int, tuple[int, ...]], full_name: str, unknown: dict[int, str]
) -> str:
    """Why a record of this id and path is not of the message, '' if it is."""
    from headrace.client.schemas.protobuf_descriptors import descriptor_bytes, message_at

    schema_id, indexes = key
    if schema_id in unknown:
        return unknown[schema_id]
    try:
        text = registry.schema(schema_id, KIND).text
        found = message_at(descriptor_bytes(text, f"schema id {schema_id}"), indexes)
    except UnknownSchema as failure:
        unknown[schema_id] = str(failure)
        return str(failure)
    except ValueError as failure:
        return str(failure)
    return "" if found == full_name else f"a message {found}, expected {full_name}"
