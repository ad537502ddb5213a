"""One replica hosted here: its log, its role, its high watermark, and the row that tells everyone.

Runs in: the partition worker that owns the partition; nobody else writes its files or its row.

Order after an append (the readers' safety depends on it):

    1. writev to the segment          the bytes are in the page cache
    2. high watermark moves           to the smallest log end of the in-sync replicas
    3. row published (seqlock)        readers may now send up to `hw_position`
    4. fence, wait bytes read         parked fetches are told

Source: Kafka `Partition`; KIP-101 for epochs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import PartitionKey, TopicPartition
from headrace.log.config import LogConfig
from headrace.log.writing.leader_append import Result
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.cluster_view import PartitionView
from headrace.shm.fence import fence
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState

_log = logging.getLogger(__name__)


class Replica:
    """A partition's replica on this node, from the moment its log is open until it is given up.

    is_full   no room: appends are refused, reads go on
    """

    __slots__ = (
        "_generation",
        "_on_failure",
        "_stable",
        "_table",
        "bytes_appended",
        "high_watermark",
        "is_full",
        "isr",
        "key",
        "leader_epoch",
        "log",
        "min_insync_replicas",
        "partition",
        "records_appended",
        "slot",
        "state",
    )

    def __init__(
        self,
        partition: TopicPartition,
        log: PartitionLog,
        slot: int,
        key: PartitionKey,
        table: PartitionTable,
        generation: int,
        high_watermark: int,
        on_failure: Callable[[Replica, StorageFailed], None],
    ) -> None:
        self.partition = partition
        self.log = log
        self.slot = slot
        self.key = key
        self.state = RowState.LOADING
        self.leader_epoch = -1
        self.isr: tuple[int, ...] = ()
        self.min_insync_replicas = 1
        self.high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.is_full = False
        self.records_appended = 0
        self.bytes_appended = 0
        self._table = table
        self._generation = generation
        self._on_failure = on_failure
        self._stable = ((-1, -1), (0, 0))  # (last stable offset, segments version), its (segment, position)

    @property
    def is_leader(self) -> bool:
        return self.state is RowState.LEADER

    def configure(self, config: LogConfig, min_insync_replicas: int) -> None:
        """Take changed topic settings."""
        self.log.config = config
        self.min_insync_replicas = min_insync_replicas

    def take_role(self, view: PartitionView, node_id: int) -> bool:
        """Lead or follow as the view says. Can be run again; an older leader epoch changes nothing.

        returns   whether anything changed (the row has been published then)
        raises    StorageFailed; StorageExhausted, where the role is taken for reads: tell `fail`
        """
        if view.leader_epoch < self.leader_epoch or self.state is RowState.OFFLINE:
            return False
        state = RowState.LEADER if view.leader == node_id else RowState.FOLLOWER
        if (state, view.leader_epoch, view.isr) == (self.state, self.leader_epoch, self.isr):
            if self.is_leader and self.leader_epoch > self.log.epochs.latest:  # there was no room for it
                self.log.assign_leader_epoch(self.leader_epoch)
            return False
        no_room: StorageExhausted | None = None
        if state is RowState.LEADER and view.leader_epoch > self.leader_epoch:
            try:
                self.log.assign_leader_epoch(view.leader_epoch)
            except StorageExhausted as failure:
                no_room = failure  # what is there can be read; the epoch is noted with the first append
        self.state = state
        self.isr = view.isr
        self.leader_epoch = view.leader_epoch
        self.advance_high_watermark(node_id)
        self.publish()
        if no_room is not None:
            raise no_room
        return True

    def advance_high_watermark(self, node_id: int) -> None:
        """Move the high watermark of a leader; with itself alone in the ISR that is its log end.

        Other in-sync replicas hold it where it stands until their fetches are known to have passed it.
        """
        if self.state is RowState.LEADER and (not self.isr or self.isr == (node_id,)):
            self.high_watermark = self.log.log_end_offset

    def publish(self) -> None:
        """Write the row. Everything in it is on disk (or in the page cache) already."""
        log = self.log
        segments = log.segments
        end_offset = segments.end_offset
        end_segment = segments.active.base_offset
        end_position = segments.active.size_bytes
        high_watermark = self.high_watermark
        if high_watermark == end_offset:
            hw_segment, hw_position = end_segment, end_position
        else:
            hw_segment, hw_position = log.position_of(high_watermark)
        stable_offset = log.producers.last_stable_offset(high_watermark)
        if stable_offset == high_watermark:
            lso_segment, lso_position = hw_segment, hw_position
        else:
            lso_segment, lso_position = self._stable_place(stable_offset)
        self._table.publish(
            self.slot,
            PartitionRow(
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
                segments.rolled_bytes + end_position,
                self.records_appended,
                self.bytes_appended,
            ),
        )

    def _stable_place(self, offset: int) -> tuple[int, int]:
        """`position_of` the last stable offset, which stands still while a transaction is open."""
        key = (offset, self.log.segments_version)
        if self._stable[0] != key:
            self._stable = (key, self.log.position_of(offset))
        return self._stable[1]

    def waiting_network_workers(self) -> tuple[int, ...] | list[int]:
        """Network workers with a fetch parked on this row. Call after `publish`.

        The fence keeps the row's stores before the look at the wait bytes; the network worker fences between
        setting its byte and looking at the row again, so one of the two always sees the other.
        """
        fence()
        return self._table.waiting(self.slot)

    def append(self, batches: list[memoryview], now_ms: int) -> list[Result]:
        """`PartitionLog.append_as_leader`, synced where the topic wants that before an answer.

        raises   StorageFailed: tell `fail`
        """
        if self.is_full:
            raise StorageExhausted(f"{self.partition}: no room in {self.log.directory.parent}")
        if self.state is RowState.OFFLINE:
            raise StorageFailed(f"{self.partition}: offline")
        log = self.log
        results = log.append_as_leader(batches, self.leader_epoch, now_ms)
        if log.config.flush_before_ack:
            log.flush()
        return results

    def fail(self, failure: StorageFailed) -> None:
        """The log refused something: what becomes of it, and of its directory, is for all replicas to follow."""
        self._on_failure(self, failure)

    def take_out(self, reason: str) -> None:
        """The log directory failed: out of service until the node starts anew."""
        _log.error("replica offline partition=%s reason=%s", self.partition, reason)
        self.state = RowState.OFFLINE
        self._publish_offline()

    def _publish_offline(self) -> None:
        """The offsets as they were; nothing is looked up in files that failed."""
        row, _is_torn = self._table.recover_row(self.slot)
        if row.key == self.key:
            self._table.publish(self.slot, row._replace(state=RowState.OFFLINE, generation=self._generation))
        else:
            fields = (RowState.OFFLINE, self.key, self._generation, self.leader_epoch, *(0,) * 15)
            self._table.publish(self.slot, PartitionRow(*fields))

    def retire(self) -> None:
        """The slot is another's, or nobody's: whoever waits for this replica must not take it for a leader."""
        self.state = RowState.DELETED
