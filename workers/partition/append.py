"""Produce messages out of the rings, into the logs, and their results back: the node's hottest path.

Runs in: a partition worker. For each cycle, not for each batch: one poll a ring, one `writev` and one row a
partition, one RESULT message and at most one doorbell a network worker. A batch is not copied here: it is
checked, stamped and written from the ring's own memory, and the ring is released after the write.

    ring -> unpack header (32 bytes) -> group by replica -> PartitionLog.append_as_leader -> row -> RESULT

Source: blueprint, write plane; Kafka `ReplicaManager.appendRecords`.
"""

from __future__ import annotations

from headrace.errors import ErrorCode, StorageFailed
from headrace.limits import APPENDS_PER_CYCLE_MAX, GROUP_REQUESTS_PER_CYCLE_MAX, REQUEST_BYTES_PER_CYCLE_MAX
from headrace.shm.counters import PRODUCE_BATCHES, PRODUCE_BYTES, PRODUCE_ERRORS
from headrace.shm.messages import PRODUCE, PRODUCE_HEADER, PRODUCE_PART
from headrace.shm.partition_table import RowState
from headrace.shm.seat import Seat
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.large_batches import LargeBatches
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.replica import Replica
from headrace.workers.partition.replicas import Replicas
from headrace.workers.partition.requests import Requests

ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1

_NONE = int(ErrorCode.NONE)
_NOT_LEADER = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_NOT_ENOUGH_REPLICAS = int(ErrorCode.NOT_ENOUGH_REPLICAS)
_STORAGE_ERROR = int(ErrorCode.KAFKA_STORAGE_ERROR)
_UNKNOWN_PRODUCER = int(ErrorCode.UNKNOWN_PRODUCER_ID)

# (process_id of the network worker, request_id, index, acks, timeout_ms)
Ticket = tuple[int, int, int, int, int]


