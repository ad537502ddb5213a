"""How old the first record is that a group has not read: looked up in the log, written beside the group's lag.

Runs in: the housekeeper, every two seconds, for groups that lag and whose committed offset moved since the last
scan. It reads indexes and a batch header each; the timestamp is that of the batch (its first where the offset
begins it, else its largest).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from headrace.clock import Clock
from headrace.ids import TopicPartition
from headrace.limits import LAG_ROWS_PER_SCAN_MAX
from headrace.log.reading.reader import LogReader
from headrace.runtime.failed_directory import report_unreadable
from headrace.shm.lag_table import LagRow
from headrace.shm.seat import Seat
from headrace.workers.housekeeper.hosted import Hosted, HostedReplicas

_log = logging.getLogger(__name__)


class LagScan:
    """Scans the lag table, one after the other, a bounded number of rows each."""

    def __init__(self, seat: Seat, clock: Clock, replicas: HostedReplicas) -> None:
        self._seat = seat
        self._clock = clock
        self._replicas = replicas
        self._begin = 0  # where the last scan ended

    def run(self) -> int:
        """Stamp what lags; returns how many rows were looked up."""
        rows = [row for row in self._seat.lags.rows() if row.looked_at != row.committed]
        if not rows:
            return 0
        hosted = {each.name: each for each in self._replicas}
        readers: dict[TopicPartition, LogReader] = {}
        done = 0
        for row in self._in_turn(rows):
            each = hosted.get(TopicPartition(row.topic, row.partition))
            if each is None or each.row.high_watermark <= max(row.committed, each.row.log_start_offset):
                continue
            self._seat.beat(self._clock.monotonic_ns())
            reader = readers.get(each.name)
            if reader is None:
                reader = readers[each.name] = LogReader(each.directory)
            self._seat.lags.stamp(row, self._timestamp(reader, row, each))
            done += 1
            if done >= LAG_ROWS_PER_SCAN_MAX:
                self._begin = row.place
                break
        for reader in readers.values():
            reader.close()
        return done

    def _in_turn(self, rows: list[LagRow]) -> Iterable[LagRow]:
        """All rows, starting after where the last scan had to end."""
        begin, self._begin = self._begin, -1
        yield from (row for row in rows if row.place > begin)
        yield from (row for row in rows if row.place <= begin)

    def _timestamp(self, reader: LogReader, row: LagRow, hosted: Hosted) -> int:
        """Of the first record at or after the committed offset, -1 where that can't be determined."""
        state = hosted.row
        try:
            reader.refresh(state.segments_version)
            for found in reader.batches_from(row.committed, state.hw_segment, state.hw_position):
                header = found.header
                return header.base_timestamp if header.base_offset >= row.committed else header.max_timestamp
        except Exception as failure:  # one log that makes no sense must not end the pass over the others
            report_unreadable(self._seat, hosted.log_dir, failure)
            _log.debug("age of unread record unknown group=%s topic=%s reason=%s", row.group, row.topic, failure)
        return -1
