"""When batches that are replayed were appended, as far as files and batches say so.

The log has no date of an append: a batch has its client's timestamps, which may be of years ago, or of years to come. So

    no earlier    than the snapshot's file was written: what is replayed follows it in the log
    no later      than its segment's file was written, nor than now
    in between    the largest timestamp in the log up to this batch
    the last      batch of a segment is as old as its file

Producers rank by it, where there are more than may be remembered (`state/producer_state.py`), and snapshots keep it. Nothing expires by it.

Runs in: the partition worker that owns the log, while it opens it. Kafka takes the batch's largest timestamp as it is.
"""

from __future__ import annotations


class AppendDates:
    """Of the batches of one replay, in their order.

    oldest_ms   none is older
    now_ms      none is younger
    """

    __slots__ = ("_end_position", "_largest_ms", "_newest_ms", "_now_ms", "_oldest_ms")

    def __init__(self, oldest_ms: int, now_ms: int) -> None:
        self._oldest_ms = oldest_ms
        self._now_ms = now_ms
        self._newest_ms = now_ms
        self._largest_ms = oldest_ms
        self._end_position = -1

    def begin_segment(self, written_ms: int, size_bytes: int) -> None:
        """What follows is of a file of this date and size."""
        self._newest_ms = min(max(written_ms, self._oldest_ms), self._now_ms)
        self._end_position = size_bytes

    def date_of(self, max_timestamp_ms: int, end_position: int) -> int:
        """The date of the next batch, which ends at a position of the file."""
        newest_ms = self._newest_ms
        if end_position == self._end_position:
            return newest_ms
        if max_timestamp_ms > self._largest_ms:
            self._largest_ms = max_timestamp_ms
        if self._largest_ms > newest_ms:
            self._largest_ms = newest_ms
        return self._largest_ms
