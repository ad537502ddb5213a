"""Descriptors of Protobuf messages: where a message is in its file, and a file as a registry has it.

    a/b.proto    Outer { Inner }, Other        Outer is at 0, Inner at 0 0, Other at 1

A registry takes a serialized FileDescriptorProto in Base64 in place of .proto text, and gives it with `format=serialized`.

Source: the Protobuf documentation, descriptors; Confluent's wire format, message indexes.
"""

from __future__ import annotations

import base64
from typing import Any

from headrace.client.schemas.failures import needs

try:
    from google.protobuf import descriptor_pb2
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import DecodeError
except ImportError as failure:
    raise needs("protobuf", "protobuf", failure) from failure

WELL_KNOWN = "google/protobuf/"  # files that every implementation has


def descriptor_of(message: object) -> Descriptor:
    """The descriptor of a generated message class. raises TypeError"""
    found = getattr(message, "DESCRIPTOR", None)
    if not isinstance(message, type) or not isinstance(found, Descriptor):
        raise TypeError(f"expected a generated Protobuf message class, not {message!r}")
    return found


def path_of(descriptor: Any) -> tuple[int, ...]:
    """Where a message is in its file: its place at the top, then within each message."""
    found: list[int] = []
    while descriptor is not None:
        around = descriptor.containing_type
        names = (
            list(descriptor.file.message_types_by_name) if around is None else [one.name for one in around.nested_types]
        )
        found.insert(0, names.index(descriptor.name))
        descriptor = around
    return tuple(found)


def registered_text(file: Any) -> str:
    """A file as it is registered."""
    return base64.b64encode(file.serialized_pb).decode()


def descriptor_bytes(text: str, what: str) -> bytes:
    """A Protobuf schema as the registry serializes it. raises ValueError"""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError(
            f"{what}: the registry returned .proto text instead of a serialized descriptor; give descriptor="
        ) from None


def message_at(main: bytes, indexes: tuple[int, ...]) -> str:
    """The full name of the message at a path within a FileDescriptorProto. raises ValueError"""
    file = descriptor_pb2.FileDescriptorProto()
    try:
        file.ParseFromString(main)
        names, messages = [file.package] if file.package else [], file.message_type
        for index in indexes:
            if index < 0:
                raise IndexError
            names.append(messages[index].name)
            messages = messages[index].nested_type
    except (DecodeError, IndexError):
        raise ValueError(f"its schema has no message at {list(indexes)}") from None
    return ".".join(names)


def path_in(main: bytes, full_name: str) -> tuple[int, ...]:
    """Where a message is in a FileDescriptorProto. raises ValueError"""
    file = descriptor_pb2.FileDescriptorProto()
    try:
        file.ParseFromString(main)
    except DecodeError:
        raise ValueError("its schema is not a descriptor") from None
    package = f"{file.package}." if file.package else ""
    wanted = full_name.removeprefix(package).split(".") if full_name.startswith(package) else []
    found: list[int] = []
    messages: Any = file.message_type
    for name in wanted:
        index = next((place for place, one in enumerate(messages) if one.name == name), None)
        if index is None:
            break
        found.append(index)
        messages = messages[index].nested_type
    if not found or len(found) < len(wanted):
        raise ValueError(f"its schema has no message {full_name}")
    return tuple(found)
