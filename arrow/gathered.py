"""A column of bytes gathered into one buffer: keys and values as Spark takes them, and those of headers.

Runs in: Spark's Python workers. What is gathered so far is copied when the buffer grows, which doubles it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.decode import gather
from headrace.errors import HeadraceError

GATHER_BYTES_FIRST = 1 << 20
GATHER_BYTES_MAX = 2**31 - 1  # Arrow's int32 offsets


class BinaryColumn:
    """One binary column being gathered.

    data         room for the values, `size_bytes` of it filled
    offsets      Arrow's, one more than rows
    validity     Arrow's bitmap
    nulls        so far
    """

    def __init__(self, rows: int, size_bytes: int = GATHER_BYTES_FIRST) -> None:
        self.data = np.empty(max(size_bytes, 1), np.uint8)
        self.offsets = np.zeros(rows + 1, np.int32)
        self.validity = np.full(rows // 8 + 1, 255, np.uint8)
        self.nulls = 0
        self.size_bytes = 0

    def add(self, source: Any, starts: Any, lengths: Any, first: int, last: int) -> None:
        """The rows first <= i < last, lengths[i] bytes from starts[i] of `source`; -1 is null. raises HeadraceError"""
        self.size_bytes = int(self.offsets[first])
        self.reserve_bytes(int(np.maximum(lengths[first:last], 0).sum()))
        nulls = gather(source, starts, lengths, self.data, self.offsets, self.validity, first, last)
        assert nulls >= 0
        self.nulls += nulls
        self.size_bytes = int(self.offsets[last])

    def has_room_for(self, more_bytes: int) -> bool:
        """Whether Arrow's offsets can tell this number of bytes more."""
        return self.size_bytes + more_bytes <= GATHER_BYTES_MAX

    def reserve_bytes(self, more_bytes: int) -> None:
        """Room for this number of bytes more. raises HeadraceError"""
        needed = self.size_bytes + more_bytes
        if needed > GATHER_BYTES_MAX:
            raise HeadraceError(f"{needed} bytes in one column of one Arrow batch, at most {GATHER_BYTES_MAX} fit")
        if needed > self.data.shape[0]:
            grown = np.empty(min(max(needed, 2 * self.data.shape[0]), GATHER_BYTES_MAX), np.uint8)
            grown[: self.size_bytes] = self.data[: self.size_bytes]
            self.data = grown

    def reserve(self, rows: int) -> None:
        """Room for as many rows, and for as many again if there is not."""
        if rows >= self.offsets.shape[0]:
            rows *= 2
            self.offsets = np.concatenate([self.offsets, np.zeros(rows + 1 - self.offsets.shape[0], np.int32)])
            bits = np.full(rows // 8 + 1 - self.validity.shape[0], 255, np.uint8)
            self.validity = np.concatenate([self.validity, bits])

    def array(self, rows: int) -> pa.Array:
        """The first `rows` of them."""
        validity = pa.py_buffer(self.validity) if self.nulls else None
        size = int(self.offsets[rows])
        buffers = [validity, pa.py_buffer(self.offsets[: rows + 1]), pa.py_buffer(self.data[:size])]
        return pa.Array.from_buffers(pa.binary(), rows, buffers, null_count=self.nulls)
