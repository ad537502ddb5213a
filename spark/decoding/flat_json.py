"""JSON objects whose fields are read flat, walked by the record kernel (`protocol/kernel/flat_json.c`): a record after the other, into
columns.

    schema    -> kind, bits and name of each field               (None, where a field is not that simple)
    walk      -> by column: numbers, or starts and lengths; by row whether it is sound
    columns   -> Arrow's, from these; records that are not sound are left to pyarrow.json

Simple are string, byte, short, int, long, double and boolean. pyarrow.json takes 0.65 seconds for a million records of 88 bytes, most of it
for a builder of unknown types that it does not need here; the walk takes 0.1 (2026-11-27). It takes no more than what both read
alike: a record with an escape, an exponent or more digits than it is sure of is pyarrow's, as is every one that is wrong.

Runs in: Spark's Python workers, task workers of a load. Bytes are not trusted: every position is compared with the end of its record.

Source: RFC 8259.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.arrow.gathered import BinaryColumn
from headrace.limits import FLAT_JSON_FIELDS_MAX
from headrace.protocol import record_kernel

_walk_json: Final = record_kernel.walk_json

TEXT, BOOLEAN, NUMBER, DOUBLE = range(4)
_NO_BITS = 64
_KINDS: dict[pa.DataType, tuple[int, int]] = {
    pa.string(): (TEXT, _NO_BITS),
    pa.bool_(): (BOOLEAN, _NO_BITS),
    pa.int8(): (NUMBER, 8),
    pa.int16(): (NUMBER, 16),
    pa.int32(): (NUMBER, 32),
    pa.int64(): (NUMBER, 64),
    pa.float64(): (DOUBLE, _NO_BITS),
}


@dataclass(frozen=True, slots=True)
class FlatJson:
    """What the kernel does for each record.

    names    of the fields, one after the other
    fields   int64 (fields, 3): kind, bits of an integer, where its name ends
    types    Arrow's, by field
    """

    names: bytes
    fields: Any
    types: tuple[Any, ...]

    def columns(self, values: pa.Array) -> tuple[list[pa.Array], Any] | None:
        """(columns, whether each row is sound); None, where something is not UTF-8.

        A null is sound. Rows that are not are null.
        """
        count, slots = len(values), len(self.types)
        try:
            buffers = values.buffers()
            pa.Array.from_buffers(pa.string(), count, buffers, offset=values.offset).validate(full=True)
        except pa.ArrowInvalid:
            return None
        offsets = np.frombuffer(buffers[1], np.int32, count + 1, 4 * values.offset).astype(np.int64)
        data = np.frombuffer(buffers[2] if buffers[2] is not None else b"", np.uint8)
        present = values.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
        numbers = np.zeros((slots, count), np.int64)
        lengths = np.full((slots, count), -1, np.int64)
        is_sound = np.zeros(count, np.uint8)
        assert _walk_json is not None
        _walk_json(data, offsets, present, self.names, self.fields, numbers, lengths, is_sound)
        found = [_column(kind, data, numbers[slot], lengths[slot]) for slot, kind in enumerate(self.types)]
        return found, is_sound.astype(np.bool_)


def flat_json(names: Sequence[str], types: Sequence[Any]) -> FlatJson | None:
    """How to walk objects for fields of these Arrow types; None, if they are not flat, or there is no kernel."""
    if _walk_json is None or len(names) > FLAT_JSON_FIELDS_MAX or any(kind not in _KINDS for kind in types):
        return None
    encoded = [name.encode() for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    fields = [(*_KINDS[kind], end) for kind, end in zip(types, ends, strict=True)]
    return FlatJson(b"".join(encoded), np.array(fields, np.int64).reshape(-1, 3), tuple(types))


def _column(kind: Any, data: Any, numbers: Any, lengths: Any) -> pa.Array:
    count = len(numbers)
    if kind == pa.string():
        gathered = BinaryColumn(count, int(np.maximum(lengths, 0).sum()))
        gathered.add(data, numbers, lengths, 0, count)
        found = gathered.array(count)
        return pa.Array.from_buffers(kind, count, found.buffers(), found.null_count)
    absent = lengths < 0
    mask = absent if absent.any() else None
    if kind == pa.float64():
        return pa.array(numbers.view(np.float64).copy(), mask=mask)  # not a view: it would hold all columns
    return pa.array(numbers.astype(kind.to_pandas_dtype()), kind, mask=mask)
