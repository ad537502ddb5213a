"""Retention: every log is scanned now and then, and its owner asked to drop what has expired.

Runs in: the housekeeper. It reads directories, file sizes and time indexes, and asks; what may really go, the owner
decides (`workers/partition/upkeep.py`). The files it dropped are removed here when their delay has passed.

    look        what has expired is asked for: the owner moves the log start, and drops what the checkpoint of log starts
                on disk is beyond already
    ask again   a moment later: that checkpoint is written, once for all logs, and what has expired by then is asked for: the files go

A disk without room for the checkpoint gets it by the deletion: there the files go without. A request has SEGMENTS_PER_REQUEST_MAX at
most: of a log with more that go, the next ones are asked for a moment after these went.

Each request is a decision of its own. The segments that are left are judged by the settings, the log start and the time of that moment, so
retention that is set back ends a deletion that is in progress. The owner compares these settings with its own when files go. The files of
segments are read once. Where a compaction or a truncation came between, the owner refuses, and they are read again.

Source: Kafka `LogManager.cleanupLogs`, `LogManager.deleteLogs`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from headrace.clock import Clock
from headrace.errors import ErrorCode
from headrace.limits import LOOKS_REFUSED_MAX, SEGMENTS_PER_REQUEST_MAX
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


class _Look(NamedTuple):
    """The segments of a log, as one scan of their files found them.

    hosted     the replica at that time: its owner refuses where its log was compacted or truncated since
    facts      of those that are left, oldest first
    refusals   looks before this one that came to nothing for that, one after the other
    """

    hosted: Hosted
    facts: list[SegmentFacts]
    refusals: int


class _Deletion(NamedTuple):
    """What is asked of an owner at once.

    going        the segments, oldest first
    has_more     others go after these
    end_offset   where the last of `going` ends
    """

    look: _Look
    config: LogConfig
    going: list[SegmentFacts]
    has_more: bool
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
        self._owed: dict[int, tuple[_Look, int]] = {}  # by slot; the log start that was on disk when it was asked for
        self._looks: dict[int, _Look] = {}  # by slot: refused, to be scanned again
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
        """Where log starts moved: write them down, and have the files go; returns how many logs were judged."""
        owed, self._owed = self._owed, {}
        looks, self._looks = self._looks, {}
        full = self._write_starts() if owed else set()
        for look, before in owed.values():
            hosted = self._replicas.again(look.hosted)
            if hosted is None:
                continue
            durable = OFFSET_MAX if hosted.log_dir in full else self._durable_start(hosted)
            if durable > before:
                self._beat()
                self._quarantine.run(
                    ("retention", hosted.slot, hosted.row.key), hosted.name, self._judge, look, hosted, durable
                )
        for look in looks.values():
            hosted = self._replicas.again(look.hosted)
            if hosted is not None:
                self._beat()
                key = ("retention", hosted.slot, hosted.row.key)
                self._quarantine.run(key, hosted.name, self._look_at, hosted, look.refusals)
        return len(owed) + len(looks)

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

    def _look_at(self, hosted: Hosted, refusals: int = 0) -> None:
        try:
            facts = segment_facts(hosted.directory, hosted.row.log_end_offset, self._beat)
        except FileNotFoundError:
            return  # deleted, or moved to another log directory, since the replicas were listed
        except OSError as failure:
            if not report_unreadable(self._seat, hosted.log_dir, failure):
                raise
            return
        self._judge(_Look(hosted, facts, refusals), hosted, self._durable_start(hosted))

    def _judge(self, look: _Look, hosted: Hosted, durable_start: int) -> None:
        """Ask for what has expired now of the segments that are left.

        hosted   the replica as it is now
        """
        facts, config, log_start_offset = look.facts, hosted.config, hosted.row.log_start_offset
        now_ms = self._dates.now_ms()
        try:
            bases = self._policy(facts, config, log_start_offset, now_ms)
        except Exception as failure:  # code of others
            _log.error("retention policy failed partition=%s reason=%r", hosted.name, failure)
            return
        wanted = set(bases)
        expired = [one for one in facts if one.base_offset in wanted]
        if not expired:
            return
        going, has_more = expired[:SEGMENTS_PER_REQUEST_MAX], len(expired) > SEGMENTS_PER_REQUEST_MAX
        roll_before_ms = NO_ROLL_MS
        if not has_more and bases[-1] == facts[-1].base_offset:  # the active one is the last of all
            is_by_time = config.retention_ms >= 0 and now_ms - facts[-1].largest_timestamp_ms > config.retention_ms
            roll_before_ms = now_ms - config.retention_ms if is_by_time else ROLL_NOW_MS
        youngest_ms = max(one.largest_timestamp_ms for one in going)
        rule = self._rule_of(going, config, log_start_offset, now_ms)
        end_offset = max(one.end_offset for one in going)
        self._ask(
            _Deletion(look, config, going, has_more, roll_before_ms, rule, youngest_ms, end_offset), durable_start
        )

    def _beat(self) -> None:
        self._seat.beat(self._clock.monotonic_ns())

    def _ask(self, deletion: _Deletion, durable_start: int) -> None:
        look, bases = deletion.look, [one.base_offset for one in deletion.going]
        slot = look.hosted.slot

        def on_answer(error: ErrorCode | None) -> None:
            if error == ErrorCode.NONE and durable_start < deletion.end_offset:
                self._owed[slot] = (look._replace(refusals=0), durable_start)
            elif error == ErrorCode.NONE:
                self._seat.counters.add(SEGMENTS_DELETED, len(bases))
                if deletion.has_more:
                    left = look.facts[look.facts.index(deletion.going[-1]) + 1 :]
                    self._owed[slot] = (_Look(look.hosted, left, 0), NOT_ASKED)
            elif error == ErrorCode.THROTTLING_QUOTA_EXCEEDED:  # it has enough to delete for now
                self._owed[slot] = (look, NOT_ASKED)
            elif error == ErrorCode.INVALID_REQUEST and look.refusals < LOOKS_REFUSED_MAX:
                self._looks[slot] = look._replace(refusals=look.refusals + 1)
            elif error is not None:
                _log.warning("segments not deleted partition=%s error=%s", look.hosted.name, error.name)

        hosted = look.hosted._replace(config=deletion.config)
        self._owners.delete_segments(
            hosted, bases, deletion.roll_before_ms, on_answer, deletion.rule, deletion.youngest_ms, durable_start
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
