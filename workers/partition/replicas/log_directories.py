"""The log directories as one partition worker sees them: which may be used, which are full, which have failed.

Runs in: a partition worker. A directory fails once and for all: an I/O error of one of its logs, or of any process of
the node (each has a word of bits in the process table), takes every replica in it out of service until the node
is restarted; what passes does not (`runtime/failed_directory.py`). A full one is another matter: below
`headrace.log.dir.free.bytes.min` produce is refused before the disk is, reads continue, and so does produce once there is room again.

Source: Kafka `LogDirFailureChannel`, `ReplicaManager.handleLogDirFailure`; KIP-112, KIP-113.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError, StorageFailed, is_exhausted
from headrace.ids import TopicPartition
from headrace.limits import DIRECTORY_CHECK_INTERVAL_MS, DIRECTORY_ROOM_AGAIN
from headrace.log.disk import Disk
from headrace.log.names import STRAY_SUFFIX, aside_name, copied_partition
from headrace.log.recovery.log_reach import LogReach
from headrace.log.state.checkpoints import PARTITION_MAX, PARTITION_METADATA_FILE, is_number, read_partition_metadata
from headrace.log.state.synced_mark import SyncedMark
from headrace.log.state.truncation_mark import doubt_all
from headrace.runtime.failed_directory import report_failed
from headrace.shm.seat import Seat

_UNBOUNDED: Final = 2**63
_COPY_ENDING: Final = re.compile(r"\.[0-9a-f]{32}-future$")
_log: Final = logging.getLogger(__name__)


class Unfound(HeadraceError):
    """A partition's files are nowhere, and may lie in a directory that failed."""


