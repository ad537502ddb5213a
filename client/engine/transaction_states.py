"""The states of a transactional producer, and what its calls and answers do in each.

    UNINITIALIZED     INIT: INITIALIZING; IDENTIFIED: READY
    READY             BEGIN: IN_TRANSACTION
    IN_TRANSACTION    COMMIT: COMMITTING; ABORT: ABORTING; ENDED: READY
    ABORTABLE_ERROR   after ABORTABLE in IN_TRANSACTION or COMMITTING; ABORT: ABORTING
    FATAL_ERROR       after FATAL in any of them, for good

Calls of the program are INIT, BEGIN, SEND (of records and of offsets), COMMIT and ABORT. One that was not done in time is made again,
and waits on. Acts are names of methods of `Transactions`: `misuse` and `refuse` raise.

Source: Kafka `TransactionManager.State`, KIP-98, KIP-360.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from headrace.state_table import IGNORED, NEVER, Step, Transition, by_state, into, to


class State(Enum):
    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    READY = "ready"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "has to abort"
    FATAL_ERROR = "ended"

    __hash__ = object.__hash__


class Event(Enum):
    INIT = "init_transactions"
    BEGIN = "begin_transaction"
    SEND = "send"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"
    IDENTIFIED = "a producer id and epoch were given"
    UNREACHED = "no coordinator gave one"
    ENDED = "the transaction has ended"
    ABORTABLE = "an error that an abort cures"
    FATAL = "an error that nothing cures"

    __hash__ = object.__hash__


class Act(Enum):
    MISUSE = "misuse"  # the program's mistake: nothing changes
    REFUSE = "refuse"  # the failure is raised that led here
    START = "start"
    WAIT_ON = "wait_on"  # for the same, which was not done in time before


_UNINITIALIZED, _INITIALIZING, _READY, _OPEN = (
    State.UNINITIALIZED,
    State.INITIALIZING,
    State.READY,
    State.IN_TRANSACTION,
)
_COMMITTING, _ABORTING, _ABORTABLE, _FATAL = State.COMMITTING, State.ABORTING, State.ABORTABLE_ERROR, State.FATAL_ERROR


def _misuse(state: State) -> Transition:
    return to(Act.MISUSE, state)


def _refuse(state: State) -> Transition:
    return to(Act.REFUSE, state)


# fmt: off
_ROWS: Final[dict[State, tuple[Step, ...]]] = {
    # INIT, BEGIN, SEND, COMMIT, ABORT; IDENTIFIED, UNREACHED, ENDED, ABORTABLE, FATAL
    _UNINITIALIZED: (
        to(Act.START, _INITIALIZING), _misuse(_UNINITIALIZED), _misuse(_UNINITIALIZED), _misuse(_UNINITIALIZED), _misuse(_UNINITIALIZED),
        NEVER, NEVER, NEVER, NEVER, NEVER,
    ),
    _INITIALIZING: (
        to(Act.WAIT_ON, _INITIALIZING), _misuse(_INITIALIZING), _misuse(_INITIALIZING), _misuse(_INITIALIZING), _misuse(_INITIALIZING),
        into(_READY), into(_UNINITIALIZED), NEVER, NEVER, into(_FATAL),
    ),
    _READY: (
        _misuse(_READY), into(_OPEN), _misuse(_READY), _misuse(_READY), _misuse(_READY),
        NEVER, NEVER, NEVER, IGNORED, into(_FATAL),
    ),
    _OPEN: (
        _misuse(_OPEN), _misuse(_OPEN), into(_OPEN), to(Act.START, _COMMITTING), to(Act.START, _ABORTING),
        into(_OPEN), NEVER, NEVER, into(_ABORTABLE), into(_FATAL),
    ),
    _COMMITTING: (
        _misuse(_COMMITTING), _misuse(_COMMITTING), _misuse(_COMMITTING), to(Act.WAIT_ON, _COMMITTING), _misuse(_COMMITTING),
        into(_COMMITTING), NEVER, into(_READY), into(_ABORTABLE), into(_FATAL),
    ),
    _ABORTING: (
        _misuse(_ABORTING), _misuse(_ABORTING), _misuse(_ABORTING), _misuse(_ABORTING), to(Act.WAIT_ON, _ABORTING),
        into(_ABORTING), NEVER, into(_READY), IGNORED, into(_FATAL),
    ),
    _ABORTABLE: (
        _refuse(_ABORTABLE), _refuse(_ABORTABLE), _refuse(_ABORTABLE), _refuse(_ABORTABLE), to(Act.START, _ABORTING),
        into(_ABORTABLE), NEVER, NEVER, IGNORED, into(_FATAL),
    ),
    _FATAL: (
        _refuse(_FATAL), _refuse(_FATAL), _refuse(_FATAL), _refuse(_FATAL), _refuse(_FATAL),
        IGNORED, IGNORED, IGNORED, IGNORED, IGNORED,
    ),
}
# fmt: on

TABLE: Final = by_state(State, Event, _ROWS)
OPEN: Final = frozenset({State.IN_TRANSACTION, State.COMMITTING})  # what was sent is to be stored
