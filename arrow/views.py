"""Keys and values as Arrow's views into the bytes where they were found: nothing is copied.

    view    length i32 | 12 bytes, where it is that short      or   length i32 | first 4 bytes | buffer i32 | offset i32

Runs in: Spark's Python workers, and every process that reads by `headrace.arrow`. A source is a window of a mapped segment, a batch
that was decompressed, or bytes from the network; the array holds each source for as long as it lives. A mapped segment that is
deleted meanwhile stays readable: retention and compaction remove names, not bytes.

Source: Arrow columnar format, variable-size binary view layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.target import VIEW_BYTES
from headrace.limits import VIEWED_BYTES_MAX


class Views:
    """The columns of one chunk that are views, being filled by the walk (`decode.py`).

    places   by column: int32 (rows, 4), and its bitmap
    """

    def __init__(self, names: Iterable[str], rows: int) -> None:
        self.places = {
            name: (np.empty((rows, VIEW_BYTES // 4), np.int32), np.full(rows // 8 + 1, 255, np.uint8)) for name in names
        }
        self._sources: list[Any] = []

    def number(self, source: Any) -> int:
        """The number that `source`, of VIEWED_BYTES_MAX at most, has or will have among the buffers."""
        assert not self.places or len(source) <= VIEWED_BYTES_MAX
        is_last = bool(self._sources) and self._sources[-1] is source
        return len(self._sources) - is_last

    def hold(self, sources: Sequence[Any]) -> None:
        """The walk has found rows in them, by the numbers from `number` of the first on: they live as long as the arrays."""
        if self.places:
            self._sources[self.number(sources[0]) :] = sources

    def array(self, name: str, rows: int, nulls: int) -> pa.Array:
        """The first `rows` of a column."""
        views, bits = self.places[name]
        validity = pa.py_buffer(bits) if nulls else None
        buffers = [validity, pa.py_buffer(views[:rows]), *map(pa.py_buffer, self._sources)]
        return pa.Array.from_buffers(pa.binary_view(), rows, buffers, null_count=nulls)