class LogDirectories:
    """State of each log directory.

    usable   those that have not failed
    full     those with too little room
    replaced partitions in whose place another topic's log was found, and put aside
    suspect  those whose logs may have lost what was not synced when this life of the node began
    copies   by partition, what moves have begun in them, found or in flight; `log_dir_moves.py` writes it
    """

    def __init__(self, seat: Seat, disk: Disk) -> None:
        self._seat = seat
        self._disk = disk
        self._bits = {Path(path): seat.wiring.log_dir_bit(path) for path in seat.wiring.log_dirs}
        self._free_bytes_min: int = seat.wiring.settings["headrace.log.dir.free.bytes.min"]
        self._shares = 1 + seat.wiring.partition_count  # each worker may write its own before it looks again
        self._next_check_ms = 0
        self._headroom_bytes = 0  # what may be written before the free space is checked again
        self.usable = list(self._bits)
        self.full: set[Path] = set()
        self.replaced: set[TopicPartition] = set()
        self.suspect = frozenset(map(Path, seat.wiring.suspect_directories))
        self.copies: dict[TopicPartition, list[Path]] = {}
        self.had_failed_at_start = len(self.usable) < len(seat.wiring.settings["log.dirs"])
        self._follow_failures()

    @property
    def has_failed(self) -> bool:
        """Whether any directory is out of service, since the start or before."""
        return self.had_failed_at_start or len(self.usable) < len(self._bits)

    def check(self, monotonic_ms: int) -> bool:
        """Check failures and free space, if that is due; returns whether anything changed."""
        if monotonic_ms < self._next_check_ms:
            return False
        self._next_check_ms = monotonic_ms + DIRECTORY_CHECK_INTERVAL_MS
        self._headroom_bytes = _UNBOUNDED
        has_changed = self._follow_failures()
        for path in list(self.usable):
            has_changed |= self._check_space(path)
        return has_changed

    def spend(self) -> bool:
        """Count what the disk took, blocks ahead included; True where the free space has to be checked now, not when that is due."""
        self._headroom_bytes -= self._disk.take_taken()
        if self._headroom_bytes > 0:
            return False
        self._next_check_ms = 0
        return True

    def take_offline(self, path: Path, failure: OSError | StorageFailed) -> bool:
        """An I/O error: nothing in this directory is used any more, by any process of the node.

        returns   False, where the failure costs no directory: the caller keeps what it owes
        """
        if path not in self.usable:
            return True
        if not report_failed(self._seat, path, failure):
            return False
        self.usable.remove(path)
        self.full.discard(path)
        return True

    def named(self, text: str) -> Path | None:
        """The log directory that a client means, failed or not."""
        wanted = os.path.realpath(text)
        known = self._seat.wiring.settings["log.dirs"]
        return next((Path(path) for path in known if os.path.realpath(path) == wanted), None)

    def find(self, name: TopicPartition) -> list[Path]:
        """Where a partition's files are: one place, but for a move between directories that was cut short."""
        return [path / str(name) for path in self.usable if (path / str(name)).is_dir()]

    def missing(self) -> list[Path]:
        """Usable ones that are no longer there."""
        return [path for path in self.usable if not path.is_dir()]

    def has_room_for(self, path: Path, count: int) -> bool:
        """Whether this number of bytes more leaves it writable. raises OSError"""
        return self._disk.free_bytes(path) - count > self._free_bytes_min * DIRECTORY_ROOM_AGAIN

    def put_aside(self, directory: Path, suffix: str, *, is_durable: bool = True) -> Path:
        """A partition's directory under another name, which is returned. raises OSError

        What people may give its name back to (-stray) says that nothing of it counts as synced: the checkpoints are of another log.

        is_durable   it does not come back with the next start; without it the caller syncs its parent
        """
        target = directory.with_name(aside_name(_COPY_ENDING.sub("", directory.name), suffix))
        if suffix == STRAY_SUFFIX:
            synced = SyncedMark(directory, self._disk)
            if synced.is_set:  # removed first: that needs no room
                synced.remove()
            try:
                doubt_all(directory, self._disk)
            except OSError as failure:
                if not is_exhausted(failure):
                    raise
        self._disk.rename(directory, target)
        if is_durable:
            self._disk.sync_directory(directory.parent)
        return target

    def sync(self, log_dir: Path) -> None:
        """Make the names in a log directory durable. raises OSError"""
        self._disk.sync_directory(log_dir)

    def place_of(self, name: TopicPartition, topic_id: str, is_new: bool, reach: Callable[[Path], LogReach]) -> Path:
        """Where the partition's files are, or, for a new one, the log directory with the fewest partitions.

        is_new   it can't lie in a directory that failed
        reach    how far the log in a directory reaches: of two places the one that reaches further is kept
        raises   Unfound, where the files may lie in a directory that failed: an empty log in their place would be worse;
                 HeadraceError; OSError
        """
        places: list[Path] = []
        for found in self.find(name):
            found_id = read_partition_metadata(found / PARTITION_METADATA_FILE)
            if found_id and topic_id and found_id != topic_id:  # deleted while this directory was away
                self.replaced.add(name)
                _log.error(
                    "stray directory renamed, remove it if its records are not needed partition=%s topic_id=%s its_topic_id=%s"
                    " renamed_to=%s",
                    name, topic_id, found_id, self.put_aside(found, STRAY_SUFFIX),
                )  # fmt: skip
            else:
                places.append(found)
        if len(places) > 1:
            return self._further(name, places, reach)
        if places:
            return places[0]
        emptiest = self.emptiest()
        if emptiest is None or (self.has_failed and not is_new):
            raise Unfound(f"{name}: not found, and a log directory is offline")
        return emptiest / str(name)

    def _further(self, name: TopicPartition, places: list[Path], reach: Callable[[Path], LogReach]) -> Path:
        """The place that reaches further; the others are put aside, because it is unknown what brought them back.

        A move was cut short between its two renames, a power loss gave a name back, or a disk was away for a while.
        """
        reaches = {place: reach(place) for place in places}
        kept = max(places, key=lambda place: reaches[place])
        for place in places:
            if place is kept:
                continue
            _log.error(
                "replica found in two log directories, the shorter log is renamed, remove it if its records are not needed"
                " partition=%s kept=%s leader_epoch=%d end_offset=%d renamed=%s its_leader_epoch=%d its_end_offset=%d renamed_to=%s",
                name, kept, *reaches[kept], place, *reaches[place], self.put_aside(place, STRAY_SUFFIX),
            )  # fmt: skip
        return kept

    def find_copies(self, suffix: str, is_ours: Callable[[str, int], bool]) -> dict[TopicPartition, list[Path]]:
        """Directories `topic-partition.unique<suffix>` of our partitions; long names are in a file (`names.copied_partition`).

        raises   OSError, for want of a descriptor: they have to be known before a log is opened, so the worker is started again
        """
        found: dict[TopicPartition, list[Path]] = {}
        for log_dir in list(self.usable):
            try:
                for name in os.listdir(log_dir):
                    if not name.endswith(suffix):
                        continue
                    topic, _dash, index = copied_partition(log_dir / name).rpartition("-")
                    if not topic or not topic.isascii():
                        continue
                    if is_number(index, PARTITION_MAX) and is_ours(topic, int(index)):
                        found.setdefault(TopicPartition(topic, int(index)), []).append(log_dir / name)
            except OSError as failure:
                if not self.take_offline(log_dir, failure):
                    raise
        return found

    def emptiest(self) -> Path | None:
        """For a new partition: the directory with the fewest, of those that have room where one has; None where all have failed.

        raises   OSError
        """
        if len(self.usable) < 2:
            return self.usable[0] if self.usable else None
        return min(self.usable, key=lambda path: (path in self.full, len(os.listdir(path))))

    def _follow_failures(self) -> bool:
        mask = self._seat.offline_dirs()
        lost = [path for path in self.usable if self._bits[path] & mask]
        for path in lost:
            _log.error("log directory offline path=%s reason=reported offline by another process", path)
            self.usable.remove(path)
            self.full.discard(path)
        return bool(lost)

    def _check_space(self, path: Path) -> bool:
        try:
            free_bytes = self._disk.free_bytes(path)
        except OSError as failure:
            return self.take_offline(path, failure)
        if path in self.full:
            if free_bytes < self._free_bytes_min * DIRECTORY_ROOM_AGAIN:
                return False
            self.full.discard(path)
            _log.warning("log directory writable again path=%s free_bytes=%d", path, free_bytes)
            return True
        if free_bytes >= self._free_bytes_min:
            self._headroom_bytes = min(self._headroom_bytes, (free_bytes - self._free_bytes_min) // self._shares)
            return False
        self.full.add(path)
        _log.error(
            "log directory full, produce is refused path=%s free_bytes=%d headrace.log.dir.free.bytes.min=%d",
            path,
            free_bytes,
            self._free_bytes_min,
        )
        return True
