"""Produce messages, into the logs, and their results back: the node's hottest path.

Runs in: a partition worker. For each cycle, not for each batch: one poll a ring (`intake.py`), one `writev` and one row a
partition, one RESULT message and at most one doorbell a network worker. A batch is not copied here: it is
checked, stamped and written from the ring's own memory, and the ring is released after the write; or from the network worker's
arena, where it was received, whose place is given back by the RESULT.

    gather: ring's messages -> unpack header (32 bytes) -> group by replica
    append: Replica.append (log, row) -> RESULT, or parked until the high watermark has reached it
            batches that begin a transaction wait for its coordinator before that: `unverified_batches.py`, `append_verified`

Source: blueprint, write plane; Kafka `ReplicaManager.appendRecords`.
"""

from __future__ import annotations

import logging
import struct
from typing import Final

from headrace.errors import ErrorCode, StorageFailed
from headrace.ids import PartitionKey, RequestId
from headrace.log.state.producer_state import NOT_VERIFIED
from headrace.memory import view
from headrace.protocol.record_batch import HEADER_BYTES, producer_of
from headrace.shm.counters import PRODUCE_BATCHES, PRODUCE_BYTES, PRODUCE_ERRORS
from headrace.shm.messages import (
    AFTER_REFUSAL,
    PRODUCE,
    PRODUCE_AT,
    PRODUCE_HEADER,
    PRODUCE_PART,
    PRODUCE_PLACE,
    PRODUCE_TRANSACTIONAL,
    split_transactional_id,
    unpack_place,
    unpack_produce,
)
from headrace.shm.partition_table import RowState
from headrace.shm.seat import Seat
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.large_batches import LargeBatches
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.refused_producers import RefusedProducers
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replicas import Replicas
from headrace.workers.partition.unverified_batches import HeldBatch, UnverifiedBatches

ACKS_ALL: Final = -1

PRODUCE_HEADER_BYTES: Final = 32
PLACED_HEADER_BYTES: Final = 48

_NONE: Final = int(ErrorCode.NONE)
_NOT_LEADER: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_NOT_ENOUGH_REPLICAS: Final = int(ErrorCode.NOT_ENOUGH_REPLICAS)
_STORAGE_ERROR: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
_CORRUPT: Final = int(ErrorCode.CORRUPT_MESSAGE)
_NO_ID: Final = int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

assert PRODUCE_HEADER.size == PRODUCE_HEADER_BYTES
assert PRODUCE_HEADER.size + PRODUCE_PLACE.size == PLACED_HEADER_BYTES

_log: Final = logging.getLogger(__name__)

# (process_id of the network worker, request_id, index, acks, timeout_ms)
Ticket = tuple[int, RequestId, int, int, int]


