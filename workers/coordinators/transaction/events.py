"""Events of a transactional id: what the rows of `table.py` are about.

    requests      come with the transactional id, which may not exist; each has the producer that the client says it is
    timers        handed back by the host; stale where the transaction has another serial
    markers       what became of those that a `SendMarkers` asked for
    of the node   what the host's own events mean to one id
    appends       what an `Append` stands for: their rows are for `Appended`, `AppendLate` and `AppendFailed`

An answer is plain: an `Outcome`, an `Identity` or `Verified`. What a client of an old version gets in place of an error,
and in which message, is known where the request was decoded.

`order` of a request is that of its connection: CLOCK_MONOTONIC, in nanoseconds, when its first answer was written;
ANY_ORDER where orders are not judged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.workers.coordinators.transaction.transaction import Entry, TopicIndex, Transaction

# Answers


class Outcome(NamedTuple):
    """closes_connection   after the answer: what the connection may still hold belongs to former transactions"""

    error: ErrorCode
    closes_connection: bool = False


class Identity(NamedTuple):
    """A producer's, for an InitProducerId."""

    producer_id: int
    epoch: int


class Verified(NamedTuple):
    """Partitions that are in the transaction; the others of the request are not."""

    partitions: frozenset[TopicIndex]


# Requests


class InitProducer(NamedTuple):
    """expected   (producer id, epoch) that a producer has and wants to go on with (KIP-360); -1, -1: it has none"""

    transactional_id: str
    timeout_ms: int
    expected: tuple[int, int]
    order: int
    ticket: Any


class AddPartitions(NamedTuple):
    transactional_id: str
    producer: tuple[int, int]
    partitions: frozenset[TopicIndex]
    order: int
    ticket: Any


class VerifyPartitions(NamedTuple):
    """Of a data leader: whether it may append to these partitions (KIP-890)."""

    transactional_id: str
    producer: tuple[int, int]
    partitions: frozenset[TopicIndex]
    ticket: Any


class EndTransaction(NamedTuple):
    transactional_id: str
    producer: tuple[int, int]
    is_commit: bool
    order: int
    ticket: Any


# Timers


class TransactionTime(NamedTuple):
    """The transaction may have taken too long."""

    transaction: Transaction
    serial: int


class ParkTime(NamedTuple):
    """A request has waited long enough."""

    transaction: Transaction
    serial: int


class CompleteTime(NamedTuple):
    """Complete is to be written, if no later record has said it."""

    transaction: Transaction
    serial: int


# Markers


class MarkersWritten(NamedTuple):
    """Partitions that have their marker, or need none.

    serial   of the `SendMarkers`
    """

    transactional_id: str
    serial: int
    partitions: frozenset[TopicIndex]


class MarkersRefused(NamedTuple):
    """A partition has heard of a later coordinator, or of a later epoch: this transaction is ended elsewhere."""

    transactional_id: str
    serial: int
    error: ErrorCode


# Of the node


class TransactionLoaded(NamedTuple):
    transaction: Transaction


class TransactionUnloaded(NamedTuple):
    transaction: Transaction


class IdChecked(NamedTuple):
    """An id that was not used for long can go.

    expiry_ms   the date by which it is to have been used
    """

    transaction: Transaction
    expiry_ms: int


class TopicsGone(NamedTuple):
    """Topics were deleted: their partitions leave the transaction, and need no markers."""

    transaction: Transaction
    topics: frozenset[str]


# Appends


class IdentityRecord(NamedTuple):
    """A producer gets the id.

    last   (producer id, epoch) that it had before, (-1, -1) where it has none
    """

    transaction: Transaction
    entry: Entry
    last: tuple[int, int]
    request: InitProducer


class PartitionsRecord(NamedTuple):
    """A transaction begins, or has more partitions."""

    transaction: Transaction
    entry: Entry
    request: AddPartitions


class DecisionRecord(NamedTuple):
    """Commit or abort.

    request   None: the coordinator itself aborts it
    """

    transaction: Transaction
    entry: Entry
    request: EndTransaction | None


class CompleteRecord(NamedTuple):
    transaction: Transaction
    entry: Entry


class RemovalRecord(NamedTuple):
    """A transaction without the partitions of deleted topics."""

    transaction: Transaction
    entry: Entry


class ExpiryRecord(NamedTuple):
    """A tombstone."""

    transaction: Transaction
