"""The table of the group coordinator: every cell is there, the scenarios of `test_states.py` say the same, effects are data."""

import itertools
import types

import pytest

from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, LogLine, SetTimer
from headrace.workers.coordinators.group import events as group_events
from headrace.workers.coordinators.group.events import (
    AssignmentRecord,
    Commit,
    CommitTransactional,
    DeleteGroup,
    DeleteOffsets,
    GroupLoaded,
    GroupUnloaded,
    Heartbeat,
    Join,
    JoinTime,
    Leave,
    SessionTime,
    Sync,
    SyncTime,
)
from headrace.workers.coordinators.group.group import TRANSITIONS
from headrace.workers.coordinators.group.refusals import refusal_of
from headrace.workers.coordinators.group.state import GroupState
from headrace.workers.coordinators.group.table import FAILED, REQUESTS, ROWS, STORED
from headrace.workers.coordinators.state_table import IGNORED, NEVER, Cell, Mark, UnexpectedEvent, to
from tests.workers.coordinators.group.group_fixtures import GROUP, Desk
from tests.workers.coordinators.group.test_states import EVENTS, STATES, TABLE, group_in

E, P, C, S, D = GroupState
TABLES = {"": ROWS, "stored ": STORED, "failed ": FAILED}
CELLS = [
    pytest.param(state, row[state.column], id=f"{prefix}{kind.__name__}-{state.value}")
    for prefix, rows in TABLES.items()
    for kind, row in rows.items()
    for state in GroupState
]
NOT_IN_ROWS = {"Client", "Deletion", "OffsetsAnswer", "GroupAnswer", "TopicsCleared", "MarkerAppended"}

# Each scenario's event in the code; by the state that it meets, where that decides.
KINDS = {
    **dict.fromkeys([name for name in EVENTS if "join" in name or name.startswith("newcomer")], Join),
    **dict.fromkeys([name for name in EVENTS if "sync" in name], Sync),
    **dict.fromkeys([name for name in EVENTS if "beat" in name], Heartbeat),
    **dict.fromkeys([name for name in EVENTS if "leaves" in name], Leave),
    **dict.fromkeys([name for name in EVENTS if "commits" in name], Commit),
    **dict.fromkeys([name for name in EVENTS if "in_a_transaction" in name], CommitTransactional),
    "follower_is_silent_for_its_session": SessionTime,
    "rebalance_timeout_passes": {E: JoinTime, P: JoinTime, C: SyncTime, S: SyncTime, D: JoinTime},
    "offset_of_a_topic_that_is_read_is_deleted": DeleteOffsets,
    "offset_of_another_topic_is_deleted": DeleteOffsets,
    "group_is_deleted": DeleteGroup,
    "leadership_is_lost": GroupUnloaded,
}


@pytest.mark.parametrize(("state", "cell"), CELLS)
def test_each_pair_is_a_function_or_a_declared_refusal(state, cell):
    assert isinstance(cell, Cell | ErrorCode | Mark)
    if isinstance(cell, Cell):
        assert callable(cell.act)
        assert cell.states
        assert len(set(cell.states)) == len(cell.states)
        assert set(cell.states) <= reachable(state), "by steps of TRANSITIONS"


def reachable(state):
    found = {state}
    while further := {to for to, sources in TRANSITIONS.items() if sources & found} - found:
        found |= further
    return found


def test_every_event_has_a_row():
    kinds = {
        each
        for each in vars(group_events).values()
        if isinstance(each, type) and each.__module__ == group_events.__name__ and each.__name__ not in NOT_IN_ROWS
    }
    assert kinds == ROWS.keys() | STORED.keys() | FAILED.keys()
    assert STORED.keys() == FAILED.keys()
    assert not ROWS.keys() & STORED.keys()


def test_requests_alone_are_refused_with_an_error_and_each_has_its_answer():
    refused = {kind for kind, row in ROWS.items() if any(isinstance(cell, ErrorCode) for cell in row)}
    assert refused == REQUESTS.keys()
    assert not any(isinstance(cell, ErrorCode) for rows in (STORED, FAILED) for row in rows.values() for cell in row)
    for kind, row in REQUESTS.items():
        assert isinstance(row.loading, ErrorCode), kind
        assert isinstance(row.absent, ErrorCode) or callable(row.absent), kind
        assert NEVER not in row.cells, kind


def cell_of(name, state):
    if (name, state) == ("leader_syncs", C):  # two events: its answer waits for the append
        return STORED[AssignmentRecord][state.column]
    kind = KINDS[name]
    return ROWS[kind[state] if isinstance(kind, dict) else kind][state.column]


@pytest.mark.parametrize("state", GroupState)
@pytest.mark.parametrize("name", TABLE)
def test_the_scenarios_and_the_table_say_the_same(name, state):
    error, after = TABLE[name][state.column]
    cell = cell_of(name, state)
    follows = D if after is None else GroupState(after)
    if isinstance(cell, ErrorCode):
        assert (error, follows) == (cell.name, state)
    elif cell is IGNORED:
        assert (error, follows) == ("NONE", state)
    else:
        assert follows in cell.states


