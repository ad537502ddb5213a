"""The engine of the transaction coordinator: finds the cell of `table.py`, does it, and keeps what functions share.

Every function of the table gets the machine, a transaction and an event; what it wants done it adds to `effects`. Refusals of
the table are answered here, and nowhere else. Requests that wait are taken again when what they waited for has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.errors import ErrorCode
from headrace.limits import PARKED_REQUESTS_MAX, TRANSACTIONAL_IDS_MAX
from headrace.state_table import IGNORED, AnyCell, Row, Story, Transition, UnexpectedEvent
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, LogLine, SetTimer
from headrace.workers.coordinators.transaction.config import TransactionConfig
from headrace.workers.coordinators.transaction.events import Outcome, ParkTime
from headrace.workers.coordinators.transaction.records import key_of, value_of
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.coordinators.transaction.transaction import Entry, Transaction

PARK_MS: Final = 1_000  # how long a request waits for the one before, or for markers
PENDING_COLUMN: Final = len(TransactionState)  # of a row: while a record of this id is being appended


class TransactionMachine:
    """What the functions of the table share: one for each partition of `__transaction_state`.

    effects          of the event that is being handled, in order
    now_ms           its time, for deadlines: no date
    date_ms          its date, for what is stored
    transactions     by their id
    unreadable       ids whose last record could not be read: their state is not known
    is_loading       until the log was read
    is_refused       a batch of the log could not be read: which ids are in it is not known
    name             of the partition, `index` in its topic
    new_timer        draws the number of a timer, or of markers
    has_timers       whether a client may cause one more
    new_producer_id  draws a producer's id; None: none is at hand at the moment
    read_order       the order that a connection would get now
    is_known         whether a topic has a partition
    released         transactions whose parked requests are to be taken again
    story            the last transitions of its ids
    park_deadline_ms of a request that is taken again; 0: it has not waited yet
    """

    __slots__ = (
        "_rows", "config", "date_ms", "effects", "has_timers", "index", "is_known", "is_loading", "is_refused", "name", "new_producer_id",
        "new_timer", "now_ms", "park_deadline_ms", "read_order", "released", "story", "transactions", "unreadable",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        index: int,
        rows: Mapping[Any, Row],
        config: TransactionConfig,
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        new_producer_id: Callable[[], int | None],
        read_order: Callable[[], int],
        is_known: Callable[[str, int], bool],
    ) -> None:
        self.name = name
        self.index = index
        self._rows = rows
        self.config = config
        self.new_timer = new_timer
        self.has_timers = has_timers
        self.new_producer_id = new_producer_id
        self.read_order = read_order
        self.is_known = is_known
        self.effects: list[Any] = []
        self.now_ms = self.date_ms = 0
        self.transactions: dict[str, Transaction] = {}
        self.unreadable: set[str] = set()
        self.is_loading = True
        self.is_refused = False
        self.released: list[Transaction] = []
        self.park_deadline_ms = 0
        self.story = Story()

    # The engine

    def do(self, transaction: Transaction, event: Any) -> None:
        """An event meets a transaction: what the table says.

        raises   UnexpectedEvent
        """
        row = self._rows.get(type(event))
        if row is None:
            raise UnexpectedEvent(f"{type(event).__name__} has no row")
        column = transaction.state.column if transaction.pending is None else PENDING_COLUMN
        self.run(row[column], transaction, event)

    def run(self, cell: AnyCell, transaction: Transaction, event: Any) -> None:
        """Do one cell; every refusal of the table ends here."""
        if type(cell) is Transition:
            act, states = cell
            before = transaction.state
            act(self, transaction, event)
            after = transaction.state
            if after is not before:
                self.story.note(transaction.logged_id, before, type(event), after)
            assert after in states, (
                f"{transaction.logged_id}: {type(event).__name__} led to {after.value}; {self.story}"
            )
        elif cell is not IGNORED:
            if not isinstance(cell, ErrorCode):
                raise UnexpectedEvent(
                    f"{type(event).__name__} in {transaction.state.value}"
                    f" transactional_id={transaction.logged_id}; {self.story}"
                )
            self.refuse(event, cell)

    def refuse(self, event: Any, error: ErrorCode) -> None:
        """A request is answered with an error."""
        self.effects.append(Answer(event.ticket, Outcome(error)))

    # What functions want done

    def answer(self, ticket: Any, message: Any) -> None:
        self.effects.append(Answer(ticket, message))

    def append(self, transaction: Transaction, entry: Entry, what: Any) -> None:
        """Have an entry written; until its outcome comes, `what` is pending."""
        assert transaction.pending is None, f"{transaction.transactional_id}: two appends at once"
        transaction.pending, transaction.is_late = what, False
        self.effects.append(Append([(key_of(transaction.transactional_id), value_of(entry))], what))

    def append_tombstone(self, transaction: Transaction, what: Any) -> None:
        assert transaction.pending is None, f"{transaction.transactional_id}: two appends at once"
        transaction.pending, transaction.is_late = what, False
        self.effects.append(Append([(key_of(transaction.transactional_id), None)], what))

    def set_timer(self, deadline_ms: int, kind: Callable[..., Any], transaction: Transaction) -> int:
        """Have `kind(transaction, serial)` come at a time; returns the serial."""
        serial = self.new_timer()
        self.effects.append(SetTimer(serial, deadline_ms, kind(transaction, serial)))
        return serial

    def cancel_timer(self, serial: int) -> None:
        """0 is none."""
        if serial:
            self.effects.append(CancelTimer(serial))

    def info(self, text: str, *arguments: Any) -> None:
        self.effects.append(LogLine(logging.INFO, text, arguments))

    def warn(self, text: str, *arguments: Any) -> None:
        self.effects.append(LogLine(logging.WARNING, text, arguments))

    # Transactions

    @property
    def has_room(self) -> bool:
        """Whether a client may make one more id."""
        return len(self.transactions) < TRANSACTIONAL_IDS_MAX

    def park(self, transaction: Transaction, event: Any) -> None:
        """Let a request wait until what it met has ended, for PARK_MS at most."""
        if len(transaction.parked) >= PARKED_REQUESTS_MAX or not (transaction.park_timer or self.has_timers()):
            self.refuse(event, ErrorCode.CONCURRENT_TRANSACTIONS)
            return
        deadline_ms = self.park_deadline_ms or self.now_ms + PARK_MS
        transaction.parked.append((event, deadline_ms))
        if not transaction.park_timer:
            transaction.park_timer = self.set_timer(deadline_ms, ParkTime, transaction)

    def release(self, transaction: Transaction) -> None:
        """What the parked requests waited for may have ended: they are taken again at the end of this step."""
        if transaction.parked:
            self.released.append(transaction)
