"""The coordinator of the transactional ids in one partition of `__transaction_state`: events in, effects out.

    loading    the log is read into memory (`load`); requests are refused as `REQUESTS` says
    active     requests, timers, markers and outcomes of appends go to their id, by the rows of `table.py`
    unloaded   what waited was answered NOT_COORDINATOR; only outcomes of what was being appended come still

Pure. Theory in `transaction.py`, `ending.py`, `identity.py` and `connection_order.py`; table in `table.py`; engine
here and in `machine.py`. Source: Kafka `TransactionCoordinator`, `TransactionStateManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.record_batch import RecordBatchHeader
from headrace.state_table import UnexpectedEvent
from headrace.workers.coordinators.coordinator import (
    Appended,
    AppendFailed,
    AppendLate,
    Loaded,
    TopicsDeleted,
    Unloaded,
    Upkeep,
)
from headrace.workers.coordinators.transaction.config import TransactionConfig
from headrace.workers.coordinators.transaction.ending import client_error
from headrace.workers.coordinators.transaction.events import (
    ExpiryRecord,
    MarkersRefused,
    MarkersWritten,
    TransactionLoaded,
    TransactionUnloaded,
)
from headrace.workers.coordinators.transaction.expiry import Expiry
from headrace.workers.coordinators.transaction.gone_topics import GoneTopics, LookTime
from headrace.workers.coordinators.transaction.loader import TransactionLoader
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.parking import refuse_parked
from headrace.workers.coordinators.transaction.queries import describe_transaction, list_transactions
from headrace.workers.coordinators.transaction.state import PREPARED, TransactionState
from headrace.workers.coordinators.transaction.table import FAILED, REQUESTS, ROWS, STORED
from headrace.workers.coordinators.transaction.transaction import Transaction

_E = ErrorCode


def _is_nothing_known(_topic: str, _partition: int) -> bool:
    return False


class TransactionCoordinator:
    """Transactional ids of one partition.

    name             of the partition, `index` in its topic
    new_timer        draws the number of a timer, or of markers: never 0
    has_timers       whether a client may cause one more
    new_producer_id  draws a producer's id; None: none is at hand at the moment
    read_order       the order that a connection would get now
    is_known         whether a topic has a partition
    """

    def __init__(
        self,
        name: str,
        index: int,
        config: TransactionConfig,
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        new_producer_id: Callable[[], int | None],
        read_order: Callable[[], int],
        is_known: Callable[[str, int], bool] = _is_nothing_known,
    ) -> None:
        self._machine = TransactionMachine(
            name, index, ROWS, config, new_timer, has_timers, new_producer_id, read_order, is_known
        )
        self._gone = GoneTopics()
        self._expiry = Expiry()
        self._loader = TransactionLoader(name)
        self._by_type: dict[Any, Callable[[Any], None]] = {
            AppendLate: self._answer_late,
            Upkeep: self._upkeep,
            TopicsDeleted: self._forget_topics,
            LookTime: self._look_again,
            Loaded: self._finish_load,
            Unloaded: self._unload,
        }

    @property
    def is_loading(self) -> bool:
        return self._machine.is_loading

    @property
    def has_followed(self) -> bool:
        return not self._gone.names

    @property
    def transactions(self) -> dict[str, Transaction]:
        """By id; to be read only."""
        return self._machine.transactions

    # Loading

    def load(self, header: RecordBatchHeader, batch: memoryview) -> int:
        """The next batch of the log; returns what it cost, in bytes."""
        return self._loader.take(header, batch)

    def prepare(self, room: int) -> int:
        """Read some more of the values that count."""
        return self._loader.prepare(room)

    def report(self, fault: str) -> None:
        """Something of the log is left out: which ids it has is not known."""
        self._loader.is_whole = False
        self._loader.report(fault)

    def reload(self) -> None:
        """The log is read again from its start."""
        self._loader = TransactionLoader(self._machine.name)

    def snapshot(self) -> str:
        held = self._machine.transactions
        if not held:
            return ""
        counts = dict.fromkeys((TransactionState.ONGOING, *PREPARED), 0)
        for transaction in held.values():
            if transaction.state in counts:
                counts[transaction.state] += 1
        ongoing = counts[TransactionState.ONGOING]
        return f"transactional_ids={len(held)} ongoing={ongoing} prepared={sum(counts.values()) - ongoing}"

    # Events

    def step(self, event: Any, now_ms: int, date_ms: int) -> list[Any]:
        """The effects of an event, in order.

        now_ms    for deadlines: no date
        date_ms   for what is stored
        raises    UnexpectedEvent
        """
        machine = self._machine
        machine.now_ms, machine.date_ms = now_ms, date_ms
        effects: list[Any] = []
        machine.effects = effects
        self._do(event)
        while machine.released:
            self._take_parked(machine.released.pop(0))
        return effects

    def _do(self, event: Any) -> None:
        kind = type(event)
        if kind is Appended:
            self._settle(STORED, event)
        elif kind is AppendFailed:
            self._settle(FAILED, event)
        elif kind in REQUESTS:
            self._take_request(event)
        elif kind is MarkersWritten or kind is MarkersRefused:
            transaction = self._machine.transactions.get(event.transactional_id)
            if transaction is not None:
                self._machine.do(transaction, event)
        elif kind in ROWS:
            self._machine.do(event.transaction, event)
        elif kind in self._by_type:
            self._by_type[kind](event)
        else:
            raise UnexpectedEvent(f"{kind.__name__} is no event of transactions")

    def _take_request(self, event: Any) -> None:
        machine, row = self._machine, REQUESTS[type(event)]
        error = row.fault_of(machine, event) if row.fault_of is not None else _E.NONE
        if error is _E.NONE and machine.is_loading:
            error = row.loading
        if error is _E.NONE and (machine.is_refused or event.transactional_id in machine.unreadable):
            error = _E.COORDINATOR_NOT_AVAILABLE
        if error is not _E.NONE:
            machine.refuse(event, error)
            return
        transaction = machine.transactions.get(event.transactional_id)
        if transaction is None:
            if isinstance(row.absent, ErrorCode):
                machine.refuse(event, row.absent)
            else:
                row.absent(machine, None, event)
            return
        refusal = row.judge(transaction, event) if row.judge is not None else None
        if refusal is not None:
            machine.answer(event.ticket, refusal)
        else:
            machine.do(transaction, event)

    def _take_parked(self, transaction: Transaction) -> None:
        """Requests that waited meet what there is now; what still has to wait does so until its first deadline."""
        machine = self._machine
        parked = list(transaction.parked)
        transaction.parked.clear()
        for event, deadline_ms in parked:
            machine.park_deadline_ms = deadline_ms
            self._take_request(event)
        machine.park_deadline_ms = 0
        if not transaction.parked:
            machine.cancel_timer(transaction.park_timer)
            transaction.park_timer = 0

    def _settle(self, rows: dict[Any, Any], event: Appended | AppendFailed) -> None:
        """The outcome of an append. What waited is taken; after a failure it is refused, since it would fail as well."""
        machine, what = self._machine, event.what
        transaction: Transaction = what.transaction
        assert transaction.pending is what, f"{transaction.transactional_id}: an outcome of nothing that is pending"
        transaction.pending = None
        machine.run(rows[type(what)][transaction.state.column], transaction, event)
        transaction.is_late = False
        if type(what) is ExpiryRecord:
            self._expiry.settle(machine, isinstance(event, Appended))
        if isinstance(event, Appended):
            machine.release(transaction)
        else:
            error = client_error(event.error)
            refuse_parked(
                machine, transaction, _E.CONCURRENT_TRANSACTIONS if error is _E.UNKNOWN_SERVER_ERROR else error
            )

    def _answer_late(self, event: AppendLate) -> None:
        """A client has waited long enough. The record may be committed yet: until that is known, nothing else is written."""
        what = event.what
        transaction: Transaction = what.transaction
        request = getattr(what, "request", None)
        if request is not None and not transaction.is_late:
            self._machine.refuse(request, _E.COORDINATOR_NOT_AVAILABLE)
        transaction.is_late = True

    def _finish_load(self, _event: Loaded) -> None:
        """The log was read: transactions go on, requests are taken."""
        machine = self._machine
        machine.transactions, machine.unreadable = self._loader.finish()
        machine.is_refused = not self._loader.is_whole
        machine.is_loading = False
        if machine.is_refused:
            machine.warn(
                "transactions not coordinated partition=%s reason=the log is not readable in parts, see above",
                machine.name,
            )
            machine.transactions = {}
        for transaction in [] if machine.is_refused else self._loader.open:
            machine.do(transaction, TransactionLoaded(transaction))
        self._loader.open = []
        self._gone.start(machine)

    def _unload(self, _event: Unloaded) -> None:
        self._gone.unload(self._machine)
        self._expiry.unload()
        self._each(TransactionUnloaded)
        self._machine.transactions = {}

    def _each(self, event: Callable[[Transaction], Any]) -> None:
        for transaction in list(self._machine.transactions.values()):
            self._machine.do(transaction, event(transaction))

    def _upkeep(self, event: Upkeep) -> None:
        self._expiry.start(self._machine, event.expiry_ms)

    def _forget_topics(self, event: TopicsDeleted) -> None:
        self._gone.add(self._machine, event.names)

    def _look_again(self, event: LookTime) -> None:
        self._gone.look_again(self._machine, event)

    # Questions

    def describe(self, transactional_id: str) -> messages.DescribeTransactionsResponse.TransactionState:
        """A row of DescribeTransactions."""
        return describe_transaction(self._machine, transactional_id)

    def rows(
        self, states: Collection[str], producer_ids: Collection[int], duration_ms: int, date_ms: int
    ) -> tuple[ErrorCode, list[messages.ListTransactionsResponse.TransactionState]]:
        """(error, rows of ListTransactions)."""
        self._machine.date_ms = date_ms
        return list_transactions(self._machine, states, producer_ids, duration_ms)