class Appender:
    """Moves PRODUCE messages of all network workers into the logs of this worker's replicas.

    unverified     batches that wait for a coordinator; None: none has to
    placed_bytes   of batches in arenas, gathered since the last `append`: no ring's bytes show of them
    """

    def __init__(
        self,
        seat: Seat,
        replicas: Replicas,
        answers: Answers,
        purgatory: ProducePurgatory,
        unverified: UnverifiedBatches | None = None,
    ) -> None:
        self._seat = seat
        self._replicas = replicas
        self._answers = answers
        self._purgatory = purgatory
        self._unverified = unverified
        self._transactional_ids: dict[tuple[int, RequestId, int], str] = {}  # of what was gathered in this cycle
        self._large = LargeBatches(seat.wiring.settings["socket.request.max.bytes"])
        self.placed_bytes = 0
        self._monotonic_ms = 0
        self._work: dict[Replica, tuple[list[Ticket], list[memoryview]]] = {}  # gathered in this cycle
        self._refused = RefusedProducers()
        self._behind: set[tuple[int, RequestId, int]] = set()  # of it: a network worker refused what came before

    def gather(
        self, process_id: int, messages: list[tuple[int, memoryview]], monotonic_ms: int
    ) -> list[tuple[int, memoryview]]:
        """Take the produces among a ring's messages, for `append`, which has to come before these are released.

        returns   the messages of other kinds
        """
        arenas = self._seat.arenas
        replicas = self._replicas.by_slot
        work = self._work
        others: list[tuple[int, memoryview]] = []
        left = iter(messages)
        while True:  # once, and once more for each message that is refused
            try:
                for kind, body in left:
                    if kind != PRODUCE and kind != PRODUCE_AT and kind != PRODUCE_TRANSACTIONAL:
                        if kind == PRODUCE_PART:
                            self._large.take(process_id, body, monotonic_ms)
                        else:
                            others.append((kind, body))
                        continue
                    request_id, slot, key, index, timeout_ms, acks, version, begun = unpack_produce(body, 0)
                    if kind == PRODUCE:
                        batch = view(body, PRODUCE_HEADER_BYTES, len(body))
                    elif kind == PRODUCE_TRANSACTIONAL:
                        transactional_id, begin = split_transactional_id(body, PRODUCE_HEADER_BYTES)
                        batch = view(body, begin, len(body))
                        self._transactional_ids[process_id, request_id, index] = transactional_id
                    else:
                        place, length = unpack_place(body, PRODUCE_HEADER_BYTES)
                        batch = arenas[process_id].at(place, length)
                        self.placed_bytes += length
                        if len(body) > PLACED_HEADER_BYTES:
                            transactional_id = str(body[PLACED_HEADER_BYTES:], "utf-8")
                            self._transactional_ids[process_id, request_id, index] = transactional_id
                    if begun:
                        whole = self._large.finish(process_id, request_id, index, begun, batch)
                        if whole is None:
                            header = self._large.header(process_id, request_id, index)
                            self._refuse((process_id, request_id, index), _NOT_LEADER, key, header, monotonic_ms)
                            continue
                        batch = whole
                    replica = replicas.get(slot)
                    if replica is None or replica.key != key or not replica.is_leader:
                        error = self._why_not(replica, slot, key)
                        self._refuse((process_id, request_id, index), error, key, batch, monotonic_ms)
                    elif acks == ACKS_ALL and len(replica.isr) < replica.min_insync_replicas:
                        self._refuse((process_id, request_id, index), _NOT_ENOUGH_REPLICAS, key, batch, monotonic_ms)
                    else:
                        if version & AFTER_REFUSAL:
                            self._behind.add((process_id, request_id, index))
                        ticket = (process_id, request_id, index, acks, timeout_ms)
                        group = work.get(replica)
                        if group is None:
                            work[replica] = ([ticket], [batch])
                        else:
                            group[0].append(ticket)
                            group[1].append(batch)
                return others
            except (struct.error, UnicodeDecodeError) as failure:
                _log.warning("message refused process=%d kind=%d reason=%s", process_id, kind, failure)

    def append(self, now_ms: int, monotonic_ms: int) -> None:
        """Append what was gathered, and owe its results.

        now_ms         the date, for the records
        monotonic_ms   for the deadlines of requests that wait
        """
        self._monotonic_ms = monotonic_ms
        self.placed_bytes = 0
        work, self._work = self._work, {}
        for replica, (tickets, batches) in work.items():
            if self._behind or self._refused:
                tickets, batches = self._leave_out(replica, tickets, batches)
                if not tickets:
                    continue
            if self._unverified is not None and replica in self._unverified.waiting:
                tickets, batches = self._hold_behind(self._unverified, replica, tickets, batches)
                if not tickets:
                    continue
            self._append(replica, tickets, batches, now_ms)
        self._behind.clear()
        self._transactional_ids.clear()

    def append_verified(self, now_ms: int, monotonic_ms: int) -> int:
        """Append what coordinators have verified since the last call, refuse what they have refused; returns the work done."""
        if self._unverified is None:
            return 0
        self._monotonic_ms = monotonic_ms
        decided = self._unverified.take_decided()
        for replica, producer_id, epoch, error in decided:
            held = self._unverified.release(replica, producer_id, epoch)
            refusal = int(error) or self._why_not_now(replica, held)
            if refusal:
                for one in held:
                    process_id, request_id, index, _acks, _timeout_ms = one.ticket
                    self._seat.counters.add(PRODUCE_ERRORS, 1)
                    self._refuse((process_id, request_id, index), refusal, replica.key, one.batch, monotonic_ms)
            elif held:
                self._transactional_ids = {one.ticket[:3]: one.transactional_id for one in held}
                self._append(replica, [one.ticket for one in held], [one.batch for one in held], now_ms)
                self._transactional_ids = {}
            replica.log.producers.verifications.pop(producer_id, None)  # unless another question was asked meanwhile
        return len(decided)

    def _why_not_now(self, replica: Replica, held: list[HeldBatch]) -> int:
        """Why batches that were verified can't be appended; 0: they can."""
        if self._replicas.by_slot.get(replica.slot) is not replica or not replica.is_leader:
            return self._why_not(self._replicas.by_slot.get(replica.slot), replica.slot, replica.key)
        lacks_replicas = len(replica.isr) < replica.min_insync_replicas
        return _NOT_ENOUGH_REPLICAS if lacks_replicas and any(one.ticket[3] == ACKS_ALL for one in held) else _NONE

    def _hold_behind(
        self, unverified: UnverifiedBatches, replica: Replica, tickets: list[Ticket], batches: list[memoryview]
    ) -> tuple[list[Ticket], list[memoryview]]:
        """What may go into the log: without the batches of producers that have others waiting."""
        kept: tuple[list[Ticket], list[memoryview]] = ([], [])
        for ticket, batch in zip(tickets, batches, strict=True):
            if unverified.is_behind(replica, batch):
                self._hold(unverified, replica, ticket, batch)
            else:
                kept[0].append(ticket)
                kept[1].append(batch)
        return kept

    def _verify(self, replica: Replica, ticket: Ticket, batch: memoryview) -> None:
        """A batch begins a transaction here, or comes after one that does."""
        assert self._unverified is not None
        if ticket[:3] in self._transactional_ids:
            self._hold(self._unverified, replica, ticket, batch)
        else:
            self._seat.counters.add(PRODUCE_ERRORS, 1)
            self._refuse(ticket[:3], _NO_ID, replica.key, batch, self._monotonic_ms)

    def _hold(self, unverified: UnverifiedBatches, replica: Replica, ticket: Ticket, batch: memoryview) -> None:
        """Have a batch wait for its coordinator."""
        place = ticket[:3]
        transactional_id = self._transactional_ids.get(place, "")
        if not unverified.hold(replica, ticket, batch, transactional_id):
            self._seat.counters.add(PRODUCE_ERRORS, 1)
            self._refuse(place, _NOT_ENOUGH_REPLICAS, replica.key, batch, self._monotonic_ms)

    def expire(self, monotonic_ms: int) -> None:
        """Release large batches whose end never came, and of refusals that are no moment ago."""
        self._large.expire(monotonic_ms)
        self._refused.expire(monotonic_ms)

    def forget(self, process_id: int) -> None:
        """A network worker died."""
        self._large.forget(process_id)
        if self._unverified is not None:
            self._unverified.forget(process_id)

    def _refuse(
        self, place: tuple[int, RequestId, int], error: int, key: PartitionKey, batch: memoryview, monotonic_ms: int
    ) -> None:
        """Refuse a batch that its producer sends again: nothing that follows it begins the producer before.

        place   process id, request id and index of who is answered
        batch   or its header alone
        """
        self._refused.note(key, batch, monotonic_ms)
        self._answers.refuse(*place, error)

    def _why_not(self, replica: Replica | None, slot: int, key: PartitionKey) -> int:
        """Why a slot takes no appends for a partition. One whose log is still to be opened is opened before others."""
        if replica is None or replica.key != key:
            self._replicas.ask_for(slot, key)
            return _STORAGE_ERROR if self._replicas.offline.get(slot) == key else _NOT_LEADER
        return _STORAGE_ERROR if replica.state is RowState.OFFLINE else _NOT_LEADER

    def _leave_out(
        self, replica: Replica, tickets: list[Ticket], batches: list[memoryview]
    ) -> tuple[list[Ticket], list[memoryview]]:
        """What may go into the log: without the batches that would begin a producer after one of its that was refused."""
        known = replica.log.producers.producers
        begun: set[int] = set()  # producers, by the batches that stay
        kept: tuple[list[Ticket], list[memoryview]] = ([], [])
        for ticket, batch in zip(tickets, batches, strict=True):
            producer_id, epoch, sequence = producer_of(batch) if len(batch) >= HEADER_BYTES else (-1, -1, -1)
            if producer_id >= 0 and producer_id not in known and producer_id not in begun:
                process_id, request_id, index, _acks, _timeout_ms = ticket
                is_behind = self._refused.is_behind(replica.key, producer_id, epoch, sequence, self._monotonic_ms)
                if is_behind or (process_id, request_id, index) in self._behind:
                    self._seat.counters.add(PRODUCE_ERRORS, 1)
                    self._answers.result(process_id, request_id, index, _NOT_LEADER, -1, -1, -1)
                    continue
                begun.add(producer_id)
            kept[0].append(ticket)
            kept[1].append(batch)
        return kept

    def _append(self, replica: Replica, tickets: list[Ticket], batches: list[memoryview], now_ms: int) -> None:
        start_records, start_bytes = replica.records_appended, replica.bytes_appended
        try:
            results = replica.append(batches, now_ms, must_verify=self._unverified is not None)
        except StorageFailed as failure:
            replica.fail(failure)
            for batch in batches:
                self._refused.note(replica.key, batch, self._monotonic_ms)
            results = [(_STORAGE_ERROR, -1, -1)] * len(tickets)
        if replica.records_appended != start_records:
            appended_bytes = replica.bytes_appended - start_bytes
            counters = self._seat.counters
            counters.add(PRODUCE_BATCHES, len(batches))
            counters.add(PRODUCE_BYTES, appended_bytes)
            self._replicas.failures.spend(self._monotonic_ms)
        self._answer(replica, tickets, batches, results)

    def _answer(
        self, replica: Replica, tickets: list[Ticket], batches: list[memoryview], results: list[tuple[int, int, int]]
    ) -> None:
        answers = self._answers
        log_start = replica.log.log_start_offset
        end_offset = replica.log.log_end_offset
        is_committed = replica.high_watermark >= end_offset
        assert len(results) == len(tickets)
        for number, ticket in enumerate(tickets):
            error, base_offset, append_time_ms = results[number]
            process_id, request_id, index, acks, timeout_ms = ticket
            if error == NOT_VERIFIED:
                self._verify(replica, ticket, batches[number])
            elif error != _NONE:
                self._seat.counters.add(PRODUCE_ERRORS, 1)
                if error == _CORRUPT:
                    self._refused.note(replica.key, batches[number], self._monotonic_ms)
                answers.result(process_id, request_id, index, error, -1, -1, -1)
            elif acks != ACKS_ALL or is_committed:
                answers.result(process_id, request_id, index, _NONE, base_offset, append_time_ms, log_start)
            else:
                deadline_ms = self._monotonic_ms + timeout_ms
                self._purgatory.park(replica, ticket, base_offset, append_time_ms, end_offset, deadline_ms)
