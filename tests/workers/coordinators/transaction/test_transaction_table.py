"""The table of transactions: every cell is there, and what a cell says is what the states allow."""

import pytest

from headrace.errors import ErrorCode
from headrace.ids import ANY_ORDER
from headrace.state_table import Refusal, Transition, UnexpectedEvent
from headrace.workers.coordinators.transaction import events as transaction_events
from headrace.workers.coordinators.transaction.machine import PENDING_COLUMN
from headrace.workers.coordinators.transaction.state import BY_CODE, EXPIRABLE, TransactionState
from headrace.workers.coordinators.transaction.table import FAILED, REQUESTS, ROWS, STORED
from headrace.workers.coordinators.transaction.transaction import TRANSITIONS
from tests.workers.coordinators.transaction.transaction_desk import Desk

CELLS = [
    pytest.param(state, row[state.column], id=f"{prefix}{kind.__name__}-{state.value}")
    for prefix, rows in {"": ROWS, "stored ": STORED, "failed ": FAILED}.items()
    for kind, row in rows.items()
    for state in TransactionState
]
PENDING = [pytest.param(row[PENDING_COLUMN], id=kind.__name__) for kind, row in ROWS.items()]
APPENDS = {name for name in vars(transaction_events) if name.endswith("Record")}
ANSWERS = {"Outcome", "Identity", "Verified"}


def reachable(state):
    found = {state}
    while further := {to for to, sources in TRANSITIONS.items() if sources & found} - found:
        found |= further
    return found


@pytest.mark.parametrize(("state", "cell"), CELLS)
def test_each_pair_is_a_function_or_a_declared_refusal(state, cell):
    assert isinstance(cell, Transition | ErrorCode | Refusal)
    if isinstance(cell, Transition):
        assert callable(cell.act)
        assert cell.states
        assert len(set(cell.states)) == len(cell.states)
        assert set(cell.states) <= reachable(state), "by steps of TRANSITIONS"


@pytest.mark.parametrize("cell", PENDING)
def test_while_a_record_is_appended_any_state_may_be_met(cell):
    assert isinstance(cell, Transition | Refusal)
    if isinstance(cell, Transition):
        assert set(cell.states) in ({TransactionState.DEAD}, set(TransactionState) - {TransactionState.DEAD})


def test_each_event_has_a_row():
    defined = {
        name
        for name, thing in vars(transaction_events).items()
        if isinstance(thing, type) and thing.__module__ == transaction_events.__name__
    }
    rows = {kind.__name__ for kind in ROWS}
    assert rows == defined - APPENDS - ANSWERS
    assert {kind.__name__ for kind in STORED} == {kind.__name__ for kind in FAILED} == APPENDS


def test_requests_say_what_they_get_without_a_transaction():
    assert {kind.__name__ for kind in REQUESTS} == {
        "AddPartitions",
        "EndTransaction",
        "InitProducer",
        "VerifyPartitions",
    }
    for row in REQUESTS.values():
        assert row.loading is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_states_have_the_numbers_of_kafka():
    """Source: Kafka `TransactionState`."""
    assert {code: state.value for code, state in BY_CODE.items()} == {
        0: "Empty",
        1: "Ongoing",
        2: "PrepareCommit",
        3: "PrepareAbort",
        4: "CompleteCommit",
        5: "CompleteAbort",
        6: "Dead",
    }
    assert {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT} == EXPIRABLE


def test_what_is_no_event_of_transactions_is_our_mistake():
    with pytest.raises(UnexpectedEvent, match="object is no event"):
        Desk().step(object())


def test_requests_of_connections_without_a_judged_order_pass():
    desk = Desk()
    desk.init(order=ANY_ORDER)
    desk.add(("t", 0), order=ANY_ORDER)
    assert not desk.transaction.order, "it is judged, and not kept"
