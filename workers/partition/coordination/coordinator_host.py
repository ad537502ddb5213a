"""Carries the coordinators of one kind in a partition worker: their logs, their timers, their answers, their clock.

Runs in: a partition worker, for the partitions of the kind's topic that it leads. It knows nothing of what they coordinate
(`coordinator_kind.py` has that). In a cycle:

    requests, timers -> events -> effects -> Answer   to the ring, at once
                                             Append   gathered by partition, few batches, one `append_as_leader`
                                                      committed (the high watermark passed it), refused or timed out:
                                                      an event again, and its effects, until there are none

Leadership gained: the partition is read in slices, a bounded number of bytes a cycle, up to its end as it is then: markers, and
what others produce, come meanwhile. Lost: the coordinator is unloaded.

Quarantine: a coordinator that raises has done half of an event. It alone is unloaded, as if leadership were lost, and its
partition is loaded again: after RELOAD_FIRST_MS, doubled up to RELOAD_MAX_MS while it keeps failing. So is one that sets a timer
when the heap is full (COORDINATOR_TIMERS_MAX), after all else is done: from half of it on, coordinators refuse new members.

Source: Kafka `GroupMetadataManager.loadGroupsAndOffsets`, `appendForGroup`, `TransactionStateManager`; blueprint, coordinators.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple

from headrace.backoff import pause_after
from headrace.errors import ErrorCode, Fenced, StorageExhausted, StorageFailed
from headrace.ids import coordinator_partition
from headrace.limits import COORDINATOR_TIMERS_MAX, RELOAD_FIRST_MS, RELOAD_MAX_MS
from headrace.log.disk import storage_failure
from headrace.protocol.control_record import EndMarker
from headrace.protocol.record_batch import HEADER_BYTES
from headrace.runtime.deadlines import NEVER, Deadlines
from headrace.shm.cluster_view import Changes
from headrace.shm.seat import Seat
from headrace.shm.steady_date import SteadyDate
from headrace.workers.coordinators.coordinator import (
    NO_ROOM,
    Appended,
    AppendFailed,
    AppendLate,
    Loaded,
    TopicsDeleted,
    Unloaded,
    Upkeep,
)
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, LogLine, SetTimer
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.coordination.coordinator_batch import build_coordinator_batch, shared_batches
from headrace.workers.partition.coordination.coordinator_kind import C, CoordinatorKind
from headrace.workers.partition.coordination.known_topics import KnownTopics
from headrace.workers.partition.coordination.log_slices import Batch, LogSlices
from headrace.workers.partition.coordination.steady_clock import SteadyClock
from headrace.workers.partition.replicas.replica import Replica

LOAD_BYTES_PER_CYCLE: Final = 1024 * 1024
COMMIT_CHECK_MS: Final = 20  # between two looks whether what was loaded is committed
BATCH_BYTES_WANTED: Final = 256 * 1024  # a batch takes further appends up to here

# A full disk gives no group another coordinator. A member that is sent to look for one is out of its group before it is back:
# librdkafka sends no heartbeats meanwhile. So it is told to try here again, as while a group is loaded (NO_ROOM).
_LOST: Final = ErrorCode.KAFKA_STORAGE_ERROR
_START_LOADING: Final = "start loading"  # the host's own events among the timers
_COMMITS_DUE: Final = "commits due"
_Told = Callable[[ErrorCode], None]
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor

_log: Final = logging.getLogger(__name__)


class _Marker(NamedTuple):
    """The end of a transaction in a coordinator's log, in its place among the appends.

    on_done   called with the error, or NONE once it is committed and the coordinator has it
    """

    event: Any
    on_done: _Told


class Hosted(Generic[C]):
    """One partition that this worker leads, and its coordinator.

    is_hosted      until it is unloaded; then only the outcomes of its appends come still
    appends        wanted in this cycle
    waiting        in the log, not yet committed: (end offset, deadline, offset of its last record, append)
    commit_timer   for the first of `waiting`, or for one before it; 0 where there is none
    slices         of the log while it is loaded, `unread` of them
    failures       in a row, of the coordinators of this partition
    """

    __slots__ = (
        "appends", "commit_timer", "coordinator", "failed_ms", "failures", "is_hosted", "replica", "slices", "started_ms",
        "unread", "waiting",
    )  # fmt: skip

    def __init__(self, coordinator: C, replica: Replica, now_ms: int) -> None:
        self.coordinator = coordinator
        self.replica = replica
        self.is_hosted = True
        self.commit_timer = 0
        self.appends: list[Append] = []
        self.waiting: deque[tuple[int, int, int, Append | _Marker]] = deque()
        self.slices: LogSlices | None = None
        self.unread: deque[Batch] = deque()
        self.started_ms = now_ms
        self.failures = 0
        self.failed_ms = now_ms

    @property
    def index(self) -> int:
        """Of its partition in the topic."""
        return self.replica.partition.partition


class CoordinatorHost(Generic[C]):
    """The coordinators of one kind in one partition worker.

    by_partition   what is hosted, by the partition's index
    waiting        by replica: what has appends that are not committed
    clock          the time of this cycle
    """

    def __init__(
        self,
        kind: CoordinatorKind[C],
        topics: KnownTopics,
        seat: Seat,
        answers: Answers,
        replicas: dict[int, Replica],
        now_ms: int,
    ) -> None:
        self.by_partition: dict[int, Hosted[C]] = {}
        self.waiting: dict[Replica, Hosted[C]] = {}
        self.clock = SteadyClock(now_ms, SteadyDate(seat.processes.words))
        self.timers: Deadlines[Hosted[C], Any] = Deadlines(COORDINATOR_TIMERS_MAX)
        self._lacks_timer = False  # what the present event wanted found no room
        self._kind = kind
        self._topics = topics
        self._answers = answers
        self._replicas = replicas
        self._partition_count = kind.partition_count
        self._new_timer = itertools.count(1).__next__
        self._next_upkeep_ms = now_ms + kind.upkeep_interval_ms
        self._to_keep_up: deque[Hosted[C]] = deque()
        self._loading: deque[Hosted[C]] = deque()
        self._behind: dict[Hosted[C], None] = {}  # may have something of deleted topics
        self._touched: dict[Hosted[C], None] = {}  # want to append, or may have something committed or late
        self._their_log = logging.getLogger(f"headrace.workers.coordinators.{kind.name}")

    @property
    def topic(self) -> str:
        """Of its partitions."""
        return self._kind.topic

    # Events from outside

    def turn(self, wall_ms: int, monotonic_ms: int) -> None:
        """A cycle begins."""
        self.clock.turn(wall_ms, monotonic_ms, is_watched=bool(self.by_partition))

    def hosted_of(self, key: str) -> Hosted[C] | None:
        """Where a group, or a transactional id, is coordinated; None where it is not in this worker."""
        return self.by_partition.get(coordinator_partition(key, self._partition_count))

    def step(self, hosted: Hosted[C], event: Any) -> bool:
        """An event for a coordinator, and what it wants done; False where it failed, and is loaded again."""
        try:
            for effect in hosted.coordinator.step(event, self.clock.now_ms, self.clock.date_ms):
                what = type(effect)
                if what is Answer:
                    ticket, message = effect
                    ticket.give(message)
                elif what is Append:
                    hosted.appends.append(effect)
                    self._touched[hosted] = None
                else:
                    self._perform(hosted, effect)
        except Fenced:
            raise
        except Exception:
            self._quarantine(hosted, event)
            return False
        if self._lacks_timer:
            self._lacks_timer = False
            if hosted.is_hosted:
                self._reload(hosted, f"no room for a timer of {type(event).__name__}")
        return True

    def _has_timers(self) -> bool:
        return len(self.timers) < COORDINATOR_TIMERS_MAX // 2

    def _perform(self, hosted: Hosted[C], effect: Any) -> None:
        """Any effect but the most frequent two."""
        if isinstance(effect, SetTimer):
            if not self.timers.schedule_as(effect.serial, effect.deadline_ms, hosted, effect.event):
                self._lacks_timer = True
        elif isinstance(effect, CancelTimer):
            self.timers.cancel(effect.serial)
        elif isinstance(effect, LogLine):
            self._their_log.log(effect.level, effect.text, *effect.arguments)
        else:
            self._kind.perform(effect)

    def follow(self, gone: frozenset[str], changes: Changes | None = None) -> None:
        """The view moved, and the known topics and the replicas have followed.

        gone      topics that are deleted since
        changes   what is another than in the last view; None: anything may be
        """
        self._partition_count = self._topics.partition_count(self._kind.topic) or self._partition_count
        for hosted in list(self.by_partition.values()) if gone else ():
            self._forget(hosted, gone)
        if changes is None or self._kind.topic in changes:
            for replica in self._replicas.values():
                self.follow_role(replica)

    def _forget(self, hosted: Hosted[C], topics: frozenset[str]) -> None:
        self._behind[hosted] = None
        self.step(hosted, TopicsDeleted(topics))

    @property
    def has_followed(self) -> bool:
        """Whether nothing is left here, nor in the logs, of deleted topics."""
        for hosted in list(self._behind):
            if not hosted.is_hosted or hosted.coordinator.has_followed:
                del self._behind[hosted]
        return not self._behind

    def moved(self, replica: Replica) -> None:
        """A replica of `waiting` moved: in this cycle or the next one its appends are told whether they are committed."""
        self._touched[self.waiting[replica]] = None

    def follow_role(self, replica: Replica) -> None:
        """Take up what this worker leads now, give up what it no longer leads."""
        if replica.partition.topic != self._kind.topic:
            return
        hosted = self.by_partition.get(replica.partition.partition)
        if hosted is not None and (hosted.replica is not replica) == replica.is_leader:
            self._unload(hosted)  # it is led no more, or another replica of this partition is
            hosted = None
        if hosted is None and replica.is_leader:
            self._loading.append(self._host(replica))

    def do_work(self) -> int:
        """Loading, timers, upkeep, then every effect; 0 where there was nothing."""
        now_ms = self.clock.now_ms
        done = self._load() if self._loading else 0
        while (due := self.timers.pop_due(now_ms)) is not None:
            done += 1
            self._on_time(due[2], due[3])
        if now_ms >= self._next_upkeep_ms:
            self._next_upkeep_ms = now_ms + self._kind.upkeep_interval_ms
            self._to_keep_up.extend(self.by_partition.values())
        if self._to_keep_up:
            self._keep_one_up()
            done += 1
        while self._touched and self._settle_touched():
            done += 1
        self._kind.flush(now_ms)
        return done

    def _on_time(self, hosted: Hosted[C], event: Any) -> None:
        if not hosted.is_hosted:
            return
        if event is _START_LOADING:
            self._loading.append(hosted)
        elif event is _COMMITS_DUE:
            hosted.commit_timer = 0
            self._touched[hosted] = None
        else:
            self.step(hosted, event)

    def _keep_one_up(self) -> None:
        """One partition a cycle: an upkeep visits everything that it holds."""
        hosted = self._to_keep_up.popleft()
        if hosted.is_hosted and not hosted.coordinator.is_loading:
            self.step(hosted, Upkeep(self.clock.expiry_ms))

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the worker may sleep before something is due."""
        if self._touched:
            return 0
        due_ms = self.timers.next_ms
        return most_ms if due_ms == NEVER else max(0, min(most_ms, due_ms - self.clock.now_ms))

    # Loading

    def _host(self, replica: Replica) -> Hosted[C]:
        """A new coordinator; its requests are answered as those of one that is loading."""
        coordinator = self._kind.new_coordinator(replica.partition, self._new_timer, self._has_timers, self._topics.has)
        hosted = Hosted(coordinator, replica, self.clock.now_ms)
        self.by_partition[hosted.index] = hosted
        if self._topics.deleted:
            self._forget(hosted, self._topics.deleted)
        return hosted

    def _load(self) -> int:
        """Some more of what has to be read."""
        left = LOAD_BYTES_PER_CYCLE
        while self._loading and left > 0:
            hosted = self._loading[0]
            try:
                left -= self._load_some(hosted, left) if hosted.is_hosted else 0
            except Fenced:
                raise
            except OSError as failure:
                self._fail_to_read(hosted, failure)
            except Exception:
                self._quarantine(hosted, "load")
            is_over = not hosted.is_hosted or not hosted.coordinator.is_loading
            if is_over and self._loading and self._loading[0] is hosted:
                self._loading.popleft()
        return 1

    def _load_some(self, hosted: Hosted[C], room: int) -> int:
        """Batches of one log, for about `room` bytes; returns what they cost."""
        coordinator, slices = hosted.coordinator, hosted.slices
        if slices is None or slices.version != hosted.replica.log.segments_version:
            if slices is not None:
                coordinator.reload()
            slices = hosted.slices = LogSlices(hosted.replica.log)
            hosted.unread.clear()
        if not hosted.unread and not _read_slice(hosted, slices):
            if self._kind.waits_for_late and hosted.replica.high_watermark < hosted.replica.log.log_end_offset:
                self._load_later(hosted)
            elif (cost := coordinator.prepare(room)) > 0:
                return cost
            else:
                self._loaded(hosted)
            return 0
        cost = 0
        while hosted.unread and cost < room:
            cost += coordinator.load(*hosted.unread.popleft())
        return cost

    def _load_later(self, hosted: Hosted[C]) -> None:
        """All was read, and not all of it is committed: what such a coordinator acts on must outlive its leader."""
        self._loading.popleft()
        if not self.timers.schedule_as(self._new_timer(), self.clock.now_ms + COMMIT_CHECK_MS, hosted, _START_LOADING):
            self._reload(hosted, "no room for a timer of its loading")

    def _fail_to_read(self, hosted: Hosted[C], failure: OSError) -> None:
        """The disk failed a log that is loaded: its directory is lost, as after a failed write, and others lead what was in it.

        Want of descriptors or room passes: it is loaded again.
        """
        replica = hosted.replica
        refused = storage_failure(f"{replica.partition}: loading {self._kind.name}", failure)
        if not isinstance(refused, StorageExhausted):
            replica.fail(refused)
        if replica.is_leader:
            self._reload(hosted, str(refused))
        else:
            self._unload(hosted)

    def _loaded(self, hosted: Hosted[C]) -> None:
        hosted.slices = None
        coordinator = hosted.coordinator
        if not self.step(hosted, Loaded()):
            return
        self._kind.loaded(coordinator)
        held, elapsed_ms = coordinator.snapshot(), self.clock.now_ms - hosted.started_ms
        if held:
            _log.info("%s loaded partition=%s %s ms=%d", self._kind.name, hosted.replica.partition, held, elapsed_ms)

    def _unload(self, hosted: Hosted[C]) -> None:
        """What waits here is reported; what is wanted to be appended, when its turn comes."""
        coordinator = hosted.coordinator
        del self.by_partition[hosted.index]
        hosted.is_hosted = False
        hosted.slices = None
        hosted.unread.clear()
        _log.info("%s unloaded partition=%s %s", self._kind.name, hosted.replica.partition, coordinator.snapshot())
        self._kind.unloading(coordinator)
        self.step(hosted, Unloaded())
        if self.waiting.get(hosted.replica) is hosted:
            del self.waiting[hosted.replica]
        self.timers.cancel(hosted.commit_timer)
        self._fail_waiting(hosted)

    def _fail_waiting(self, hosted: Hosted[C]) -> None:
        """Of what is unloaded: nobody waits for the outcomes any longer."""
        while hosted.waiting:
            _end, _deadline, _offset, append = hosted.waiting.popleft()
            self._fail(hosted, append, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _quarantine(self, hosted: Hosted[C], event: Any) -> None:
        """A coordinator raised: others continue, its partition is being reloaded."""
        what = type(event).__name__ if event != "load" else event
        if not hosted.is_hosted:
            _log.exception(
                "%s failed after unloading partition=%s event=%s", self._kind.name, hosted.replica.partition, what
            )
            return
        failures, wait_ms = self._next_load(hosted)
        _log.exception(
            "%s failed, reloading partition=%s event=%s failures=%d in_ms=%d",
            self._kind.name, hosted.replica.partition, what, failures, wait_ms,
        )  # fmt: skip
        self._load_again(hosted, failures, wait_ms)

    def _reload(self, hosted: Hosted[C], reason: str) -> None:
        """A coordinator wants what there is no room for: the same, and its timers go."""
        failures, wait_ms = self._next_load(hosted)
        _log.error(
            "%s given up, reloading partition=%s reason=%s failures=%d in_ms=%d",
            self._kind.name, hosted.replica.partition, reason, failures, wait_ms,
        )  # fmt: skip
        self._load_again(hosted, failures, wait_ms)

    def _next_load(self, hosted: Hosted[C]) -> tuple[int, int]:
        """(failures in a row, ms until the partition is loaded again)"""
        failures = 1 if self.clock.now_ms - hosted.failed_ms > 2 * RELOAD_MAX_MS else hosted.failures + 1
        return failures, pause_after(failures, RELOAD_FIRST_MS, RELOAD_MAX_MS)

    def _load_again(self, hosted: Hosted[C], failures: int, wait_ms: int) -> None:
        now_ms = self.clock.now_ms
        self._unload(hosted)
        successor = self._host(hosted.replica)
        successor.failures, successor.failed_ms = failures, now_ms
        if not self.timers.schedule_as(self._new_timer(), now_ms + wait_ms, successor, _START_LOADING):
            self._loading.append(successor)  # others have all the timers: it does not wait for one

    # Effects

    def _settle_touched(self) -> bool:
        """Append what is wanted, tell what is committed or late; whether anything was reported.

        The answers of one partition leave before the next one is written: others work on them meanwhile.
        """
        told = False
        touched, self._touched = self._touched, {}
        for hosted in touched:
            was_refused = bool(hosted.appends) and self._append(hosted)
            if self._complete(hosted) or was_refused:
                self._answers.flush()
                told = True
            if hosted.waiting:
                self._await_commits(hosted)
        return told

    def _await_commits(self, hosted: Hosted[C]) -> None:
        """The high watermark has not reached all appends: `moved` tells when it may have, a timer when the first is late."""
        self.waiting[hosted.replica] = hosted
        if hosted.commit_timer:
            return
        deadline_ms = next((entry[1] for entry in hosted.waiting if entry[1] != NEVER), NEVER)
        if deadline_ms == NEVER:
            return
        serial = self._new_timer()
        if self.timers.schedule_as(serial, deadline_ms, hosted, _COMMITS_DUE):
            hosted.commit_timer = serial
        elif hosted.is_hosted:
            self._reload(hosted, "no room for a timer of its commits")

    def append_markers(self, replica: Replica, markers: list[EndMarker], told: list[_Told]) -> None:
        """End producers' transactions in a log of this kind, after all that its coordinator wants written.

        A coordinator that is loading drops the events: it reads the markers, for a load ends where the log does.

        told     of each: called once, perhaps from within: NONE, when the marker is committed and the coordinator has acted on it
        raises   StorageFailed, where none was called: tell `Replica.fail`
        """
        hosted = self.by_partition.get(replica.partition.partition)
        if hosted is None or hosted.replica is not replica or not replica.is_leader:
            for tell in told:
                tell(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        if hosted.appends and self._append(hosted):
            self._answers.flush()
            if not hosted.is_hosted:  # a refusal failed its coordinator
                for tell in told:
                    tell(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                return
        results = replica.append_markers(markers, self.clock.date_ms)
        deadline_ms = self.clock.now_ms + self._kind.commit_timeout_ms
        self._touched[hosted] = None
        for marker, tell, (error, offset) in zip(markers, told, results, strict=True):
            if error:
                tell(ErrorCode(error))
            else:
                event = self._kind.marker_event(marker.producer_id, not marker.is_abort)
                hosted.waiting.append((offset + 1, deadline_ms, offset, _Marker(event, tell)))

    def _append(self, hosted: Hosted[C]) -> bool:
        """Write what this cycle wants; whether some of it was refused."""
        appends, hosted.appends = hosted.appends, []
        replica = hosted.replica
        if not hosted.is_hosted or not replica.is_leader:
            return self._refuse(hosted, appends, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(replica.isr) < replica.min_insync_replicas:
            return self._refuse(hosted, appends, ErrorCode.NOT_ENOUGH_REPLICAS)
        room = replica.log.config.max_message_bytes - HEADER_BYTES
        shares = shared_batches(appends, min(BATCH_BYTES_WANTED, room))
        batches = [self._batch_of(share) for share in shares]
        start_records = replica.records_appended
        try:
            results = replica.append(batches, self.clock.date_ms, True)
        except StorageFailed as failure:
            replica.fail(failure)
            return self._refuse(hosted, appends, NO_ROOM if isinstance(failure, StorageExhausted) else _LOST)
        self._kind.appended(replica.records_appended - start_records)
        deadline_ms = self.clock.now_ms + self._kind.commit_timeout_ms
        refused = False
        for share, (error, base_offset, _append_time_ms) in zip(shares, results, strict=True):
            if error:
                refused |= self._refuse(hosted, share, ErrorCode(error))
                continue
            end_offset = base_offset + sum(len(append.records) for append in share)
            offset = base_offset
            for append in share:
                offset += len(append.records)
                hosted.waiting.append((end_offset, deadline_ms, offset - 1, append))
        if not hosted.is_hosted:  # it failed when it was told what was refused
            self._fail_waiting(hosted)
        return refused

    def _batch_of(self, appends: list[Append]) -> memoryview:
        records = [record for append in appends for record in append.records]
        return memoryview(
            build_coordinator_batch(records, self.clock.date_ms, self._kind.codec, appends[0].producer),
        )

    def _refuse(self, hosted: Hosted[C], appends: list[Append], error: ErrorCode) -> bool:
        for append in appends:
            self.step(hosted, AppendFailed(append.what, error))
        return bool(appends)

    def _complete(self, hosted: Hosted[C]) -> bool:
        """Tell, in the order of the log, what the high watermark has passed, and what waited too long."""
        waiting, high_watermark, now_ms = hosted.waiting, hosted.replica.high_watermark, self.clock.now_ms
        told = False
        while waiting and (waiting[0][0] <= high_watermark or waiting[0][1] <= now_ms):
            end_offset, _deadline, offset, append = waiting[0]
            if end_offset > high_watermark and self._kind.waits_for_late and hosted.is_hosted:
                break
            waiting.popleft()
            self._settle(hosted, append, offset, is_committed=end_offset <= high_watermark)
            told = True
        if waiting and self._kind.waits_for_late and hosted.is_hosted:
            told |= self._note_late(hosted)
        if told and not waiting and self.waiting.get(hosted.replica) is hosted:
            del self.waiting[hosted.replica]
        return told

    def _settle(self, hosted: Hosted[C], append: Append | _Marker, offset: int, *, is_committed: bool) -> None:
        """The outcome of one append."""
        if not is_committed:
            self._fail(hosted, append, ErrorCode.REQUEST_TIMED_OUT)
        elif isinstance(append, _Marker):
            if append.event is not None:
                self.step(hosted, append.event)
            append.on_done(ErrorCode.NONE)
        else:
            records, what, producer = append
            self.step(hosted, _new(Appended, (what, offset)))
            if producer is None:
                self._kind.committed(records)

    def _fail(self, hosted: Hosted[C], append: Append | _Marker, error: ErrorCode) -> None:
        if isinstance(append, _Marker):
            append.on_done(error)
        else:
            self.step(hosted, AppendFailed(append.what, error))

    def _note_late(self, hosted: Hosted[C]) -> bool:
        """Say once of each append that it takes too long; its outcome comes still."""
        now_ms, late = self.clock.now_ms, []
        for place, (end_offset, deadline_ms, offset, append) in enumerate(hosted.waiting):
            if deadline_ms != NEVER and deadline_ms > now_ms:
                break
            if deadline_ms == NEVER:
                continue
            late.append(append)
            kept = _Marker(append.event, _report_nothing) if isinstance(append, _Marker) else append
            hosted.waiting[place] = (end_offset, NEVER, offset, kept)
        for append in late:  # from here on the coordinator may fail: it is unloaded, and has refused what waits
            if isinstance(append, _Marker):
                append.on_done(ErrorCode.REQUEST_TIMED_OUT)
            elif hosted.is_hosted:
                self.step(hosted, AppendLate(append.what))
        return bool(late)


def _report_nothing(_error: ErrorCode) -> None:
    """What becomes of a marker whose sender has given it up: it sends another one."""


def _read_slice(hosted: Hosted[Any], slices: LogSlices) -> bool:
    """Read more of a log that is being loaded; False where nothing is left of it. raises OSError: the rest is not known"""
    batches = slices.read()
    for fault in slices.faults:
        hosted.coordinator.report(fault)
    slices.faults.clear()
    hosted.unread.extend(batches or ())
    return batches is not None
