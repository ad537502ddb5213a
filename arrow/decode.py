"""Record batches to columns: what makes reading the page cache worthwhile.

Runs in: Spark's Python workers, and every process that reads by `headrace.arrow`. The functions are the record kernel's
(`protocol/kernel/batches.c`, `gather.c`), which release the GIL; where it was not built, Python's (`python_walk.py`):

    walk_batches    batch headers and records of uncompressed batches -> wanted fields, views or copies; compressed ones -> a list
    walk_listed     records of batches that were listed, decompressed by `protocol.compression` -> the same
    whole_end       where the last whole batch of a window of a file ends
    gather          bytes from where they lie -> one contiguous Arrow buffer
    count_headers, fill_headers    headers of records -> columns of their keys and values

Bytes are not trusted: a batch is checked against its checksum before it is trusted, every varint and length with the end of its batch; a
mismatch is a WALK_* (`target.py`), never a read outside. Only the wanted fields of a record are written, each once.
What it costs: docs/measurements/spark.md; why it is so: docs/decisions/022.
"""

from __future__ import annotations

import functools
import logging
from typing import Any, Final

from headrace import compiled_kernel
from headrace.arrow import python_walk
from headrace.protocol import record_kernel

LISTED_MAX: Final = 64  # of one walk, as the kernel takes them

_log = logging.getLogger("headrace.spark")

walk_batches: Final[Any] = record_kernel.walk_batches or python_walk.walk_batches
walk_listed: Final[Any] = record_kernel.walk_listed or python_walk.walk_listed
whole_end: Final[Any] = record_kernel.whole_end or python_walk.whole_end
gather: Final[Any] = record_kernel.gather or python_walk.gather
count_headers: Final[Any] = record_kernel.count_headers or python_walk.count_headers
fill_headers: Final[Any] = record_kernel.fill_headers or python_walk.fill_headers


@functools.cache
def tell_if_slow() -> None:
    """Say once in a process that Python walks the records, and why."""
    if compiled_kernel.KERNEL is None:
        _log.warning(
            "records are decoded in pure Python, about 30 times slower: %s; a wheel has the record kernel, `make core` builds it",
            compiled_kernel.describe(),
        )
