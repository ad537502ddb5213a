"""Keys and values as Arrow's views into the bytes where they were found: nothing is copied.

    view    length i32 | 12 bytes, where it is that short      or   length i32 | first 4 bytes | buffer i32 | offset i32

Runs in: Spark's Python workers, and every process that reads by `headrace.arrow`. A source is a window of a mapped segment, a batch
that was decompressed, or bytes from the network; the array holds each source for as long as it lives. A mapped segment that is
deleted meanwhile stays readable: retention and compaction remove names, not bytes.

Source: Arrow columnar format, variable-size binary view layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.compiled import compiled
from headrace.arrow.copying import copy_bytes
from headrace.limits import VIEWED_BYTES_MAX

VIEW_BYTES = 16


@compiled()
def make_views(
    data: Any, starts: Any, lengths: Any, first: int, last: int, buffer: int, views: Any, validity: Any
) -> int:
    """Views of `lengths[i]` bytes from `starts[i]` for first <= i < last.

    buffer     number of the Arrow buffer that `data` is
    views      (rows, 4) int32, zeros
    validity   Arrow's bitmap, preset to ones
    returns    nulls seen, or -1 where a value lies outside of `data`
    """
    nulls = 0
    source, target = data.ctypes.data, views.ctypes.data
    size = data.shape[0]
    for index in range(first, last):
        length = lengths[index]
        if length < 0:
            validity[index >> 3] &= np.uint8(~(1 << (index & 7)) & 255)
            nulls += 1
            continue
        start = starts[index]
        if start < 0 or start > size - length:
            return -1
        views[index, 0] = length
        place = target + index * 16 + 4
        if length <= 12:
            copy_bytes(place, source + start, length)  # type: ignore[call-arg]
        else:
            copy_bytes(place, source + start, 4)  # type: ignore[call-arg]
            views[index, 2] = buffer
            views[index, 3] = start
    return nulls


class Views:
    """One column being filled, of views.

    size_bytes   of the values so far, wherever they lie
    """

    def __init__(self, rows: int) -> None:
        self._views = np.zeros((rows, VIEW_BYTES // 4), np.int32)
        self._validity = np.full(rows // 8 + 1, 255, np.uint8)
        self._sources: list[Any] = []
        self._nulls = 0
        self.size_bytes = 0

    def add(self, source: Any, starts: Any, lengths: Any, first: int, last: int) -> None:
        """Values of rows first <= i < last, which lie in a source of VIEWED_BYTES_MAX at most."""
        assert source.shape[0] <= VIEWED_BYTES_MAX
        if not self._sources or self._sources[-1] is not source:
            self._sources.append(source)
        number = len(self._sources) - 1
        nulls = make_views(source, starts, lengths, first, last, number, self._views, self._validity)
        assert nulls >= 0
        self._nulls += nulls
        self.size_bytes += int(np.maximum(lengths[first:last], 0).sum())

    def array(self, rows: int) -> pa.Array:
        validity = pa.py_buffer(self._validity) if self._nulls else None
        buffers = [validity, pa.py_buffer(self._views[:rows]), *map(pa.py_buffer, self._sources)]
        return pa.Array.from_buffers(pa.binary_view(), rows, buffers, null_count=self._nulls)
