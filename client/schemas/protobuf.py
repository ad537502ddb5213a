"""Protobuf: `Protobuf(Order)` of a generated message class. Records are plain; with a registry see `registry.py`.

Field numbers make one class read what older and newer ones wrote. In a registry's wire format a record names its message by a path in its
file: a record of another message would often parse as well, so the path is compared. A registry that has .proto text for a descriptor can't
be asked for the name at the path: then the path itself is to be the class's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace.client.schemas.failures import BadRecord
from headrace.client.schemas.form import Import
from headrace.client.schemas.protobuf_descriptors import (
    WELL_KNOWN,
    descriptor_bytes,
    descriptor_of,
    message_at,
    path_in,
    path_of,
    registered_text,
)
from headrace.client.schemas.schema_registry import RegisteredSchema
from headrace.client.schemas.wire_format import header_of, message_indexes, path_bytes
from headrace.limits import MESSAGE_PATHS_MAX

T = TypeVar("T")


class Protobuf(Generic[T]):
    """Messages of one class.

    message   a generated class
    raises    TypeError, where it is none; ImportError, if protobuf is not installed
    """

    def __init__(self, message: type[T]) -> None:
        descriptor_of(message)
        self._write = writing(message)
        self._read = reading(message)

    def serialize(self, _topic: str, value: T) -> bytes:
        """raises   TypeError, ValueError"""
        return self._write(value)

    def deserialize(self, _topic: str, data: bytes) -> T:
        """raises   BadRecord"""
        return self._read(data)


class ProtobufForm(Generic[T]):
    """Protobuf in a registry: the file of the class, after those that it imports."""

    kind = "PROTOBUF"
    asks_to_read = True

    def __init__(self, message: type[T]) -> None:
        self._descriptor = descriptor_of(message)
        self._path = path_of(self._descriptor)
        self._read = reading(message)
        self._write = writing(message)
        self.name: str = self._descriptor.full_name
        self.text: str = registered_text(self._descriptor.file)
        self.imports = _imports(self._descriptor.file)

    def writer(self, schema_id: int, schema: RegisteredSchema | None) -> Callable[[T], bytes]:
        path = self._path
        if schema is not None:
            what = f"schema id {schema_id}"
            path = path_in(descriptor_bytes(schema.text, what), self.name)
        header = header_of(schema_id) + path_bytes(path)
        write = self._write
        return lambda value: header + write(value)

    def reader(self, schema: RegisteredSchema | None) -> Callable[[bytes], T]:
        assert schema is not None
        try:
            file = descriptor_bytes(schema.text, "")
        except ValueError:
            file = None  # .proto text
        checked: dict[tuple[int, ...], str] = {}
        parse = self._read

        def read(record: bytes) -> T:
            indexes, position = message_indexes(record)
            wrong = checked.get(indexes)
            if wrong is None:
                if len(checked) >= MESSAGE_PATHS_MAX:
                    checked.clear()
                wrong = checked[indexes] = self._mismatch(file, indexes)
            if wrong:
                raise BadRecord(wrong)
            return parse(record[position:])

        return read

    def _mismatch(self, file: bytes | None, indexes: tuple[int, ...]) -> str:
        """Why a record of this path is not of the message; '': it is."""
        if file is None:
            return "" if indexes == self._path else f"a message at {list(indexes)}, expected {list(self._path)}"
        try:
            found = message_at(file, indexes)
        except ValueError as failure:
            return str(failure)
        return "" if found == self.name else f"a message {found}, expected {self.name}"


def writing(message: type[T]) -> Callable[[T], bytes]:
    """What writes a message: the same bytes for the same content, so that keys find their partition."""

    def write(value: T) -> bytes:
        if not isinstance(value, message):
            raise TypeError(f"a value of type {type(value).__name__} is not a {message.__name__}")
        made: bytes = value.SerializeToString(deterministic=True)  # type: ignore[attr-defined]  # every message has it
        return made

    return write


def reading(message: type[T]) -> Callable[[bytes], T]:
    """What reads a message. It raises BadRecord"""
    from google.protobuf.message import DecodeError

    parse = message.FromString  # type: ignore[attr-defined]  # every message has it

    def read(data: bytes) -> T:
        try:
            found: T = parse(data)
        except DecodeError as failure:
            raise BadRecord(f"not a message: {failure}") from None
        return found

    return read


def _imports(file: Any) -> tuple[Import, ...]:
    """The files that a file imports, each with its own; a file can't import itself."""
    return tuple(
        Import(one.name, registered_text(one), _imports(one))
        for one in file.dependencies
        if not one.name.startswith(WELL_KNOWN)
    )
