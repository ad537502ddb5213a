"""One replica hosted here: its log, its role, its high watermark, and the row that tells everyone.

Runs in: the partition worker that owns the partition; no other process writes its files or its row.

Order after an append (the readers' safety depends on it):

    1. writev to the segment          the bytes are in the page cache
    2. high watermark moves           to the smallest log end of the in-sync replicas
    3. row published (seqlock)        readers may now send up to `hw_position`
    4. it moved                       noted; those who wait are told later in the cycle (`replica_events.py`)

The mark of a replica that has followers, or is one, moves without an append: `catch_up_high_watermark` by what the
followers have, `move_high_watermark` as a leader says, and 3 and 4 follow.

Who writes what: everything here by the methods here, but `is_full` (`storage_failures.py`), and what is known of
`followers` (`replication/isr.py`).

Source: Kafka `Partition`; KIP-101 for epochs.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from headrace.errors import HeadraceError, LogDamaged, ReplicaOffline, StorageExhausted, StorageFailed
from headrace.ids import NO_LEADER, PartitionKey, TopicPartition
from headrace.limits import APPEND_PLACES_MAX
from headrace.log.config import LogConfig
from headrace.log.disk import storage_failure
from headrace.log.writing.leader_append import Result
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.control_record import EndMarker
from headrace.shm.cluster_view import PartitionView
from headrace.shm.partition_table import NO_LOG_DIR, PartitionRow, PartitionTable, RowState
from headrace.workers.partition.replicas.ahead_log import AheadLog
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from headrace.workers.partition.replication.followers import Followers
from headrace.workers.partition.replication.live_brokers import LiveBrokers

# (offset, segments version), its (segment, position)
_Place = tuple[tuple[int, int], tuple[int, int]]
_NOWHERE: Final[_Place] = ((-1, -1), (0, 0))

_log: Final = logging.getLogger(__name__)


class Replica:
    """A partition's replica on this node, from the moment its log is open until it is given up.

    log_dir               the place in log.dirs of the directory that its log is in: readers look nowhere else
    is_full               no room: appends are refused, reads continue
    is_doubted            its log lost something: no role, and no row, before the controller knows (`opened_logs.py`)
    followers             while it leads and others have replicas; a new object in each leader epoch
    told_end              as long as it leads: clients may have been told an end up to here. While the mark is below, they are
                          told none (KIP-207): it is where the epoch began, or, with a mark of a checkpoint, where the log ended
    is_halted             it follows no leader: the controller has stopped it
    ahead                 its log has more than the states in ZooKeeper know of, which is an old one: no role before the controller
                          knows (`ahead_logs.py`); None: not so
    is_wary               since that was found once, nothing is cut off its log but after `parted_from`
    parted_from           the leader whose log has parted from ours so that records would be cut; NO_LEADER: none. If it is to be
                          followed all the same, an operator has accepted that
    is_nameless           its directory had no topic id: it may be of an earlier topic of the name
    may_be_unclean        unclean.leader.election.enable: a leader may lack what was acknowledged
    is_unproven           nobody has compared its log's last batch with that of this leader, in this leader epoch and by this connection
                          (`replication/followed.py`). A log that stays open may have parted from its leader's as well: a restored
                          ZooKeeper gives an epoch to two leaders
    min_insync_replicas   that acks=all asks for: no more than there are replicas
    """

    __slots__ = (
        "_alone", "_end", "_ends", "_generation", "_is_role_owed", "_live", "_marked", "_min_insync_wanted", "_moved", "_node_id",
        "_older_ends", "_on_failure", "_stable", "_table", "_told", "_told_ends", "ahead", "bytes_appended", "followers",
        "high_watermark", "is_doubted", "is_full", "is_halted", "is_nameless", "is_unproven", "is_wary", "isr", "key",
        "leader_epoch", "leader_id", "log", "log_dir", "may_be_unclean", "min_insync_replicas", "parted_from", "partition",
        "records_appended", "replicas", "slot", "state", "told_end",
    )  # fmt: skip

    def __init__(
        self,
        partition: TopicPartition,
        log: PartitionLog,
        slot: int,
        key: PartitionKey,
        table: PartitionTable,
        generation: int,
        node_id: int,
        high_watermark: int,
        moved: ReplicaEvents,
        on_failure: Callable[[Replica, StorageFailed], None],
        live: LiveBrokers | None = None,
        told_end: int = 0,
        log_dir: int = NO_LOG_DIR,
    ) -> None:
        self.partition = partition
        self.log = log
        self.log_dir = log_dir
        self.slot = slot
        self.key = key
        self.state = RowState.LOADING
        self.leader_epoch = -1
        self.leader_id = NO_LEADER
        self.isr: tuple[int, ...] = ()
        self.replicas: tuple[int, ...] = ()
        self.followers: Followers | None = None
        self.may_be_unclean = False
        self.min_insync_replicas = 1
        self.high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.told_end = told_end
        self.is_full = False
        self.is_doubted = False
        self.is_halted = False
        self.ahead: AheadLog | None = None
        self.is_wary = False
        self.parted_from = NO_LEADER
        self.is_unproven = False
        self.is_nameless = False
        self.records_appended = 0
        self.bytes_appended = 0
        self._table = table
        self._generation = generation
        self._node_id = node_id
        self._alone = (node_id,)
        self._moved = moved
        self._on_failure = on_failure
        self._live = live or LiveBrokers(0)
        self._min_insync_wanted = 1
        self._is_role_owed = False  # those who wait for its role were not told, since its row could not be written
        self._told = (-1, -1, -1, -1)  # what the last row said of what others wait for
        self._told_ends = (-1, -1)  # log start and end that followers were told of
        self._end = (log.log_end_offset, log.end_segment, log.end_position)  # when it was in service last
        self._ends: dict[int, tuple[int, int]] = {}  # where appends began, lately: offset -> its place
        self._older_ends: dict[int, tuple[int, int]] = {}  # as many before them
        self._marked = _NOWHERE  # of the high watermark, where it is not the log's end
        self._stable = _NOWHERE  # of the last stable offset, where it is not the high watermark

    @property
    def is_leader(self) -> bool:
        return self.state is RowState.LEADER

    @property
    def end_offset(self) -> int:
        """Where the log ends for all others: before what an append has left that failed, until the log is opened again."""
        return self.log.log_end_offset if self.log.failure is None else self._end[0]

    @property
    def is_row_owed(self) -> bool:
        """Whether its row is of before, since it could not be written."""
        return self._moved.is_unpublished(self)

    def configure(self, config: LogConfig, min_insync_replicas: int, *, may_be_unclean: bool = False) -> None:
        """Take changed topic settings."""
        self.log.config = config
        self.may_be_unclean = may_be_unclean
        self._min_insync_wanted = min_insync_replicas
        self._follow_minimum()

    def take_role(self, view: PartitionView) -> bool:
        """Lead or follow as the view says. Can be run again.

        A leader epoch below that of the role, or below the latest one that the log knows, is of an old state: it changes nothing,
        but that the controller is told. It answers by a view in which nobody leads.

        returns   whether anything changed (the row has been published then)
        raises    StorageFailed; StorageExhausted, where the role is taken for reads, or its row is owed: tell `fail`
        """
        if self.state is RowState.OFFLINE or self.is_doubted or self.ahead is not None:
            return False
        if view.is_held:
            view = view._replace(leader=NO_LEADER)
        if self._is_past(view):
            return False
        state = RowState.LEADER if view.leader == self._node_id else RowState.FOLLOWER
        role = (state, view.leader_epoch, view.isr, view.replicas, view.is_halted)
        is_led_alike = view.leader in (self.leader_id, NO_LEADER)  # -1: its broker is not known now
        if is_led_alike and role == (self.state, self.leader_epoch, self.isr, self.replicas, self.is_halted):
            self._note_leader_epoch()  # there was no room for it, maybe
            return False
        no_room: StorageExhausted | None = None
        was_epoch_begun = self.log.epochs.latest == view.leader_epoch  # who led in it may have asked for another ISR
        is_new_epoch = view.leader_epoch != self.leader_epoch
        is_new_leader = state is RowState.LEADER and self.state is not RowState.LEADER  # one that was held
        if state is RowState.LEADER and (is_new_epoch or is_new_leader):
            try:
                self.log.assign_leader_epoch(view.leader_epoch)
            except StorageExhausted as failure:
                no_room = failure  # what is there can be read; the epoch is noted with the first append
            self.is_wary, self.parted_from = False, NO_LEADER
        self.state = state
        self.isr = view.isr
        self.replicas = view.replicas
        self.leader_epoch = view.leader_epoch
        self.leader_id = view.leader
        self.is_halted = view.is_halted
        self._follow_followers(is_new_epoch, was_epoch_begun=was_epoch_begun)
        self.advance_high_watermark()
        self._is_role_owed = True
        self.publish()
        self._note_role()
        if no_room is not None:
            raise no_room
        return True

    def publish_again(self) -> None:
        """The row that could not be written, and with it the role, where it is another. raises StorageFailed: tell `fail`"""
        if self.state is RowState.OFFLINE or self.state is RowState.DELETED:
            return  # that was told meanwhile
        self.publish()
        if self._is_role_owed:
            self._note_role()

    def _note_role(self) -> None:
        self._is_role_owed = False
        self._moved.note_role(self)

    def _is_past(self, view: PartitionView) -> bool:
        """Whether the view's is an old state, and its role is not to be taken; where it is new, the controller is told."""
        log = self.log
        latest = log.known_epoch
        if view.leader_epoch >= max(latest, self.leader_epoch):
            return False
        if not self.is_wary:
            is_known = view.leader_epoch < log.epochs.latest
            parted_at = log.epochs.end_offset_for(view.leader_epoch, log.log_end_offset)[1] if is_known else -1
            self.tell_ahead(parted_at if is_known else log.log_end_offset, view.leader, view.leader_epoch)
            return True
        return view.leader_epoch < latest and view.leader != NO_LEADER

    def tell_ahead(self, parted_at: int, leader: int, leader_epoch: int) -> None:
        """Have the controller know that the log has more than a state knows of; until it has answered, the role is what it is.

        parted_at   up to where the log of that state's leader may be ours, at most
        """
        self.is_wary = self.is_unproven = True
        self.parted_from = leader
        log, end = self.log, self.log.log_end_offset
        self.ahead = AheadLog(end, log.epochs.written(end), parted_at, leader, leader_epoch, log.known_epoch)
        self._moved.note_ahead(self)

    def note_proven(self) -> None:
        """The last batch of its log is its leader's as well."""
        self.is_unproven = self.is_wary = self.is_nameless = False
        self.parted_from = NO_LEADER

    def _follow_followers(self, is_new_epoch: bool, *, was_epoch_begun: bool) -> None:
        """Know the followers of this role; of a new epoch nothing is known yet.

        was_epoch_begun   the log has this epoch already
        """
        followers = self.followers
        self._follow_minimum()
        if self.state is not RowState.LEADER or not {*self.replicas, *self.isr} - {self._node_id}:
            self.followers = None
            self._forget_places()
        elif followers is None or is_new_epoch:
            self._forget_places()
            entries = self.log.epochs.entries
            end_offset = self.end_offset
            is_noted = bool(entries) and entries[-1][0] == self.leader_epoch
            epoch_start = entries[-1][1] if is_noted else end_offset
            may_be_asked = followers is None and (self._live.is_successor or was_epoch_begun)
            is_unsure = may_be_asked and not set(self.replicas) <= set(self.isr)
            self.told_end = min(max(self.told_end, epoch_start), end_offset)
            self.followers = Followers(
                self._node_id, self.replicas, self.isr, self.min_insync_replicas, end_offset, epoch_start, self._live,
                is_unsure=is_unsure,
            )  # fmt: skip
        else:
            followers.follow(self.replicas, self.isr, self.min_insync_replicas)

    def _follow_minimum(self) -> None:
        """More than all replicas can never be in sync: KAFKA-15583's effective minimum."""
        self.min_insync_replicas = min(self._min_insync_wanted, len(self.replicas) or self._min_insync_wanted)
        if self.followers is not None and self.followers.minimum != self.min_insync_replicas:
            self.followers.minimum = self.min_insync_replicas
            self._moved.note_end(self)  # the mark may have stood for that

    def advance_high_watermark(self) -> None:
        """Move the high watermark of a leader as far as its followers let it, `publish` follows; alone, to its log's end."""
        if self.state is RowState.LEADER:
            followers = self.followers
            if followers is not None:
                offset = followers.committed(self.end_offset)
                if offset > self.high_watermark:
                    self.high_watermark = offset
            elif not self.isr or self.isr == self._alone:
                self.high_watermark = self.end_offset

    def catch_up_high_watermark(self) -> bool:
        """What is known of followers is another: the mark moves as far as they let it.

        returns   whether it moved (the row has been published then)
        raises    StorageFailed: tell `fail`
        """
        before = self.high_watermark
        self.advance_high_watermark()
        if self.high_watermark == before:
            return False
        self.publish()
        return True

    def move_high_watermark(self, offset: int) -> bool:
        """It has reached an offset without an append here, as the leader says.

        offset    beyond the log end it stands for the log end; below the mark it changes nothing
        returns   whether it moved (the row has been published then)
        raises    StorageFailed: tell `fail`
        """
        offset = min(offset, self.end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.publish()
        return True

    def publish(self) -> None:
        """Write the row. Everything in it is on disk (or in the page cache) already.

        Where it says something new that others wait for, this is noted: they are told later in the cycle.

        One that is doubted publishes nothing: its row has what was published before the loss (`withdraw`). Where the log failed, its row
        keeps the end that it had before: what is beyond may lack an index entry, a sync, or a part.

        raises   StorageFailed, where a mark lies below the log's end and its segment can't be read: tell `fail`. For a reason that
                 passes, the row is owed: it is written in a later cycle
        """
        if self.is_doubted:
            return
        log, segments = self.log, self.log.segments
        end_position = segments.active.size_bytes
        size_bytes = segments.rolled_bytes + end_position
        if log.failure is None:
            end_offset, end_segment = segments.end_offset, segments.active.base_offset
            self._end = (end_offset, end_segment, end_position)
        else:
            end_offset, end_segment, end_position = self._kept_end()
        high_watermark = self.high_watermark
        if high_watermark == end_offset:
            hw_segment, hw_position = end_segment, end_position
        else:
            self._marked = self._place_of(high_watermark, self._marked)
            hw_segment, hw_position = self._marked[1]
        stable_offset = max(
            log.producers.last_stable_offset(high_watermark), min(log.log_start_offset, high_watermark)
        )  # a transaction's first segments may have been deleted
        if stable_offset == high_watermark:
            lso_segment, lso_position = hw_segment, hw_position
        else:
            self._stable = self._place_of(stable_offset, self._stable)
            lso_segment, lso_position = self._stable[1]
        self._table.write(
            self.slot,
            self.state,
            self.key,
            self._generation,
            self.leader_epoch,
            log.log_start_offset,
            high_watermark,
            stable_offset,
            end_offset,
            hw_segment,
            hw_position,
            lso_segment,
            lso_position,
            end_segment,
            end_position,
            log.recovery_point,
            segments.version,
            size_bytes,
            self.records_appended,
            self.bytes_appended,
            self.told_end,
            self.log_dir,
        )
        told = (high_watermark, stable_offset, log.log_start_offset, int(self.state))
        if told != self._told:
            self._told = told
            self._moved.note(self)
        if self.followers is not None:
            ends = (log.log_start_offset, end_offset)
            if ends != self._told_ends:
                self._told_ends = ends
                self._moved.note_end(self)

    def _kept_end(self) -> tuple[int, int, int]:
        """`_end` of a log that failed. Its segment may be deleted since: all of it was committed then."""
        offset, segment, position = self._end
        first = self.log.segments.bases[0]
        return (offset, segment, position) if segment >= first else (offset, first, 0)

    def withdraw(self, row: PartitionRow, published: int = 0) -> None:
        """The log ends before what a row says: neither readers nor nodes that compare logs may go by it. It says LOADING, and keeps its
        offsets for the next owner, if this one is killed: the loss has to be reported still.

        published   up to where the log was published, besides
        """
        end = max(row.log_end_offset, published)
        row = row._replace(state=RowState.LOADING, generation=self._generation, log_end_offset=end)
        self._table.publish(self.slot, row)

    def _place_of(self, offset: int, last: _Place) -> _Place:
        """A mark stands still while a transaction is open, or followers are late: it is looked up once.

        Where it moves with them, it is where an append began: followers read up to the end. If that append rolled, it is the next
        segment's beginning, and never the end of the one before: that may be compacted, and is shorter then.

        raises   StorageFailed
        """
        segments = self.log.segments
        key = (offset, segments.version)
        if last[0] == key:
            return last
        known = self._ends.get(offset) or self._older_ends.get(offset)
        if known is not None:
            if known[0] != segments.active.base_offset:
                following = segments.bases[bisect_right(segments.bases, known[0])]
                known = (following, 0) if following == offset else known
            return key, known
        try:
            return key, self.log.position_of(offset)
        except OSError as failure:
            error = storage_failure(f"{self.partition}: position of offset {offset}", failure)
            if isinstance(error, StorageExhausted):
                self._moved.note_unpublished(self, error)
            raise error from None
        except HeadraceError as failure:
            raise LogDamaged(f"{self.partition}: position of offset {offset}: {failure}") from None

    def swap_segments(self, segments: list[tuple[int, int]], as_of_version: int) -> bool:
        """`PartitionLog.swap_segments`, published where it swapped. raises StorageFailed: tell `fail`"""
        self._forget_places()
        is_swapped = self.log.swap_segments(segments, as_of_version)
        if is_swapped:
            self.publish()
        return is_swapped

    def _forget_places(self) -> None:
        self._ends.clear()
        self._older_ends.clear()

    def _note_place(self) -> None:
        """An append begins here: a mark that stays below the log's end comes to lie where one began, as a rule."""
        log = self.log
        if len(self._ends) >= APPEND_PLACES_MAX // 2:
            self._older_ends, self._ends = self._ends, {}
        self._ends[log.log_end_offset] = (log.end_segment, log.end_position)

    def append(
        self, batches: list[memoryview], now_ms: int, is_of_coordinator: bool = False, must_verify: bool = False
    ) -> list[Result]:
        """`PartitionLog.append_as_leader`, synced where the topic wants that before an answer, and published.

        raises   StorageFailed: tell `fail`. Nothing of these batches is readable then, whatever of them is in the log
        """
        start_offset, start_bytes = self._begin_append()
        results = self.log.append_as_leader(batches, self.leader_epoch, now_ms, is_of_coordinator, must_verify)
        self._end_append(start_offset, start_bytes)
        return results

    def append_markers(self, markers: list[EndMarker], now_ms: int) -> list[tuple[int, int]]:
        """`PartitionLog.append_marker` of each, synced and published once, as batches are. raises StorageFailed: tell `fail`"""
        start_offset, start_bytes = self._begin_append()
        results = [self.log.append_marker(*marker, self.leader_epoch, now_ms) for marker in markers]
        self._end_append(start_offset, start_bytes)
        return results

    def _begin_append(self) -> tuple[int, int]:
        """Where the log ends, in offsets and in bytes. raises StorageFailed"""
        if self.is_full:
            raise StorageExhausted(f"{self.partition}: no room in {self.log.directory.parent}")
        if self.state is RowState.OFFLINE:
            raise ReplicaOffline(f"{self.partition}: offline")
        if self.followers is not None:
            self._note_place()
        return self.log.log_end_offset, self.log.size_bytes

    def _end_append(self, start_offset: int, start_bytes: int) -> None:
        log = self.log
        if log.config.flush_before_ack:
            log.flush_before_answer()
        records = log.log_end_offset - start_offset
        if records:
            self.records_appended += records
            self.bytes_appended += max(0, log.size_bytes - start_bytes)
            self.advance_high_watermark()
            self.publish()

    def follow(self, records: memoryview, high_watermark: int, log_start_offset: int, now_ms: int) -> int:
        """Take what the leader sent: its batches, its high watermark and its log start offset, as far as they are within our log.

        records   batches side by side, the last one perhaps cut short; may be empty
        returns   the bytes taken: those of the whole batches
        raises    CorruptRecord or OffsetsOutOfOrder, for an invalid batch: those before it are in the log, and published;
                  StorageFailed: tell `fail`
        """
        log = self.log
        if self.is_full and len(records):
            self.follow(records[:0], high_watermark, log_start_offset, now_ms)  # what the leader deleted gives room
            raise StorageExhausted(f"{self.partition}: no room in {log.directory.parent}")
        taken = 0
        refusal: HeadraceError | None = None
        was = (log.log_end_offset, log.log_start_offset, self.high_watermark)
        if len(records):
            self._note_place()
            try:
                taken = log.append_as_follower(records, now_ms)
            except StorageFailed:
                raise
            except HeadraceError as failure:
                refusal = failure
            if log.config.flush_before_ack:
                log.flush_before_answer()  # the leader takes the next fetch offset for a promise
        self.high_watermark = max(self.high_watermark, min(high_watermark, self.end_offset))
        log.advance_log_start(min(log_start_offset, self.high_watermark))
        if (log.log_end_offset, log.log_start_offset, self.high_watermark) != was:
            self.publish()
        if refusal is not None:
            raise refusal
        return taken

    def truncate(self, offset: int) -> None:
        """Cut the log back to where its leader's agrees with it. raises StorageFailed, LogShort: tell `fail`"""
        log, is_mapped = self.log, offset < self.high_watermark
        if is_mapped and log.failure is None:  # readers go by the row, so it is the first to say so
            before, self.high_watermark = self.high_watermark, max(offset, log.log_start_offset)
            try:
                self.publish()
            except StorageFailed:
                self.high_watermark = before  # else the next try would cut what the row still offers
                raise
        self._forget_places()
        log.truncate_to(offset, is_mapped=is_mapped)
        self.high_watermark = min(max(self.high_watermark, log.log_start_offset), log.log_end_offset)
        self.publish()
        log.check_cut(offset)

    def restart_at(self, offset: int) -> None:
        """Drop every record, and begin at an offset of the leader's log. raises StorageFailed: tell `fail`"""
        self._forget_places()
        self.log.restart_at(offset)
        self.high_watermark = offset
        self.publish()

    def replace_log(self, log: PartitionLog, log_dir: int) -> None:
        """The same records in another log directory: what was published of them is in it. Published, for readers to find it.

        What a failed append left in the log counts now, as in `resume`: it is in the copy, and sent again it is a duplicate.
        """
        self._take_log(log)
        self.log_dir = log_dir
        log.sync_owed()
        self.advance_high_watermark()
        self.publish()

    def resume(self, log: PartitionLog) -> None:
        """The log ran out of room and was opened again: it takes appends. raises StorageFailed: tell `fail`"""
        self._take_log(log)
        log.sync_owed()
        self._note_leader_epoch()  # there was no room for it, maybe
        self.advance_high_watermark()
        self.publish()

    def _take_log(self, log: PartitionLog) -> None:
        """raises StorageFailed, where the era that is known can't be written"""
        log.note_history(self.log.known_epoch)  # in memory alone, maybe: there was no room
        self.log = log
        self._end = (log.log_end_offset, log.end_segment, log.end_position)
        self._marked = self._stable = _NOWHERE
        self._forget_places()

    def _note_leader_epoch(self) -> None:
        if self.is_leader and self.leader_epoch > self.log.epochs.latest:
            self.log.assign_leader_epoch(self.leader_epoch)

    def fail(self, failure: StorageFailed) -> None:
        """The log refused something: what becomes of it, and of its directory, is for all replicas to follow."""
        self._on_failure(self, failure)

    def take_out(self, reason: str) -> None:
        """The log directory failed: out of service until the node is restarted."""
        _log.error("replica offline partition=%s reason=%s", self.partition, reason)
        self.state = RowState.OFFLINE
        self.followers = None
        self._publish_offline()
        self._moved.note_role(self)

    def _publish_offline(self) -> None:
        """The offsets as they were; nothing is looked up in files that failed."""
        row, _is_torn = self._table.recover_row(self.slot)
        if row.key != self.key:
            row = PartitionRow(RowState.OFFLINE, self.key, self._generation, self.leader_epoch, *(0,) * 15)
        self._table.publish(self.slot, row._replace(state=RowState.OFFLINE, generation=self._generation))

    def retire(self) -> None:
        """The slot is another's, or free: who waits for this replica is told, and must not take it for a leader."""
        self.state = RowState.DELETED
        self.followers = None
        self._moved.note_role(self)
