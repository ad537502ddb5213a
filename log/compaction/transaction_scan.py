"""What the headers of a whole log say of its producers: how each transaction ended, and each producer's last batch.

A batch of a transaction is committed or aborted by the next marker of its producer; compaction has to know before it gets
there, and for a part of the log that ends before the marker. Markers are few bytes each here (an array a producer), so that
memory grows by 8 bytes a transaction that the log still holds.

    marker's offset << 1 | 1 where it aborts

Runs in: the housekeeper. Source: Kafka `CleanedTransactionMetadata`, `ProducerStateManager.lastRecords`; KIP-98.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from enum import Enum

from headrace.log.batch_walk import Found
from headrace.log.reading.segment_file import SegmentFile
from headrace.protocol.control_record import ABORT, COMMIT, control_type
from headrace.protocol.record_batch import CorruptRecord, RecordBatchHeader, iterate_records

NO_OFFSET = -1


class Outcome(Enum):
    """How the transaction of a batch ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"  # as far as the log goes


class TransactionScan:
    """Fed with the batches of a log in order."""

    def __init__(self) -> None:
        self._markers: dict[int, array[int]] = {}
        self._last: dict[int, tuple[int, int]] = {}  # producer -> (epoch, last offset of its last data batch)

    def take(self, segment: SegmentFile, batch: Found, is_active: bool) -> None:
        """One batch. raises CorruptRecord, CompressionError or OSError, for a control batch that can't be read

        is_active   the producer may still be known to the log's owner: its last batch is kept
        """
        header = batch.header
        producer_id = header.producer_id
        if producer_id < 0:
            return
        if not header.is_control:
            if is_active:
                self._last[producer_id] = (header.producer_epoch, header.last_offset)
            return
        if is_active:
            epoch, _offset = self._last.get(producer_id, (NO_OFFSET, NO_OFFSET))
            if header.producer_epoch > epoch:
                self._last[producer_id] = (header.producer_epoch, NO_OFFSET)
        is_abort = is_abort_marker(segment.read(batch))
        if is_abort is not None:
            self._markers.setdefault(producer_id, array("q")).append(header.base_offset << 1 | is_abort)

    def outcome(self, header: RecordBatchHeader) -> Outcome:
        """How the transaction of a data batch ended; COMMITTED, where it is in none.

        A log may have batches that say so without a producer id. No marker ends them, and readers do not wait for one.
        """
        if not header.is_transactional or header.producer_id < 0:
            return Outcome.COMMITTED
        markers = self._markers.get(header.producer_id)
        if markers is not None:
            index = bisect_right(markers, header.last_offset << 1 | 1)
            if index < len(markers):
                return Outcome.ABORTED if markers[index] & 1 else Outcome.COMMITTED
        return Outcome.OPEN

    def is_last_of_producer(self, header: RecordBatchHeader) -> bool:
        """Whether a batch carries the last sequence of its producer, or, where no data does, its epoch."""
        last = self._last.get(header.producer_id)
        if header.producer_id < 0 or last is None:
            return False
        if last[1] == NO_OFFSET:
            return header.is_control and header.producer_epoch == last[0]
        return header.last_offset == last[1]


def is_abort_marker(batch: bytes) -> bool | None:
    """True for an abort, False for a commit; None for a control batch of another kind, or one that is empty.

    raises   CorruptRecord or CompressionError
    """
    for record in iterate_records(batch):
        kind = control_type(record.key)
        if kind is None:
            raise CorruptRecord(f"control record {record.offset} has no type")
        return kind == ABORT if kind in (ABORT, COMMIT) else None
    return None