class Appender:
    """Moves PRODUCE messages of all network workers into the logs of this worker's replicas; hands on the rest."""

    def __init__(
        self,
        seat: Seat,
        node_id: int,
        replicas: Replicas,
        answers: Answers,
        purgatory: ProducePurgatory,
        requests: Requests,
    ) -> None:
        self._seat = seat
        self._node_id = node_id
        self._replicas = replicas
        self._answers = answers
        self._purgatory = purgatory
        self._requests = requests
        self._large = LargeBatches(seat.wiring.settings["socket.request.max.bytes"])
        self._monotonic_ms = 0
        self._messages_max = APPENDS_PER_CYCLE_MAX  # of a ring in this cycle; fewer behind one in which groups asked

    def do_work(self, now_ms: int, monotonic_ms: int) -> int:
        """Append what the rings hold: of each `_messages_max` messages, REQUEST_BYTES_PER_CYCLE_MAX at most.

        now_ms         the date, for the records
        monotonic_ms   for the deadlines of requests that wait
        returns        number of messages taken
        """
        self._monotonic_ms = monotonic_ms
        answers = self._answers
        replicas = self._replicas.by_slot
        unpack_header = PRODUCE_HEADER.unpack_from
        header_bytes = PRODUCE_HEADER.size
        work: dict[Replica, tuple[list[Ticket], list[memoryview]]] = {}
        polled = []
        taken = others = 0
        for process_id, reader in self._seat.readers.items():
            if answers.is_congested(process_id):
                continue
            messages = reader.poll(self._messages_max, REQUEST_BYTES_PER_CYCLE_MAX)
            if not messages:
                continue
            polled.append((process_id, reader))
            taken += len(messages)
            for kind, body in messages:
                if kind != PRODUCE:
                    if kind == PRODUCE_PART:
                        self._large.take(process_id, body, monotonic_ms)
                        continue
                    others += 1
                    self._requests.take(process_id, body)
                    continue
                request_id, slot, key, index, timeout_ms, acks, _version, begun = unpack_header(body)
                batch = body[header_bytes:]
                if begun:
                    whole = self._large.finish(process_id, request_id, index, begun, batch)
                    if whole is None:
                        answers.refuse(process_id, request_id, index, _NOT_LEADER)
                        continue
                    batch = whole
                replica = replicas.get(slot)
                if replica is None or replica.key != key or not replica.is_leader:
                    answers.refuse(process_id, request_id, index, self._why_not(replica, slot, key))
                elif acks == ACKS_ALL and len(replica.isr) < replica.min_insync_replicas:
                    answers.refuse(process_id, request_id, index, _NOT_ENOUGH_REPLICAS)
                else:
                    ticket = (process_id, request_id, index, acks, timeout_ms)
                    group = work.get(replica)
                    if group is None:
                        work[replica] = ([ticket], [batch])
                    else:
                        group[0].append(ticket)
                        group[1].append(batch)
        for replica, (tickets, batches) in work.items():
            self._append(replica, tickets, batches, now_ms)
        work.clear()
        for process_id, reader in polled:
            if reader.release():
                self._seat.ring(process_id)
        if taken:
            self._messages_max = GROUP_REQUESTS_PER_CYCLE_MAX if others else APPENDS_PER_CYCLE_MAX
        return taken

    def look(self, monotonic_ms: int) -> None:
        """Let go of large batches whose end never came."""
        self._large.expire(monotonic_ms)

    def forget(self, process_id: int) -> None:
        """A network worker died."""
        self._large.forget(process_id)

    def _why_not(self, replica: Replica | None, slot: int, key: int) -> int:
        """Why a slot takes no appends for a partition. One whose log is still to be opened is opened before others."""
        if replica is None or replica.key != key:
            self._replicas.ask_for(slot, key)
            return _STORAGE_ERROR if self._replicas.offline.get(slot) == key else _NOT_LEADER
        return _STORAGE_ERROR if replica.state is RowState.OFFLINE else _NOT_LEADER

    def _append(self, replica: Replica, tickets: list[Ticket], batches: list[memoryview], now_ms: int) -> None:
        log = replica.log
        start_offset = log.log_end_offset
        start_bytes = log.size_bytes
        try:
            results = replica.append(batches, now_ms)
        except StorageFailed as failure:
            replica.fail(failure)
            results = [(_STORAGE_ERROR, -1, -1)] * len(tickets)
        end_offset = log.log_end_offset
        if end_offset != start_offset and replica.is_leader:
            appended_bytes = max(0, log.size_bytes - start_bytes)
            replica.records_appended += end_offset - start_offset
            replica.bytes_appended += appended_bytes
            counters = self._seat.counters
            counters.add(PRODUCE_BATCHES, len(batches))
            counters.add(PRODUCE_BYTES, appended_bytes)
            replica.advance_high_watermark(self._node_id)
            replica.publish()
            for network_worker in replica.waiting_network_workers():
                self._answers.advanced(network_worker, replica.slot)
            self._replicas.spend(appended_bytes, self._monotonic_ms)
        self._answer(replica, tickets, results)

    def _answer(self, replica: Replica, tickets: list[Ticket], results: list[tuple[int, int, int]]) -> None:
        answers = self._answers
        log_start = replica.log.log_start_offset
        end_offset = replica.log.log_end_offset
        is_committed = replica.high_watermark >= end_offset
        for ticket, (error, base_offset, append_time_ms) in zip(tickets, results, strict=True):
            process_id, request_id, index, acks, timeout_ms = ticket
            if error != _NONE:
                self._seat.counters.add(PRODUCE_ERRORS, 1)
                told = log_start if error == _UNKNOWN_PRODUCER else -1  # Java's producer tries for ever without it
                answers.result(process_id, request_id, index, error, -1, -1, told)
            elif acks == ACKS_LEADER or (acks == ACKS_ALL and is_committed):
                answers.result(process_id, request_id, index, _NONE, base_offset, append_time_ms, log_start)
            elif acks == ACKS_ALL:
                deadline_ms = self._monotonic_ms + timeout_ms
                self._purgatory.park(replica, ticket, base_offset, append_time_ms, end_offset, deadline_ms)
