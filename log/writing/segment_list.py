"""The segments of a log, in order, the active one last; how the list grows, loses its beginning, and is swapped.

    drop     base 0 | base 100 | base 200 | base 300 (active)     roll
    <-----   oldest                              newest           ----->

Rolling a segment syncs nothing: the housekeeper does that, and the next flush syncs the names of new ones. But the name of the
oldest segment is on the disk before there is another one. A loss of power takes names in any order: a log without its oldest
segment looks like one that begins later, and what was in it would be gone from every replica once this one leads. A gap further
on is found when the log is opened. Readers in other processes go by `version`.

Runs in: the partition worker that owns the log. Source: Kafka `LogSegments`, `LocalLog`.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

from headrace.clock import Clock
from headrace.log.disk import Disk
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.recovery.log_loader import LoadedLog
from headrace.log.segments.segment import Segment
from headrace.log.segments.segment_deletion import retire_segment
from headrace.log.segments.segment_swap import swap_segments
from headrace.log.state.compacted_offset import raise_compacted
from headrace.log.writing.failure_latch import FailureLatch


class SegmentList:
    """One log's segments.

    active         takes the batches
    bases          base offsets of all, the active one last
    rolled_bytes   of all but the active one
    end_offset     the offset that the next record gets; `LogTail` moves it, after the write
    version        moves when the list does, or a segment gets a transaction index; never again what it was in this boot
    cut_version    the version when the log was opened, or cut
    changed_version  the same, or when segments were swapped: a base offset of before may stand for other records
    unsynced       rolled segments that this process has not synced; `SyncState` takes them out
    has_new_names  a segment or a transaction index was begun since the directory was synced; `SyncState` resets it
    """

    __slots__ = (
        "_clock",
        "_directory",
        "_disk",
        "_latch",
        "active",
        "bases",
        "changed_version",
        "cut_version",
        "end_offset",
        "has_new_names",
        "rolled_bytes",
        "unsynced",
        "version",
    )

    active: Segment
    bases: list[int]
    rolled_bytes: int
    end_offset: int
    unsynced: list[int]
    has_new_names: bool
    cut_version: int
    changed_version: int

    def __init__(self, directory: Path, loaded: LoadedLog, clock: Clock, disk: Disk, latch: FailureLatch) -> None:
        self._directory = directory
        self._clock = clock
        self._disk = disk
        self._latch = latch
        self.version = clock.monotonic_ns()  # readers of an owner that was killed must not take it for theirs
        self.adopt(loaded)

    def adopt(self, loaded: LoadedLog) -> None:
        """The log was opened, or opened again after a cut."""
        self.active = loaded.active
        self.bases = loaded.bases
        self.rolled_bytes = loaded.rolled_bytes
        self.end_offset = loaded.end_offset
        self.unsynced = loaded.unsynced
        self.has_new_names = loaded.has_new_names
        self.version += 1
        self.cut_version = self.changed_version = self.version

    @property
    def size_bytes(self) -> int:
        return self.rolled_bytes + self.active.size_bytes

    def roll(self) -> Segment:
        """Close the active segment for good and begin the next one at the log's end. raises StorageFailed"""
        rolled = self.active
        if len(self.bases) == 1 and self.has_new_names:
            self._sync_names()
        try:
            rolled.finish()
            self.active = Segment(self._directory, self.end_offset, self._disk, self._clock, is_new=True)
            rolled.close()
        except OSError as failure:
            self._latch.fail("roll", failure)
        self.bases.append(self.active.base_offset)
        self.rolled_bytes += rolled.size_bytes
        self.unsynced.append(rolled.base_offset)
        self.has_new_names = True
        self.version += 1
        return self.active

    def note_transaction_index(self) -> None:
        """The active segment has one since now: readers look for none where their list, which is as old as their row, has none."""
        self.version += 1
        self.has_new_names = True

    def count_droppable(self, bases: set[int], high_watermark: int) -> int:
        """How many of the oldest segments are in `bases` and may go: never the active one, nothing uncommitted."""
        known = self.bases
        count = 0
        while count < len(known) - 1 and known[count] in bases and known[count + 1] <= high_watermark:
            count += 1
        return count

    def drop(self, count: int) -> None:
        """Take the oldest segments out, the first one first: a crash in between leaves no gap. raises StorageFailed

        Where it fails, those that went are out of the list, and the others can be asked for again.
        """
        assert count < len(self.bases)
        gone = 0
        if self.bases[count] in self.unsynced:  # the oldest from now on
            self._sync_names()
        try:
            for base in self.bases[:count]:
                size = self._size_of(base)
                retire_segment(self._directory, base, self._disk)
                self.rolled_bytes -= size
                gone += 1
        except OSError as failure:
            self._latch.fail("deletion of segments", failure, is_torn=True)
        finally:
            del self.bases[:gone]
            self.version += 1

    def swap(self, segments: list[tuple[int, int]], as_of_version: int) -> bool:
        """Let the `.cleaned` files of the first of these segments replace all of them.

        segments        (base offset, size in bytes) of neighbours, none of them active, as they were compacted
        as_of_version   `version` from before that: what was superseded by records that a truncation took since must not
                        go
        returns         False, where the log is another by now, or there are no such files: nothing was done
        raises          StorageFailed
        """
        if as_of_version < self.cut_version:
            return False
        bases = [base for base, _size in segments]
        first = bisect_left(self.bases, bases[0])
        if self.bases[first : first + len(bases)] != bases or first + len(bases) >= len(self.bases):
            return False
        try:
            if any(self._size_of(base) != size for base, size in segments):
                return False
        except FileNotFoundError:
            return False
        except OSError as failure:
            self._latch.fail("swap of segments", failure)
        self.note_holes(self.bases[first + len(bases)])
        try:
            swap_segments(self._directory, bases, self.bases[first + len(bases)], self._disk)
            del self.bases[first + 1 : first + len(bases)]
            self.rolled_bytes += self._size_of(bases[0]) - sum(size for _base, size in segments)
        except FileNotFoundError:
            return False
        except OSError as failure:
            self._latch.fail("swap of segments", failure, is_torn=True)
        self.version += 1
        self.changed_version = self.version
        return True

    def note_holes(self, offset: int) -> None:
        """Segments below an offset may end before the next one begins, and that is no loss. Durable. raises StorageFailed"""
        try:
            raise_compacted(self._directory, offset, self.active.base_offset, self._disk)
        except OSError as failure:
            self._latch.fail("compacted offset", failure)

    def _sync_names(self) -> None:
        """raises StorageFailed"""
        try:
            self._disk.sync_directory(self._directory)
        except OSError as failure:
            self._latch.fail("fsync", failure, is_sync=True)

    def _size_of(self, base_offset: int) -> int:
        return path_of(self._directory, base_offset, LOG_SUFFIX).stat().st_size
