"""Confluent's wire format: magic 0, the schema's id in four bytes, for Protobuf the path to the message, then the record.

    0       1                 5
    | 0x00  | schema id, BE   | Avro or JSON
    | 0x00  | schema id, BE   | count, indexes (zigzag varints; a single 0 for the first message) | Protobuf

Source: Confluent's "Formats, Serializers, and Deserializers", wire format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.client.schemas.failures import BadRecord
from headrace.limits import MESSAGE_INDEXES_MAX

HEADER_BYTES: Final = 5
FIRST_MESSAGE: Final = (0,)  # of its file, at its top


def header_of(schema_id: int) -> bytes:
    """What a record begins with."""
    return b"\0" + schema_id.to_bytes(HEADER_BYTES - 1, "big")


def schema_id_of(record: bytes) -> int:
    """raises   BadRecord"""
    if len(record) < HEADER_BYTES:
        raise BadRecord(f"not the Confluent wire format: {len(record)} bytes, but the header alone has {HEADER_BYTES}")
    if record[0]:
        raise BadRecord(f"not the Confluent wire format: begins with {record[0]:#04x}, not with 0x00")
    return int.from_bytes(record[1:HEADER_BYTES], "big")


def path_bytes(indexes: Sequence[int]) -> bytes:
    """The path to a Protobuf message."""
    if tuple(indexes) == FIRST_MESSAGE:
        return b"\0"
    return b"".join(_zigzag_bytes(one) for one in (len(indexes), *indexes))


def message_indexes(record: bytes, position: int = HEADER_BYTES) -> tuple[tuple[int, ...], int]:
    """The path to a Protobuf message, and where the message begins. raises BadRecord"""
    count, position = _zigzag(record, position)
    if count == 0:
        return FIRST_MESSAGE, position
    if not 0 < count <= MESSAGE_INDEXES_MAX:
        raise BadRecord(f"not the Confluent wire format: {count} message indexes")
    found = []
    for _ in range(count):
        index, position = _zigzag(record, position)
        found.append(index)
    return tuple(found), position


def _zigzag(record: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(record) or shift > 28:
            raise BadRecord("not the Confluent wire format: its message indexes are truncated")
        byte = record[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position


def _zigzag_bytes(number: int) -> bytes:
    left = number << 1
    found = bytearray()
    while left >= 0x80:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)
