"""Avro: `Avro(schema)` of dicts, `Avro(schema, Order)` of a dataclass or a Struct. Records are plain; with a registry see `registry.py`.

A plain record does not say by which schema it was written: both sides need the same one.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar, overload

import msgspec

from headrace.client.schemas.avro_codec import name_of, parsed, reader_of, text_of, writer_of
from headrace.client.schemas.failures import BadRecord
from headrace.client.schemas.form import Import
from headrace.client.schemas.schema_registry import RegisteredSchema
from headrace.client.schemas.wire_format import HEADER_BYTES, header_of

T = TypeVar("T")

# what fastavro takes as it is: bytes, and the logical types
_AVROS: Final = (
    bytes, bytearray, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID
)  # fmt: skip


class Avro(Generic[T]):
    """Records of one schema.

    schema   JSON, or a dict
    kind     what records become: a dataclass, a Struct, a TypedDict; without it dicts
    raises   ValueError; ImportError, if fastavro is not installed
    """

    @overload
    def __init__(self: Avro[Any], schema: str | Mapping[str, Any]) -> None: ...

    @overload
    def __init__(self, schema: str | Mapping[str, Any], kind: type[T]) -> None: ...

    def __init__(self, schema: str | Mapping[str, Any], kind: Any = None) -> None:
        own = parsed(text_of(schema))
        self._write = writing(writer_of(own))
        self._read = reading(reader_of(own), kind)

    def serialize(self, _topic: str, value: T) -> bytes:
        """raises   ValueError"""
        return self._write(value)

    def deserialize(self, _topic: str, data: bytes) -> T:
        """raises   BadRecord"""
        found: T = self._read(data)
        return found


class AvroForm(Generic[T]):
    """Avro in a registry.

    schema   the reader's, and the writer's; None: registered ones
    """

    kind = "AVRO"
    imports: tuple[Import, ...] = ()
    asks_to_read = True

    def __init__(self, schema: str | Mapping[str, Any] | None, kind: Any = None) -> None:
        self.text = None if schema is None else text_of(schema)
        self._own = None if self.text is None else parsed(self.text)
        self.name = name_of(self._own)
        self._kind = kind

    def writer(self, schema_id: int, schema: RegisteredSchema | None) -> Callable[[T], bytes]:
        target = self._own if schema is None else parsed(schema.text, schema.references)
        return writing(writer_of(target, header_of(schema_id)))

    def reader(self, schema: RegisteredSchema | None) -> Callable[[bytes], T]:
        assert schema is not None
        return reading(reader_of(parsed(schema.text, schema.references), self._own, HEADER_BYTES), self._kind)


def writing(write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Dataclasses and Structs become dicts first. It raises ValueError, TypeError"""

    def written(value: Any) -> bytes:
        if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
            return write(msgspec.to_builtins(value, builtin_types=_AVROS))
        return write(value)

    return written


def reading(read: Callable[[bytes], Any], kind: Any) -> Callable[[bytes], Any]:
    """Dicts become what the caller wants. It raises BadRecord"""
    if kind is None:
        return read

    def made(record: bytes) -> Any:
        found = read(record)
        try:
            return msgspec.convert(found, kind, builtin_types=_AVROS)
        except msgspec.ValidationError as failure:
            raise BadRecord(f"not a {getattr(kind, '__name__', kind)}: {failure}") from None

    return made
