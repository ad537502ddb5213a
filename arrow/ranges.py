"""The records of a range: from the local page cache, or over the network.

Runs in: Spark's Python workers. Files that are not local, or are removed during the read, fall back to the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from headrace.arrow.decode import tell_if_slow
from headrace.arrow.local_range import local_directory, read_local
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.remote_range import read_remote
from headrace.arrow.rows import Rows
from headrace.arrow.tally import Tally

ROWS_PER_BATCH = 50_000


def read_range(
    one: OffsetRange,
    columns: Sequence[str],
    rows_per_batch: int = ROWS_PER_BATCH,
    are_views: bool = False,
    tally: Tally | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of a range as Arrow batches.

    are_views   keys and values are views into mapped files, not copies (`views.py`)
    tally       counts the bytes, as they are read

    raises      CorruptRange, naming file and position; TopicRecreated; TimestampOverflow; KafkaError
                or ConnectionFailed over the network
    """
    tell_if_slow()
    rows = Rows(one, columns, rows_per_batch, are_views)
    if tally is not None:
        rows.tally = tally
    directory = local_directory(one)
    if directory is not None:
        yield from read_local(one, directory, rows)
    if rows.next_offset < one.end:
        rows.is_remote = True
        yield from read_remote(one, rows)
    yield from rows.finish()
