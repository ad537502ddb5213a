"""`warm`: the kernels compiled, or loaded from their cache, before tasks need them.

Runs in: Spark's driver (`scan`, `register`), once a process; `python -c "from headrace.arrow.warm import warm; warm()"` when an
executor's image is built. The compiled
kernels are then in Numba's cache (`compiled.py`), and the workers on the same host load it instead of each compiling it.
"""

from __future__ import annotations

import functools

import numpy as np

from headrace.arrow.columns import ALL_COLUMNS
from headrace.arrow.decode import whole
from headrace.arrow.ranges import OffsetRange
from headrace.arrow.rows import Rows
from headrace.arrow.substring import Contains
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import Record, build_batch

ROWS = 8


@functools.cache
def warm() -> int:
    """Send a few records through every kernel; returns how many it decoded."""
    records = [Record(0, 0, b"k", b"v", (("h", b"v"),))]
    batches = [build_batch(records, base_offset=number, codec=codec) for number, codec in enumerate((0, Codec.GZIP))]
    data = np.frombuffer(b"".join(batches), np.uint8)
    rows = Rows(OffsetRange("warm", 0, 0, len(batches), "", ""), ALL_COLUMNS, ROWS)
    found = [*rows.add(data, 0, whole(data, 0, len(data), len(batches)), "warm"), *rows.finish()]
    for batch in found:
        Contains("value", b"v")(batch)
    return sum(batch.num_rows for batch in found)
