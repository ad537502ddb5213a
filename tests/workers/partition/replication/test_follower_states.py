"""Every cell of a follower's table: one state that follows, or a mistake of ours."""

import pytest

from headrace.state_table import NEVER, into
from headrace.workers.partition.replication.follower_states import (
    TABLE,
    FollowerEvent,
    FollowerState,
    first_state,
)

S, E = FollowerState, FollowerEvent

# Where each event leads; what is not here can't happen
LEADS = {
    (S.TRUNCATING, E.CUT): S.FETCHING,
    (S.TRUNCATING, E.CUT_FURTHER): S.TRUNCATING,
    (S.TRUNCATING, E.REFUSED): S.WAITING_TO_CUT,
    (S.FETCHING, E.CUT): S.FETCHING,
    (S.FETCHING, E.CUT_FURTHER): S.FETCHING,
    (S.FETCHING, E.OUT_OF_RANGE): S.RESETTING,
    (S.FETCHING, E.REFUSED): S.WAITING,
    (S.RESETTING, E.RESET): S.FETCHING,
    (S.RESETTING, E.REFUSED): S.WAITING,
    (S.WAITING, E.TIME): S.FETCHING,
    (S.WAITING_TO_CUT, E.TIME): S.TRUNCATING,
    **{(state, E.GIVEN_UP): S.FAILED for state in S if state is not S.FAILED},
}


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("event", E)
def test_a_cell(state, event):
    leads = LEADS.get((state, event))
    assert TABLE[state][event] == (NEVER if leads is None else into(leads))


@pytest.mark.parametrize(
    ("truncates_on_fetch", "latest_epoch", "state"),
    [
        (True, 3, S.FETCHING),
        (True, 0, S.FETCHING),
        (True, -1, S.TRUNCATING),
        (False, 3, S.TRUNCATING),
        (False, -1, S.TRUNCATING),
    ],
)
def test_only_a_fetch_that_tells_of_divergence_may_come_first(truncates_on_fetch, latest_epoch, state):
    assert first_state(truncates_on_fetch, latest_epoch) is state
