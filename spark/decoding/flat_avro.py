"""Flat Avro records, walked by the record kernel (`protocol/kernel/flat_avro.c`): a field after the other, into columns.

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
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.arrow.gathered import BinaryColumn
from headrace.protocol import record_kernel

_walk_flat: Final = record_kernel.walk_flat

NOTHING, BOOLEAN, NUMBER, FLOAT, DOUBLE, BYTES, ENUM, FIXED = range(8)
NO_NULL = -1
_KINDS = {"null": NOTHING, "boolean": BOOLEAN, "int": NUMBER, "long": NUMBER, "float": FLOAT, "double": DOUBLE,
          "bytes": BYTES, "string": BYTES}  # fmt: skip


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
        present = values.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
        numbers = np.zeros((slots, count), np.int64)
        lengths = np.full((slots, count), -1, np.int64)
        is_sound = np.zeros(count, np.uint8)
        assert _walk_flat is not None
        _walk_flat(data, offsets, present, skipped_bytes, self.steps, numbers, lengths, is_sound)
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
    """How to walk a parsed schema, as fastavro has it, for the fields `names`; None, if it is not flat, or there is no kernel.

    types   the Arrow types of these fields
    """
    if _walk_flat is None or not isinstance(plain, dict) or plain.get("type") != "record":
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
