"""The cells of a state machine's table, and what is done with one.

    Cell        this function is called; afterwards the machine is in one of `states`
    ErrorCode   a request that this state refuses, with its answer
    IGNORED     what the event is about is over, or all is well: nothing is to be done
    NEVER       our mistake if it happens: UnexpectedEvent

A table has a row for each event and a cell for each state; a test holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from headrace.errors import ErrorCode, HeadraceError


class UnexpectedEvent(HeadraceError):
    """An event that can't come in this state, or that has no row: a mistake of ours. The partition is loaded again."""


class Cell(NamedTuple):
    """What is done.

    act      called with (machine, what has the state, event)
    states   in one of which it is afterwards
    """

    act: Callable[[Any, Any, Any], None]
    states: tuple[Enum, ...]


class Mark(Enum):
    """Cells without a function."""

    IGNORED = "ignored"
    NEVER = "never"


IGNORED, NEVER = Mark.IGNORED, Mark.NEVER

AnyCell = Cell | ErrorCode | Mark
Row = tuple[AnyCell, ...]  # by the state's column


def to(act: Callable[[Any, Any, Any], None], *states: Enum) -> Cell:
    """A cell: do this, and be in one of these states."""
    return Cell(act, states)
