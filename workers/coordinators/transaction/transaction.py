"""One transactional id: its producer, its state, the partitions of its transaction. Data and questions; events are elsewhere.

    Empty            a producer has the id, no transaction was begun
    Ongoing          partitions were added
    PrepareCommit    the decision is in the log; markers are being written to each partition
    PrepareAbort     the same for an abort
    CompleteCommit   each partition has its marker
    CompleteAbort    the same for an abort
    Dead             expired, or this node leads its partition no more

The log is the truth: what an append says counts once it is committed (`Entry`). One append of an id is in flight at a time.
Two things come before their record. The epoch is raised at once where a transaction is aborted over its producer's head, so
that the producer is fenced however the append ends. Complete is written behind: a coordinator that finds Prepare in its log
sends the markers again, which changes nothing.

Source: Kafka `TransactionMetadata`, `TransactionState`; KIP-98, KIP-360.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, NamedTuple

from headrace.ids import NO_EPOCH, NO_PRODUCER_ID
from headrace.limits import LOGGED_ID_LENGTH_MAX
from headrace.workers.coordinators.transaction.state import PREPARED, TransactionState

NO_TIME_MS: Final = -1
LAST_EPOCH: Final = 2**15 - 2  # of a producer; the last one, 32767, is for fencing alone

TopicIndex = tuple[str, int]  # a partition: topic, index

# target -> states that it can be entered from
TRANSITIONS: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: frozenset(
        {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
    ),
    TransactionState.ONGOING: frozenset(
        {
            TransactionState.EMPTY,
            TransactionState.ONGOING,
            TransactionState.COMPLETE_COMMIT,
            TransactionState.COMPLETE_ABORT,
        }
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.ONGOING}),
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: frozenset(set(TransactionState) - {TransactionState.DEAD}),
}


class Entry(NamedTuple):
    """What the log has of an id: the value of its record. Dates in milliseconds, NO_TIME_MS where there is none."""

    producer_id: int
    epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicIndex]
    updated_ms: int
    start_ms: int


class Transaction:
    """One transactional id.

    last_producer_id, last_epoch   the ones before, where a producer went on by itself (KIP-360); not in the log
    is_fenced      the epoch was raised for an abort whose record is not in the log yet: it is not raised twice
    pending        what is being appended; None: nothing
    is_late        its request was answered: the append takes too long, and may be committed yet
    deadline_ms    when the transaction times out
    timer          serial of the entry that comes up then, or later; 0: none
    order          of the latest connection that a request of this producer epoch came over
    floor          connections ordered before it are refused: they may hold requests of former transactions
    serial         of the present markers, never 0 while there are some; a former one's outcome counts for nothing
    outstanding    partitions whose markers are not written
    owes_complete  Complete is true and not in the log
    prepared       partitions that the log has with Prepare meanwhile
    complete_timer serial of the entry at which it is written; 0: none
    parked         requests that wait: (event, until when)
    park_timer     serial of the entry that ends the first one's wait; 0: none
    """

    __slots__ = (
        "complete_timer", "deadline_ms", "epoch", "floor", "is_fenced", "is_late", "last_epoch", "last_producer_id",
        "order", "outstanding", "owes_complete", "park_timer", "parked", "partitions", "pending", "prepared", "producer_id", "serial",
        "start_ms", "state", "timeout_ms", "timer", "transactional_id", "updated_ms",
    )  # fmt: skip

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.producer_id = self.last_producer_id = NO_PRODUCER_ID
        self.epoch = self.last_epoch = NO_EPOCH
        self.timeout_ms = 0
        self.state = TransactionState.EMPTY
        self.partitions: frozenset[TopicIndex] = frozenset()
        self.start_ms = self.updated_ms = NO_TIME_MS
        self.is_fenced = self.is_late = False
        self.pending: Any = None
        self.deadline_ms = self.timer = 0
        self.order = self.floor = 0
        self.serial = 0
        self.outstanding: set[TopicIndex] = set()
        self.owes_complete = False
        self.prepared: frozenset[TopicIndex] = frozenset()
        self.complete_timer = 0
        self.parked: deque[tuple[Any, int]] = deque()
        self.park_timer = 0

    @classmethod
    def from_entry(cls, transactional_id: str, entry: Entry) -> Transaction:
        """As it is loaded."""
        transaction = cls(transactional_id)
        transaction._set(entry)
        return transaction

    @property
    def entry(self) -> Entry:
        """As the log should have it."""
        return Entry(
            self.producer_id,
            self.epoch,
            self.timeout_ms,
            self.state,
            self.partitions,
            self.updated_ms,
            self.start_ms,
        )

    def take(self, entry: Entry) -> None:
        """What the log says now."""
        assert self.state in TRANSITIONS[entry.state], (
            f"{self.transactional_id}: {self.state.value} to {entry.state.value}"
        )
        self._set(entry)

    def _set(self, entry: Entry) -> None:
        self.producer_id, self.epoch, self.timeout_ms, self.state, self.partitions, self.updated_ms, self.start_ms = (
            entry
        )

    def enter(self, state: TransactionState) -> None:
        """A step that TRANSITIONS has."""
        assert self.state in TRANSITIONS[state], f"{self.transactional_id}: {self.state.value} to {state.value}"
        self.state = state

    @property
    def logged_id(self) -> str:
        """The transactional id in a log line: a client chose it."""
        return self.transactional_id[:LOGGED_ID_LENGTH_MAX]

    @property
    def is_commit(self) -> bool:
        """Of the decision that was made."""
        assert self.state in PREPARED, f"{self.transactional_id}: no decision in {self.state.value}"
        return self.state is TransactionState.PREPARE_COMMIT

    @property
    def is_exhausted(self) -> bool:
        """Whether the next producer needs another id."""
        return self.epoch >= LAST_EPOCH
