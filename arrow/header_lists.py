"""The column `headers`, filled by kernels: list<struct<key: string, value: binary>>, null where a record has none.

Runs in: Spark's Python workers and readers. A record's headers are read twice, first to check and count them, so that memory is taken
for what is there and not for what a count says; then into a table of starts and lengths, from which keys and values are gathered.
A key that is not UTF-8 comes with U+FFFD in the place of what is wrong, as in the kafka source.

    headers    count varint | count x (key length varint | key | value length varint, -1 for null | value)

Source: Kafka `DefaultRecord.readHeaders`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.compiled import compiled
from headrace.arrow.decode import varint
from headrace.arrow.gathered import GATHER_BYTES_MAX, BinaryColumn
from headrace.errors import HeadraceError
from headrace.protocol.record_batch import CorruptRecord

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
HEADERS_FIRST = 1024
KEY_START, KEY_LENGTH, VALUE_START, VALUE_LENGTH = range(4)


@compiled()
def walk_headers(
    data: Any,
    starts: Any,
    lengths: Any,
    first: int,
    last: int,
    place: int,
    fills: bool,
    entries: Any,
    list_offsets: Any,
    validity: Any,
) -> int:
    """Headers of the rows first <= i < last, lengths[i] bytes from starts[i] of `data`.

    place          how many headers there are before
    fills          False: only count
    entries        int64 (4, at least as many as there will be): key start, key length, value start, value length or -1
    list_offsets   int32, by row; list_offsets[i + 1] is written
    validity       Arrow's bitmap of the lists, preset to ones
    returns        how many headers there are after, or -1 - i, where those of row i contradict its length
    """
    source = data.ctypes.data
    for row in range(first, last):
        position = starts[row]
        end = position + lengths[row]
        if position < 0 or lengths[row] < 0 or end > data.shape[0]:
            return -1 - row
        count, at = varint(source, position, end)
        if at < 0 or count < 0 or count > lengths[row]:
            return -1 - row
        for _ in range(count):
            key_length, at = varint(source, at, end)
            if at < 0 or key_length < 0 or key_length > end - at:
                return -1 - row
            key_start = at
            value_length, at = varint(source, at + key_length, end)
            if at < 0 or value_length > end - at:
                return -1 - row
            if fills:
                entries[KEY_START, place] = key_start
                entries[KEY_LENGTH, place] = key_length
                entries[VALUE_START, place] = at
                entries[VALUE_LENGTH, place] = max(value_length, -1)
            place += 1
            at += max(value_length, 0)
        if at != end:
            return -1 - row
        if fills:
            list_offsets[row + 1] = place
            if count == 0:
                validity[row >> 3] &= np.uint8(~(1 << (row & 7)) & 255)
    return place


class HeaderLists:
    """The column being filled.

    size_bytes   of the keys and values of headers so far
    """

    def __init__(self, rows: int) -> None:
        self._offsets = np.zeros(rows + 1, np.int32)
        self._validity = np.full(rows // 8 + 1, 255, np.uint8)
        self._entries = np.empty((4, HEADERS_FIRST), np.int64)
        self._keys = BinaryColumn(HEADERS_FIRST)
        self._values = BinaryColumn(HEADERS_FIRST)
        self._count = 0

    @property
    def size_bytes(self) -> int:
        return self._keys.size_bytes + self._values.size_bytes

    def add(self, source: Any, starts: Any, lengths: Any, first: int, last: int) -> None:
        """The headers of rows first <= i < last. raises CorruptRecord, HeadraceError (more than one Arrow batch can hold)"""
        before = self._count
        after = self._walk(source, starts, lengths, first, last, fills=False)
        if after > GATHER_BYTES_MAX:
            raise HeadraceError(f"{after} headers in one Arrow batch, at most {GATHER_BYTES_MAX} fit")
        if after > self._entries.shape[1]:
            grown = np.empty((4, max(after, 2 * self._entries.shape[1])), np.int64)
            grown[:, :before] = self._entries[:, :before]
            self._entries = grown
            self._keys.reserve(grown.shape[1])
            self._values.reserve(grown.shape[1])
        self._count = self._walk(source, starts, lengths, first, last, fills=True)
        assert self._count == after
        entries = self._entries
        self._keys.add(source, entries[KEY_START], entries[KEY_LENGTH], before, after)
        self._values.add(source, entries[VALUE_START], entries[VALUE_LENGTH], before, after)

    def array(self, rows: int) -> pa.Array:
        keys, values = _text(self._keys.array(self._count)), self._values.array(self._count)
        structs = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS_TYPE.value_type))
        buffers = [pa.py_buffer(self._validity), pa.py_buffer(self._offsets[: rows + 1])]
        return pa.Array.from_buffers(HEADERS_TYPE, rows, buffers, children=[structs])

    def _walk(self, source: Any, starts: Any, lengths: Any, first: int, last: int, fills: bool) -> int:
        found = walk_headers(
            source, starts, lengths, first, last, self._count, fills, self._entries, self._offsets, self._validity
        )
        if found < 0:
            row = -1 - found
            raise CorruptRecord(f"headers at byte {starts[row]} contradict their record, which has {lengths[row]} left")
        return int(found)


def _text(keys: pa.Array) -> pa.Array:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
