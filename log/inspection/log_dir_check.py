"""A whole log directory, checked by all cores: the work of `headrace verify`.

    this process        lists partitions, reads the small files, hands out segments, joins the reports
    checking processes  one segment at a time: `check_segment`, and count the bytes they have read in a word of their own

The largest segments go out first, so that no core is left with one at the end. It runs beside a node: what vanishes meanwhile
(retention, compaction) is left out, and a segment that changed while it was read is read again. Nothing is written.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.limits import READ_AGAIN_MAX
from headrace.log.inspection.fault import Fault
from headrace.log.inspection.partition_check import (
    IGNORED,
    OFFSET_NAME,
    PASSING_NAME,
    Checkpoints,
    PartitionFolder,
    join_segments,
    list_partition,
    overlaps,
    partition_of,
)
from headrace.log.inspection.segment_check import SegmentCheck, SegmentReport, check_segment
from headrace.log.inspection.state_files import (
    META_PROPERTIES_FILE,
    OFFSET_CHECKPOINTS,
    BadStateFile,
    read_properties,
)
from headrace.log.names import LOG_SUFFIX, SUFFIXES, path_of
from headrace.log.state.checkpoints import CLEAN_SHUTDOWN_FILE, read_offset_checkpoint
from headrace.log.state.topic_checkpoints import CHECKPOINT_TOPICS_FILE

LOCK_FILE = ".lock"
PLAIN_FILES = frozenset(
    (*OFFSET_CHECKPOINTS, META_PROPERTIES_FILE, CLEAN_SHUTDOWN_FILE, LOCK_FILE, CHECKPOINT_TOPICS_FILE)
)
STATE_FILES = PLAIN_FILES - {LOCK_FILE}
OWN_PREFIX = ".headrace-"  # of what the node keeps for itself in a log directory
SWAP_S = 0.5  # within this a running node has removed what it compacted into another segment
IN_FLIGHT_PER_PROCESS = 4
LOOK_S = 0.2
_FLOCK = struct.Struct("hhqqi4x")
_counters: Any = None  # in a checking process: the words of all
_slot = 0


@dataclass(slots=True)
class Totals:
    """What was checked; `bytes_done` of `bytes_all` tells how far it is."""

    partitions: int = 0
    segments: int = 0
    segments_done: int = 0
    batches: int = 0
    records: int = 0
    bytes_all: int = 0
    bytes_done: int = 0
    faults: list[Fault] = field(default_factory=list)
    is_running: bool = False


class NoLogDirectory(HeadraceError):
    """Nothing in a directory says that a node or a broker ever kept logs there; names those just below it."""

    def __init__(self, directory: Path) -> None:
        below = sorted(entry.path for entry in os.scandir(directory) if _is_dir(entry))
        found = [path for path in below if is_log_dir(Path(path))]
        told = f"; below it there is {', '.join(found)}" if found else ""
        super().__init__(
            f"{directory}: not a log directory: no meta.properties, no checkpoint, no segment in a partition{told}"
        )


class LogDirCheck:
    """The check of one directory: a log directory, or that of one partition. `totals` is there all the while."""

    def __init__(self, directory: Path, *, is_deep: bool = False, processes: int = 0) -> None:
        """raises   NotADirectoryError, FileNotFoundError; NoLogDirectory, where nothing says that it is one"""
        self._directory = directory
        self._is_deep = is_deep
        self._processes = processes or len(os.sched_getaffinity(0))
        self._own = partition_of(directory.resolve())
        has_segments = any(name.endswith(LOG_SUFFIX) for name in os.listdir(directory))
        self._is_partition = self._own is not None and has_segments
        self._log_dir = directory.resolve().parent if self._is_partition else directory
        if not self._is_partition and not is_log_dir(directory):
            raise NoLogDirectory(directory)
        self.totals = Totals(is_running=is_locked(self._log_dir / LOCK_FILE))
        self._is_clean = (self._log_dir / CLEAN_SHUTDOWN_FILE).exists() and not self.totals.is_running

    def run(self, progress: Callable[[Totals], None]) -> Totals:
        """Check everything.

        progress   is called several times a second
        raises     OSError, where the directory can't be listed; HeadraceError, where a checking process dies
        """
        totals = self.totals
        checkpoints = self._read_checkpoints()
        folders = list(self._list_folders())
        totals.partitions = len(folders)
        self._compare_topic_ids(folders)
        work = [(self._size_of(folder, base), folder, base) for folder in folders for base in folder.bases]
        work.sort(key=lambda one: -one[0])
        totals.segments = len(work)
        totals.bytes_all = sum(size for size, _folder, _base in work)
        reports: dict[Path, dict[int, SegmentReport]] = {folder.path: {} for folder in folders}
        checks = [self._check_of(folder, base) for _size, folder, base in work]
        for check, report in self._check_all(checks, progress):
            totals.segments_done += 1
            if report is not None:
                reports[check.directory][check.base_offset] = report
                totals.batches += report.batches
                totals.records += report.records
                totals.faults += report.faults
        for folder in folders:
            ordered = [report for _base, report in sorted(reports[folder.path].items())]
            if self.totals.is_running and overlaps(ordered):
                time.sleep(SWAP_S)  # one was read before a compaction put it into another, and goes now
                ordered = [one for one in ordered if path_of(folder.path, one.base_offset, LOG_SUFFIX).exists()]
            totals.faults += folder.faults
            totals.faults += join_segments(folder, ordered, checkpoints, self._log_dir, totals.is_running)
        totals.faults.sort(key=lambda fault: (fault.path, fault.position))
        progress(totals)
        return totals

    def _check_of(self, folder: PartitionFolder, base: int) -> SegmentCheck:
        return SegmentCheck(
            folder.path, base, base == folder.bases[-1], self.totals.is_running, self._is_clean, self._is_deep
        )

    def _check_all(
        self, checks: list[SegmentCheck], progress: Callable[[Totals], None]
    ) -> Iterator[tuple[SegmentCheck, SegmentReport | None]]:
        """Each segment's report, None where it is gone."""
        if not checks:
            return
        processes = min(self._processes, len(checks))
        context = multiprocessing.get_context("fork")
        words = context.RawArray("Q", processes)
        slots = context.SimpleQueue()
        for slot in range(processes):
            slots.put(slot)
        left = iter(checks)
        pending: dict[Future[SegmentReport | None], SegmentCheck] = {}
        with ProcessPoolExecutor(processes, context, _begin, (words, slots)) as pool:
            try:
                while True:
                    for check in left:
                        pending[pool.submit(_check, check)] = check
                        if len(pending) >= IN_FLIGHT_PER_PROCESS * processes:
                            break
                    if not pending:
                        return
                    done, _rest = wait(pending, LOOK_S, FIRST_COMPLETED)
                    self.totals.bytes_done = sum(words)
                    progress(self.totals)
                    for future in done:
                        check = pending.pop(future)
                        yield check, self._result(future, check)
            except BrokenProcessPool:
                raise HeadraceError(
                    "a checking process was killed (out of memory?): use fewer processes (--processes)"
                ) from None
            finally:
                pool.shutdown(cancel_futures=True)

    def _result(self, future: Future[SegmentReport | None], check: SegmentCheck) -> SegmentReport | None:
        try:
            return future.result()
        except OSError as failure:
            path = path_of(check.directory, check.base_offset, LOG_SUFFIX)
            self.totals.faults.append(Fault(str(path), -1, failure.strerror or str(failure)))
            return None

    def _list_folders(self) -> Iterator[PartitionFolder]:
        if self._is_partition:
            assert self._own is not None
            yield list_partition(self._directory, self._own)
            return
        for entry in sorted(os.scandir(self._directory), key=lambda entry: entry.name):
            path = self._directory / entry.name
            if not entry.is_dir():
                if entry.name not in PLAIN_FILES and not entry.name.startswith(OWN_PREFIX) and path.suffix != ".tmp":
                    self._note(path, "does not belong in a log directory")
                continue
            name = partition_of(path)
            if name is None:
                if not PASSING_NAME.fullmatch(entry.name):
                    self._note(path, "is not a partition directory")
                continue
            try:
                yield list_partition(path, name)
            except FileNotFoundError:
                continue  # the topic was deleted meanwhile
            except OSError as failure:
                self.totals.faults.append(Fault(str(path), -1, failure.strerror or str(failure)))

    def _read_checkpoints(self) -> Checkpoints:
        offsets = {}
        for file in OFFSET_CHECKPOINTS:
            path = self._log_dir / file
            try:
                offsets[file] = read_offset_checkpoint(path)
            except HeadraceError as failure:
                what = str(failure).removeprefix(f"{path}: ")
                advice = "remove it while the node is stopped: the node rewrites it, and checks more of the log"
                self.totals.faults.append(Fault(str(path), -1, what, advice))
        path = self._log_dir / META_PROPERTIES_FILE
        try:
            properties = read_properties(path)
            missing = [key for key in ("version", "broker.id") if key not in properties]
            if missing:
                raise BadStateFile(f"{path}: {', '.join(missing)} missing")
        except FileNotFoundError:
            pass
        except (HeadraceError, OSError) as failure:
            what = str(failure).removeprefix(f"{path}: ")
            self.totals.faults.append(Fault(str(path), -1, what, "write version, broker.id and cluster.id into it"))
        return Checkpoints(offsets)

    def _compare_topic_ids(self, folders: list[PartitionFolder]) -> None:
        """A topic has one id, whatever the partition."""
        seen: dict[str, PartitionFolder] = {}
        for folder in folders:
            if not folder.topic_id:
                continue
            first = seen.setdefault(folder.name.topic, folder)
            if first.topic_id != folder.topic_id:
                what = f"topic id {folder.topic_id}, in {first.path.name} it is {first.topic_id}"
                advice = "one of the two is left from a deleted topic of the same name"
                self.totals.faults.append(Fault(str(folder.path / "partition.metadata"), -1, what, advice))

    def _note(self, path: Path, what: str) -> None:
        self.totals.faults.append(Fault(str(path), -1, what, IGNORED, True))

    @staticmethod
    def _size_of(folder: PartitionFolder, base: int) -> int:
        try:
            return path_of(folder.path, base, LOG_SUFFIX).stat().st_size
        except OSError:
            return 0


