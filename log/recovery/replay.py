"""What a batch that is in the log does to the producers' state: data begins transactions, markers end them.

Followers, recovery and the replay at start all see batches after the leader judged them, so nothing is refused here.

Source: Kafka `ProducerAppendInfo`, `UnifiedLog.updateProducers`.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import HeadraceError
from headrace.log.batch_walk import Run, size_of
from headrace.log.disk import Disk
from headrace.log.index_layout import AbortedTransaction
from headrace.log.names import LOG_SUFFIX, TXN_INDEX_SUFFIX, path_of
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.recovery.append_dates import AppendDates
from headrace.log.recovery.producer_recall import recall_batches
from headrace.log.segments.transaction_index import TransactionIndex
from headrace.log.state.compacted_offset import is_loss
from headrace.log.state.producer_state import ProducerState
from headrace.protocol.control_record import ABORT, COMMIT, CONTROL_KEY, MARKER_VALUE, control_type
from headrace.protocol.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT, Buffer, iterate_records

NEVER_OFFSET: Final = 2**63 - 1
PROGRESS_BYTES: Final = 64 << 20  # read between two signs of life

_log: Final = logging.getLogger(__name__)


class Marker(NamedTuple):
    """The end of a transaction."""

    is_abort: bool
    coordinator_epoch: int


def read_marker(batch: Buffer) -> Marker | None:
    """The marker in a control batch; None where it holds another control record, or none (compaction takes them)."""
    try:
        record = next(iterate_records(batch), None)
    except HeadraceError:
        return None
    if record is None or record.value is None or len(record.value) < MARKER_VALUE.size:
        return None
    kind = control_type(record.key)
    if kind not in (ABORT, COMMIT):
        return None
    return Marker(kind == ABORT, MARKER_VALUE.unpack_from(record.value)[1])


def build_marker_record(is_abort: bool, coordinator_epoch: int) -> tuple[bytes, bytes]:
    """(key, value) of the one record in a marker's batch."""
    return CONTROL_KEY.pack(0, ABORT if is_abort else COMMIT), MARKER_VALUE.pack(0, coordinator_epoch)


def replay_batch(
    producers: ProducerState,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    attributes: int,
    first_offset: int,
    last_offset: int,
    now_ms: int,
    read: Callable[[], Buffer],
) -> AbortedTransaction | None:
    """Take a batch with a producer id into the state.

    now_ms    when it was appended
    read      called for the whole batch, where it is a control batch
    returns   a transaction that the batch aborts: it belongs into the segment's transaction index
    """
    if not attributes & CONTROL_BIT:
        producers.update(
            producer_id,
            producer_epoch,
            base_sequence,
            last_offset - first_offset,
            first_offset,
            now_ms,
            attributes & TRANSACTIONAL_BIT,
        )
        return None
    marker = read_marker(read())
    if marker is None:
        return None
    return producers.end_transaction(
        producer_id, producer_epoch, marker.coordinator_epoch, last_offset, marker.is_abort, now_ms
    )


