"""The column `headers`: list<struct<key: string, value: binary>>, null where a record has none.

Runs in: Spark's Python workers and readers. A record's headers are read twice, first to check and count them, so that memory is taken
for what is there and not for what a count says; then their keys and values are copied.
A key that is not UTF-8 comes with U+FFFD in the place of what is wrong, as in the kafka source.

    headers    count varint | count x (key length varint | key | value length varint, -1 for null | value)

Source: Kafka `DefaultRecord.readHeaders`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.column_types import HEADERS_TYPE
from headrace.arrow.decode import count_headers, fill_headers
from headrace.arrow.gathered import GATHER_BYTES_MAX, BinaryColumn
from headrace.errors import HeadraceError
from headrace.protocol.record_batch import CorruptRecord

HEADERS_FIRST = 1024


class HeaderLists:
    """The column being filled."""

    def __init__(self, rows: int) -> None:
        self._offsets = np.zeros(rows + 1, np.int32)
        self._validity = np.full(rows // 8 + 1, 255, np.uint8)
        self._keys = BinaryColumn(HEADERS_FIRST)
        self._values = BinaryColumn(HEADERS_FIRST)
        self._count = 0

    @property
    def size_bytes(self) -> int:
        """Of the keys and values of headers so far."""
        return self._keys.size_bytes + self._values.size_bytes

    def add(self, source: Any, starts: Any, lengths: Any, first: int, last: int) -> None:
        """The headers of rows first <= i < last, lengths[i] bytes from starts[i] of `source`.

        raises   CorruptRecord; HeadraceError, for more than one Arrow batch can hold
        """
        found = count_headers(source, starts, lengths, first, last)
        if isinstance(found, int):
            row = -1 - found
            raise CorruptRecord(f"headers at byte {starts[row]} contradict their record, which has {lengths[row]} left")
        more, key_bytes, value_bytes = found
        after = self._count + more
        if after > GATHER_BYTES_MAX:
            raise HeadraceError(f"{after} headers in one Arrow batch, at most {GATHER_BYTES_MAX} fit")
        keys, values = self._keys, self._values
        for column, size_bytes in ((keys, key_bytes), (values, value_bytes)):
            column.reserve(after)
            column.reserve_bytes(size_bytes)
        nulls = fill_headers(
            source, starts, lengths, self._offsets, self._validity, keys.data, keys.offsets, values.data, values.offsets,
            values.validity, first, last,
        )  # fmt: skip
        assert nulls >= 0
        values.nulls += nulls
        self._count = after
        keys.size_bytes, values.size_bytes = keys.size_bytes + key_bytes, values.size_bytes + value_bytes

    def array(self, rows: int) -> pa.Array:
        """The first `rows` of them."""
        keys, values = _text(self._keys.array(self._count)), self._values.array(self._count)
        structs = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS_TYPE.value_type))
        buffers = [pa.py_buffer(self._validity), pa.py_buffer(self._offsets[: rows + 1])]
        return pa.Array.from_buffers(HEADERS_TYPE, rows, buffers, children=[structs])


def _text(keys: pa.Array) -> pa.Array:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
