"""Every (state, event) cell of the group state machine: what is answered, what state follows."""

import pytest

from headrace.errors import ErrorCode
from headrace.workers.coordinators.group.group import TRANSITIONS, Group
from headrace.workers.coordinators.group.state import GroupState
from tests.workers.coordinators.group.group_fixtures import DELAY_MS, REBALANCE_MS, SESSION_MS, Desk, subscription

STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
WAITS = None  # no answer yet

CHANGED = {"range": subscription("t", "t2")}


def events():
    """name -> function of (desk, ids), which returns a ticket, an error name, or nothing to look at"""
    found = {}

    def event(function):
        found[function.__name__] = function
        return function

    @event
    def unknown_joins_before_v4(desk, ids):
        return desk.join(version=3)

    @event
    def unknown_joins(desk, ids):
        return desk.join()

    @event
    def static_member_joins(desk, ids):
        return desk.join(instance="i9")

    @event
    def follower_joins_again(desk, ids):
        return desk.join(ids[1])

    @event
    def follower_joins_with_other_metadata(desk, ids):
        return desk.join(ids[1], protocols=CHANGED)

    @event
    def leader_joins_again(desk, ids):
        return desk.join(ids[0])

    @event
    def stranger_joins_with_an_id(desk, ids):
        return desk.join("nobody")

    @event
    def newcomer_speaks_another_protocol(desk, ids):
        return desk.join(version=3, protocols={"sticky": b""})

    @event
    def newcomer_is_of_another_type(desk, ids):
        return desk.join(version=3, protocol_type="connect")

    @event
    def newcomer_names_no_protocol(desk, ids):
        return desk.join(version=3, protocols={})

    @event
    def follower_syncs(desk, ids):
        return desk.sync(ids[1])

    @event
    def leader_syncs(desk, ids):
        return desk.sync(ids[0], assignments={ids[0]: b"a", ids[1]: b"b"})

    @event
    def old_generation_syncs(desk, ids):
        return desk.sync(ids[1], generation=0)

    @event
    def stranger_syncs(desk, ids):
        return desk.sync("nobody")

    @event
    def sync_of_another_protocol(desk, ids):
        return desk.sync(ids[1], version=5, protocol_type="consumer", protocol_name="sticky")

    @event
    def heartbeat(desk, ids):
        return desk.heartbeat(ids[1])

    @event
    def old_generation_beats(desk, ids):
        return desk.heartbeat(ids[1], generation=0)

    @event
    def stranger_beats(desk, ids):
        return desk.heartbeat("nobody")

    @event
    def follower_leaves(desk, ids):
        return desk.leave(ids[1], version=2)

    @event
    def stranger_leaves(desk, ids):
        return desk.leave("nobody", version=2)

    @event
    def member_commits(desk, ids):
        return desk.commit(member_id=ids[1], generation=1)

    @event
    def old_generation_commits(desk, ids):
        return desk.commit(member_id=ids[1], generation=0)

    @event
    def stranger_commits(desk, ids):
        return desk.commit(member_id="nobody", generation=1)

    @event
    def tool_commits(desk, ids):
        return desk.commit()

    @event
    def member_commits_without_generation(desk, ids):
        return desk.commit(member_id=ids[1])

    @event
    def member_commits_without_generation_in_a_transaction(desk, ids):
        return desk.commit_transactional(9, member_id=ids[1])

    @event
    def tool_commits_in_a_transaction(desk, ids):
        return desk.commit_transactional(9)

    @event
    def follower_is_silent_for_its_session(desk, ids):
        for _ in range(0, SESSION_MS, 1_000):
            if desk.group.state is not GroupState.DEAD and ids[0] in desk.group.members:
                desk.heartbeat(ids[0])
            desk.advance(1_000)
        return "NONE" if ids[1] not in desk.group.members else "still a member"

    @event
    def rebalance_timeout_passes(desk, ids):
        for _ in range(0, REBALANCE_MS, 1_000):
            for member_id in ids:
                if desk.group.state is not GroupState.DEAD and member_id in desk.group.members:
                    desk.heartbeat(member_id)
            desk.advance(1_000)
        return "NONE"

    @event
    def offset_of_a_topic_that_is_read_is_deleted(desk, ids):
        return desk.delete_offset("t")

    @event
    def offset_of_another_topic_is_deleted(desk, ids):
        return desk.delete_offset("t-other")

    @event
    def group_is_deleted(desk, ids):
        return desk.delete_group()

    @event
    def leadership_is_lost(desk, ids):
        desk.unload()
        return "NONE"

    return found


