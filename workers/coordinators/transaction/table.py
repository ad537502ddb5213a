"""What a transactional id does: for each event and each state the function that is called, or why none is.

A row has a cell for each state, and one for the time in which a record of the id is being appended, whatever its state. A
request's has two more: while the partition is loaded, and for an id that does not exist. A cell is `to(function, states that
may follow)`, an error that the request is refused with, IGNORED or NEVER (`headrace/state_table.py`).

    _TABLE, ROWS      all events but the outcomes of appends
    _STORED, STORED   what `Appended` does, by what was to be appended
    _FAILED, FAILED   the same for `AppendFailed`
    REQUESTS          rows of requests, with what may be wrong with one in any state

Pure. Source: Kafka `TransactionCoordinator`, `TransactionMetadata`. Forms: as `group_table.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.state_table import IGNORED, NEVER, AnyCell, Row, to
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.transaction.connection_order import fault_of_participant, fault_of_verification
from headrace.workers.coordinators.transaction.ending import (
    client_error,
    end,
    end_again,
    forget_topics,
    give_up_markers,
    leave_topics,
    refuse_decision,
    resume_markers,
    retry_complete,
    take_complete,
    take_decision,
    take_markers,
    take_removal,
    time_out,
    time_out_later,
    write_complete,
    write_complete_later,
)
from headrace.workers.coordinators.transaction.events import (
    AddPartitions,
    CompleteRecord,
    CompleteTime,
    DecisionRecord,
    EndTransaction,
    ExpiryRecord,
    IdChecked,
    IdentityRecord,
    InitProducer,
    MarkersRefused,
    MarkersWritten,
    Outcome,
    ParkTime,
    PartitionsRecord,
    RemovalRecord,
    TopicsGone,
    TransactionLoaded,
    TransactionTime,
    TransactionUnloaded,
    VerifyPartitions,
)
from headrace.workers.coordinators.transaction.expiry import expire, keep_expired, take_expiry, unload
from headrace.workers.coordinators.transaction.identity import (
    fault_of_init,
    init_at_rest,
    init_in_transaction,
    init_unknown_id,
    take_identity,
)
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.parking import end_wait, park
from headrace.workers.coordinators.transaction.participants import (
    add,
    begin,
    resume,
    resume_ended,
    take_partitions,
    verify,
    verify_pending,
)
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.coordinators.transaction.transaction import Transaction


class Place(Enum):
    """Where a request meets no state."""

    LOADING = "loading"
    ABSENT = "absent"
    PENDING = "pending"


Loading, Absent, Pending = Place
E, O, PC, PA, CC, CA, D = TransactionState  # noqa: E741  # names of columns

_N = ErrorCode
NOT_YET, NO_ID = _N.COORDINATOR_LOAD_IN_PROGRESS, _N.INVALID_PRODUCER_ID_MAPPING


def refuse_request(machine: TransactionMachine, _transaction: Transaction, event: AppendFailed) -> None:
    """What a client wanted could not be written."""
    if not _transaction.is_late:
        machine.refuse(event.what.request, client_error(event.error))


def refuse_first(machine: TransactionMachine, transaction: Transaction, event: AppendFailed) -> None:
    """The same of an InitProducerId; an id that never was in the log is not there."""
    if transaction.producer_id < 0:
        transaction.enter(D)
        del machine.transactions[transaction.transactional_id]
    refuse_request(machine, transaction, event)


def answer_unloaded(machine: TransactionMachine, transaction: Transaction, event: Appended | AppendFailed) -> None:
    """Another coordinator has the id by now, and knows whether the record is in the log."""
    request = event.what.request
    if request is not None and not transaction.is_late:
        machine.answer(request.ticket, Outcome(_N.NOT_COORDINATOR))


_TABLE: dict[Any, dict[Any, Any]] = {
    # Requests
    InitProducer: {
        Loading: NOT_YET,
        Absent: init_unknown_id,
        Pending: to(park, E, O, PC, PA, CC, CA),
        E: to(init_at_rest, E),
        O: to(init_in_transaction, O),
        PC: to(park, PC),
        PA: to(park, PA),
        CC: to(init_at_rest, CC),
        CA: to(init_at_rest, CA),
        D: NEVER,
    },
    AddPartitions: {
        Loading: NOT_YET,
        Absent: NO_ID,
        Pending: to(park, E, O, PC, PA, CC, CA),
        E: to(begin, E),
        O: to(add, O),
        PC: to(park, PC),
        PA: to(park, PA),
        CC: to(begin, CC),
        CA: to(begin, CA),
        D: NEVER,
    },
    VerifyPartitions: {
        Loading: NOT_YET,
        Absent: NO_ID,
        Pending: to(verify_pending, E, O, PC, PA, CC, CA),
        E: to(verify, E),
        O: to(verify, O),
        PC: _N.CONCURRENT_TRANSACTIONS,
        PA: _N.CONCURRENT_TRANSACTIONS,
        CC: to(verify, CC),
        CA: to(verify, CA),
        D: NEVER,
    },
    EndTransaction: {
        Loading: NOT_YET,
        Absent: NO_ID,
        Pending: to(park, E, O, PC, PA, CC, CA),
        E: _N.INVALID_TXN_STATE,
        O: to(end, O),
        PC: to(end_again, PC),
        PA: to(end_again, PA),
        CC: to(end_again, CC),
        CA: to(end_again, CA),
        D: NEVER,
    },
    # Timers
    TransactionTime: {
        Pending: to(time_out_later, E, O, PC, PA, CC, CA),
        E: IGNORED,
        O: to(time_out, O),
        PC: IGNORED,
        PA: IGNORED,
        CC: IGNORED,
        CA: IGNORED,
        D: IGNORED,
    },
    ParkTime: {
        Pending: to(end_wait, E, O, PC, PA, CC, CA),
        E: to(end_wait, E),
        O: to(end_wait, O),
        PC: to(end_wait, PC),
        PA: to(end_wait, PA),
        CC: to(end_wait, CC),
        CA: to(end_wait, CA),
        D: IGNORED,
    },
    CompleteTime: {
        Pending: to(write_complete_later, E, O, PC, PA, CC, CA),
        E: IGNORED,
        O: IGNORED,
        PC: IGNORED,
        PA: IGNORED,
        CC: to(write_complete, CC),
        CA: to(write_complete, CA),
        D: IGNORED,
    },
    # Markers
    MarkersWritten: {
        Pending: to(take_markers, E, O, PC, PA, CC, CA),
        E: IGNORED,
        O: IGNORED,
        PC: to(take_markers, PC, CC),
        PA: to(take_markers, PA, CA),
        CC: IGNORED,
        CA: IGNORED,
        D: IGNORED,
    },
    MarkersRefused: {
        Pending: to(give_up_markers, E, O, PC, PA, CC, CA),
        E: IGNORED,
        O: IGNORED,
        PC: to(give_up_markers, PC),
        PA: to(give_up_markers, PA),
        CC: IGNORED,
        CA: IGNORED,
        D: IGNORED,
    },
    # Of the node
    TransactionLoaded: {
        Pending: NEVER,
        E: IGNORED,
        O: to(resume, O),
        PC: to(resume_markers, PC, CC),
        PA: to(resume_markers, PA, CA),
        CC: to(resume_ended, CC),
        CA: to(resume_ended, CA),
        D: NEVER,
    },
    TransactionUnloaded: {
        Pending: to(unload, D),
        E: to(unload, D),
        O: to(unload, D),
        PC: to(unload, D),
        PA: to(unload, D),
        CC: to(unload, D),
        CA: to(unload, D),
        D: IGNORED,
    },
    IdChecked: {
        Pending: IGNORED,
        E: to(expire, E),
        O: IGNORED,
        PC: IGNORED,
        PA: IGNORED,
        CC: to(expire, CC),
        CA: to(expire, CA),
        D: IGNORED,
    },
    TopicsGone: {
        Pending: IGNORED,
        E: IGNORED,
        O: to(leave_topics, O),
        PC: to(forget_topics, PC, CC),
        PA: to(forget_topics, PA, CA),
        CC: IGNORED,
        CA: IGNORED,
        D: IGNORED,
    },
}

_STORED: dict[Any, dict[Any, AnyCell]] = {
    IdentityRecord: {
        E: to(take_identity, E),
        O: NEVER,
        PC: NEVER,
        PA: NEVER,
        CC: to(take_identity, E),
        CA: to(take_identity, E),
        D: to(answer_unloaded, D),
    },
    PartitionsRecord: {
        E: to(take_partitions, O),
        O: to(take_partitions, O),
        PC: NEVER,
        PA: NEVER,
        CC: to(take_partitions, O),
        CA: to(take_partitions, O),
        D: to(answer_unloaded, D),
    },
    DecisionRecord: {
        E: NEVER,
        O: to(take_decision, PC, PA, CC, CA),
        PC: NEVER,
        PA: NEVER,
        CC: NEVER,
        CA: NEVER,
        D: to(answer_unloaded, D),
    },
    CompleteRecord: {
        E: NEVER,
        O: NEVER,
        PC: NEVER,
        PA: NEVER,
        CC: to(take_complete, CC),
        CA: to(take_complete, CA),
        D: IGNORED,
    },
    RemovalRecord: {
        E: NEVER,
        O: to(take_removal, O),
        PC: to(take_removal, PC),
        PA: to(take_removal, PA),
        CC: IGNORED,
        CA: IGNORED,
        D: IGNORED,
    },
    ExpiryRecord: {
        E: to(take_expiry, D),
        O: NEVER,
        PC: NEVER,
        PA: NEVER,
        CC: to(take_expiry, D),
        CA: to(take_expiry, D),
        D: IGNORED,
    },
}

_FAILED: dict[Any, dict[Any, AnyCell]] = {
    IdentityRecord: {
        E: to(refuse_first, E, D),
        O: NEVER,
        PC: NEVER,
        PA: NEVER,
        CC: to(refuse_request, CC),
        CA: to(refuse_request, CA),
        D: to(answer_unloaded, D),
    },
    PartitionsRecord: {
        E: to(refuse_request, E),
        O: to(refuse_request, O),
        PC: NEVER,
        PA: NEVER,
        CC: to(refuse_request, CC),
        CA: to(refuse_request, CA),
        D: to(answer_unloaded, D),
    },
    DecisionRecord: {
        E: NEVER,
        O: to(refuse_decision, O),
        PC: NEVER,
        PA: NEVER,
        CC: NEVER,
        CA: NEVER,
        D: to(answer_unloaded, D),
    },
    CompleteRecord: {
        E: NEVER,
        O: NEVER,
        PC: NEVER,
        PA: NEVER,
        CC: to(retry_complete, CC),
        CA: to(retry_complete, CA),
        D: IGNORED,
    },
    RemovalRecord: {
        E: NEVER,
        O: IGNORED,
        PC: IGNORED,
        PA: IGNORED,
        CC: IGNORED,
        CA: IGNORED,
        D: IGNORED,
    },
    ExpiryRecord: {
        E: to(keep_expired, E),
        O: NEVER,
        PC: NEVER,
        PA: NEVER,
        CC: to(keep_expired, CC),
        CA: to(keep_expired, CA),
        D: IGNORED,
    },
}


class RequestRow(NamedTuple):
    """A request's cells.

    fault_of   what is wrong with it whatever it meets, before the id is looked for; None: nothing can be
    judge      what is wrong with it at its transaction: the producer's id and epoch, the order of its connection; None: its
               functions look at that
    loading    while the partition is loaded
    absent     where there is no such id; a function gets None for the transaction
    cells      by the state of its transaction, and while a record is being appended
    """

    fault_of: Callable[[TransactionMachine, Any], ErrorCode] | None
    judge: Callable[[Transaction, Any], Outcome | None] | None
    loading: ErrorCode
    absent: Callable[[TransactionMachine, None, Any], None] | ErrorCode
    cells: Row


def _fault_of_id(_machine: TransactionMachine, event: Any) -> ErrorCode:
    return _N.NONE if event.transactional_id else _N.INVALID_REQUEST


def _row(cells: dict[Any, AnyCell]) -> Row:
    """By the state's column, then what is being appended; KeyError where one has no cell."""
    return (*(cells[state] for state in TransactionState), cells[Pending])


def _outcomes(cells: dict[Any, AnyCell]) -> Row:
    return tuple(cells[state] for state in TransactionState)


_FAULTS: dict[Any, Callable[[TransactionMachine, Any], ErrorCode]] = {InitProducer: fault_of_init}
_JUDGES: dict[Any, Callable[[Transaction, Any], Outcome | None]] = {
    AddPartitions: fault_of_participant,
    EndTransaction: fault_of_participant,
    VerifyPartitions: fault_of_verification,
}

ROWS: dict[Any, Row] = {event: _row(cells) for event, cells in _TABLE.items()}
STORED: dict[Any, Row] = {what: _outcomes(cells) for what, cells in _STORED.items()}
FAILED: dict[Any, Row] = {what: _outcomes(cells) for what, cells in _FAILED.items()}
REQUESTS: dict[Any, RequestRow] = {
    event: RequestRow(_FAULTS.get(event, _fault_of_id), _JUDGES.get(event), cells[Loading], cells[Absent], ROWS[event])
    for event, cells in _TABLE.items()
    if Loading in cells
}
