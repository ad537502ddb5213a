"""The states of a connection to another node, as a table: what an event does in each, and where it may lead.

    IDLE -> RESOLVING -> CONNECTING -> GREETING -> READY    asked, its address known, connected, its versions known
    any of these but IDLE -> BACKING_OFF                    broken, or late
    BACKING_OFF -> IDLE, or RESOLVING                       its time is over; something waits by now
    any -> CLOSED                                           its owner closed it

GREETING is left out where no versions are asked for. One that nobody asks anything stays IDLE.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class PeerState(Enum):
    """Where a connection is.

    IDLE          not connected, nothing wants it
    RESOLVING     its name is looked up
    CONNECTING    the system connects
    GREETING      connected; its versions were asked for
    READY         requests are sent
    BACKING_OFF   it failed; what is asked waits
    CLOSED        by its owner, for good
    """

    IDLE = "idle"
    RESOLVING = "resolving"
    CONNECTING = "connecting"
    GREETING = "greeting"
    READY = "ready"
    BACKING_OFF = "backing off"
    CLOSED = "closed"

    __hash__ = object.__hash__  # an Enum's own is Python: of its name, for each look-up of the table


class PeerEvent(Enum):
    """What happens to a connection.

    ASKED       a request waits
    RESOLVED    its addresses are known
    CONNECTED   the system says so
    GREETED     its versions came
    BROKEN      the system says so, its bytes are invalid, or a request is late
    TIME        its own timer came up: the end of a back-off, or too late for being READY
    CLOSE       its owner wants it no more
    """

    ASKED = "asked"
    RESOLVED = "resolved"
    CONNECTED = "connected"
    GREETED = "greeted"
    BROKEN = "broken"
    TIME = "time"
    CLOSE = "close"

    __hash__ = object.__hash__


class Act(Enum):
    """What is done, by a method of `Peer`."""

    RESOLVE = "resolve"
    CONNECT = "connect"
    GREET = "greet"
    WELCOME = "welcome"
    TRANSMIT = "transmit"
    BACK_OFF = "back off"
    BE_LATE = "be late"
    RESUME = "resume"
    SHUT = "shut"

    __hash__ = object.__hash__


class Row(NamedTuple):
    """act, and the states that it may lead to."""

    act: Act
    states: frozenset[PeerState]


IGNORED: Final = None  # nothing is to be done
IMPOSSIBLE: Final = False  # a mistake of ours

_S: Final = PeerState
_E: Final = PeerEvent


def _row(act: Act, *states: PeerState) -> Row:
    return Row(act, frozenset(states))


_TRIED: Final = (
    _S.RESOLVING,
    _S.CONNECTING,
    _S.BACKING_OFF,
)  # at once, where its address is in figures or a connect fails
_resolve: Final = _row(Act.RESOLVE, *_TRIED)
_connect: Final = _row(Act.CONNECT, _S.CONNECTING, _S.BACKING_OFF)
_greet: Final = _row(Act.GREET, _S.GREETING, _S.READY, _S.BACKING_OFF)
_welcome: Final = _row(Act.WELCOME, _S.READY, _S.BACKING_OFF)
_transmit: Final = _row(Act.TRANSMIT, _S.READY, _S.BACKING_OFF)
_back_off: Final = _row(Act.BACK_OFF, _S.BACKING_OFF)
_be_late: Final = _row(Act.BE_LATE, _S.BACKING_OFF)
_resume: Final = _row(Act.RESUME, _S.IDLE, *_TRIED)
_shut: Final = _row(Act.SHUT, _S.CLOSED)
_none: Final[Row | bool | None] = IGNORED
_never: Final[Row | bool | None] = IMPOSSIBLE

TABLE: Final[dict[PeerState, dict[PeerEvent, Row | bool | None]]] = {
    state: dict(zip(PeerEvent, cells, strict=True))
    for state, cells in {
        #                ASKED      RESOLVED  CONNECTED  GREETED   BROKEN     TIME      CLOSE
        _S.IDLE:        (_resolve,  _never,   _never,    _never,   _never,    _never,   _shut),
        _S.RESOLVING:   (_none,     _connect, _never,    _never,   _back_off, _be_late, _shut),
        _S.CONNECTING:  (_none,     _never,   _greet,    _never,   _back_off, _be_late, _shut),
        _S.GREETING:    (_none,     _never,   _never,    _welcome, _back_off, _be_late, _shut),
        _S.READY:       (_transmit, _never,   _never,    _never,   _back_off, _never,   _shut),
        _S.BACKING_OFF: (_none,     _never,   _never,    _never,   _never,    _resume,  _shut),
        _S.CLOSED:      (_none,     _none,    _none,     _none,    _none,     _none,    _none),
    }.items()
}  # fmt: skip

assert TABLE.keys() == set(PeerState)