def is_log_dir(directory: Path) -> bool:
    """Whether it holds a state file of a log directory, or a directory that is named for a partition and has a segment.

    raises   NotADirectoryError, FileNotFoundError, PermissionError, for `directory` itself
    """
    for entry in os.scandir(directory):
        if entry.name in STATE_FILES:
            return True
        if _is_dir(entry) and partition_of(Path(entry.path)) is not None:
            try:
                names = os.listdir(entry.path)
            except OSError:
                continue
            if any(OFFSET_NAME.fullmatch(name) for name in names):
                return True
    return False


def is_locked(path: Path) -> bool:
    """Whether a node, or a Kafka broker, holds the lock of a log directory. Asks, takes nothing."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)
    except OSError:
        return False  # a file system without locks
    finally:
        os.close(fd)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """A directory that is there to be read."""
    return entry.is_dir() and os.access(entry.path, os.R_OK | os.X_OK)


def _begin(words: Any, slots: Any) -> None:
    """In a checking process, first."""
    global _counters, _slot
    _counters, _slot = words, slots.get()


def _count(done: int) -> None:
    _counters[_slot] += done


def _check(check: SegmentCheck) -> SegmentReport | None:
    """In a checking process; None where the segment is gone. raises OSError"""
    report = None
    for _ in range(READ_AGAIN_MAX):
        before = _stamps(check)
        try:
            report = check_segment(check, _count)
        except FileNotFoundError:
            return None
        if not (check.is_running and any(not fault.is_note for fault in report.faults)) or _stamps(check) == before:
            return report
        check = replace(check, is_active=check.is_active and not _is_rolled(check))
    return report


def _stamps(check: SegmentCheck) -> list[tuple[int, int, int]]:
    """What changes when a file of the segment does."""
    stamps = []
    for suffix in SUFFIXES:
        try:
            status = os.stat(path_of(check.directory, check.base_offset, suffix))
        except OSError:
            continue
        stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return stamps


def _is_rolled(check: SegmentCheck) -> bool:
    """Whether a segment follows by now."""
    return any(
        name.endswith(LOG_SUFFIX) and name[:20].isdigit() and int(name[:20]) > check.base_offset
        for name in os.listdir(check.directory)
    )
