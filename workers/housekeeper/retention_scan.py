"""Retention: every log is scanned now and then, and its owner asked to drop what has expired.

Runs in: the housekeeper. It reads directories, file sizes and time indexes, and asks; what may really go, the owner
decides (`workers/partition/upkeep.py`). The files it dropped are removed here when their delay has passed.

    look        what has expired is asked for: the owner moves the log start, and drops what the checkpoint of log starts
                on disk is beyond already
    ask again   a moment later: that checkpoint is written, once for all logs, and the same is asked for: the files go

A disk without room for the checkpoint gets it by the deletion: there the files go without. A request has SEGMENTS_PER_REQUEST_MAX at
most: of a log with more that go, the next ones are asked for a moment after these went.

Source: Kafka `LogManager.cleanupLogs`, `LogManager.deleteLogs`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from headrace.clock import Clock
from headrace.errors import ErrorCode
from headrace.limits import SEGMENTS_PER_REQUEST_MAX
from headrace.log.config import LogConfig
from headrace.log.reading.segment_facts import segment_facts
from headrace.log.retention import RetentionPolicy, SegmentFacts, expired_segments
from headrace.log.segments.segment_deletion import remove_retired
from headrace.log.state.checkpoints import OFFSET_MAX
from headrace.runtime.failed_directory import report_unreadable
from headrace.shm.counters import SEGMENTS_DELETED
from headrace.shm.messages import DeletionRule
from headrace.shm.seat import Seat
from headrace.workers.expiry_clock import ExpiryClock
from headrace.workers.housekeeper.hosted import Hosted, HostedReplicas
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.quarantine import Quarantine
from headrace.workers.watched_disk import WatchedDisk

NO_ROLL_MS = -1
ROLL_NOW_MS = 2**63 - 1
NOT_ASKED = -1  # a log start that is below each one on disk

_log = logging.getLogger(__name__)


class _Deletion(NamedTuple):
    """What is asked of an owner at once.

    going        the segments, oldest first
    rest         those that go after these
    end_offset   where the last of `going` ends
    """

    hosted: Hosted
    going: list[SegmentFacts]
    rest: list[SegmentFacts]
    roll_before_ms: int
    rule: DeletionRule
    youngest_ms: int
    end_offset: int


class RetentionScan:
    """Scans all logs with one policy.

    durable_start   the log start of a replica that is on disk
    write_starts    writes those of all replicas that are published; returns the log directories that had no room for it
    """

    def __init__(
        self,
        seat: Seat,
        clock: Clock,
        dates: ExpiryClock,
        replicas: HostedReplicas,
        owners: Owners,
        policy: RetentionPolicy,
        quarantine: Quarantine,
        durable_start: Callable[[Hosted], int],
        write_starts: Callable[[], set[Path]],
    ) -> None:
        self._seat = seat
        self._clock = clock
        self._dates = dates
        self._replicas = replicas
        self._owners = owners
        self._policy = policy
        self._quarantine = quarantine
        self._durable_start = durable_start
        self._write_starts = write_starts
        self._owed: dict[
            int, tuple[_Deletion, int]
        ] = {}  # by slot; the log start that was on disk when it was asked for
        self._disk = WatchedDisk(seat, clock)
        self._without_retired: dict[int, tuple[int, int, int]] = {}  # slot -> key, generation, version of its segments
        self._retired: dict[
            int, tuple[int, dict[str, int]]
        ] = {}  # slot -> key, when its `.deleted` files were first seen

    def run(self) -> int:
        """Ask for what has expired; returns how many logs could be scanned."""
        asked = 0
        for hosted in self._replicas:
            self._beat()
            if self._replicas.is_current(hosted):
                key = ("retention", hosted.slot, hosted.row.key)
                asked += self._quarantine.run(key, hosted.name, self._look_at, hosted)
        return asked

    def ask_again(self) -> int:
        """Where log starts moved: write them down, and have the files go; returns how many owners were asked."""
        owed, self._owed = self._owed, {}
        full = self._write_starts() if owed else set()
        for deletion, before in owed.values():
            hosted = deletion.hosted
            durable = OFFSET_MAX if hosted.log_dir in full else self._durable_start(hosted)
            if durable > before and self._replicas.is_current(hosted):
                self._ask(deletion, durable)
        return len(owed)

    def remove_retired(self) -> None:
        """Remove `.deleted` files whose delay has passed, where the list of segments moved since there were none."""
        before, self._without_retired = self._without_retired, {}
        seen, self._retired = self._retired, {}
        for serving in self._replicas.in_service():
            row, slot = serving.row, serving.partition.slot
            version = (row.key, row.generation, row.segments_version)
            if before.get(slot) == version:
                self._without_retired[slot] = version
                continue
            self._beat()
            hosted = self._replicas.place(serving)
            if hosted is not None:
                key, names = seen.get(slot, (-1, {}))
                names = names if key == row.key else {}
                self._quarantine.run(
                    ("retired", slot, row.key), hosted.name, self._remove_retired, hosted, version, names
                )

    def _remove_retired(self, hosted: Hosted, version: tuple[int, int, int], seen: dict[str, int]) -> None:
        self._retired[hosted.slot] = (hosted.row.key, seen)
        monotonic_ms = self._clock.monotonic_ns() // 1_000_000
        try:
            removed = remove_retired(
                hosted.directory, seen, monotonic_ms, hosted.config.file_delete_delay_ms, self._disk
            )
        except FileNotFoundError:
            return  # deleted, or moved to another log directory, since the replicas were listed
        if not seen:
            self._without_retired[hosted.slot] = version
            del self._retired[hosted.slot]
        if removed:
            _log.info("deleted files removed partition=%s files=%d", hosted.name, removed)

    def _look_at(self, hosted: Hosted) -> None:
        row, config = hosted.row, hosted.config
        try:
            facts = segment_facts(hosted.directory, row.log_end_offset, self._beat)
        except FileNotFoundError:
            return  # deleted, or moved to another log directory, since the replicas were listed
        except OSError as failure:
            if not report_unreadable(self._seat, hosted.log_dir, failure):
                raise
            return
        now_ms = self._dates.now_ms()
        try:
            bases = self._policy(facts, config, row.log_start_offset, now_ms)
        except Exception as failure:  # code of others
            _log.error("retention policy failed partition=%s reason=%r", hosted.name, failure)
            return
        wanted = set(bases)
        going = [one for one in facts if one.base_offset in wanted]
        if not going:
            return
        roll_before_ms = NO_ROLL_MS
        if bases[-1] == facts[-1].base_offset:
            is_by_time = config.retention_ms >= 0 and now_ms - facts[-1].largest_timestamp_ms > config.retention_ms
            roll_before_ms = now_ms - config.retention_ms if is_by_time else ROLL_NOW_MS
        self._ask(self._first_of(hosted, going, roll_before_ms, now_ms), self._durable_start(hosted))

    def _first_of(self, hosted: Hosted, segments: list[SegmentFacts], roll_before_ms: int, now_ms: int) -> _Deletion:
        """As many of the segments that go as one request has. The active one is the last of all."""
        going, rest = segments[:SEGMENTS_PER_REQUEST_MAX], segments[SEGMENTS_PER_REQUEST_MAX:]
        youngest_ms = max(one.largest_timestamp_ms for one in going)
        rule = self._rule_of(going, hosted.config, hosted.row.log_start_offset, now_ms)
        end_offset = max(one.end_offset for one in going)
        return _Deletion(hosted, going, rest, roll_before_ms, rule, youngest_ms, end_offset)

    def _beat(self) -> None:
        self._seat.beat(self._clock.monotonic_ns())

    def _ask(self, deletion: _Deletion, durable_start: int) -> None:
        hosted, bases = deletion.hosted, [one.base_offset for one in deletion.going]
        roll_before_ms = NO_ROLL_MS if deletion.rest else deletion.roll_before_ms

        def on_answer(error: ErrorCode | None) -> None:
            if error == ErrorCode.NONE and durable_start < deletion.end_offset:
                self._owed[hosted.slot] = (deletion, durable_start)
            elif error == ErrorCode.NONE:
                self._seat.counters.add(SEGMENTS_DELETED, len(bases))
                if deletion.rest:
                    following = self._first_of(hosted, deletion.rest, deletion.roll_before_ms, self._dates.now_ms())
                    self._owed[hosted.slot] = (following, NOT_ASKED)
            elif error is not None:
                _log.warning("segments not deleted partition=%s error=%s", hosted.name, error.name)

        self._owners.delete_segments(
            hosted, bases, roll_before_ms, on_answer, deletion.rule, deletion.youngest_ms, durable_start
        )

    def _rule_of(
        self, going: list[SegmentFacts], config: LogConfig, log_start_offset: int, now_ms: int
    ) -> DeletionRule:
        """Why segments go: what the log line says."""
        if self._policy is not expired_segments:
            return DeletionRule.POLICY
        if going and going[-1].end_offset <= log_start_offset:
            return DeletionRule.LOG_START
        is_by_time = all(now_ms - one.largest_timestamp_ms > config.retention_ms >= 0 for one in going)
        return DeletionRule.RETENTION_MS if is_by_time else DeletionRule.RETENTION_BYTES