EVENTS = events()
_E, _P, _C, _S, _D = STATES

OK = "NONE"
UNKNOWN = "UNKNOWN_MEMBER_ID"
ILLEGAL = "ILLEGAL_GENERATION"
OTHER = "INCONSISTENT_GROUP_PROTOCOL"
GONE = "COORDINATOR_NOT_AVAILABLE"
ID = "MEMBER_ID_REQUIRED"
AGAIN = "REBALANCE_IN_PROGRESS"
IN_USE = "NON_EMPTY_GROUP"
READ = "GROUP_SUBSCRIBED_TO_TOPIC"
NO_GROUP = "GROUP_ID_NOT_FOUND"

# event -> for each of STATES: (what is answered, state that follows); None for a group that is not known any more
TABLE = {
    "unknown_joins_before_v4": ((WAITS, _P), (WAITS, _P), (WAITS, _P), (WAITS, _P), (GONE, _D)),
    "unknown_joins": ((ID, _E), (ID, _P), (ID, _C), (ID, _S), (GONE, _D)),
    "static_member_joins": ((WAITS, _P), (WAITS, _P), (WAITS, _P), (WAITS, _P), (GONE, _D)),
    "follower_joins_again": ((UNKNOWN, _E), (OK, _C), (OK, _C), (OK, _S), (GONE, _D)),
    "follower_joins_with_other_metadata": ((UNKNOWN, _E), (OK, _C), (WAITS, _P), (WAITS, _P), (GONE, _D)),
    "leader_joins_again": ((UNKNOWN, _E), (WAITS, _P), (OK, _C), (WAITS, _P), (GONE, _D)),
    "stranger_joins_with_an_id": ((UNKNOWN, _E), (UNKNOWN, _P), (UNKNOWN, _C), (UNKNOWN, _S), (GONE, _D)),
    "newcomer_speaks_another_protocol": ((WAITS, _P), (OTHER, _P), (OTHER, _C), (OTHER, _S), (GONE, _D)),
    "newcomer_is_of_another_type": ((WAITS, _P), (OTHER, _P), (OTHER, _C), (OTHER, _S), (GONE, _D)),
    "newcomer_names_no_protocol": ((OTHER, _E), (OTHER, _P), (OTHER, _C), (OTHER, _S), (GONE, _D)),
    "follower_syncs": ((UNKNOWN, _E), (AGAIN, _P), (WAITS, _C), (OK, _S), (GONE, _D)),
    "leader_syncs": ((UNKNOWN, _E), (AGAIN, _P), (OK, _S), (OK, _S), (GONE, _D)),
    "old_generation_syncs": ((UNKNOWN, _E), (ILLEGAL, _P), (ILLEGAL, _C), (ILLEGAL, _S), (GONE, _D)),
    "stranger_syncs": ((UNKNOWN, _E), (UNKNOWN, _P), (UNKNOWN, _C), (UNKNOWN, _S), (GONE, _D)),
    "sync_of_another_protocol": ((UNKNOWN, _E), (OTHER, _P), (OTHER, _C), (OTHER, _S), (GONE, _D)),
    "heartbeat": ((UNKNOWN, _E), (AGAIN, _P), (OK, _C), (OK, _S), (GONE, _D)),
    "old_generation_beats": ((UNKNOWN, _E), (ILLEGAL, _P), (ILLEGAL, _C), (ILLEGAL, _S), (GONE, _D)),
    "stranger_beats": ((UNKNOWN, _E), (UNKNOWN, _P), (UNKNOWN, _C), (UNKNOWN, _S), (GONE, _D)),
    "follower_leaves": ((UNKNOWN, _E), (OK, _C), (OK, _P), (OK, _P), (GONE, _D)),
    "stranger_leaves": ((UNKNOWN, _E), (UNKNOWN, _P), (UNKNOWN, _C), (UNKNOWN, _S), (GONE, _D)),
    "member_commits": ((UNKNOWN, _E), (OK, _P), (AGAIN, _C), (OK, _S), (GONE, _D)),
    "old_generation_commits": ((UNKNOWN, _E), (ILLEGAL, _P), (ILLEGAL, _C), (ILLEGAL, _S), (GONE, _D)),
    "stranger_commits": ((UNKNOWN, _E), (UNKNOWN, _P), (UNKNOWN, _C), (UNKNOWN, _S), (GONE, _D)),
    "tool_commits": ((OK, _E), (UNKNOWN, _P), (UNKNOWN, _C), (UNKNOWN, _S), (GONE, _D)),
    "member_commits_without_generation": ((OK, _E), (ILLEGAL, _P), (ILLEGAL, _C), (ILLEGAL, _S), (GONE, _D)),
    "member_commits_without_generation_in_a_transaction": ((OK, _E), (ILLEGAL, _P), (ILLEGAL, _C), (ILLEGAL, _S), (GONE, _D)),
    "tool_commits_in_a_transaction": ((OK, _E), (OK, _P), (OK, _C), (OK, _S), (GONE, _D)),
    "follower_is_silent_for_its_session": ((OK, _E), (OK, _C), (OK, _P), (OK, _P), (OK, _D)),
    "rebalance_timeout_passes": ((OK, _E), (OK, _C), (OK, _E), (OK, _S), (OK, _D)),
    "offset_of_a_topic_that_is_read_is_deleted": ((OK, None), (READ, _P), (READ, _C), (READ, _S), (NO_GROUP, _D)),
    "offset_of_another_topic_is_deleted": ((OK, None), (OK, _P), (OK, _C), (OK, _S), (NO_GROUP, _D)),
    "group_is_deleted": ((OK, None), (IN_USE, _P), (IN_USE, _C), (IN_USE, _S), (NO_GROUP, _D)),
    "leadership_is_lost": ((OK, None), (OK, None), (OK, None), (OK, None), (OK, None)),
}  # fmt: skip