class ProducerReplay:
    """Brings the producers' state to where recovery goes on: the newest snapshot, then the headers after it.

    Batches below the log's start count too: a producer goes on from its last batch, and a transaction is over with its
    marker, whether these can still be fetched or not. Where some of them are gone or can't be read, what is known of the
    producers may be old (`ProducerState.doubt`).

    is_compacted     the topic's policy: batches may be missing before a segment, and nothing was lost
    bytes_replayed   since the snapshot
    has_new_names    transaction indexes are made, or are to be made again: their names may not be on disk yet
    """

    def __init__(
        self,
        directory: Path,
        disk: Disk,
        producers: ProducerState,
        log_start_offset: int,
        now_ms: int,
        progress: Callable[[int], None] | None = None,
        *,
        is_compacted: bool = False,
    ) -> None:
        self.bytes_replayed = 0
        self._directory = directory
        self._disk = disk
        self._producers = producers
        self._log_start_offset = log_start_offset
        self._now_ms = now_ms
        self._dates = AppendDates(0, now_ms)
        self._dated: TransactionIndex | None = None  # of the segment that recovery goes over
        self._progress = progress
        self._is_compacted = is_compacted
        self.has_new_names = False
        self._next_offset = -1  # the state is as of this offset; -1: nothing is loaded
        self._untrusted_from = NEVER_OFFSET

    def distrust_transactions(self, base_offset: int) -> None:
        """The transaction indexes from this segment on are filled again."""
        self._untrusted_from = min(self._untrusted_from, base_offset)
        self.has_new_names = True

    def catch_up(self, end_segment: int, end_position: int, offset: int, index: TransactionIndex) -> None:
        """The state as of `offset`, where the log is known to be whole up to (end_segment, end_position).

        index    of the end segment
        raises   OSError
        """
        if self._next_offset < 0:
            start = self._producers.load(min(offset, self._untrusted_from))
            self._dates = AppendDates(self._producers.snapshots.loaded_date_ms, self._now_ms)
            self._next_offset = start
            self._recall(start, end_segment, end_position)
        if self._next_offset >= offset:
            self._next_offset = offset
            return
        reader = LogReader(self._directory)
        reader.refresh(0)
        first = min(reader.segment_bases(), default=offset)
        for base, end in reader.ranges_from(self._next_offset, end_segment, end_position):
            self._note_missing(base, is_deleted=base == first)
            own_index = index
            if base < end_segment:
                path = path_of(self._directory, base, TXN_INDEX_SUFFIX)
                own_index = TransactionIndex(path, self._disk, is_new=base >= self._untrusted_from)
            try:
                self._replay_segment(reader.segment(base), end, own_index)
            except HeadraceError as failure:
                self._doubt(base, failure)
            except OSError as failure:
                if failure.errno != errno.EIO or base >= self._log_start_offset:
                    raise
                self._doubt(base, failure)  # where nothing reads any more, it is no reason to lose the directory
            finally:
                if base < end_segment:
                    own_index.sync()
                    own_index.close()
        reader.close()
        if self.has_new_names:  # what was synced before is not looked at again: no later flush may come
            self._disk.sync_directory(self._directory)
        self._note_missing(offset, is_deleted=offset <= first)
        self._next_offset = offset  # it may have been after it

    def _note_missing(self, offset: int, *, is_deleted: bool) -> None:
        """The log goes on at an offset: batches between there and where the state is from are gone, or never were. raises OSError"""
        if self._next_offset >= offset:
            return
        if self._producers.producers and (is_deleted or is_loss(self._directory, offset, self._is_compacted)):
            _log.warning(
                "producer state may be outdated, batches are missing directory=%s first_offset=%d last_offset=%d",
                self._directory,
                self._next_offset,
                offset - 1,
            )
            self._producers.doubt(self._log_start_offset)
        self._next_offset = offset

    def _doubt(self, base: int, failure: Exception) -> None:
        """A segment can't be read to its end."""
        _log.warning(
            "producer state of a part of the log is unknown directory=%s segment=%d reason=%s",
            self._directory,
            base,
            failure,
        )
        self._producers.doubt(self._log_start_offset)

    def _recall(self, offset: int, end_segment: int, end_position: int) -> None:
        """What the snapshot taken at an offset has forgotten of its producers."""
        if not self._producers.producers:
            return
        reader = LogReader(self._directory)
        try:
            reader.refresh(0)
            recall_batches(self._producers, reader, offset, end_segment, end_position, self._now_ms)
        except HeadraceError as failure:
            _log.warning("batches before a snapshot are unknown offset=%d reason=%s", offset, failure)
        finally:
            reader.close()

    def take(self, run: Run, fd: int, index: TransactionIndex) -> None:
        """Batches that recovery found good, consecutive ones. raises OSError"""
        dates = self._dates
        if index is not self._dated:
            self._dated = index
            self._date_segment(os.fstat(fd))
        for step in run:
            date_ms = dates.date_of(step.max_timestamp_ms, step.position + step.size)
            if step.producer_id < 0:
                continue
            self._producers.replay_at(date_ms)
            aborted = replay_batch(
                self._producers,
                step.producer_id,
                step.producer_epoch,
                step.base_sequence,
                step.attributes,
                step.base_offset,
                step.last_offset,
                date_ms,
                partial(os.pread, fd, step.size, step.position),
            )
            if aborted is not None and index.append(aborted):
                self.has_new_names = True
        self.bytes_replayed += size_of(run)
        self._next_offset = run[-1].last_offset + 1

    def _date_segment(self, file: os.stat_result) -> None:
        self._dates.begin_segment(file.st_mtime_ns // 1_000_000, file.st_size)

    def _replay_segment(self, segment: SegmentFile, end: int, index: TransactionIndex) -> None:
        found = segment.find(self._next_offset, end)
        if found is None:
            return
        self._date_segment(os.stat(path_of(self._directory, segment.base_offset, LOG_SUFFIX)))
        size_before = self.bytes_replayed - found[0]
        told = found[0]
        for batch in segment.batches(found[0], end):
            header = batch.header
            self.bytes_replayed = size_before + batch.position + batch.size
            if batch.position - told >= PROGRESS_BYTES and self._progress is not None:
                self._progress(0)  # a sign of life: nothing is recovered here
                told = batch.position
            self._next_offset = header.last_offset + 1
            date_ms = self._dates.date_of(header.max_timestamp, batch.position + batch.size)
            if header.producer_id < 0:
                continue
            self._producers.replay_at(date_ms)
            aborted = replay_batch(
                self._producers,
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.attributes,
                header.base_offset,
                header.last_offset,
                date_ms,
                partial(segment.read, batch),
            )
            if aborted is not None and index.append(aborted):
                self.has_new_names = True
