"""Every state of a transactional producer against every event: one transition, or one refusal."""

import pytest

from headrace.client.engine.transaction_states import TABLE, Act, Event, State
from headrace.client.engine.transactions import Transactions
from headrace.client.failures import TransactionAbortable
from headrace.errors import ErrorCode, KafkaError
from headrace.state_table import IGNORED, NEVER, UnexpectedEvent
from tests.support.model_clients import ModelTransactionalProducer
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

CALLS = ("init", "begin", "check_send", "commit", "abort")
# misuse, refuse, or the state that follows; of calls in the order above
EXPECTED = {
    State.UNINITIALIZED: ("INITIALIZING", "misuse", "misuse", "misuse", "misuse"),
    State.INITIALIZING: ("INITIALIZING", "misuse", "misuse", "misuse", "misuse"),
    State.READY: ("misuse", "IN_TRANSACTION", "misuse", "misuse", "misuse"),
    State.IN_TRANSACTION: ("misuse", "misuse", "IN_TRANSACTION", "COMMITTING", "ABORTING"),
    State.COMMITTING: ("misuse", "misuse", "misuse", "COMMITTING", "misuse"),
    State.ABORTING: ("misuse", "misuse", "misuse", "misuse", "ABORTING"),
    State.ABORTABLE_ERROR: ("refuse", "refuse", "refuse", "refuse", "ABORTING"),
    State.FATAL_ERROR: ("refuse", "refuse", "refuse", "refuse", "refuse"),
}
# by state; of IDENTIFIED, UNREACHED, ENDED, ABORTABLE, FATAL
ANSWERS = {
    State.UNINITIALIZED: ("never", "never", "never", "never", "never"),
    State.INITIALIZING: ("READY", "UNINITIALIZED", "never", "never", "FATAL_ERROR"),
    State.READY: ("never", "never", "never", "ignored", "FATAL_ERROR"),
    State.IN_TRANSACTION: ("IN_TRANSACTION", "never", "never", "ABORTABLE_ERROR", "FATAL_ERROR"),
    State.COMMITTING: ("COMMITTING", "never", "READY", "ABORTABLE_ERROR", "FATAL_ERROR"),
    State.ABORTING: ("ABORTING", "never", "READY", "ignored", "FATAL_ERROR"),
    State.ABORTABLE_ERROR: ("ABORTABLE_ERROR", "never", "never", "ignored", "FATAL_ERROR"),
    State.FATAL_ERROR: ("ignored", "ignored", "ignored", "ignored", "ignored"),
}


def transactions_in(state) -> Transactions:
    """Of a client that reaches nobody: a call starts, and waits."""
    producer = ModelTransactionalProducer(Network(ModelCluster(1)))
    made = producer.transactions
    made.state = state
    made.failure = TransactionAbortable(ErrorCode.INVALID_TXN_STATE, "as it was")
    return made


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("call", CALLS)
def test_each_call_in_each_state(state, call):
    made = transactions_in(state)
    expected = EXPECTED[state][CALLS.index(call)]
    if expected == "misuse":
        with pytest.raises(KafkaError) as raised:
            getattr(made, call)()
        assert raised.value.code is ErrorCode.INVALID_TXN_STATE
        assert state.value in str(raised.value)
        assert made.state is state
    elif expected == "refuse":
        with pytest.raises(TransactionAbortable, match="as it was"):
            getattr(made, call)()
        assert made.state is state
    else:
        made._batches.drained = lambda: iter(())  # nothing is buffered
        made._has_begun = True  # so that an end waits for a coordinator
        getattr(made, call)()
        assert made.state is State[expected]


@pytest.mark.parametrize("state", State)
def test_each_answer_in_each_state(state):
    for event, expected in zip(
        (Event.IDENTIFIED, Event.UNREACHED, Event.ENDED, Event.ABORTABLE, Event.FATAL), ANSWERS[state], strict=True
    ):
        made = transactions_in(state)
        if expected == "never":
            with pytest.raises(UnexpectedEvent):
                made._happens(event)
        else:
            made._happens(event)
        assert made.state is (state if expected in ("never", "ignored") else State[expected])


def test_each_cell_leads_to_one_state():
    for state, row in TABLE.items():
        for step in row.values():
            if step in (IGNORED, NEVER):
                continue
            assert len(step.states) == 1
            if step.act in (Act.MISUSE, Act.REFUSE):
                assert step.states == (state,)
