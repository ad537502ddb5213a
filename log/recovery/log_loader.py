"""Opening a log: which segments there are, which of them are scanned, and where the log ends.

    segment                                        what is done
    --------------------------------------------   ------------------------------------------------------------
    rolled; below the recovery point or the log    indexes checked, rebuilt from the headers where they are
    start, or the last stop was clean, or its      missing or can't be true
    owner was killed
    rolled, anything else                          every batch checked, indexes rebuilt
    active; the last stop was clean                headers walked from the last index entry to the end
    active; its owner was killed                   the same up to what it had published, every batch checked after it
    active, anything else                          every batch checked, indexes rebuilt

A killed process leaves the page cache whole, and a segment is rolled only after the writes into it have returned.
A crash of the machine loses any page that was not synced, and sizes and names of files with them: what follows a
segment that had to be cut, or lies twice, leaves the log. So does what follows a hole between two segments that compaction can't
have made (`state/compacted_offset.py`); a log that has no other replica keeps it, with an ERROR.

A batch that was known to be whole (below the recovery point, or published by an owner of this boot) and is damaged was not torn
by a crash. What follows it is kept (`damaged_rest.py`): put aside, and, where there is no other replica, in the log from the next
whole batch on. The recovery point lags, and may be missing. So the torn end of a crash is looked for in the last segment that was
written: where a later one has a whole batch, and there is no other replica, a damaged batch counts as one that was whole. So it does
in a log that was synced before each answer, where a whole batch follows it, in its own segment or in a later one: whatever other replicas
there are, what follows it is put aside before it is cut.

What lies below the log's start is no part of it: damage and holes there (segments were deleted, and the machine lost some of the
renames) say nothing of what follows. Where nothing from the start on is known, or found, such damage is no loss. A log that ends below
its start (records were deleted up to an offset that was lost) is reset to its start: no offset is given twice. No segment is unlinked for
any of this: it is put aside (`stray.py`), with an ERROR.

Runs in: the partition worker that owns the log. Source: Kafka `LogLoader`.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headrace.clock import Clock
from headrace.errors import CorruptIndex
from headrace.ids import NO_EPOCH
from headrace.log.batch_walk import walk
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.index_layout import OFFSET_ENTRY, TIME_ENTRY
from headrace.log.names import (
    CUT_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    bases_among,
    path_of,
    segment_bases,
)
from headrace.log.reading.aborted_transactions import check_transaction_index
from headrace.log.reading.index_reader import IndexReader
from headrace.log.recovery.damaged_rest import (
    begin_split,
    check_room,
    find_copy,
    finish_split,
    has_whole_batch,
    next_batch,
    put_aside_rest,
)
from headrace.log.recovery.epoch_scan import contradiction, epochs_in
from headrace.log.recovery.recovery import Progress, Recovery
from headrace.log.recovery.replay import NEVER_OFFSET, ProducerReplay
from headrace.log.segments.segment import Segment
from headrace.log.segments.segment_swap import finish_swaps
from headrace.log.segments.stray import put_aside
from headrace.log.state.compacted_offset import is_loss
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.loss_mark import LossMark
from headrace.log.state.producer_state import ProducerState
from headrace.log.state.truncation_mark import TruncationMark, doubt_all
from headrace.protocol.message_set import ENTRY_BYTES_MIN, old_header
from headrace.protocol.record_batch import HEADER_BYTES, MAGIC_POSITION, MAGIC_V2, parse_header

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogCheckpoint:
    """What is known of a log before it is opened: from checkpoints, the clean-shutdown marker, and its row.

    is_clean         the last stop closed it: structure is trusted
    recovery_point   below it everything was synced and is trusted
    trusted          (segment, position) up to which a process that died in this boot had published: the page cache has
                     it whole, checksums are compared only after it
    is_sole          no other replica has what this one may have lost
    """

    is_clean: bool = False
    recovery_point: int = 0
    trusted: tuple[int, int] | None = None
    log_start_offset: int = 0
    is_sole: bool = False


@dataclass(frozen=True, slots=True)
class LoadedLog:
    """A log as it is.

    active           the last segment, open for writing
    bases            base offsets of the segments, the active one last
    rolled_bytes     of all segments but the active one
    unsynced         rolled segments that may not be on disk yet
    has_new_names    names in the directory may not be on disk yet
    end_offset       the offset the next record gets
    recovery_point   below it everything is synced
    bytes_replayed   after the producers' snapshot
    was_cut          batches were damaged that may have been acknowledged: the end, or all from there on, is no part of it any more
    has_lost_end     its end is one of these, and the loss was noted: not an append without a response
    """

    active: Segment
    bases: list[int]
    rolled_bytes: int
    unsynced: list[int]
    has_new_names: bool
    start_offset: int
    end_offset: int
    recovery_point: int
    bytes_replayed: int
    was_cut: bool = False
    has_lost_end: bool = False


class LogLoader:
    """Opens the segments of one log, and brings its epochs and producers along."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        disk: Disk,
        epochs: LeaderEpochs,
        producers: ProducerState,
        mark: TruncationMark,
        clock: Clock,
        progress: Progress | None = None,
        loss: LossMark | None = None,
        *,
        was_synced: bool = False,
    ) -> None:
        """What the log is made of, and where a loss is noted.

        was_synced   nothing was answered before it was synced: the torn end of the last segment is no loss, where nothing whole
                     follows it
        """
        self._directory = directory
        self._config = config
        self._disk = disk
        self._epochs = epochs
        self._producers = producers
        self._mark = mark
        self._clock = clock
        self._now_ms = clock.now_ms()
        self._progress = progress
        self._loss = loss
        self._was_synced = was_synced
        self._is_published = False  # the owner before us was killed in this boot: what it had published is whole
        self._replay: ProducerReplay
        self._is_scanned = True  # recovery went over every batch, and its epochs with it
        self._bases: list[int] = []
        self._end_offset = 0
        self._rolled_bytes = 0
        self._unsynced: list[int] = []
        self._created_first_segment = False
        self._was_cut = self._has_lost_end = False
        self._is_rotten = False  # of the last segment that was recovered: what was cut had been whole
        self._split_at = 0  # what follows it is a segment from this offset on; 0: nothing does

    def load(self, checkpoint: LogCheckpoint) -> LoadedLog:
        """Make what is on disk true. raises OSError"""
        start_offset = checkpoint.log_start_offset
        self._is_published = checkpoint.trusted is not None
        if not self._is_published and not checkpoint.is_clean:  # no row says it, nor a clean stop
            start_offset = self._mark.bound_start(start_offset)
        believed = replace(
            checkpoint,
            is_clean=checkpoint.is_clean and not self._mark.doubts_all,
            recovery_point=self._mark.bound(checkpoint.recovery_point),
            log_start_offset=start_offset,
        )
        active = self._open_segments(believed)
        end_offset = self._end_offset
        self._mark.doubt_recovery_point(checkpoint.recovery_point, end_offset)
        start_offset = max(believed.log_start_offset, self._bases[0])
        recovery_point = min(max(believed.recovery_point, start_offset), end_offset)
        if believed.is_clean:
            recovery_point = end_offset
            self._producers.snapshots.durable_offset = self._producers.snapshots.loaded_offset
        self._epochs.truncate_from_end(end_offset + 1)
        self._epochs.truncate_from_start(start_offset)
        self._epochs.save()
        return LoadedLog(
            active,
            self._bases,
            self._rolled_bytes,
            self._unsynced,
            self._created_first_segment or self._replay.has_new_names or not believed.is_clean,
            start_offset,
            end_offset,
            recovery_point,
            self._replay.bytes_replayed,
            self._was_cut,
            self._has_lost_end,
        )

    def _open_segments(self, opening: LogCheckpoint) -> Segment:
        """Every segment made true; returns the active one."""
        finish_swaps(self._directory, self._disk)
        names = os.listdir(self._directory)
        found = bases_among(names, LOG_SUFFIX)
        for name in names:
            if name.endswith(LOG_SUFFIX + CUT_SUFFIX):  # of a truncation that did not come to its end
                self._disk.unlink(self._directory / name)
        if sum(name.endswith(LOG_SUFFIX) for name in names) > len(found):
            _log.warning("ignored files whose names are not offsets directory=%s", self._directory)
        self._replay = ProducerReplay(
            self._directory,
            self._disk,
            self._producers,
            opening.log_start_offset,
            self._now_ms,
            self._progress,
            is_compacted=self._config.is_compacted,
        )
        if not found:
            return self._begin(opening.log_start_offset)
        active = self._make_true(list(found), opening)
        if self._end_offset < opening.log_start_offset:
            _log.error(
                "log reset to its start offset, it ended below directory=%s end_offset=%d log_start_offset=%d",
                self._directory,
                self._end_offset,
                opening.log_start_offset,
            )
            active.close()
            is_known = opening.recovery_point > opening.log_start_offset or opening.is_clean
            if is_known or opening.trusted is not None:  # it had records from its start on, or may have had
                self._note_loss()
                self._has_lost_end = True
            self._put_aside(segment_bases(self._directory))
            return self._begin(opening.log_start_offset)
        if self._epochs.is_lost:
            if self._is_scanned:
                self._epochs.replace(self._epochs.entries)
            else:
                self._rebuild_epochs(active)
        else:
            self._compare_epochs(active)
        self._producers.snapshots.remove_after(self._end_offset)
        return active

    def _begin(self, offset: int) -> Segment:
        """A log without records."""
        self._bases = [offset]
        self._end_offset = offset
        self._rolled_bytes = 0
        self._unsynced.clear()
        self._producers.clear()
        self._producers.snapshots.remove_after(-1)
        self._created_first_segment = True
        return Segment(self._directory, offset, self._disk, self._clock, is_new=True)

    def _make_true(self, found: list[int], opening: LogCheckpoint) -> Segment:
        """Check every segment, as far as the log is whole; returns the active one. A segment that is split makes `found` longer."""
        unscanned = max(opening.recovery_point, opening.log_start_offset)  # below its start nothing is part of the log
        index = 0
        while index < len(found) - 1:
            base, following = found[index], found[index + 1]
            index += 1
            self._bases.append(base)
            if opening.is_clean or opening.trusted is not None or following <= unscanned:
                self._check_rolled(base, following)
                if following > opening.recovery_point and not opening.is_clean:
                    self._unsynced.append(base)
                continue
            segment, cut_bytes = self._recover(base, 0, opening, found[index:])
            is_kept = self._split_at > 0 or (opening.is_sole and self._is_rotten)
            if self._split_at > 0:
                found.insert(index, self._split_at)
            if (cut_bytes and not is_kept) or self._end_offset > following or self._is_lost(found[index], opening):
                self._note_loss()
                self._has_lost_end = True
                self._put_aside(found[index:])
                return segment
            self._roll(segment)
        self._bases.append(found[-1])
        self._check_transaction_index(found[-1], NEVER_OFFSET)
        active = self._recover(found[-1], self._known_end(found[-1], opening), opening)[0]
        while self._split_at > 0:
            self._is_lost(self._split_at, opening)
            self._roll(active)
            self._bases.append(self._split_at)
            active = self._recover(self._split_at, 0, opening)[0]
        return active

    def _roll(self, segment: Segment) -> None:
        """A segment that was checked, and another one follows."""
        segment.finish()
        self._rolled_bytes += segment.size_bytes
        self._unsynced.append(segment.base_offset)
        segment.close()

    def _is_lost(self, following: int, opening: LogCheckpoint) -> bool:
        """Whether a segment that was whole has lost its end, and what follows it is not to be kept. raises OSError"""
        end = self._end_offset
        if end == following:
            return False
        if not is_loss(self._directory, following, self._config.is_compacted):
            return False
        _log.error(
            "%s directory=%s first_missing_offset=%d last_missing_offset=%d",
            "acknowledged records may be lost, there is no other replica" if opening.is_sole else "records lost",
            self._directory,
            end,
            following - 1,
        )
        return not opening.is_sole

    def _known_end(self, base: int, opening: LogCheckpoint) -> int:
        """Up to where the active segment is known to be whole."""
        if opening.trusted is not None and not opening.is_clean:
            return opening.trusted[1] if opening.trusted[0] == base else 0
        return path_of(self._directory, base, LOG_SUFFIX).stat().st_size if opening.is_clean else 0

    def _check_rolled(self, base: int, following: int) -> None:
        """A rolled segment that is known to be whole: count it, and check its indexes."""
        self._is_scanned = False
        self._check_transaction_index(base, following)
        size = path_of(self._directory, base, LOG_SUFFIX).stat().st_size
        if not indexes_are_sound(self._directory, base, size, self._config.index_interval_bytes, self._disk):
            _log.warning("index rebuilt directory=%s segment=%d", self._directory, base)
            segment = Segment(self._directory, base, self._disk, self._clock)
            Recovery(
                segment, self._epochs, self._config.index_interval_bytes, self._progress, self._disk
            ).rebuild_indexes()
            segment.finish()
            segment.sync_indexes()  # nothing else will: the segment counts as synced
            segment.close()
        self._rolled_bytes += size

    def _check_transaction_index(self, base: int, following: int) -> None:
        try:
            check_transaction_index(path_of(self._directory, base, TXN_INDEX_SUFFIX), base, following, self._progress)
        except (CorruptIndex, OSError) as failure:
            if isinstance(failure, OSError) and failure.errno != errno.EIO:
                raise
            _log.warning(
                "transaction index rebuilt directory=%s first_segment=%d reason=%s", self._directory, base, failure
            )
            self._replay.distrust_transactions(base)

    def _recover(
        self, base: int, known_end: int, opening: LogCheckpoint, later: Sequence[int] = ()
    ) -> tuple[Segment, int]:
        """Open a segment and make it true; returns it, and how many bytes were cut. Sets the log's end offset.

        later   the segments after it
        """
        segment = Segment(self._directory, base, self._disk, self._clock)
        self._is_rotten, self._split_at = False, 0

        def before_cut(position: int, next_offset: int) -> None:
            is_synced = position < known_end or next_offset < opening.recovery_point
            if next_offset < opening.log_start_offset and not self._reaches_start(segment, position, opening, later):
                return
            is_within = not is_synced and self._has_batch(later)
            is_followed = (
                self._was_synced
                and not is_synced
                and (is_within or has_whole_batch(segment, position, next_offset, self._disk))
            )
            is_loss = is_synced or is_within or is_followed or not (self._was_synced or self._is_published)
            if is_loss:
                self._note_loss()
            elif not self._was_synced:
                self._was_cut = True
            if is_synced or is_followed or (is_within and opening.is_sole):
                what = "synced batch" if is_synced else "batch before valid ones"
                self._keep_rest(segment, position, next_offset, what, is_sole=opening.is_sole)
            self._has_lost_end |= is_loss and not later and not self._split_at

        recovery = Recovery(
            segment,
            self._epochs,
            self._config.index_interval_bytes,
            self._progress,
            self._disk,
            self._replay,
            before_cut,
        )
        cut_bytes = recovery.run(known_end, was_cut=opening.trusted == (base, segment.size_bytes))
        if self._split_at > 0:
            finish_split(self._directory, self._split_at, self._disk)
        if cut_bytes:
            _log.warning(
                "log truncated directory=%s segment=%d valid_bytes=%d dropped_bytes=%d",
                self._directory,
                base,
                segment.size_bytes,
                cut_bytes,
            )
        self._is_scanned &= recovery.scanned_from == 0
        self._end_offset = recovery.next_offset
        return segment, cut_bytes

    def _reaches_start(self, segment: Segment, position: int, opening: LogCheckpoint, later: Sequence[int]) -> bool:
        """Whether what is damaged, or follows, may be a part of the log: something from its start on. raises OSError"""
        start = opening.log_start_offset
        if opening.recovery_point > start or opening.is_clean or opening.trusted is not None or self._has_batch(later):
            return True
        head = os.pread(segment.fd, HEADER_BYTES, position)
        if len(head) == HEADER_BYTES and head[MAGIC_POSITION] == MAGIC_V2 and parse_header(head).last_offset >= start:
            return True
        return has_whole_batch(segment, position, segment.base_offset, self._disk, reaching=start)

    def _note_loss(self) -> None:
        """Something that may have been acknowledged is about to go. raises OSError"""
        self._was_cut = True
        if self._loss is not None:
            self._loss.make()

    def _has_batch(self, bases: Sequence[int]) -> bool:
        """Whether one of these segments begins with a whole batch. raises OSError"""
        for base in bases:
            with open(path_of(self._directory, base, LOG_SUFFIX), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                for _step in walk(file.fileno(), 0, size, base, is_checked=True, disk=self._disk):
                    return True
        return False

    def _keep_rest(self, segment: Segment, position: int, next_offset: int, what: str, *, is_sole: bool) -> None:
        """What was whole is damaged: nothing of it goes before it is kept. raises OSError

        what   is damaged
        """
        self._is_rotten = True
        found = next_batch(segment, position, next_offset, self._disk) if is_sole else None
        begun = find_copy(segment, position, next_offset, self._disk)
        wanted = segment.size_bytes - position - (begun.size_bytes if begun is not None else 0)
        wanted += segment.size_bytes - found[0] if found is not None else 0
        check_room(segment.directory, wanted, self._disk)
        if found is not None:
            self._split_at = found[1]
            begin_split(segment, found[0], found[1], self._disk)
        place = put_aside_rest(segment, position, next_offset, self._disk, begun)
        _log.error(
            "%s is damaged, %s file=%s position=%d offset=%d kept_in=%s",
            what,
            "acknowledged records are lost, later batches stay in the log"
            if found is not None
            else "the log is truncated there; Headrace never removes what followed, see headrace dump-log",
            path_of(self._directory, segment.base_offset, LOG_SUFFIX),
            position,
            next_offset,
            place,
        )

    def _put_aside(self, lost: list[int]) -> None:
        """Segments that are none of the log's any more."""
        place = put_aside(self._directory, lost, self._disk, doubt_all)
        _log.error(
            "segments moved aside, no longer part of the log directory=%s count=%d first=%d last=%d moved_to=%s",
            self._directory,
            len(lost),
            lost[0],
            lost[-1],
            place,
        )

    def _compare_epochs(self, active: Segment) -> None:
        """Where the batches say something else than the epochs' file, they count. The latest epoch stays known: it may have no record."""
        epochs, end = self._epochs, self._end_offset
        said = contradiction(self._directory, epochs.entries, active.base_offset, active.size_bytes, end)
        if not said:
            return
        _log.warning("leader epochs rebuilt directory=%s reason=the file says %s", self._directory, said)
        latest = epochs.latest
        self._rebuild_epochs(active)
        if latest > epochs.latest:
            epochs.assign(latest, end)

    def _rebuild_epochs(self, active: Segment) -> None:
        """The epochs' file was missing or can't be true: the batches show."""
        entries: list[tuple[int, int]] = []
        for base in self._bases:
            size = path_of(self._directory, base, LOG_SUFFIX).stat().st_size
            end = active.size_bytes if base == active.base_offset else size
            latest = entries[-1][0] if entries else NO_EPOCH
            entries += [one for one in epochs_in(self._directory, base, end, self._disk) if one[0] > latest]
        self._epochs.replace(entries)


def indexes_are_sound(
    directory: Path, base_offset: int, segment_bytes: int, index_interval_bytes: int, disk: Disk
) -> bool:
    """Whether a rolled segment's indexes are there and their ends can be true."""
    for suffix, entry in ((INDEX_SUFFIX, OFFSET_ENTRY), (TIME_INDEX_SUFFIX, TIME_ENTRY)):
        try:
            if os.stat(path_of(directory, base_offset, suffix)).st_size % entry.size:
                return False
        except FileNotFoundError:
            return False
    offsets = IndexReader(path_of(directory, base_offset, INDEX_SUFFIX), OFFSET_ENTRY)
    times = IndexReader(path_of(directory, base_offset, TIME_INDEX_SUFFIX), TIME_ENTRY)
    try:
        last_offset, last_time = offsets.last(), times.last()
    except OSError as failure:
        if failure.errno != errno.EIO:
            raise
        return False  # the segment has all that was in it
    finally:
        offsets.close()
        times.close()
    if last_offset is None:
        is_plausible = segment_bytes <= index_interval_bytes or _needs_no_entry(
            directory, base_offset, segment_bytes, index_interval_bytes, disk
        )
    else:
        is_plausible = last_offset[0] >= 0 and 0 < last_offset[1] < segment_bytes
    if last_time is None:
        # `finish` leaves an entry, but for records without times: v0 has none
        return is_plausible and (not segment_bytes or not _begins_with_a_time(directory, base_offset))
    return is_plausible and last_time[0] > 0 and last_time[1] >= 0


def _needs_no_entry(
    directory: Path, base_offset: int, segment_bytes: int, index_interval_bytes: int, disk: Disk
) -> bool:
    """Whether no batch begins after the interval: a segment of one large batch has no entry. Walks to the interval's end at most."""
    position = 0
    with open(path_of(directory, base_offset, LOG_SUFFIX), "rb") as file:
        for step in walk(file.fileno(), 0, segment_bytes, base_offset, is_checked=False, disk=disk):
            if step.position > index_interval_bytes:
                return False
            position = step.position + step.size
    return position == segment_bytes


def _begins_with_a_time(directory: Path, base_offset: int) -> bool:
    """Whether the first batch of a segment has a timestamp that an index would hold."""
    with open(path_of(directory, base_offset, LOG_SUFFIX), "rb") as file:
        head = file.read(HEADER_BYTES)
    if len(head) > MAGIC_POSITION and head[MAGIC_POSITION] < MAGIC_V2:
        return len(head) >= ENTRY_BYTES_MIN and old_header(head, 0).max_timestamp > 0
    return len(head) == HEADER_BYTES and parse_header(head).max_timestamp > 0
