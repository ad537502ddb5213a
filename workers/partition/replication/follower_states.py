"""The states of a partition that follows another node's leader, as a table: what an event makes of each.

    TRUNCATING      its leader is asked where its latest epoch ended, before the first fetch; a log without epochs is cut to its
                    high watermark. Where a fetch tells of a diverging epoch (IBP 2.7 and later), only for such a log
    FETCHING        it is in the fetch session
    RESETTING       its log's end is not in the leader's log: the leader is asked where that begins and ends
    WAITING         out of the session until its back-off is over
    WAITING_TO_CUT  the same, while it was TRUNCATING
    FAILED          left alone until its role is another, or its log is

A state belongs to one leader epoch: another epoch is another beginning.

Pure. Source: Kafka `AbstractFetcherThread`, `PartitionFetchState`; KIP-101, KIP-279, KIP-595 for diverging epochs.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from headrace.state_table import NEVER, by_state, into


class FollowerState(Enum):
    """Where a partition is."""

    TRUNCATING = "truncating"
    FETCHING = "fetching"
    RESETTING = "resetting"
    WAITING = "waiting"
    WAITING_TO_CUT = "waiting to cut"
    FAILED = "failed"


class FollowerEvent(Enum):
    """What happens to it.

    CUT           its log was cut to where it agrees with the leader's
    CUT_FURTHER   it was cut to where a smaller epoch of its own ended: the leader is asked again
    OUT_OF_RANGE  the leader does not have the offset
    RESET         the leader's ends are known, and the log follows from them
    REFUSED       an error that passes
    TIME          the back-off is over
    GIVEN_UP      an error that does not pass by itself
    """

    CUT = "cut"
    CUT_FURTHER = "cut further"
    OUT_OF_RANGE = "out of range"
    RESET = "reset"
    REFUSED = "refused"
    TIME = "time"
    GIVEN_UP = "given up"


_S: Final = FollowerState
_T, _F, _R, _W, _V, _X = map(into, FollowerState)

TABLE: Final = by_state(
    FollowerState,
    FollowerEvent,
    {
        #                    CUT    CUT_FURTHER  OUT_OF_RANGE  RESET  REFUSED  TIME   GIVEN_UP
        _S.TRUNCATING:      (_F,    _T,          NEVER,        NEVER, _V,      NEVER, _X),
        _S.FETCHING:        (_F,    _F,          _R,           NEVER, _W,      NEVER, _X),
        _S.RESETTING:       (NEVER, NEVER,       NEVER,        _F,    _W,      NEVER, _X),
        _S.WAITING:         (NEVER, NEVER,       NEVER,        NEVER, NEVER,   _F,    _X),
        _S.WAITING_TO_CUT:  (NEVER, NEVER,       NEVER,        NEVER, NEVER,   _T,    _X),
        _S.FAILED:          (NEVER, NEVER,       NEVER,        NEVER, NEVER,   NEVER, NEVER),
    },
)  # fmt: skip


def first_state(truncates_on_fetch: bool, latest_epoch: int) -> FollowerState:
    """Where a partition begins under a leader epoch.

    latest_epoch   of its log, -1: none is known
    """
    return _S.FETCHING if truncates_on_fetch and latest_epoch >= 0 else _S.TRUNCATING
