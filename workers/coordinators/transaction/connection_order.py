"""Which requests of a producer are of now: by the producer's id and epoch, then by the order of their connections.

Two transactions of a producer have the same id and epoch, and an EndTxn does not say which one it ends. A copy that its client
gave up on one connection may arrive after its retry on a newer one, in the next transaction. So:

    order   of a connection: CLOCK_MONOTONIC when its first answer was written. A client uses a connection after that
    rule    for each producer epoch the highest order that was seen is kept, and a request of a lower one is refused
    floor   an id that had a transaction refuses connections ordered before its load: which orders were seen is not known.
            The client connects again, once after a failover

The client sent its stale copy before it opened the connection of its retry, or on the same one, which keeps the order. So the
copy is refused from the retry on. InitProducerId is never judged: a takeover may come over an old connection. A connection that
is refused is closed after the answer: what it may still hold is as stale.

Every order of events around the tables is searched, within bounds (`tests/model`). Kafka has no such rule.
Assumption: a producer never goes back to an older connection of the same node. A pool of connections before the node
breaks it: `headrace.transaction.connection.order`.
"""

from __future__ import annotations

from typing import Any

from headrace.errors import ErrorCode
from headrace.ids import ANY_ORDER
from headrace.workers.coordinators.transaction.events import Outcome
from headrace.workers.coordinators.transaction.transaction import LAST_EPOCH, Transaction


def fault_of_participant(transaction: Transaction, event: Any) -> Outcome | None:
    """Why an AddPartitions or EndTransaction is refused; None: it is judged by the state."""
    error = _fault_of_producer(transaction, event.producer)
    if error is not ErrorCode.NONE:
        return Outcome(error)
    if event.order < max(transaction.order, transaction.floor):
        return Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE, True)
    if event.order != ANY_ORDER:  # which says nothing of the producer's connections
        transaction.order = event.order
    return None


def fault_of_verification(transaction: Transaction, event: Any) -> Outcome | None:
    """The same of a data leader's question, which comes over a connection between nodes."""
    error = _fault_of_producer(transaction, event.producer)
    return Outcome(error) if error is not ErrorCode.NONE else None


def _fault_of_producer(transaction: Transaction, producer: tuple[int, int]) -> ErrorCode:
    """An epoch beyond LAST_EPOCH, or below 0, is no producer's, though the id may have it: it fences the one before."""
    producer_id, epoch = producer
    if producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    is_of_now = epoch == transaction.epoch and 0 <= epoch <= LAST_EPOCH
    return ErrorCode.NONE if is_of_now else ErrorCode.PRODUCER_FENCED
