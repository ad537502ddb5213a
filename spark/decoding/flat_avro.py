"""Flat Avro records, walked by a kernel: a field after the other, into columns, without a Python object for each.

    schema    -> a step for each field: kind, null branch, slot of its column      (None, where a field is not that simple)
    walk      -> by column: numbers, or starts and lengths; by row whether it is sound
    columns   -> Arrow's, from these; records that are not sound are left to who tells what is wrong with them

Simple are null, boolean, int, long, float, double, bytes, string, enum and fixed, and unions of one of these with null.

Runs in: Spark's Python workers. Bytes are not trusted: every length is compared with what is left of its record.

Source: Avro 1.12 specification, binary encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.compiled import compiled
from headrace.arrow.decode import varint
from headrace.arrow.gathered import BinaryColumn
from headrace.arrow.memory import load_byte

NOTHING, BOOLEAN, NUMBER, FLOAT, DOUBLE, BYTES, ENUM, FIXED = range(8)
NO_NULL = -1
_KINDS = {"null": NOTHING, "boolean": BOOLEAN, "int": NUMBER, "long": NUMBER, "float": FLOAT, "double": DOUBLE,
          "bytes": BYTES, "string": BYTES}  # fmt: skip
_INT_LEAST, _INT_MOST = -(2**31), 2**31 - 1  # of Avro's int


@dataclass(frozen=True, slots=True)
class FlatAvro:
    """What the kernel does for each record.

    steps     int64 (fields, 5): kind, null branch or NO_NULL, slot or -1, bytes of a fixed or symbols of an enum, whether it is an int
    symbols   by slot, of enums
    """

    steps: Any
    symbols: Mapping[int, tuple[str, ...]]

    def columns(
        self, values: pa.Array, types: Sequence[Any], skipped_bytes: int = 0
    ) -> tuple[list[pa.Array], Any] | None:
        """(columns of these Arrow types, whether each row is sound); None, where a string is not UTF-8.

        A null is sound. Rows that are not are null.
        """
        count, slots = len(values), len(types)
        _validity, ends, held = values.buffers()
        offsets = np.frombuffer(ends, np.int32, count + 1, 4 * values.offset).astype(np.int64)
        data = np.frombuffer(held if held is not None else b"", np.uint8)
        data.flags.writeable = False
        present = values.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
        numbers = np.zeros((slots, count), np.int64)
        lengths = np.full((slots, count), -1, np.int64)
        is_sound = np.zeros(count, np.uint8)
        walk_flat(data, offsets, present, skipped_bytes, self.steps, numbers, lengths, is_sound)
        try:
            found = [
                self._column(slot, kind, data, numbers[slot], lengths[slot], count) for slot, kind in enumerate(types)
            ]
        except pa.ArrowInvalid:
            return None
        return found, is_sound

    def _column(self, slot: int, kind: Any, data: Any, numbers: Any, lengths: Any, count: int) -> pa.Array:
        absent = lengths < 0
        step = next(step for step in self.steps if step[2] == slot)
        if step[0] in (BYTES, FIXED):
            gathered = BinaryColumn(count, int(np.maximum(lengths, 0).sum()))
            gathered.add(data, numbers, lengths, 0, count)
            found = gathered.array(count)
            if kind == pa.binary():
                return found
            found = pa.Array.from_buffers(pa.string(), count, found.buffers(), found.null_count)
            found.validate(full=True)
            return found
        if step[0] == ENUM:
            indexes = pa.array(numbers.astype(np.int32), mask=absent)
            return pa.DictionaryArray.from_arrays(indexes, pa.array(self.symbols[slot])).cast(pa.string())
        if step[0] == FLOAT:
            return pa.array(numbers.astype(np.uint32).view(np.float32), mask=absent)
        if step[0] == DOUBLE:
            return pa.array(numbers.view(np.float64), mask=absent)
        if step[0] == BOOLEAN:
            return pa.array(numbers.astype(np.bool_), mask=absent)
        if step[4]:
            return pa.array(numbers.astype(np.int32), mask=absent).cast(kind)
        return pa.array(numbers, mask=absent).cast(kind)


def flat_avro(plain: Any, names: Sequence[str], types: Sequence[Any]) -> FlatAvro | None:
    """How to walk a parsed schema, as fastavro has it, for the fields `names`; None, if it is not flat.

    types   the Arrow types of these fields
    """
    if not isinstance(plain, dict) or plain.get("type") != "record":
        return None
    enums: dict[str, Any] = {}
    steps, symbols = [], {}
    for field in plain["fields"]:
        step = _step(field["type"], enums)
        if step is None:
            return None
        kind, null_branch, size, is_int, own = step
        slot = names.index(field["name"]) if field["name"] in names else -1
        if slot >= 0:
            if kind == NOTHING or pa.types.is_decimal(types[slot]):
                return None
            if kind == ENUM:
                symbols[slot] = own
        steps.append((kind, null_branch, slot, size, is_int))
    return FlatAvro(np.array(steps, np.int64).reshape(-1, 5), symbols)


def _step(kind: Any, named: dict[str, Any]) -> tuple[int, int, int, int, tuple[str, ...]] | None:
    """(kind, null branch, size, whether it is an int, symbols) of a field's type."""
    if isinstance(kind, list):
        if len(kind) != 2 or "null" not in kind:
            return None
        branch = kind.index("null")
        found = _step(kind[1 - branch], named)
        return None if found is None or found[0] == NOTHING else (found[0], branch, *found[2:])
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind], NO_NULL, 0, int(kind == "int"), ()
    if isinstance(kind, str) and kind in named:
        kind = named[kind]
    if not isinstance(kind, dict):
        return None
    if kind["type"] == "enum":
        named[kind["name"]] = kind
        return ENUM, NO_NULL, len(kind["symbols"]), 0, tuple(kind["symbols"])
    if kind["type"] == "fixed":
        named[kind["name"]] = kind
        return FIXED, NO_NULL, int(kind["size"]), 0, ()
    if kind["type"] in _KINDS and kind.get("logicalType") is None:
        return _step(kind["type"], named)
    return (BYTES, NO_NULL, 0, 0, ()) if kind["type"] == "bytes" else None


