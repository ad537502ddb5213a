"""Which replicas this worker holds: the cluster view is what should be, this makes it so.

Runs in: a partition worker, whenever the view's version moved, and once at start. Every step can be run
again; a worker killed in the middle leaves a directory that the next one opens.

    in the view, owned by us, not open    -> queued; a few in each cycle: open the log (`replica_opener.py`), take the role,
                                             publish the row
    in the view, open                     -> role, leader epoch, settings (`replica_configs.py`)
    in view.doomed                        -> close, rename to *-delete, publish DELETED (`replica_closer.py`); OFFLINE, out of reach
    open, no longer in the view           -> released: close, keep the files where they are
    files of another topic in its place   -> rename to *-stray, which only an operator removes

All but the opening is done when `follow` returns. What a failure of a log or its directory makes of replicas is in
`storage_failures.py`.

Source: blueprint, control plane; Kafka `ReplicaManager.becomeLeaderOrFollower`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Final

from headrace.clock import Clock
from headrace.errors import HeadraceError, StorageFailed
from headrace.ids import INTERNAL_TOPICS, NO_EPOCH, PartitionKey, TopicPartition
from headrace.limits import OPENING_SLICE_MS
from headrace.log.disk import Disk
from headrace.shm.cluster_view import Changes, ClusterView, DoomedReplica, PartitionView, TopicView
from headrace.shm.counters import LOGS_WANTED
from headrace.shm.partition_table import RowState, has_published
from headrace.shm.seat import Seat
from headrace.workers.partition.producer_expiry import ProducerExpiry
from headrace.workers.partition.replicas.known_checkpoints import KnownCheckpoints
from headrace.workers.partition.replicas.log_directories import LogDirectories
from headrace.workers.partition.replicas.log_opener import LogOpener
from headrace.workers.partition.replicas.opened_logs import MissingLog, OpenedLog
from headrace.workers.partition.replicas.opening_queue import OpeningQueue
from headrace.workers.partition.replicas.owned_partitions import After, KnownPartitions, OwnedPartitions
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replica_closer import ReplicaCloser
from headrace.workers.partition.replicas.replica_configs import ReplicaConfigs
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from headrace.workers.partition.replicas.replica_opener import ReplicaOpener
from headrace.workers.partition.replicas.storage_failures import StorageFailures
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from headrace.workers.watched_disk import WatchedDisk

OPENING_SLICE_NS: Final = OPENING_SLICE_MS * 1_000_000

_log: Final = logging.getLogger(__name__)


class Replicas:
    """The replicas of one partition worker, by slot.

    offline       key by slot of the replicas whose log is not open: their directory failed, or they could not be opened
    moved         those that moved, and the observers
    live          the brokers of the view, and the time
    owned         which partitions are this worker's
    directories   the log directories, as this worker sees them
    logs          opens logs
    disk          that they are on
    node_id       this node's
    on_opened     called with a replica whose log is open, and what the view says of it, before it takes its role
    failures      what becomes of replicas whose log or directory refused
    """

    def __init__(self, seat: Seat, index: int, clock: Clock, disk: Disk | None = None) -> None:
        self.by_slot: dict[int, Replica] = {}
        self.offline: dict[int, int] = {}
        self.moved = ReplicaEvents()
        lag_max_ms = seat.wiring.settings["replica.lag.time.max.ms"]
        self.live = LiveBrokers(lag_max_ms, clock.monotonic_ns() // 1_000_000, is_successor=seat.generation > 1)
        self.owned = OwnedPartitions(index, seat.wiring.partition_count)
        self.disk = disk or WatchedDisk(seat, clock)
        self.directories = LogDirectories(seat, self.disk)
        self.logs = LogOpener(seat, clock, self.disk)
        self.failures = StorageFailures(self.by_slot, self.directories, self.logs, self.disk, self._open_again)
        self.on_opened: Callable[[Replica, PartitionView], None] = _ignore
        self.node_id: int = seat.wiring.settings["broker.id"]
        self._seat = seat
        self._clock = clock
        self._table = seat.partitions
        self._configs = ReplicaConfigs(seat.wiring.settings)
        self._producers = ProducerExpiry(self.by_slot, clock.monotonic_ns() // 1_000_000)
        self._wanted: After = {}  # ours, as of the last view
        self._unopened = OpeningQueue()
        self._new_slots: set[int] = set()  # not open yet, and of partitions that no earlier view had
        self._told_new: dict[int, None] = {}  # keys of those that the controller says are new, the oldest news first
        self._owed_syncs: dict[int, None] = {}  # slots whose log may owe one, as of the settings
        self._retired: list[Replica] = []  # not held any more, and their state does not say so yet
        self._opening_ns = 0
        self._doomed: list[tuple[DoomedReplica, int]] = []  # ours, of the last view; the leader epochs of their states
        self._is_first_view = True
        self._known = KnownPartitions(self._table.rows)
        checkpoints = KnownCheckpoints(self.directories.usable)
        self._opener = ReplicaOpener(
            seat, clock, self.disk, self.directories, checkpoints, self.logs, self._unopened, self.failures, self.moved,
            self.live,
        )  # fmt: skip
        self._closer = ReplicaCloser(
            self._table, seat.generation, self.directories, checkpoints, self.failures, self.beat, seat.counters
        )

    def take_opened(self) -> list[OpenedLog | MissingLog]:
        """Logs that were opened since the last call, and those that are missing."""
        opened, self._opener.opened = self._opener.opened, []
        return opened

    def trust(self, replica: Replica) -> None:
        """The controller knows what its log lacks, and the view has what follows: it takes its role."""
        replica.is_doubted = False
        self.take_role_again(replica)

    def take_role_again(self, replica: Replica) -> None:
        """It may take the role now that the view has for it."""
        wanted = self._wanted.get(replica.slot)
        if wanted is not None and self.by_slot.get(replica.slot) is replica:
            self._take_role(replica, wanted[1])

    def make_missing(self, missing: MissingLog) -> None:
        """The controller knows that this log is missing, and holds the replica if it is to be held: an empty one is made."""
        if self._opener.make_missing(missing) and self.is_wanted(missing.slot, missing.key):
            self._unopened.add(missing.slot)

    def is_wanted(self, slot: int, key: PartitionKey) -> bool:
        """Whether the last view has a replica here."""
        wanted = self._wanted.get(slot)
        return wanted is not None and wanted[1].key == key

    def wanted_names(self) -> set[TopicPartition]:
        """Those that the last view wants here. For now and then: it visits all."""
        return {TopicPartition(topic.name, partition.index) for topic, partition in self._wanted.values()}

    @property
    def has_unopened(self) -> bool:
        """Whether a log waits for `open_some`."""
        return bool(self._unopened)

    @property
    def has_owed(self) -> bool:
        """Whether something of the last view was refused by what passes, and is retried in `tick`."""
        return self._closer.has_owed or self._opener.has_owed

    @property
    def has_awaited(self) -> bool:
        """Whether a log is missing, and the controller process has not said what becomes of its replica."""
        return self._opener.has_awaited

    @property
    def has_flush_times(self) -> bool:
        """Whether a log is flushed by the clock (`flush.ms`)."""
        return bool(self._configs.timed)

    def follow(self, view: ClusterView, changes: Changes | None = None) -> None:
        """Make the replicas as the view has them: of what the last view had too, nothing is visited.

        What goes, goes before this returns, and so do changes of open replicas. What is to be opened is queued: a first
        few are opened here, the rest with `open_some`.

        changes   what is another than in the last view; None: whatever topics are other objects
        """
        has_new_defaults = self._configs.follow(view)
        stale, wanted = self.owned.follow(view.topics, changes)
        is_first, self._is_first_view = self._is_first_view, False
        for slot, partition in stale.items():
            if slot in wanted and wanted[slot][1].key == partition.key:
                continue
            self._wanted.pop(slot)
            self._give_up(slot)
            self._new_slots.discard(slot)
            self._known.note_left(partition.key)
        self._doomed = [
            (one, _state_epoch(view, one)) for one in view.doomed if self.owned.has(one.topic, one.partition)
        ]
        self._delete_all(is_first)
        for slot in stale.keys() - wanted.keys():
            if slot in self.by_slot:
                self._release(slot)
        for slot, (topic, partition) in wanted.items():
            self._wanted[slot] = (topic, partition)
            replica = self._hold(topic, partition, is_first)
            self._known.add(partition.key)
            if replica is not None:
                self._take_role(replica, partition)
        if has_new_defaults:
            for slot, replica in list(self.by_slot.items()):
                self._configs.apply(replica, self._wanted[slot][0])
                self._owe_sync(replica)
        counters = self._seat.counters
        counters.add(LOGS_WANTED, len(self._wanted) - counters.get(LOGS_WANTED))
        self.sync_some()
        self.open_some()
        retired, self._retired = self._retired, []
        for replica in retired:
            replica.retire()

    def ask_for(self, slot: int, key: PartitionKey) -> None:
        """A client wants a partition whose log is not open: it is opened before the others."""
        if self.is_wanted(slot, key):
            self._unopened.ask(slot)

    def note_new(self, keys: Collection[PartitionKey]) -> None:
        """The controller says that these are made now: nothing of them lies in a directory that failed (KAFKA-10314).

        Those that were refused for that are queued again. One that has, or had, a log here is not new, whatever the controller says.
        """
        unfound: dict[int, int] = {
            key: slot for slot, key in self._opener.unfound.items() if self.offline.get(slot) == key
        }
        known = {replica.key for replica in self.by_slot.values()} | (set(self.offline.values()) - unfound.keys())
        for key in keys:
            if key in known:
                continue
            self._told_new.pop(key, None)
            self._told_new[key] = None
            if len(self._told_new) > self._table.rows:
                del self._told_new[next(iter(self._told_new))]
            slot = unfound.get(key)
            if slot is not None:
                del self.offline[slot]
                self._opener.find_again(slot, key)
                self._unopened.add(slot)

    def open_some(self) -> None:
        """Open logs that wait for it: as many as OPENING_SLICE_MS takes, and one at least."""
        if not self._unopened:
            return
        begun_ns = self._clock.monotonic_ns()
        opened: list[tuple[Replica, PartitionView]] = []
        while (slot := self._unopened.take()) is not None:
            topic, partition = self._wanted[slot]
            is_told_new = partition.key in self._told_new
            config = self._configs.log_config(topic)
            replica = self._opener.open(topic, partition, config, slot in self._new_slots, is_told_new)
            self._new_slots.discard(slot)
            if replica is None:
                if not self._opener.is_awaited(slot, partition.key):
                    self.offline[slot] = partition.key
            else:
                self.offline.pop(slot, None)
                self.failures.note_opened(slot)
                self._told_new.pop(partition.key, None)
                self.by_slot[slot] = replica
                self._configs.apply(replica, topic)
                self.on_opened(replica, partition)
                opened.append((replica, partition))
            if self._clock.monotonic_ns() - begun_ns >= OPENING_SLICE_NS:
                break
        for replica, partition in opened:
            self.failures.follow_directory(replica)
            self._take_role(replica, partition)
        self._opening_ns += self._clock.monotonic_ns() - begun_ns
        if not self._unopened:
            self._opener.finish(self._opening_ns)
            self._opening_ns = 0

    def sync_some(self) -> int:
        """Sync logs that owe it under new settings: as many as OPENING_SLICE_MS takes, and one at least; returns how many.

        An administrator sets one thing, and thousands of logs owe a sync. Each of them promises nothing before it is done: a follower does
        not fetch, and an append syncs its log itself.
        """
        done = 0
        begun_ns = self._clock.monotonic_ns() if self._owed_syncs else 0
        while self._owed_syncs:
            slot = next(iter(self._owed_syncs))
            del self._owed_syncs[slot]
            replica = self.by_slot.get(slot)
            if replica is not None:
                self._sync_owed(replica)
            done += 1
            if self._clock.monotonic_ns() - begun_ns >= OPENING_SLICE_NS:
                break
        return done

    def tick(self, monotonic_ms: int) -> None:
        """Flush what `flush.ms` wants flushed; forget idle producers; follow what became of the log directories; try full logs again."""
        self._flush_some(monotonic_ms)
        self._producers.tick(monotonic_ms)
        self.failures.check_directories(monotonic_ms)
        is_waiting = self.failures.has_exhausted or self._unopened.postponed or self.has_owed
        if is_waiting and self.failures.is_retry_due(monotonic_ms):
            self._unopened.try_again(self.failures.has_room, lambda slot: self.failures.may_try(slot, monotonic_ms))
            self.failures.note_due(monotonic_ms)
            self.failures.write_owed_eras()
            self._opener.sync_names()
            self._delete_all(is_first_view=False)
            self.reopen_some()

    def reopen_some(self) -> int:
        """Try logs that ran out of room, and may have it now: as many as OPENING_SLICE_MS takes, and one at least; returns how many."""
        done = 0
        begun_ns = self._clock.monotonic_ns() if self.failures.has_due else 0
        while self.failures.has_due:
            self.beat()
            self.failures.reopen_next(lambda: self._clock.monotonic_ns() // 1_000_000)
            done += 1
            if self._clock.monotonic_ns() - begun_ns >= OPENING_SLICE_NS:
                break
        return done

    def beat(self) -> None:
        """A sign of life, where thousands of logs take their time."""
        self._seat.beat(self._clock.monotonic_ns())

    def close(self) -> bool:
        """Flush and close every log, so that nothing needs recovery; what failed is left to the next start.

        returns   False where a log in a directory that still works was not closed. One that still waits to be opened was
                  not recovered either, but shows in its row: the housekeeper judges its directory by that
        """
        if self._unopened or self._unopened.postponed:
            count = len(self._unopened) + len(self._unopened.postponed)
            _log.warning("stopped before all logs were opened count=%d", count)
        return self._closer.close_all(self.by_slot.values())

    def _flush_some(self, monotonic_ms: int) -> None:
        """Logs that are due by `flush.ms`, as many as a slice takes; the others are due still in the next tick."""
        begun_ns = self._clock.monotonic_ns() if self._configs.timed else 0
        for slot in list(self._configs.timed):
            replica = self.by_slot[slot]
            if replica.state is RowState.OFFLINE or replica.is_full or not self._flush_due(replica, monotonic_ms):
                continue
            if self._clock.monotonic_ns() - begun_ns >= OPENING_SLICE_NS:
                break

    def _flush_due(self, replica: Replica, monotonic_ms: int) -> bool:
        """Whether it was due."""
        try:
            if not replica.log.flush_due(monotonic_ms):
                return False
            replica.publish()
        except StorageFailed as failure:
            self.failures.take(replica, failure)
        return True

    def _hold(self, topic: TopicView, partition: PartitionView, is_first_view: bool) -> Replica | None:
        """The open replica of a wanted partition; None where there is none, and the log is queued if it may be opened."""
        slot = partition.slot
        replica = self.by_slot.get(slot)
        if replica is not None and replica.key != partition.key:
            self._release(slot)
            replica = None
        if replica is None:
            self._closer.forget(slot, partition.key)
            if self.offline.get(slot) != partition.key and not self._opener.is_awaited(slot, partition.key):
                self._unopened.add(slot, is_coordinator=topic.name in INTERNAL_TOPICS)
                if not is_first_view and partition.key not in self._known:
                    self._new_slots.add(slot)
        else:
            self._configs.apply_changed(replica, topic)
            self._owe_sync(replica)
        return replica

    def _owe_sync(self, replica: Replica) -> None:
        """`headrace.flush.before.ack`, or `flush.messages`, may be new: what was written before it is synced, before more is said of it."""
        if replica.log.owes_sync:
            self._owed_syncs[replica.slot] = None

    def _sync_owed(self, replica: Replica) -> None:
        """One that has no room now does so when it is resumed."""
        if replica.state is RowState.OFFLINE or replica.log.failure is not None or not replica.log.owes_sync:
            return
        try:
            replica.log.sync_owed()
            replica.publish()
        except StorageFailed as failure:
            self.failures.take(replica, failure)

    def _take_role(self, replica: Replica, partition: PartitionView) -> None:
        try:
            replica.take_role(partition)
        except StorageFailed as failure:
            self.failures.take(replica, failure)
        except HeadraceError as failure:
            self.failures.lose_replica(replica, failure)

    def _give_up(self, slot: int) -> None:
        """A log that is not open is no longer wanted: its row says again what the owner before us left there."""
        row, _is_torn = self._unopened.postponed.get(slot, (None, False))
        self._unopened.discard(slot)
        self.failures.note_opened(slot)
        if row is not None and row.key == self.offline.get(slot):
            self._table.publish(slot, row)
        self.offline.pop(slot, None)

    def _open_again(self, replica: Replica, published: int) -> None:
        """Its log has lost what was published up to an offset: it is opened as after a start, and the controller is asked."""
        slot = replica.slot
        row, _is_torn = self._table.recover_row(slot)
        if row.key == replica.key and has_published(row):
            replica.withdraw(row, published)
        self._opener.published[slot] = (replica.key, published)
        self._forget(slot)
        self._retired.remove(replica)
        replica.retire()
        self._unopened.add(slot)

    def _release(self, slot: int) -> None:
        self._closer.release(self._forget(slot))

    def _delete_all(self, is_first_view: bool) -> None:
        """Of what the view dooms, what is ours. One that no view had before may lie in a directory that failed: an earlier process may
        have made it, and its topic may have been held back since. Only the controller knows that there is none (`note_new`).
        """
        for one, leader_epoch in self._doomed:
            if is_first_view:  # an earlier process may have had its log, in the views that follow too
                self._known.add(one.key)
                self._known.note_left(one.key)
            if not self._closer.is_deleted(one):
                replica = self._forget(one.slot) if one.slot in self.by_slot else None
                self.offline.pop(one.slot, None)
                self._closer.delete(one, replica, one.key in self._told_new, leader_epoch)
        self._closer.finish()
        for one, _leader_epoch in self._doomed:
            if self._closer.is_deleted(one):
                self._known.forget(one.key)
                self._told_new.pop(one.key, None)

    def _forget(self, slot: int) -> Replica:
        self._configs.forget(slot)
        self.failures.forget(slot)
        replica = self.by_slot.pop(slot)
        self._retired.append(replica)
        return replica


def _state_epoch(view: ClusterView, doomed: DoomedReplica) -> int:
    """The leader epoch of its partition's state, where its topic stays; else NO_EPOCH."""
    topic = view.topics.get(doomed.topic)
    if topic is None or doomed.partition >= len(topic.partitions):
        return NO_EPOCH
    partition = topic.partitions[doomed.partition]
    return partition.leader_epoch if partition.key == doomed.key else NO_EPOCH


def _ignore(_replica: Replica, _partition: PartitionView) -> None:
    """Default: nothing waits for logs that are opened."""
