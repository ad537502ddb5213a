"""Connects the pure coordinators to a partition worker: its logs, its answers, its clock.

Runs in: a partition worker, for the partitions of `__consumer_offsets` that it leads. In a cycle:

    requests (handlers) and timers -> events -> effects
    effects   Answer: to the ring, at once     Append: gathered by partition, few batches, one `append_as_leader`
    committed (the high watermark passed it), or timed out -> `then` -> further effects, until there are none

Leadership gained: the partition is read in slices, a bounded number of bytes a cycle, so that produces and
other groups go on. Lost: the coordinator is unloaded.

Offsets of a topic go when the view says that it is deleted, or when another topic has its name; a topic that is merely not
in the view keeps them. The view is followed once the tombstones are committed, in every partition hosted here.

Source: Kafka `GroupMetadataManager.loadGroupsAndOffsets`, `appendForGroup`; blueprint, coordinators.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Iterable

from headrace.errors import ErrorCode, HeadraceError, StorageExhausted, StorageFailed
from headrace.ids import OFFSETS_TOPIC, coordinator_partition
from headrace.limits import RELEASED_TOPICS_MAX
from headrace.protocol.codec import encode_response
from headrace.protocol.record_batch import HEADER_BYTES
from headrace.shm.cluster_view import ClusterView, DeletedTopic
from headrace.shm.counters import (
    GROUP_REBALANCES,
    OFFSETS_COMMITTED,
    REBALANCES_EXPIRED,
    REBALANCES_JOINED,
    REBALANCES_LEFT,
    REBALANCES_METADATA,
    REBALANCES_NOT_SYNCED,
    REBALANCES_OTHER,
)
from headrace.shm.seat import Seat
from headrace.workers.coordinators.config import GroupConfig
from headrace.workers.coordinators.effects import Answer, Append, Effect
from headrace.workers.coordinators.group_coordinator import GroupCoordinator
from headrace.workers.coordinators.group_records import offset_key_prefix
from headrace.workers.coordinators.loader import Loader
from headrace.workers.coordinators.timers import Timers
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.lag_rows import LagRows
from headrace.workers.partition.log_slices import Batch, LogSlices
from headrace.workers.partition.offsets_batch import build_offsets_batch, size_of
from headrace.workers.partition.replica import Replica
from headrace.workers.partition.requests import Reply

LOAD_BYTES_PER_CYCLE = 1024 * 1024
CYCLE_MS_MAX = 1_000
BURIAL_RETRY_MS = 1_000
BATCH_BYTES_WANTED = 256 * 1024  # a batch takes further appends up to here

_REASONS = {
    "member joined": REBALANCES_JOINED,
    "static member joined again": REBALANCES_JOINED,
    "member left": REBALANCES_LEFT,
    "session expired": REBALANCES_EXPIRED,
    "metadata changed": REBALANCES_METADATA,
    "leader joined again": REBALANCES_METADATA,
    "static member changed the protocol": REBALANCES_METADATA,
    "not synced in time": REBALANCES_NOT_SYNCED,
}
# A full disk gives no group another coordinator. A member that is sent to look for one is out of its group before it is back:
# librdkafka sends no heartbeats meanwhile. So it is told to try here again, as while a group is loaded.
_NO_ROOM, _LOST = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.KAFKA_STORAGE_ERROR

_log = logging.getLogger(__name__)

# (reply, api key, api version): who is to get a response, and how it is encoded
Ticket = tuple[Reply, int, int]


class BadAnswer(HeadraceError):
    """A response that can't be written, which is our mistake. Its event has done half its work: the worker has to load
    its groups again."""


class Hosted:
    """One partition of `__consumer_offsets` that this worker leads.

    appends    wanted in this cycle
    waiting    in the log, not yet committed: (end offset, deadline, offset of its last record, append)
    deleted    topics whose offsets have to go, `is_burying`: their tombstones are on the way
    """

    __slots__ = (
        "appends", "coordinator", "deleted", "is_burying", "loader", "next_burial_ms", "replica", "slices", "started_ms",
        "unread", "waiting",
    )  # fmt: skip

    def __init__(self, coordinator: GroupCoordinator, replica: Replica, now_ms: int) -> None:
        self.coordinator = coordinator
        self.replica = replica
        self.appends: list[Append] = []
        self.waiting: deque[tuple[int, int, int, Append]] = deque()
        self.loader: Loader | None = Loader(str(replica.partition))
        self.slices: LogSlices | None = LogSlices(replica.log)
        self.unread: deque[Batch] = deque()  # of the slice that is being loaded
        self.started_ms = now_ms
        self.deleted: set[str] = set()
        self.is_burying = False
        self.next_burial_ms = 0


class CoordinatorHost:
    """The coordinators of one partition worker.

    by_partition   what is hosted, by the partition's index
    now_ms         the time of this cycle: the wall clock's, but that it never jumps (a session must not end because
                   somebody set the clock, nor because the worker stood still while heartbeats waited in its rings: a
                   cycle counts as CYCLE_MS_MAX at most); a jump is made up for at half the pace of time
    """

    def __init__(self, seat: Seat, answers: Answers, replicas: dict[int, Replica], now_ms: int) -> None:
        settings = seat.wiring.settings
        self.by_partition: dict[int, Hosted] = {}
        self.now_ms = now_ms
        self._monotonic_ms = -1
        self.config = GroupConfig.from_settings(settings)
        self.partition_count: int = settings["offsets.topic.num.partitions"]
        self.timers = Timers()
        self._seat = seat
        self._answers = answers
        self._replicas = replicas
        self._node_id: int = settings["broker.id"]
        self._codec: int = settings["offsets.topic.compression.codec"]
        self._commit_timeout_ms: int = settings["offsets.commit.timeout.ms"]
        self._expiry_interval_ms: int = settings["offsets.retention.check.interval.ms"]
        self._next_expiry_ms = now_ms + self._expiry_interval_ms
        self._to_expire: deque[Hosted] = deque()
        self._loading: deque[Hosted] = deque()
        self._lags = LagRows(seat.lags, seat.wiring.index(seat.process_id))
        self._topics: dict[str, int] = {}  # partitions of each topic
        self._topic_ids: dict[str, str] = {}  # those of topics that left the view as well: they may come back
        self._deleted: frozenset[DeletedTopic] = frozenset()  # as of the last view
        self._to_bury: dict[Hosted, None] = {}  # have offsets of deleted topics, maybe
        self._touched: dict[Hosted, None] = {}  # have appends or waiting ones; one that is unloaded may have some left

    # Events from outside

    def turn(self, wall_ms: int, monotonic_ms: int) -> None:
        """A cycle begins."""
        if self._monotonic_ms < 0:
            self._monotonic_ms = monotonic_ms
        elapsed_ms, self._monotonic_ms = monotonic_ms - self._monotonic_ms, monotonic_ms
        if self.by_partition:
            elapsed_ms = min(elapsed_ms, CYCLE_MS_MAX)
        steady_ms = self.now_ms + elapsed_ms
        self.now_ms = steady_ms + max(-(elapsed_ms // 2), min(elapsed_ms // 2, wall_ms - steady_ms))

    def coordinator_of(self, group_id: str) -> GroupCoordinator | None:
        """Who answers for a group, None where it is not this worker."""
        hosted = self.by_partition.get(coordinator_partition(group_id, self.partition_count))
        return None if hosted is None else hosted.coordinator

    def follow(self, view: ClusterView) -> None:
        """The view moved, and the replicas have followed."""
        self._topics = {topic.name: len(topic.partitions) for topic in view.topics.values()}
        self.partition_count = self._topics.get(OFFSETS_TOPIC, self.partition_count)
        deleted = frozenset(view.deleted)
        gone = {topic.name for topic in deleted - self._deleted}
        for name in gone:
            self._topic_ids.pop(name, None)
        for topic in view.topics.values():
            known_id = self._topic_ids.pop(topic.name, "")
            if known_id and topic.topic_id and topic.topic_id != known_id:
                gone.add(topic.name)
            self._topic_ids[topic.name] = topic.topic_id or known_id  # the latest last
        while len(self._topic_ids) > len(self._topics) + RELEASED_TOPICS_MAX:
            del self._topic_ids[next(iter(self._topic_ids))]
        for hosted in self.by_partition.values() if gone else ():
            hosted.deleted |= gone
            self._to_bury[hosted] = None
        self._deleted = deleted
        self.follow_roles(self._replicas.values())

    @property
    def has_followed(self) -> bool:
        """Whether nothing is left here, nor in the logs, of the offsets of deleted topics."""
        return not self._to_bury

    def follow_roles(self, replicas: Iterable[Replica]) -> None:
        """Take up what this worker leads now of replicas that may have changed, give up what it does not."""
        for replica in replicas:
            if replica.partition.topic != OFFSETS_TOPIC:
                continue
            partition = replica.partition.partition
            hosted = self.by_partition.get(partition)
            if hosted is not None and (hosted.replica is not replica) == replica.is_leader:
                self._unload(hosted)  # it is led no more, or another replica of this partition is
                hosted = None
            if hosted is None and replica.is_leader:
                self._host(partition, replica)

    def do_work(self) -> int:
        """Loading, timers, expiry, then every effect; 0 where there was nothing."""
        now_ms = self.now_ms
        done = self._load() if self._loading else 0
        done += self.timers.tick(now_ms)
        if now_ms >= self._next_expiry_ms:
            self._next_expiry_ms = now_ms + self._expiry_interval_ms
            self._to_expire.extend(self.by_partition.values())
        if self._to_expire:
            self._expire_one()
            done += 1
        if self._to_bury:
            self._bury_deleted()
        while self._touched and self._settle_touched():
            done += 1
        self._lags.flush(now_ms)
        return done

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the worker may sleep before something is due."""
        due_ms = self.timers.next_ms()
        for hosted in self._touched:
            if hosted.waiting and (due_ms is None or hosted.waiting[0][1] < due_ms):
                due_ms = hosted.waiting[0][1]
        return most_ms if due_ms is None else max(0, min(most_ms, due_ms - self.now_ms))

    # Loading

    def _host(self, partition: int, replica: Replica) -> None:
        hosted: Hosted

        def emit(effect: Effect) -> None:
            if isinstance(effect, Append):
                hosted.appends.append(effect)
                self._touched[hosted] = None
            elif isinstance(effect, Answer):
                _give(effect)
            else:
                self._seat.counters.add(GROUP_REBALANCES, 1)
                self._seat.counters.add(_REASONS.get(effect.reason, REBALANCES_OTHER), 1)

        coordinator = GroupCoordinator(partition, self.config, self.timers, emit, _new_id, self._is_known)
        hosted = Hosted(coordinator, replica, self.now_ms)
        if self._deleted:
            hosted.deleted = {topic.name for topic in self._deleted}
            self._to_bury[hosted] = None
        self.by_partition[partition] = hosted
        self._loading.append(hosted)

    def _load(self) -> int:
        """Some more of what has to be read."""
        left = LOAD_BYTES_PER_CYCLE
        while self._loading and left > 0:
            hosted = self._loading[0]
            if hosted.loader is None or hosted.slices is None:
                self._loading.popleft()  # unloaded meanwhile
                continue
            if hosted.slices.version != hosted.replica.log.segments_version:
                hosted.loader = Loader(str(hosted.replica.partition))
                hosted.slices = LogSlices(hosted.replica.log)
                hosted.unread.clear()
            if not hosted.unread and not _read_slice(hosted, hosted.loader, hosted.slices):
                self._loading.popleft()
                self._loaded(hosted, hosted.loader)
                continue
            while hosted.unread and left > 0:
                left -= hosted.loader.take(*hosted.unread.popleft())
        return 1

    def _loaded(self, hosted: Hosted, loader: Loader) -> None:
        groups = loader.finish(self.now_ms)
        hosted.loader = hosted.slices = None
        hosted.coordinator.loaded(groups, self.now_ms)
        for group in groups.values():
            if not self._lags.has_room:
                break
            prefix = offset_key_prefix(group.group_id)
            self._lags.note([(prefix + suffix, value) for suffix, value in group.offsets.items()])
        if loader.records or loader.faults:
            _log.info(
                "groups loaded partition=%s groups=%d offsets=%d records=%d left_out=%d ms=%d",
                hosted.replica.partition,
                len(groups),
                sum(len(group.offsets) for group in groups.values()),
                loader.records,
                loader.faults,
                self.now_ms - hosted.started_ms,
            )

    def _unload(self, hosted: Hosted) -> None:
        del self.by_partition[hosted.coordinator.partition]
        hosted.loader = hosted.slices = None
        self._to_bury.pop(hosted, None)
        hosted.unread.clear()
        _log.info("groups unloaded partition=%s groups=%d", hosted.replica.partition, len(hosted.coordinator.groups))
        self._lags.forget([offset_key_prefix(group_id) for group_id in hosted.coordinator.groups])
        hosted.coordinator.unload(self.now_ms)
        lost, hosted.waiting = hosted.waiting, deque()
        for _end, _deadline, _offset, append in lost:
            append.then(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, self.now_ms)

    def _bury_deleted(self) -> None:
        """Tombstones for the offsets of deleted topics, again and again where they can't be written."""
        for hosted in list(self._to_bury):
            is_busy = hosted.is_burying or hosted.coordinator.is_loading
            if not is_busy and self.now_ms >= hosted.next_burial_ms:
                self._bury(hosted)

    def _bury(self, hosted: Hosted) -> None:
        names = frozenset(hosted.deleted)
        hosted.is_burying = True

        def settled(error: ErrorCode) -> None:
            hosted.is_burying = False
            if not error:
                hosted.deleted -= names
                if not hosted.deleted:
                    self._to_bury.pop(hosted, None)
                return
            hosted.next_burial_ms = self.now_ms + BURIAL_RETRY_MS
            _log.warning(
                "offsets of deleted topics not removed, again in %d ms partition=%s topics=%d error=%s",
                BURIAL_RETRY_MS,
                hosted.replica.partition,
                len(names),
                error.name,
            )

        hosted.coordinator.topics_deleted(names, settled, self.now_ms)

    def _is_known(self, topic: str, partition: int) -> bool:
        return 0 <= partition < self._topics.get(topic, 0)

    def _expire_one(self) -> None:
        hosted = self._to_expire.popleft()
        if self.by_partition.get(hosted.coordinator.partition) is hosted and not hosted.coordinator.is_loading:
            count = hosted.coordinator.expire(self.now_ms)
            if count:
                _log.info("offsets expired partition=%s offsets=%d", hosted.replica.partition, count)

    # Effects

    def _settle_touched(self) -> bool:
        """Append what is wanted, call back what is committed or late; whether anything was called back.

        The answers of one partition leave before the next one is written: others work on them meanwhile.
        """
        called = False
        for hosted in list(self._touched):
            was_called = bool(hosted.appends) and self._append(hosted)
            if self._complete(hosted) or was_called:
                self._answers.flush()
                called = True
            if not hosted.waiting and not hosted.appends:
                self._touched.pop(hosted, None)
        return called

    def _append(self, hosted: Hosted) -> bool:
        """Write what this cycle wants; whether something was called back because it can't be."""
        appends, hosted.appends = hosted.appends, []
        replica = hosted.replica
        if self.by_partition.get(hosted.coordinator.partition) is not hosted or not replica.is_leader:
            return self._refuse(appends, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(replica.isr) < replica.min_insync_replicas:
            return self._refuse(appends, ErrorCode.NOT_ENOUGH_REPLICAS)
        room = replica.log.config.max_message_bytes - HEADER_BYTES
        groups = _grouped(appends, min(BATCH_BYTES_WANTED, room))
        batches = [
            memoryview(
                build_offsets_batch(
                    [record for append in group for record in append.records],
                    self.now_ms,
                    self._codec,
                    group[0].producer,
                )
            )
            for group in groups
        ]
        start_offset, start_bytes = replica.log.log_end_offset, replica.log.size_bytes
        try:
            results = replica.append(batches, self.now_ms)
        except StorageFailed as failure:
            replica.fail(failure)
            return self._refuse(appends, _NO_ROOM if isinstance(failure, StorageExhausted) else _LOST)
        self._publish(replica, start_offset, start_bytes)
        deadline_ms = self.now_ms + self._commit_timeout_ms
        called = False
        for group, (error, base_offset, _append_time_ms) in zip(groups, results, strict=True):
            if error:
                called |= self._refuse(group, ErrorCode(error))
                continue
            end_offset = base_offset + sum(len(append.records) for append in group)
            offset = base_offset
            for append in group:
                offset += len(append.records)
                hosted.waiting.append((end_offset, deadline_ms, offset - 1, append))
        return called

    def _publish(self, replica: Replica, start_offset: int, start_bytes: int) -> None:
        """Tell the readers, as `append.py` does after a produce."""
        log = replica.log
        if log.log_end_offset == start_offset:
            return
        replica.records_appended += log.log_end_offset - start_offset
        replica.bytes_appended += max(0, log.size_bytes - start_bytes)
        self._seat.counters.add(OFFSETS_COMMITTED, log.log_end_offset - start_offset)
        replica.advance_high_watermark(self._node_id)
        replica.publish()
        for network_worker in replica.waiting_network_workers():
            self._answers.advanced(network_worker, replica.slot)

    def _refuse(self, appends: list[Append], error: ErrorCode) -> bool:
        for append in appends:
            append.then(error, -1, self.now_ms)
        return bool(appends)

    def _complete(self, hosted: Hosted) -> bool:
        """Call back, in the order of the log, what the high watermark has passed, and what waited too long."""
        waiting, high_watermark = hosted.waiting, hosted.replica.high_watermark
        called = False
        while waiting and (waiting[0][0] <= high_watermark or waiting[0][1] <= self.now_ms):
            end_offset, _deadline, offset, append = waiting.popleft()
            is_committed = end_offset <= high_watermark
            append.then(ErrorCode.NONE if is_committed else ErrorCode.REQUEST_TIMED_OUT, offset, self.now_ms)
            if is_committed and append.producer is None:
                self._lags.note(append.records)
            called = True
        return called


def _read_slice(hosted: Hosted, loader: Loader, slices: LogSlices) -> bool:
    """Read more of a log that is being loaded; False where nothing is left of it."""
    try:
        batches = slices.read()
    except OSError as failure:
        loader.report(f"the rest of the log: {failure}")
        batches = None
    for fault in slices.faults:
        loader.report(fault)
    slices.faults.clear()
    hosted.unread.extend(batches or ())
    return batches is not None


def _grouped(appends: list[Append], bytes_max: int) -> list[list[Append]]:
    """Appends that share a batch; a transaction's are by themselves."""
    groups: list[list[Append]] = []
    room = 0
    for append in appends:
        size = size_of(append.records)
        if not groups or size > room or append.producer is not None or groups[-1][0].producer is not None:
            groups.append([])
            room = bytes_max
        groups[-1].append(append)
        room -= size
    return groups


def _give(answer: Answer) -> None:
    """Hand an answer to whoever asked.

    raises   BadAnswer
    """
    reply, api_key, version = answer.ticket
    message = answer.message
    if type(message) is not bytes:
        try:
            message = encode_response(api_key, version, message)
        except ValueError as failure:
            raise BadAnswer(str(failure)) from failure
    reply(message)


def _new_id() -> str:
    return str(uuid.uuid4())