@compiled()
def _walk_one(source: int, position: int, end: int, steps: Any, row: int, numbers: Any, lengths: Any) -> bool:
    """One record in its columns; False, if it is not exactly one of the schema."""
    for index in range(steps.shape[0]):
        kind, null_branch, slot, size = steps[index, 0], steps[index, 1], steps[index, 2], steps[index, 3]
        if null_branch >= 0:
            branch, position = varint(source, position, end)
            if position < 0 or branch < 0 or branch > 1:
                return False
            if branch == null_branch:
                continue
        length: Any = np.int64(0)
        start: Any = np.int64(position)
        number: Any = np.int64(0)
        if kind in (NUMBER, ENUM, BYTES):
            number, position = varint(source, position, end)
            if position < 0:
                return False
            if kind == ENUM and (number < 0 or number >= size):
                return False
            if steps[index, 4] and (number < _INT_LEAST or number > _INT_MOST):
                return False
            if kind == BYTES:
                if number < 0 or number > end - position:
                    return False
                length, start = number, np.int64(position)
                number = start
                position += length
        elif kind != NOTHING:
            length = size if kind == FIXED else 8 if kind == DOUBLE else 4 if kind == FLOAT else 1
            if length > end - position:
                return False
            position += length
            number = start
            if kind != FIXED:
                value = np.uint64(0)
                for byte in range(length):
                    value |= load_byte(source + start + byte) << np.uint64(8 * byte)  # type: ignore[call-arg]
                if kind == BOOLEAN and value > 1:
                    return False
                number = np.int64(value)
        if slot >= 0:
            numbers[slot, row] = number
            lengths[slot, row] = length
    return position == end


@compiled()
def walk_flat(
    data: Any, offsets: Any, present: Any, skipped_bytes: int, steps: Any, numbers: Any, lengths: Any, is_sound: Any
) -> None:
    """Records data[offsets[row] + skipped_bytes:offsets[row + 1]] into `numbers` and `lengths`, which is -1 for null."""
    for row in range(present.shape[0]):
        if not present[row]:
            is_sound[row] = 1
            continue
        position = offsets[row] + skipped_bytes
        end = offsets[row + 1]
        if position <= end and _walk_one(data.ctypes.data, position, end, steps, row, numbers, lengths):
            is_sound[row] = 1
            continue
        for slot in range(lengths.shape[0]):
            lengths[slot, row] = -1
