"""Batches that would begin a transaction here, until its coordinator has said that they may; and what their producers sent after them.

Runs in: a partition worker. A batch that waits is copied out of the ring, so that the ring goes on. Everything that comes from the
same producer for the same partition waits behind it, so nothing is out of order, whatever the answer is.

    hold -> Verifier.ask -> decided -> release: appended in order, or refused

Bounds: UNVERIFIED_BYTES_MAX of a worker, VERIFICATION_WAIT_MS for each batch; beyond, NOT_ENOUGH_REPLICAS.
Source: KIP-890; Kafka parks the rest of the request instead, and lets later ones overtake (KAFKA-14920).
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import NamedTuple

from headrace.errors import ErrorCode
from headrace.ids import RequestId
from headrace.limits import UNVERIFIED_BYTES_MAX, VERIFICATION_WAIT_MS
from headrace.protocol.record_batch import HEADER_BYTES, producer_of
from headrace.workers.partition.coordination.verifier import Ask
from headrace.workers.partition.replicas.replica import Replica

# (process id of the network worker, request id, index, acks, timeout in ms)
Ticket = tuple[int, RequestId, int, int, int]


class HeldBatch:
    """One that waits, in memory of its own."""

    __slots__ = ("batch", "epoch", "ticket", "transactional_id", "wait_ms")

    def __init__(self, ticket: Ticket, batch: memoryview, epoch: int, transactional_id: str, wait_ms: int) -> None:
        self.ticket = ticket
        self.batch = batch
        self.epoch = epoch
        self.transactional_id = transactional_id
        self.wait_ms = wait_ms


class Decision(NamedTuple):
    """What became of a question: about a producer with this epoch."""

    replica: Replica
    producer_id: int
    epoch: int
    error: ErrorCode


class UnverifiedBatches:
    """Those of one worker.

    waiting   by replica and producer id, in the order of arrival
    """

    def __init__(self, ask: Ask) -> None:
        self.waiting: dict[Replica, dict[int, deque[HeldBatch]]] = {}
        self._ask = ask
        self._bytes = 0
        self._decided: list[Decision] = []

    def hold(self, replica: Replica, ticket: Ticket, batch: memoryview, transactional_id: str) -> bool:
        """Keep a batch, and ask about its producer where nothing was asked yet; False, where there is no room."""
        if self._bytes + len(batch) > UNVERIFIED_BYTES_MAX:
            return False
        self._bytes += len(batch)
        producer_id, epoch, _sequence = producer_of(batch)
        by_producer = self.waiting.setdefault(replica, {})
        held = by_producer.get(producer_id)
        wait_ms = min(ticket[4], VERIFICATION_WAIT_MS)
        copied = HeldBatch(ticket, memoryview(bytearray(batch)), epoch, transactional_id, wait_ms)
        if held is None:
            by_producer[producer_id] = deque((copied,))
            self._question(replica, producer_id, copied)
        else:
            held.append(copied)
        return True

    def is_behind(self, replica: Replica, batch: memoryview) -> bool:
        """Whether a batch's producer has others that wait for this replica."""
        by_producer = self.waiting.get(replica)
        return by_producer is not None and len(batch) >= HEADER_BYTES and producer_of(batch)[0] in by_producer

    def take_decided(self) -> list[Decision]:
        """What was decided since the last call."""
        decided, self._decided = self._decided, []
        return decided

    def release(self, replica: Replica, producer_id: int, epoch: int) -> list[HeldBatch]:
        """The batches of that epoch that wait, up to the first of another; about that one a question is asked now."""
        by_producer = self.waiting.get(replica, {})
        held = by_producer.get(producer_id, deque())
        released = []
        while held and held[0].epoch == epoch:
            one = held.popleft()
            self._bytes -= len(one.batch)
            released.append(one)
        if held:
            self._question(replica, producer_id, held[0])
        else:
            by_producer.pop(producer_id, None)
            if not by_producer:
                self.waiting.pop(replica, None)
        return released

    def forget(self, process_id: int) -> None:
        """A network worker died, and its requests with it. A question that was asked is decided, of what is left."""
        for by_producer in self.waiting.values():
            for producer_id, held in by_producer.items():
                kept = deque(one for one in held if one.ticket[0] != process_id)
                self._bytes -= sum(len(one.batch) for one in held) - sum(len(one.batch) for one in kept)
                by_producer[producer_id] = kept

    def _question(self, replica: Replica, producer_id: int, first: HeldBatch) -> None:
        self._ask(
            replica, first.transactional_id, producer_id, first.epoch, first.wait_ms,
            partial(self._decide, replica, producer_id, first.epoch),
        )  # fmt: skip

    def _decide(self, replica: Replica, producer_id: int, epoch: int, error: ErrorCode) -> None:
        self._decided.append(Decision(replica, producer_id, epoch, error))
