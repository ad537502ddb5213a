"""Keys and values as Arrow's views into the bytes where they were found: nothing is copied.

    view    length i32 | 12 bytes, where it is that short      or   length i32 | first 4 bytes | buffer i32 | offset i32

Runs in: Spark's Python workers, and every process that reads by `headrace.arrow`. A source is a window of a mapped segment, a batch
that was decompressed, or bytes from the network; the array holds each source for as long as it lives. A mapped segment that is
deleted meanwhile stays readable: retention and compaction remove names, not bytes.

Source: Arrow columnar format, variable-size binary view layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.decode import KEY_NULLS, VALUE_NULLS, VIEWED_BYTES, Target
from headrace.limits import VIEWED_BYTES_MAX

VIEW_BYTES = 16


class Views:
    """The columns of one chunk that are views, being filled by the walk (`decode.py`)."""

    def __init__(self, names: Iterable[str], rows: int) -> None:
        sizes = {name: rows if name in names else 0 for name in ("key", "value")}
        self._views = {name: np.empty((size, VIEW_BYTES // 4), np.int32) for name, size in sizes.items()}
        self._validity = {name: np.full(size // 8 + 1, 255, np.uint8) for name, size in sizes.items()}
        self._sums = np.zeros(3, np.int64)
        self._sources: list[Any] = []
        self._is_wanted = any(sizes.values())

    def target(self, columns: Any, slots: Any) -> Target:
        """What the walk writes into: these views, and the columns that are given."""
        views, validity = self._views, self._validity
        return Target(columns, slots, views["key"], views["value"], validity["key"], validity["value"], self._sums)

    @property
    def size_bytes(self) -> int:
        """Of the values so far, wherever they lie."""
        return int(self._sums[VIEWED_BYTES])

    def number(self, source: Any) -> int:
        """The number that `source`, of VIEWED_BYTES_MAX at most, has or will have among the buffers."""
        assert not self._is_wanted or source.shape[0] <= VIEWED_BYTES_MAX
        is_last = bool(self._sources) and self._sources[-1] is source
        return len(self._sources) - is_last

    def hold(self, source: Any) -> None:
        """The walk has found rows in `source`: it lives as long as the arrays."""
        if self._is_wanted and self.number(source) == len(self._sources):
            self._sources.append(source)

    def array(self, name: str, rows: int) -> pa.Array:
        nulls = int(self._sums[KEY_NULLS if name == "key" else VALUE_NULLS])
        validity = pa.py_buffer(self._validity[name]) if nulls else None
        buffers = [validity, pa.py_buffer(self._views[name][:rows]), *map(pa.py_buffer, self._sources)]
        return pa.Array.from_buffers(pa.binary_view(), rows, buffers, null_count=nulls)
