"""The notation of every state machine's table: for each state and each event a transition, or why there is none.

    Transition   this is done, and afterwards the machine is in one of `states`
    IGNORED      what the event is about is over, or all is well: nothing is to be done
    NEVER        our mistake if it happens
    ErrorCode    a request that this state refuses, with its answer (coordinators alone)

A table is a literal with a row for each state, or for each event, and a cell for each of the others. `by_state` makes it what an
engine looks up, and refuses one that lacks a cell. The engine is the machine's own: it does what the cell says, checks the state
that it led to, and keeps a `Story`.

Used by: groups (`workers/coordinators/group/table.py`), connections to nodes (`runtime/peer_states.py`), partitions that follow
(`workers/partition/replication/follower_states.py`), replicas and partitions of the controller (`controller/active/leaders/`).
Models: h11's tables of triggers, Dask's transitions and their `story`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

from headrace.errors import ErrorCode, HeadraceError
from headrace.limits import STORY_TRANSITIONS_MAX


class UnexpectedEvent(HeadraceError):
    """An event that can't come in this state, or that has no row: a mistake of ours."""


class Transition(NamedTuple):
    """What is done.

    act      a function, or the name of one; None: only the state changes
    states   in one of which the machine is afterwards
    """

    act: Any
    states: tuple[Any, ...]


class Refusal(Enum):
    """Cells without a transition."""

    IGNORED = "ignored"
    NEVER = "never"

    __hash__ = object.__hash__


IGNORED: Final = Refusal.IGNORED
NEVER: Final = Refusal.NEVER

Step = Transition | Refusal
AnyCell = Step | ErrorCode
Row = tuple[AnyCell, ...]  # by the state's column

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


def to(act: Any, *states: Any) -> Transition:
    """A cell: do this, and be in one of these states."""
    return Transition(act, states)


def into(state: Any) -> Transition:
    """A cell that does nothing but change the state."""
    return Transition(None, (state,))


def by_state(
    states: type[State], events: type[Event], rows: Mapping[State, tuple[Step, ...]]
) -> dict[State, dict[Event, Step]]:
    """A table to look up by state, then by event, from rows by state with cells in the order of the events.

    raises   ValueError, where a state has no row or a row has not one cell for each event
    """
    if missing := [state.name for state in states if state not in rows]:
        raise ValueError(f"no row for {', '.join(missing)}")
    return {state: dict(zip(events, rows[state], strict=True)) for state in states}


class Story:
    """The last transitions of one machine, the oldest first: for whoever reads that one of them was wrong.

    A tuple that is made again at each transition: most machines make a few in their life, and there are thousands.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: tuple[tuple[Any, ...], ...] = ()

    def note(self, *what: Any) -> None:
        """A transition begins: the state, the event, and what else tells it from others."""
        self._kept = (*self._kept[1 - STORY_TRANSITIONS_MAX :], what)

    def __len__(self) -> int:
        return len(self._kept)

    def __str__(self) -> str:
        """`story: IDLE ASKED, RESOLVING RESOLVED`; the last one is the present one."""
        return "story: " + ", ".join(" ".join(map(_name_of, what)) for what in self._kept)


def _name_of(what: Any) -> str:
    if isinstance(what, Enum):
        return what.name
    return what.__name__ if isinstance(what, type) else str(what)
