"""Ends of transactions, written into the logs of this worker's partitions: WRITE_MARKERS of any process of the node.

Runs in: the partition worker that leads the partitions. A marker is answered once it is committed. In `__consumer_offsets` it
goes through the host of the groups, in the same queue as their commits, and is answered after their coordinator has it: the
offsets of the transaction can be fetched then.

    written     NONE; also where no transaction is open, and where this marker is there already
    refused     NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, KAFKA_STORAGE_ERROR: it is sent again
                INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED: a later coordinator or producer was here

Bound: MARKERS_WAITING_MAX of one worker; beyond, they are sent again later.
Source: Kafka `KafkaApis.handleWriteTxnMarkersRequest`, `GroupCoordinator.scheduleHandleTxnCompletion`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headrace.clock import Clock
from headrace.errors import ErrorCode, StorageExhausted, StorageFailed
from headrace.limits import MARKER_COMMIT_MS, MARKERS_WAITING_MAX
from headrace.protocol.control_record import EndMarker
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import MARKER, MARKER_RESULT, RequestKind
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.replicas.replica import Replica

OnDone = Callable[[ErrorCode], None]

_NOT_LEADER: Final = ErrorCode.NOT_LEADER_OR_FOLLOWER


class MarkerWrites:
    """Those of one worker.

    waiting   by replica: (offset, leader epoch, deadline, who waits), in the order of offsets
    """

    def __init__(self, replicas: Mapping[int, Replica], hosts: Sequence[CoordinatorHost[Any]], clock: Clock) -> None:
        self.waiting: dict[Replica, deque[tuple[int, int, int, OnDone]]] = {}
        self._replicas = replicas
        self._hosts = hosts
        self._clock = clock
        self._count = 0

    def handlers(self) -> dict[int, Handler]:
        """By kind."""
        return {RequestKind.WRITE_MARKERS: self._write_all}

    def _write_all(self, _version: int, body: memoryview, reply: Reply) -> None:
        """Every marker of one request, answered when the last one is settled."""
        rows = list(MARKER.iter_unpack(body))
        request = _Request(len(rows), reply)
        gathered: dict[Replica, tuple[list[EndMarker], list[OnDone]]] = {}
        room = MARKERS_WAITING_MAX - self._count
        for number, (slot, key, producer_id, coordinator_epoch, epoch, is_abort) in enumerate(rows):
            marker = EndMarker(producer_id, epoch, coordinator_epoch, bool(is_abort))

            def settle(error: ErrorCode, number: int = number) -> None:
                request.settle(number, error)

            room -= self._gather(gathered, slot, key, marker, settle, room)
        self._append_all(gathered)
        request.finish_if_empty()

    def write(self, slot: int, key: int, marker: EndMarker, on_done: OnDone) -> None:
        """One marker. on_done: called once, perhaps from within"""
        gathered: dict[Replica, tuple[list[EndMarker], list[OnDone]]] = {}
        self._gather(gathered, slot, key, marker, on_done, MARKERS_WAITING_MAX - self._count)
        self._append_all(gathered)

    def _gather(
        self,
        gathered: dict[Replica, tuple[list[EndMarker], list[OnDone]]],
        slot: int,
        key: int,
        marker: EndMarker,
        on_done: OnDone,
        room: int,
    ) -> bool:
        """A marker that is to be appended with all others of its replica, or refused; returns whether it is to be appended."""
        replica = self._replicas.get(slot)
        if replica is None or replica.key != key or not replica.is_leader:
            on_done(_NOT_LEADER)
        elif len(replica.isr) < replica.min_insync_replicas or room <= 0:
            on_done(ErrorCode.NOT_ENOUGH_REPLICAS)
        else:
            markers, told = gathered.setdefault(replica, ([], []))
            markers.append(marker)
            told.append(on_done)
            return True
        return False

    def _append_all(self, gathered: dict[Replica, tuple[list[EndMarker], list[OnDone]]]) -> None:
        """One append, one sync and one row of each replica."""
        for replica, (markers, told) in gathered.items():
            try:
                self._append(replica, markers, told)
            except StorageFailed as failure:
                replica.fail(failure)
                is_full = isinstance(failure, StorageExhausted)
                for on_done in told:
                    on_done(ErrorCode.NOT_ENOUGH_REPLICAS if is_full else ErrorCode.KAFKA_STORAGE_ERROR)

    def _append(self, replica: Replica, markers: list[EndMarker], told: list[OnDone]) -> None:
        """raises StorageFailed, where nobody was told"""
        for host in self._hosts:
            if replica.partition.topic == host.topic:
                host.append_markers(replica, markers, told)
                return
        results = replica.append_markers(markers, self._clock.now_ms())
        deadline_ms = self._now_ms() + MARKER_COMMIT_MS
        for on_done, (error, offset) in zip(told, results, strict=True):
            if error:
                on_done(ErrorCode(error))
            elif replica.high_watermark > offset:
                on_done(ErrorCode.NONE)
            else:
                self._count += 1
                self.waiting.setdefault(replica, deque()).append((offset, replica.leader_epoch, deadline_ms, on_done))

    def check(self, replica: Replica) -> None:
        """Its high watermark moved."""
        waiting = self.waiting.get(replica)
        while waiting and (waiting[0][0] < replica.high_watermark or not _is_led(replica, waiting[0][1])):
            _offset, leader_epoch, _deadline, on_done = waiting.popleft()
            self._count -= 1
            on_done(ErrorCode.NONE if _is_led(replica, leader_epoch) else _NOT_LEADER)
        if waiting is not None and not waiting:
            self.waiting.pop(replica, None)

    def follow_role(self, replica: Replica) -> None:
        """What another leader may have truncated is sent again."""
        if replica in self.waiting:
            self.check(replica)

    def expire(self) -> None:
        """Give up what waits for too long: it is sent again, and changes nothing if it is there."""
        now_ms = self._now_ms()
        for replica, waiting in list(self.waiting.items()):
            while waiting and waiting[0][2] <= now_ms:
                self._count -= 1
                waiting.popleft()[3](ErrorCode.REQUEST_TIMED_OUT)
            if not waiting:
                self.waiting.pop(replica, None)

    def _now_ms(self) -> int:
        return self._clock.monotonic_ns() // 1_000_000


def _is_led(replica: Replica, leader_epoch: int) -> bool:
    return replica.is_leader and replica.leader_epoch == leader_epoch


class _Request:
    """One WRITE_MARKERS: answered when each of its markers is settled."""

    def __init__(self, count: int, reply: Reply) -> None:
        self._errors = [0] * count
        self._owed = count
        self._reply = reply

    def settle(self, number: int, error: ErrorCode) -> None:
        self._errors[number] = int(error)
        self._owed -= 1
        if not self._owed:
            self._reply(b"".join([MARKER_RESULT.pack(one) for one in self._errors]))

    def finish_if_empty(self) -> None:
        if not self._errors:
            self._reply(b"")
