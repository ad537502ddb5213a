"""The states of a group; what they mean is in `group.py`.

A module of its own, since it is not compiled: members of an Enum that carry more than their value are nothing that mypyc translates.
"""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """The value is the name on the wire.

    column   of the state in `table.py`
    """

    column: int

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


for _column, _state in enumerate(GroupState):
    _state.column = _column
