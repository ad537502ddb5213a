"""Values and keys to bytes and back: protocols of two methods, and those that need nothing but the library.

A serializer of `T` has `serialize(topic, value) -> bytes | None` and `deserialize(topic, data) -> T`. None is a tombstone, and passes as
it is: serializers see it only if they say so (`handles_none`).

Avro, Protobuf and a schema registry are in `schemas/`, which imports what they need. A serializer that has to know whether it is for
keys, or that may have to wait for something, has a method `bind` as well (`lookups.py`).
"""

from __future__ import annotations

from typing import Any, Generic, Literal, Protocol, TypeVar, overload

import msgspec

from headrace.client.records import RawRecord
from headrace.errors import HeadraceError

T = TypeVar("T")
T_in = TypeVar("T_in", contravariant=True)
T_out = TypeVar("T_out", covariant=True)

Part = Literal["key", "value"]  # of a record


class Serializer(Protocol[T_in]):
    def serialize(self, topic: str, value: T_in, /) -> bytes | None: ...


class Deserializer(Protocol[T_out]):
    def deserialize(self, topic: str, data: bytes, /) -> T_out: ...


class Serde(Protocol[T]):
    """Both directions."""

    def serialize(self, topic: str, value: T, /) -> bytes | None: ...

    def deserialize(self, topic: str, data: bytes, /) -> T: ...


class DecodingFailed(HeadraceError):
    """A record whose key or value its deserializer refuses.

    topic, partition, offset   of the record
    part                       "key" or "value"
    data                       its bytes
    record                     as it was read, with bytes
    cause                      what the deserializer raised
    """

    def __init__(self, record: RawRecord, part: Part, cause: Exception) -> None:
        topic, partition, offset = record.topic, record.partition, record.offset
        super().__init__(
            f"{topic}-{partition}: the {part} at offset {offset} can't be decoded: {type(cause).__name__}: {cause}"
        )
        self.topic, self.partition, self.offset = topic, partition, offset
        self.part = part
        self.data = record.key if part == "key" else record.value
        self.record = record
        self.cause = cause


class Bytes:
    """Bytes as they are."""

    def serialize(self, _topic: str, value: bytes | None) -> bytes | None:
        return value

    def deserialize(self, _topic: str, data: bytes) -> bytes:
        return data


class Str:
    """Text in UTF-8."""

    def serialize(self, _topic: str, value: str) -> bytes:
        return value.encode()

    def deserialize(self, _topic: str, data: bytes) -> str:
        return data.decode()


class Json(Generic[T]):
    """JSON by msgspec: `Json(Order)` of a Struct, dataclass or TypedDict checks what it decodes; `Json()` takes anything."""

    @overload
    def __init__(self: Json[Any]) -> None: ...

    @overload
    def __init__(self, kind: type[T]) -> None: ...

    @overload
    def __init__(self: Json[Any], kind: Any) -> None: ...

    def __init__(self, kind: Any = Any) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(kind).decode

    def serialize(self, _topic: str, value: T) -> bytes:
        return self._encode(value)

    def deserialize(self, _topic: str, data: bytes) -> T:
        found: T = self._decode(data)
        return found
