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

    size_bytes   of the values so far
    """

    def __init__(self, rows: int, size_bytes: int = GATHER_BYTES_FIRST) -> None:
        self.data = np.empty(max(size_bytes, 1), np.uint8)
        self.offsets = np.zeros(rows + 1, np.int32)
        self.validity = np.full(rows // 8 + 1, 255, np.uint8)
        self.nulls = 0
        self.size_bytes = 0

    def add(self, source: Any, starts: Any, lengths: Any, first: int, last: int) -> None:
        needed = int(self.offsets[first]) + int(np.maximum(lengths[first:last], 0).sum())
        if needed > GATHER_BYTES_MAX:
            raise HeadraceError(f"{needed} bytes in one column of one Arrow batch, at most {GATHER_BYTES_MAX} fit")
        if needed > self.data.shape[0]:
            grown = np.empty(max(needed, 2 * self.data.shape[0]), np.uint8)
            grown[: self.data.shape[0]] = self.data
            self.data = grown
        nulls = gather(source, starts, lengths, first, last, self.data, self.offsets, self.validity)
        assert nulls >= 0
        self.nulls += nulls
        self.size_bytes = needed

    def reserve(self, rows: int) -> None:
        """Room for as many rows."""
        more = rows + 1 - self.offsets.shape[0]
        if more > 0:
            self.offsets = np.concatenate([self.offsets, np.zeros(more, np.int32)])
            bits = np.full(rows // 8 + 1 - self.validity.shape[0], 255, np.uint8)
            self.validity = np.concatenate([self.validity, bits])

    def array(self, rows: int) -> pa.Array:
        validity = pa.py_buffer(self.validity) if self.nulls else None
        size = int(self.offsets[rows])
        buffers = [validity, pa.py_buffer(self.offsets[: rows + 1]), pa.py_buffer(self.data[:size])]
        return pa.Array.from_buffers(pa.binary(), rows, buffers, null_count=self.nulls)