def test_the_scenarios_meet_every_cell_of_a_request():
    assert tuple(STATES) == tuple(state.value for state in GroupState)
    met = {cell_of(name, state): None for name in TABLE for state in GroupState}
    met |= {ROWS[Sync][C.column]: None}
    assert not {cell for row in REQUESTS.values() for cell in row.cells} - met.keys()


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_state_that_refuses_a_request_answers_it_in_one_place(kind):
    """Whatever the request says: the cell's error, no other effect, and the group is as it was."""
    for state, cell in zip(GroupState, REQUESTS[kind].cells, strict=True):
        if not isinstance(cell, ErrorCode):
            continue
        desk, ids = group_in(state.value)
        event = request_of(kind, ids[0])
        assert desk.coordinator.step(event, desk.now_ms, desk.now_ms) == [Answer(event.ticket, refusal_of(event, cell))]
        assert desk.group.state is state


def request_of(kind, member_id):
    names = {Join: "JoinGroup", Sync: "SyncGroup", Leave: "LeaveGroup"}
    if kind is DeleteGroup:
        return DeleteGroup(GROUP, "ticket")
    if kind in (Commit, CommitTransactional, DeleteOffsets):
        desk, seen = Desk(), []
        desk.coordinator.step = lambda event, now_ms, date_ms: seen.append(event) or []
        {Commit: lambda: desk.commit(1), CommitTransactional: lambda: desk.commit_transactional(1),
         DeleteOffsets: desk.delete_offset}[kind]()  # fmt: skip
        return seen[0]
    request = getattr(messages, names.get(kind, kind.__name__) + "Request")(group_id=GROUP, member_id=member_id)
    if kind is Join:
        request = request._replace(session_timeout_ms=10_000)
        return Join(GROUP, request, 5, group_events.Client("c", "h"), "ticket")
    return Heartbeat(GROUP, request, "ticket") if kind is Heartbeat else kind(GROUP, request, 2, "ticket")


def test_an_event_that_cannot_be_is_a_named_error(desk):
    ids = desk.completing()
    with pytest.raises(UnexpectedEvent, match="GroupLoaded in CompletingRebalance group=g"):
        desk.step(GroupLoaded(desk.group))
    with pytest.raises(UnexpectedEvent, match="str is not a group event"):
        desk.step("hello")
    assert issubclass(UnexpectedEvent, HeadraceError)
    assert desk.state == "CompletingRebalance"
    assert ids


# Effects


def test_a_rebalance_told_by_its_effects_alone():
    """No log, no clock, no sockets: effects are compared, and the outcome of an append is an event."""
    desk = Desk()
    desk.holds = True
    leader, follower = desk.completing()
    group = desk.group
    syncing = messages.SyncGroupRequest
    row = syncing.SyncGroupRequestAssignment
    request = syncing(
        group_id=GROUP, generation_id=1, member_id=leader, assignments=[row(member_id=leader, assignment=b"all")]
    )
    waiting = syncing(group_id=GROUP, generation_id=1, member_id=follower)
    assert desk.coordinator.step(Sync(GROUP, waiting, 3, "follower"), desk.now_ms, desk.now_ms) == []
    cancelled = group.timer
    first, append = desk.coordinator.step(Sync(GROUP, request, 3, "leader"), desk.now_ms, desk.now_ms)
    assert first == CancelTimer(cancelled)
    what = AssignmentRecord(group, 1, {leader: b"all", follower: b""}, desk.now_ms + desk.config.store_timeout_ms)
    assert isinstance(append, Append)
    assert append.what == what
    answers = desk.coordinator.step(Appended(what, 7), desk.now_ms, desk.now_ms)
    assert [each for each in answers if isinstance(each, Answer)] == [
        Answer(
            "leader", messages.SyncGroupResponse(protocol_type="consumer", protocol_name="range", assignment=b"all")
        ),
        Answer("follower", messages.SyncGroupResponse(protocol_type="consumer", protocol_name="range")),
    ]
    assert group.state is S
    assert desk.coordinator.step(AppendFailed(what, ErrorCode.REQUEST_TIMED_OUT), desk.now_ms, desk.now_ms) == [], (
        "stale: ignored"
    )


def test_a_heartbeat_sets_no_timer():
    desk = Desk()
    ids = desk.stable()
    request = messages.HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=ids[0])
    effects = desk.step(Heartbeat(GROUP, request, "ticket"))
    assert effects == [Answer("ticket", messages.HeartbeatResponse())]


def test_no_effect_holds_a_function(monkeypatch):
    """Through all scenarios: what a host gets can be compared, logged and answered."""
    kinds = set()
    stepped = Desk._stepped

    def checked(desk, event):
        effects = stepped(desk, event)
        for effect in effects:
            kinds.add(type(effect))
            assert not list(functions_in(effect)), effect
        return effects

    monkeypatch.setattr(Desk, "_stepped", checked)
    for state, name in itertools.product(STATES, EVENTS):
        desk, ids = group_in(state)
        EVENTS[name](desk, ids)
    assert {Answer, Append, SetTimer, CancelTimer, LogLine} <= kinds


def functions_in(value, depth=4):
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinMethodType):
        yield value
    elif isinstance(value, tuple | list) and depth:
        for each in value:
            yield from functions_in(each, depth - 1)


def test_a_function_that_leads_elsewhere_than_its_cell_says_is_found(desk):
    """By the engine, at once: the table says what may follow."""
    ids = desk.stable()
    machine, group = desk.coordinator._machine, desk.group
    leaving = request_of(Leave, ids[0])
    machine.run(to(lambda _machine, _group, _event: None, S), group, leaving)
    with pytest.raises(AssertionError, match="g: Leave led to Dead"):
        machine.run(to(lambda machine, group, _event: group.enter(D, machine.now_ms), S, P), group, leaving)
