"""The states of a transaction; what they mean is in `transaction.py`.

A module of its own, since it is not compiled: members of an Enum that carry more than their value are nothing that mypyc
translates.
"""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    """The value is the name on the wire.

    code     of the state in the log
    column   of the state in `table.py`
    """

    code: int
    column: int

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"


for _code, _state in enumerate(TransactionState):
    _state.code = _state.column = _code

BY_CODE = {state.code: state for state in TransactionState}
EXPIRABLE = frozenset((TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT))
PREPARED = frozenset((TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT))
UNDER_WAY = frozenset((TransactionState.ONGOING, *PREPARED))
