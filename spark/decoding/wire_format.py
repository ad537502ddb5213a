"""Confluent's wire format: magic 0, the schema's id in four bytes, for Protobuf the path to the message, then the record.

    0       1                 5
    | 0x00  | schema id, BE   | Avro or JSON
    | 0x00  | schema id, BE   | count, indexes (zigzag varints; a single 0 for the first message) | Protobuf

Runs in: Spark's Python workers.

Source: Confluent's "Formats, Serializers, and Deserializers", wire format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.spark.decoding.python_rows import BadRecord
from headrace.spark.errors import RegistryUnavailable

HEADER_BYTES = 5
INDEXES_MAX = 16
UNKNOWN_MAX = 20


def unframed(values: pa.Array, header_bytes: int = HEADER_BYTES) -> tuple[pa.Array, dict[int, str]]:
    """Records without their header, null where there is none; and the reasons by row."""
    _ids, bad = schema_ids(values)
    rest = pc.binary_slice(values, header_bytes)
    if bad:
        mask = np.zeros(len(values), bool)
        mask[list(bad)] = True
        rest = pc.replace_with_mask(rest, pa.array(mask), pa.nulls(len(bad), pa.binary()))
    return rest, bad


def schema_ids(values: pa.Array) -> tuple[Any, dict[int, str]]:
    """The id of each record, -1 for null and for what has no such header; and why, by row."""
    count = len(values)
    ids = np.full(count, -1, np.int64)
    if not count:
        return ids, {}
    buffers = values.buffers()
    offsets = np.frombuffer(buffers[1], np.int32, count + 1, 4 * values.offset).astype(np.int64)
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None and buffers[2].size else np.zeros(0, np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    present = values.is_valid().to_numpy(zero_copy_only=False)
    long_enough = np.flatnonzero(present & (lengths >= HEADER_BYTES))
    at = starts[long_enough]
    good = data[at] == 0 if len(at) else np.zeros(0, bool)
    at, rows = at[good], long_enough[good]
    found = np.zeros(len(at), np.int64)
    for index in range(1, HEADER_BYTES):
        found = (found << 8) | data[at + index]
    ids[rows] = found
    bad = {}
    for row in np.flatnonzero(present & (ids < 0)).tolist():
        size = int(lengths[row])
        if size < HEADER_BYTES:
            bad[row] = f"not the Confluent wire format: {size} bytes, at least {HEADER_BYTES} are its header"
        else:
            bad[row] = f"not the Confluent wire format: begins with {int(data[starts[row]]):#04x}, not with 0x00"
    return ids, bad


def schema_id_of(record: bytes) -> int:
    """raises   BadRecord"""
    if len(record) < HEADER_BYTES:
        raise BadRecord(f"not the Confluent wire format: {len(record)} bytes, at least {HEADER_BYTES} are its header")
    if record[0]:
        raise BadRecord(f"not the Confluent wire format: begins with {record[0]:#04x}, not with 0x00")
    return int.from_bytes(record[1:HEADER_BYTES], "big")


def check_unknown(unknown: Mapping[int, str]) -> None:
    """Bound what a batch asks a registry for in vain: four random bytes would each be another id.

    raises   RegistryUnavailable
    """
    if len(unknown) > UNKNOWN_MAX:
        raise RegistryUnavailable(
            f"over {UNKNOWN_MAX} schema ids of one batch are unknown, such as {min(unknown)} ({unknown[min(unknown)]}): "
            "is this the Confluent wire format, and this its registry?"
        )


def message_indexes(record: bytes, position: int = HEADER_BYTES) -> tuple[tuple[int, ...], int]:
    """The path to a Protobuf message, and where the message begins. raises BadRecord"""
    count, position = _zigzag(record, position)
    if count == 0:
        return (0,), position
    if not 0 < count <= INDEXES_MAX:
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
            raise BadRecord("not the Confluent wire format: its message indexes are cut off")
        byte = record[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