def group_in(state):
    """A desk with a group in a state, and the ids of the two members that it has, or had; the leader first."""
    desk = Desk()
    if state == "Dead":
        ids = desk.stable()
        desk.group.enter(GroupState.DEAD, desk.now_ms)
        desk.group.members.clear()
    else:
        make = {
            "Empty": desk.empty,
            "PreparingRebalance": desk.preparing,
            "CompletingRebalance": desk.completing,
            "Stable": desk.stable,
        }
        ids = make[state]()
    assert desk.state == state
    return desk, ids


def test_the_table_has_every_cell():
    assert TABLE.keys() == EVENTS.keys()
    assert all(len(row) == len(STATES) for row in TABLE.values())


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("event", TABLE)
def test_an_event_meets_a_state(event, state):
    desk, ids = group_in(state)
    found = EVENTS[event](desk, ids)
    error = found if isinstance(found, str) else desk.error_of(found)
    assert (error, desk.state) == TABLE[event][STATES.index(state)]
    assert not desk.held


def test_the_initial_delay_counts_as_the_join_phase():
    """In the first rebalance nobody can hurry: even with all members there, the delay runs to its end."""
    desk = Desk()
    ticket = desk.join(version=3)
    desk.advance(DELAY_MS - 1)
    assert desk.error_of(ticket) is None
    desk.advance(1)
    assert desk.error_of(ticket) == "NONE"


@pytest.mark.parametrize("target", GroupState)
@pytest.mark.parametrize("source", GroupState)
def test_states_change_along_the_transitions_alone(source, target):
    group = Group("g", 0)
    group.state = source
    if source in TRANSITIONS[target]:
        group.enter(target, 5)
        assert (group.state, group.since_ms) == (target, 5)
    else:
        with pytest.raises(AssertionError):
            group.enter(target, 5)


def test_every_error_of_the_table_is_one_of_kafkas():
    names = {error for row in TABLE.values() for error, _state in row if error}
    assert names <= set(ErrorCode.__members__)
