"""Compaction of the node's logs: one at a time, the dirtiest first, in small steps between the housekeeper's other work.

Runs in: the housekeeper. It chooses (`compaction_plan.py`), runs the pass (`compaction.py`), asks the owner for each swap,
syncs the directory, and writes `cleaner-offset-checkpoint`. What is read and written is bounded by
`log.cleaner.io.max.bytes.per.second`, what is held by `log.cleaner.dedupe.buffer.size` and `log.cleaner.io.buffer.size`.

A pass that meets bytes it can't make sense of quarantines its partition: it is reported once, counted
(`partitions_uncleanable`), and not retried by this process. A pass that meets a changed log, a lost owner or a failing
disk is retried later, CLEANER_FAILURES_MAX times in a row at most; a full disk and a replica that moves to another log directory
are waited for.

Killed anywhere: `.cleaned` files are swept at the next start; the checkpoint is that of the last pass.

Source: Kafka `LogCleaner`, `LogCleanerManager`.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.clock import Clock
from headrace.errors import ErrorCode, Fenced
from headrace.ids import TopicPartition
from headrace.limits import CLEANER_FAILURES_MAX
from headrace.log.compaction.cleaned_segment import SegmentOverflow, has_swap, remove_cleaned
from headrace.log.compaction.compaction_plan import (
    CompactionFailed,
    CompactionLimits,
    CompactionPlan,
    Swap,
    SwapRefused,
    first_dirty_offset,
    plan_compaction,
)
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.names import FUTURE_SUFFIX, aside_stem
from headrace.log.reading.segment_facts import ends_without_records, first_timestamp, segment_facts
from headrace.log.reading.segment_file import CorruptSegment
from headrace.log.retention import SegmentFacts
from headrace.log.state.checkpoints import CLEANER_OFFSET_FILE, LEADER_EPOCH_FILE, BadCheckpoint, read_leader_epochs
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord
from headrace.runtime.failed_directory import report_unreadable
from headrace.settings import Settings
from headrace.shm.counters import BYTES_COMPACTED, PARTITIONS_UNCLEANABLE, SEGMENTS_COMPACTED
from headrace.shm.seat import Seat
from headrace.workers.expiry_clock import ExpiryClock
from headrace.workers.housekeeper.checkpoints import Checkpoints
from headrace.workers.housekeeper.hosted import Hosted, HostedReplicas
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.quarantine import Quarantine
from headrace.workers.watched_disk import WatchedDisk

if TYPE_CHECKING:
    from headrace.log.compaction.compaction import Compaction

STEP_BUDGET_NS = 50_000_000  # of one turn; a single step may take longer
UNCLEANABLE = (CompactionFailed, CorruptSegment, CorruptRecord, CompressionError, SegmentOverflow)

_log = logging.getLogger(__name__)


class _Pass:
    """A compaction in progress."""

    def __init__(self, hosted: Hosted, compaction: Compaction, started_ns: int) -> None:
        self.hosted = hosted
        self.compaction = compaction
        self.started_ns = started_ns
        self.settings = _settings_of(hosted.config)
        self.steps: Generator[int | Swap, bool | None, None] = compaction.steps()
        self.swap: Swap | None = None  # to be asked for
        self.is_waiting = False  # for the owner's answer
        self.answer: bool | None = None  # to be sent in
        self.is_untimely = False  # refused for a reason that passes: no failure


class Cleaner:
    """Compacts what is due. `do_work` is one turn."""

    def __init__(
        self,
        seat: Seat,
        clock: Clock,
        dates: ExpiryClock,
        replicas: HostedReplicas,
        owners: Owners,
        log_dirs: list[Path],
        checkpoints: Checkpoints,
        quarantine: Quarantine,
    ) -> None:
        settings: Settings = seat.wiring.settings
        self._seat = seat
        self._clock = clock
        self._dates = dates
        self._replicas = replicas
        self._owners = owners
        self._log_dirs = log_dirs
        self._is_enabled: bool = settings["log.cleaner.enable"]
        self._backoff_ms: int = settings["log.cleaner.backoff.ms"]
        self._bytes_per_s: float = settings["log.cleaner.io.max.bytes.per.second"]
        self._limits = CompactionLimits(
            map_bytes=settings["log.cleaner.dedupe.buffer.size"],
            load_factor=settings["log.cleaner.io.buffer.load.factor"],
            chunk_bytes=settings["log.cleaner.io.buffer.size"],
            producer_expiration_ms=settings["producer.id.expiration.ms"],
        )
        self._checkpoints = checkpoints
        self._planning = quarantine
        self._disk: Disk = WatchedDisk(seat, clock)
        self._next_check_ms = 0  # of the monotonic clock
        self._rested_until_ns = 0
        self._pass: _Pass | None = None
        self._moving: set[str] | None = None  # names of replicas that move, in this look; None: not read yet
        self._epochs: dict[TopicPartition, tuple[int, int]] = {}  # key, leader epoch at the last look
        self._failures: dict[int, tuple[int, int]] = {}  # slot -> key, failed passes in a row
        self._with_remains: dict[int, tuple[int, bool]] = {}  # slot -> key, whether an older version left empty batches
        self.uncleanable: dict[int, tuple[int, str]] = {}  # slot -> key, reason

    def sweep(self) -> None:
        """Remove what a killed predecessor had not finished."""
        for log_dir in self._log_dirs:
            try:
                entries = list(os.scandir(log_dir))
            except OSError as failure:  # its owners find out what is wrong with it
                _log.warning("cleaned files not removed directory=%s reason=%s", log_dir, failure)
                continue
            for entry in entries:
                if entry.is_dir():
                    try:
                        remove_cleaned(Path(entry.path), self._disk)
                    except OSError as failure:
                        _log.warning("cleaned files not removed directory=%s reason=%s", entry.path, failure)

    def do_work(self) -> int:
        """One turn; 0, where there is nothing to do for now."""
        if self._pass is None:
            if not self._is_enabled or self._monotonic_ms() < self._next_check_ms:
                return 0
            self._begin(self._dates.now_ms())
            if self._pass is None:
                self._rest()
                return 0
        return self._go_on(self._pass)

    def _beat(self) -> None:
        self._seat.beat(self._clock.monotonic_ns())

    def close(self) -> None:
        """Give up the pass in progress."""
        if self._pass is not None:
            self._drop(self._pass)

    def _monotonic_ms(self) -> int:
        return self._clock.monotonic_ns() // 1_000_000

    def _rest(self) -> None:
        """Nothing more for `log.cleaner.backoff.ms`."""
        self._next_check_ms = self._monotonic_ms() + self._backoff_ms

    def _begin(self, now_ms: int) -> None:
        """Start with the dirtiest log that is due."""
        best: tuple[float, Hosted, CompactionPlan] | None = None
        self._moving = None
        for hosted in self._replicas:
            self._beat()
            if not hosted.config.is_compacted or not self._replicas.is_current(hosted) or self._is_quarantined(hosted):
                continue
            plans: list[CompactionPlan] = []
            self._planning.run(
                ("plan", hosted.slot, hosted.row.key), hosted.name, self._plan_for, hosted, now_ms, plans
            )
            if plans and (best is None or plans[0].dirty_ratio > best[0]):
                best = (plans[0].dirty_ratio, hosted, plans[0])
        if best is None:
            return
        _ratio, hosted, plan = best
        try:  # it brings numpy: 8 MB and a tenth of a start, for nodes that compact
            from headrace.log.compaction.compaction import Compaction
        except ImportError as failure:
            _log.error("compaction skipped partition=%s reason=%s; check the installation", hosted.name, failure)
            return
        row = hosted.row
        compaction = Compaction(
            hosted.directory,
            hosted.config,
            plan.first_dirty_offset,
            plan.uncleanable_offset,
            (row.end_segment, row.end_position),
            now_ms,
            self._limits,
            self._disk,
        )
        self._pass = _Pass(hosted, compaction, self._clock.monotonic_ns())

    def _plan_for(self, hosted: Hosted, now_ms: int, plans: list[CompactionPlan]) -> None:
        """Add the plan of a log that is due."""
        try:
            plan = self._plan(hosted, now_ms)
        except (OSError, BadCheckpoint) as failure:
            report_unreadable(self._seat, hosted.log_dir, failure)
            _log.warning("compaction skipped partition=%s reason=%s", hosted.name, failure)
            return
        if plan is not None and not self._is_moving(hosted) and not has_swap(hosted.directory):
            plans.append(plan)

    def _is_moving(self, hosted: Hosted) -> bool:
        """Whether the replica is moving to another log directory: its owner would refuse."""
        if self._moving is None:
            names = [name for log_dir in self._log_dirs for name in _names_in(log_dir)]
            self._moving = {name.rpartition(".")[0] for name in names if name.endswith(FUTURE_SUFFIX)}
        return aside_stem(str(hosted.name), FUTURE_SUFFIX) in self._moving

    def _plan(self, hosted: Hosted, now_ms: int) -> CompactionPlan | None:
        row = hosted.row
        facts = segment_facts(hosted.directory, row.log_end_offset, self._beat)
        if not facts:
            return None
        checkpoint = self._believed_checkpoint(hosted)
        first_dirty = first_dirty_offset(facts, checkpoint)
        dirty = [one.base_offset for one in facts if one.end_offset > first_dirty]
        earliest_ms = first_timestamp(hosted.directory, dirty[0]) if dirty else -1
        committed = min(row.high_watermark, row.last_stable_offset)
        plan = plan_compaction(facts, hosted.config, checkpoint, committed, earliest_ms, now_ms)
        if plan is None and self._has_remains(hosted, facts[:-1], min(first_dirty, committed)):
            plan = CompactionPlan(first_dirty, min(first_dirty, committed), 0.0)
        return plan

    def _has_remains(self, hosted: Hosted, rolled: list[SegmentFacts], clean_offset: int) -> bool:
        """Whether segments that are clean end with empty batches, as older versions left them: looked for once in a process's life."""
        known = self._with_remains.get(hosted.slot)
        if known is None or known[0] != hosted.row.key:
            clean = [one for one in rolled if one.end_offset <= clean_offset]
            found = any(ends_without_records(hosted.directory, one.base_offset) for one in clean)
            known = self._with_remains[hosted.slot] = (hosted.row.key, found)
        return known[1]

    def _believed_checkpoint(self, hosted: Hosted) -> int:
        """Where the last pass ended, or where a truncation cut the log below that: a leader epoch begins there.

        source   Kafka `LogCleanerManager.maybeTruncateCheckpoint`
        """
        known = self._epochs.get(hosted.name)
        if known is not None and known[0] != hosted.row.key:  # another topic of the same name
            self._checkpoints.forget(hosted.log_dir, hosted.name, hosted.topic_id)
        checkpoint = self._checkpoints.offset(CLEANER_OFFSET_FILE, hosted)
        if known is not None and known[0] == hosted.row.key and hosted.row.leader_epoch > known[1]:
            later = [
                start for epoch, start in read_leader_epochs(hosted.directory / LEADER_EPOCH_FILE) if epoch > known[1]
            ]
            if later and later[0] < checkpoint:
                checkpoint = later[0]
                self._write_checkpoint(hosted, checkpoint)
        self._epochs[hosted.name] = (hosted.row.key, hosted.row.leader_epoch)
        return checkpoint

    def _is_quarantined(self, hosted: Hosted) -> bool:
        known = self.uncleanable.get(hosted.slot)
        if known is not None and known[0] != hosted.row.key:  # the slot holds another partition now
            del self.uncleanable[hosted.slot]
            self._seat.counters.add(PARTITIONS_UNCLEANABLE, -1)
            return False
        return known is not None

    def _go_on(self, running: _Pass) -> int:
        """Steps of the pass, as many as the turn and the rate allow."""
        done = 0
        begun_ns = self._clock.monotonic_ns()
        gc.disable()  # a hundred thousand headers at a time, and no cycle among them: a third of the time otherwise
        try:
            while True:
                now_ns = self._clock.monotonic_ns()
                self._seat.beat(now_ns)
                if running.is_waiting or now_ns < self._rested_until_ns or now_ns - begun_ns > STEP_BUDGET_NS:
                    return done
                if running.swap is not None:
                    if not self._is_wanted(running):
                        running.is_untimely = True
                        raise SwapRefused(f"{running.hosted.directory}: the compaction settings have changed")
                    if not self._ask(running, running.swap):
                        return done
                    continue
                answer, running.answer = running.answer, None
                step = running.steps.send(answer)
                done += 1
                if isinstance(step, Swap):
                    running.swap = step
                else:
                    self._rested_until_ns = max(self._rested_until_ns, now_ns) + int(step / self._bytes_per_s * 1e9)
        except StopIteration:
            self._finish(running)
        except (SwapRefused, OSError) as failure:
            self._rest()
            is_reported = report_unreadable(self._seat, running.hosted.log_dir, failure)
            if not (is_reported or running.is_untimely or getattr(failure, "errno", None) == errno.ENOSPC):
                self._note_failure(running.hosted, failure)
            self._drop(running)
        except Fenced:
            raise
        except Exception as failure:  # what is in the log came from outside: it must not end the housekeeper
            if not isinstance(failure, UNCLEANABLE):
                _log.exception("compaction failed partition=%s", running.hosted.name)
            self._quarantine(running.hosted, str(failure) or repr(failure))
            self._drop(running)
        finally:
            gc.enable()
        return done + 1

    def _is_wanted(self, running: _Pass) -> bool:
        """Whether the topic has the settings still by which the pass was begun: what it would drop may be wanted now."""
        hosted = self._replicas.again(running.hosted)
        return hosted is not None and _settings_of(hosted.config) == running.settings

    def _ask(self, running: _Pass, swap: Swap) -> bool:
        """Ask the owner for a swap; False, where its ring is full."""

        def on_answer(error: ErrorCode | None) -> None:
            running.is_waiting = False
            running.answer = error == ErrorCode.NONE
            running.is_untimely = error == ErrorCode.REASSIGNMENT_IN_PROGRESS
            if running.answer:
                self._seat.counters.add(SEGMENTS_COMPACTED, len(swap.segments))
                try:
                    self._disk.sync_directory(running.hosted.directory)
                except OSError as failure:
                    _log.error("directory not synced partition=%s reason=%s", running.hosted.name, failure)
                    running.answer = False

        running.is_waiting = True
        if not self._owners.swap_segments(running.hosted, swap.segments, on_answer):
            running.is_waiting = False
            return False
        running.swap = None
        return True

    def _finish(self, running: _Pass) -> None:
        """The pass is through: the checkpoint moves."""
        hosted, compaction, stats = running.hosted, running.compaction, running.compaction.stats
        self._failures.pop(hosted.slot, None)
        self._with_remains[hosted.slot] = (hosted.row.key, False)
        self._seat.counters.add(BYTES_COMPACTED, stats.bytes_before)
        _log.info(
            "log compacted partition=%s end_offset=%d records=%d kept=%d bytes=%d left=%d segments=%d left=%d keys=%d"
            " map_bytes=%d ms=%d",
            hosted.name, compaction.end_offset, stats.records_read, stats.records_kept, stats.bytes_before,
            stats.bytes_after, stats.segments_before, stats.segments_after, stats.map_entries, stats.map_bytes,
            (self._clock.monotonic_ns() - running.started_ns) // 1_000_000,
        )  # fmt: skip
        if compaction.end_offset <= compaction.first_dirty_offset:
            self._rest()  # no further for now: an open transaction
        self._write_checkpoint(hosted, compaction.end_offset)
        self._drop(running)

    def _write_checkpoint(self, hosted: Hosted, offset: int) -> None:
        try:
            self._checkpoints.write(hosted.log_dir, CLEANER_OFFSET_FILE, {hosted.name: (hosted.topic_id, offset)})
        except OSError as failure:
            _log.error("checkpoint not written directory=%s reason=%s", hosted.log_dir, failure)

    def _note_failure(self, hosted: Hosted, failure: Exception) -> None:
        """Something that may be better next time, if it does not persist."""
        if not hosted.directory.is_dir():
            return  # the topic was deleted
        known = self._failures.get(hosted.slot)
        count = known[1] + 1 if known is not None and known[0] == hosted.row.key else 1
        self._failures[hosted.slot] = (hosted.row.key, count)
        if count >= CLEANER_FAILURES_MAX:
            self._quarantine(hosted, f"{count} failures in a row, the last one: {failure}")
        else:
            _log.warning("compaction ended early partition=%s reason=%s", hosted.name, failure)

    def _quarantine(self, hosted: Hosted, reason: str) -> None:
        self.uncleanable[hosted.slot] = (hosted.row.key, reason)
        self._seat.counters.add(PARTITIONS_UNCLEANABLE, 1)
        _log.error("partition uncleanable, skipped until restart partition=%s reason=%s", hosted.name, reason)

    def _drop(self, running: _Pass) -> None:
        """Release a pass, its unfinished files included."""
        running.steps.close()
        self._pass = None
        try:
            remove_cleaned(running.hosted.directory, self._disk)
        except OSError:
            pass  # gone with its directory, or swept at the next start


def _settings_of(config: LogConfig) -> tuple[bool, int, int]:
    """Those by which a compaction drops records."""
    return config.is_compacted, config.delete_retention_ms, config.compaction_lag_min_ms


def _names_in(log_dir: Path) -> list[str]:
    """Nothing of one that can't be read: its owners find out what is wrong with it."""
    try:
        return os.listdir(log_dir)
    except OSError:
        return []
