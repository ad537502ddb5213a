"""Scenarios of Kafka's GroupCoordinator: members and static members, their joins, sessions and assignments."""

import logging

import pytest

from headrace.errors import ErrorCode
from headrace.limits import CANCELLED_DEADLINES_MAX
from headrace.protocol import messages
from headrace.workers.coordinators.coordinator import NO_ROOM
from headrace.workers.coordinators.group import pending_ids
from headrace.workers.coordinators.group.events import Client, Join
from headrace.workers.coordinators.group.records import decode_group, group_key
from headrace.workers.coordinators.group.syncing import STORE_AGAIN_MS
from tests.workers.coordinators.group.group_fixtures import DELAY_MS, REBALANCE_MS, SESSION_MS, Desk, subscription

# Membership


def test_a_fleet_that_starts_is_one_rebalance(desk):
    tickets = [desk.join(version=3)]
    for _ in range(3):
        desk.advance(DELAY_MS - 500)
        tickets.append(desk.join(version=3))
    desk.advance(2 * DELAY_MS)
    assert [desk.error_of(ticket) for ticket in tickets] == ["NONE"] * 4
    assert desk.group.generation == 1
    assert desk.reasons == ["member joined"]


def test_the_initial_delay_ends_with_the_rebalance_timeout(desk):
    first = desk.join(version=3, rebalance_ms=5_000, session_ms=SESSION_MS)
    for _ in range(5):
        desk.advance(900)
        desk.join(version=3, rebalance_ms=5_000)
    assert desk.error_of(first) is None
    desk.advance(500)
    assert desk.error_of(first) == "NONE", "5000 ms are over"


def test_the_leader_gets_everyones_metadata_and_nobody_else_does(desk):
    tickets = [
        desk.join(version=3, protocols={"range": b"a"}),
        desk.join(version=3, protocols={"range": b"b"}),
    ]
    desk.advance(2 * DELAY_MS)
    first, second = (desk.answers[ticket] for ticket in tickets)
    assert first.leader == second.leader == first.member_id
    assert [(row.member_id, row.metadata) for row in first.members] == [
        (first.member_id, b"a"),
        (second.member_id, b"b"),
    ]
    assert second.members == []


def test_the_protocol_that_all_know_and_most_prefer_is_chosen(desk):
    for names in (("a", "b", "c"), ("c", "b"), ("b", "c"), ("c", "b"), ("c", "b")):
        ticket = desk.join(version=3, protocols=dict.fromkeys(names, b"m"))
    desk.advance(3 * DELAY_MS)
    assert desk.answers[ticket].protocol_name == "c"


def test_a_member_id_that_is_never_used_holds_a_rebalance_up_no_longer_than_its_session(desk):
    ids = desk.stable()
    refused = desk.answers[desk.join()]
    assert ErrorCode(refused.error_code) is ErrorCode.MEMBER_ID_REQUIRED
    waiting = [desk.join(ids[0]), desk.join(ids[1])]
    assert desk.state == "PreparingRebalance", "the id may still come"
    desk.advance(SESSION_MS)
    assert [desk.error_of(ticket) for ticket in waiting] == ["NONE", "NONE"]
    assert desk.error_of(desk.join(refused.member_id)) == "UNKNOWN_MEMBER_ID"


def test_a_member_id_round_trip_ends_in_membership(desk):
    member_id = desk.answers[desk.join(client_id="billing")].member_id
    assert member_id.startswith("billing-")
    ticket = desk.join(member_id)
    desk.advance(DELAY_MS)
    assert desk.answers[ticket].member_id == member_id
    assert desk.error_of(ticket) == "NONE"


def test_no_sync_group_in_time_takes_the_members_out(desk):
    ids = desk.completing(3)
    waiting = desk.sync(ids[1])
    desk.keep_alive((ids[0], ids[2]), REBALANCE_MS)
    assert desk.error_of(waiting) == "REBALANCE_IN_PROGRESS"
    assert set(desk.group.members) == {ids[1]}
    assert desk.reasons[-1] == "not synced in time"
    assert desk.error_of(desk.heartbeat(ids[0])) == "UNKNOWN_MEMBER_ID"


def test_a_follower_that_syncs_too_late_after_the_leader_is_out(desk):
    ids = desk.completing(2)
    desk.sync(ids[0], assignments={})
    assert desk.state == "Stable"
    desk.keep_alive(ids, REBALANCE_MS)
    assert desk.state == "PreparingRebalance"
    assert set(desk.group.members) == {ids[0]}


def test_a_follower_that_joins_again_unchanged_starts_no_rebalance(desk):
    ids = desk.stable()
    ticket = desk.join(ids[1])
    assert desk.state == "Stable"
    assert desk.answers[ticket].generation_id == 1
    assert desk.answers[ticket].members == []
    assert desk.reasons == ["member joined"]


def test_a_new_member_that_dies_after_the_join_completes_is_out_after_its_session(desk):
    ids = desk.stable()
    ticket = desk.join(version=3)
    for each in ids:
        desk.join(each)
    died = desk.answers[ticket].member_id
    for each in ids:
        desk.sync(each, assignments={})
    desk.keep_alive(ids, SESSION_MS)
    assert died not in desk.group.members
    assert desk.reasons[-1] == "session expired"


def test_a_new_member_that_dies_while_it_waits_is_out_after_five_minutes(desk):
    ids = desk.stable(1, rebalance_ms=900_000)
    ticket = desk.join(version=3, rebalance_ms=900_000)
    desk.keep_alive(ids, 299_000)
    assert desk.error_of(ticket) is None
    assert len(desk.group.members) == 2
    desk.keep_alive(ids, 2_000)
    assert desk.error_of(ticket) == "UNKNOWN_MEMBER_ID"
    assert list(desk.group.members) == ids


def test_who_has_not_joined_in_the_rebalance_timeout_is_out(desk):
    ids = desk.stable(3)
    waiting = desk.join(ids[0])
    desk.keep_alive(ids[1:], REBALANCE_MS)
    assert desk.error_of(waiting) == "NONE"
    assert list(desk.group.members) == ids[:1]
    assert desk.group.generation == 2


def test_what_a_client_says_of_a_rebalance_is_in_its_log_line(desk, caplog):
    caplog.set_level(logging.INFO)
    ids = desk.stable()
    desk.join(ids[0], reason="new metadata\n" + "!" * 300)
    said = repr("new metadata\n" + "!" * 242)
    assert caplog.messages[-1] == (
        f"rebalance group=g generation=1 members=2 from=Stable reason=leader joined again member={ids[0]} detail={said}"
    )


def test_leaving_many_at_once_is_one_rebalance(desk):
    ids = desk.stable(4)
    ticket = desk.leave(ids[1], "nobody", ids[2])
    assert [ErrorCode(row.error_code).name for row in desk.answers[ticket].members] == [
        "NONE",
        "UNKNOWN_MEMBER_ID",
        "NONE",
    ]
    assert desk.reasons == ["member joined", "member left"]


def test_an_id_that_was_handed_out_can_leave(desk):
    desk.stable()
    member_id = desk.answers[desk.join()].member_id
    assert desk.answers[desk.leave(member_id)].members[0].error_code == 0
    assert not desk.group.pending


def test_the_last_one_to_leave_makes_the_group_empty_in_the_log_too(desk):
    desk.empty()
    key, value = desk.log[-1]
    assert key == group_key("g")
    stored = decode_group(value)
    assert (stored.members, stored.protocol, stored.leader, stored.generation) == ([], None, None, 2)


@pytest.mark.parametrize(
    ("session_ms", "is_taken"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)]
)
def test_session_timeouts_have_bounds(desk, session_ms, is_taken):
    error = desk.error_of(desk.join(version=3, session_ms=session_ms))
    assert error == (None if is_taken else "INVALID_SESSION_TIMEOUT")


def test_an_empty_group_id_is_refused_but_where_offsets_without_a_group_are_meant(desk):
    assert desk.error_of(desk.join(group="")) == "INVALID_GROUP_ID"
    assert desk.error_of(desk.delete_offset(group="")) == "INVALID_GROUP_ID"
    assert desk.error_of(desk.commit_transactional(1, group="")) == "INVALID_GROUP_ID"
    assert desk.error_of(desk.commit(group="")) == "NONE"
    assert desk.committed(group="") == (5, "NONE")
    assert desk.error_of(desk.join(group="x" * 9_000)) == "INVALID_GROUP_ID"


def test_a_group_takes_no_more_than_its_size():
    desk = Desk(members_max=2)
    ids = desk.stable(2)
    refused = desk.join(version=3)
    assert desk.error_of(refused) == "GROUP_MAX_SIZE_REACHED"
    assert desk.state == "Stable"
    desk.join(ids[0])
    assert desk.error_of(desk.join(ids[1])) == "NONE", "those who are in may come again"


def test_an_id_handed_out_finds_the_group_full():
    desk = Desk(members_max=2)
    desk.stable(1)
    first, second = (desk.answers[desk.join()].member_id for _ in range(2))
    desk.join(first)
    assert desk.state == "PreparingRebalance"
    desk.join(next(iter(desk.group.members)))
    assert desk.error_of(desk.join(second)) == "GROUP_MAX_SIZE_REACHED"


def test_an_assignment_that_cannot_be_stored_is_tried_again_by_a_rebalance(desk):
    ids = desk.completing()
    waiting = desk.sync(ids[1])
    desk.holds = True
    leader = desk.sync(ids[0], assignments={ids[1]: b"x"})
    assert desk.error_of(leader) is None, "nobody has an assignment before the log has it"
    desk.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert [desk.error_of(ticket) for ticket in (leader, waiting)] == ["COORDINATOR_NOT_AVAILABLE"] * 2
    assert desk.state == "PreparingRebalance"
    assert desk.group.members[ids[1]].assignment == b""


def test_an_assignment_waits_for_room_on_the_disk_and_is_stored_once_there_is_some(desk):
    first, second = ids = desk.completing()
    desk.error = NO_ROOM
    waiting = [desk.sync(first, assignments={each: each.encode() for each in ids}), desk.sync(second)]
    desk.advance(desk.config.store_timeout_ms - STORE_AGAIN_MS)
    assert [desk.error_of(each) for each in waiting] == [None, None]
    desk.error = ErrorCode.NONE
    desk.advance(STORE_AGAIN_MS)
    assert [desk.answers[each].assignment for each in waiting] == [each.encode() for each in ids]
    assert desk.state == "Stable"
    assert desk.reasons == ["member joined"]


def test_a_disk_that_stays_full_makes_a_rebalance_in_some_seconds_and_not_a_thousand_in_one(desk):
    """librdkafka joins again at once, and asks for its assignment again."""
    [member] = desk.completing(1)
    desk.error = NO_ROOM
    begun_ms, generation = desk.now_ms, desk.group.generation
    while desk.now_ms - begun_ms < 60_000:
        asked = desk.sync(member, assignments={member: b""})
        while desk.error_of(asked) is None:
            desk.advance(STORE_AGAIN_MS)
        assert desk.error_of(asked) == "REBALANCE_IN_PROGRESS"  # no coordinator to look for
        assert desk.error_of(desk.join(member)) == "NONE"
    assert desk.group.generation - generation == 60_000 // desk.config.store_timeout_ms


def test_a_rebalance_ends_the_wait_for_room(desk):
    first, second = ids = desk.completing()
    desk.error = NO_ROOM
    waiting = desk.sync(first, assignments={each: each.encode() for each in ids})
    desk.leave(second)
    assert desk.error_of(waiting) == "REBALANCE_IN_PROGRESS"
    desk.error = ErrorCode.NONE
    desk.advance(2 * STORE_AGAIN_MS)
    assert desk.log == []


def test_an_assignment_stored_too_late_changes_nothing(desk):
    ids = desk.completing()
    desk.holds = True
    leader = desk.sync(ids[0], assignments={ids[1]: b"x"})
    desk.join(version=3)
    assert desk.error_of(leader) == "REBALANCE_IN_PROGRESS"
    desk.settle()
    assert desk.state == "PreparingRebalance"


@pytest.mark.parametrize(
    ("version", "names", "answer"),
    [
        (5, {"protocol_type": "consumer", "protocol_name": "range"}, "NONE"),
        (5, {"protocol_type": "connect", "protocol_name": "range"}, "INCONSISTENT_GROUP_PROTOCOL"),
        (5, {"protocol_type": "consumer", "protocol_name": None}, "INCONSISTENT_GROUP_PROTOCOL"),
        (5, {"protocol_type": None, "protocol_name": "range"}, "INCONSISTENT_GROUP_PROTOCOL"),
        (4, {"protocol_type": None, "protocol_name": None}, "NONE"),
    ],
)
def test_from_v5_on_a_sync_group_has_to_name_the_protocol_that_was_chosen(desk, version, names, answer):
    ids = desk.stable()
    assert desk.error_of(desk.sync(ids[1], version=version, **names)) == answer


def test_the_assignment_goes_through_opaque_and_who_was_given_none_gets_an_empty_one(desk):
    ids = desk.completing(3)
    follower = desk.sync(ids[1])
    other = desk.sync(ids[2])
    desk.sync(ids[0], assignments={ids[1]: b"\0\xff opaque", "stranger": b"z"})
    assert desk.answers[follower].assignment == b"\0\xff opaque"
    assert desk.answers[other].assignment == b""
    late = desk.sync(ids[1])
    assert desk.answers[late].assignment == b"\0\xff opaque"


# Static members


def static_pair(desk, version=9):
    tickets = [desk.join(instance="a", version=version), desk.join(instance="b", version=version)]
    desk.advance(3 * DELAY_MS)
    ids = [desk.answers[ticket].member_id for ticket in tickets]
    desk.sync(ids[1], instance="b")
    desk.sync(ids[0], assignments={ids[0]: b"A", ids[1]: b"B"}, instance="a")
    assert desk.state == "Stable"
    return ids


def test_a_static_member_that_restarts_keeps_its_assignment_and_its_old_self_is_fenced(desk):
    ids = static_pair(desk)
    answer = desk.answers[desk.join(instance="b")]
    assert desk.state == "Stable"
    assert answer.generation_id == 1
    assert answer.member_id != ids[1]
    assert answer.member_id.startswith("b-")
    assert desk.answers[desk.sync(answer.member_id, instance="b")].assignment == b"B"
    assert desk.error_of(desk.heartbeat(ids[1], instance="b")) == "FENCED_INSTANCE_ID"
    assert desk.error_of(desk.commit(member_id=ids[1], generation=1, instance="b")) == "FENCED_INSTANCE_ID"
    assert desk.error_of(desk.join(ids[1], instance="b")) == "FENCED_INSTANCE_ID"
    assert decode_group(desk.log[-1][1]).members[1].member_id == answer.member_id, "it is in the log before it is told"


def test_who_took_a_static_members_place_is_in_the_log(desk, caplog):
    ids = static_pair(desk)
    caplog.set_level(logging.INFO)
    answer = desk.answers[desk.join(instance="b")]
    assert caplog.messages == [
        f"static member rejoined group=g instance=b member={answer.member_id} fenced={ids[1]} state=Stable"
    ]


@pytest.mark.parametrize(("version", "skips", "members"), [(9, True, 2), (8, False, 0)])
def test_a_static_leader_that_restarts_does_not_assign_anew(desk, version, skips, members):
    ids = static_pair(desk)
    answer = desk.answers[desk.join(instance="a", version=version)]
    assert (answer.skip_assignment, len(answer.members)) == (skips, members)
    assert answer.leader == (answer.member_id if skips else ids[0])


def test_a_static_member_whose_new_id_cannot_be_stored_is_what_it_was(desk):
    ids = static_pair(desk)
    desk.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert desk.error_of(desk.join(instance="b", protocols={"range": b"new"})) == "NOT_COORDINATOR"
    desk.error = ErrorCode.NONE
    assert desk.error_of(desk.heartbeat(ids[1], instance="b")) == "NONE"
    assert desk.group.members[ids[1]].protocols == (("range", subscription("t")),)


def test_a_static_member_that_changes_the_protocol_starts_a_rebalance(desk):
    for name in ("a", "b"):
        ticket = desk.join(instance=name, protocols={"x": b"", "y": b""})
    desk.advance(3 * DELAY_MS)
    assert desk.answers[ticket].protocol_name == "x"
    desk.sync(desk.group.leader, assignments={}, instance="a")
    waiting = desk.join(instance="b", protocols={"y": b""})
    assert desk.error_of(waiting) is None
    assert desk.reasons[-1] == "static member changed the protocol"


def test_a_static_member_that_joins_twice_in_the_join_phase_fences_its_first_try(desk):
    first = desk.join(instance="a")
    second = desk.join(instance="a")
    assert desk.error_of(first) == "FENCED_INSTANCE_ID"
    desk.advance(3 * DELAY_MS)
    assert desk.error_of(second) == "NONE"
    assert len(desk.group.members) == 1


def test_static_members_that_are_away_stay_until_their_session_ends(desk):
    ids = static_pair(desk)
    newcomer = desk.join(version=3, session_ms=600_000)
    desk.keep_alive((), SESSION_MS + REBALANCE_MS)
    assert desk.error_of(newcomer) == "NONE"
    assert not set(ids) & set(desk.group.members)


def test_an_operator_removes_a_static_member_by_its_instance_id(desk):
    ids = static_pair(desk)
    ticket = desk.leave(("", "b"), ("", "z"))
    assert [ErrorCode(row.error_code).name for row in desk.answers[ticket].members] == ["NONE", "UNKNOWN_MEMBER_ID"]
    assert list(desk.group.members) == ids[:1]


def test_a_protocol_named_twice_counts_once(desk):
    row = messages.JoinGroupRequest.JoinGroupRequestProtocol
    request = messages.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocol_type="consumer",
        protocols=[row(name="range", metadata=b"first"), row(name="range", metadata=b"second")],
    )
    ticket = desk.ask(Join, request, 3, Client("c", "/10.0.0.1"))
    desk.advance(DELAY_MS)
    answer = desk.answers[ticket]
    assert (answer.error_code, answer.protocol_name) == (0, "range")
    assert [member.metadata for member in answer.members] == [b"first"]


# What clients that are gone leave behind: they choose times of weeks

WEEKS_MS = 2**31 - 1
TIMERS_MAX = 2 * (CANCELLED_DEADLINES_MAX + 8)


def test_members_that_left_are_not_kept_until_their_sessions_would_have_ended(desk):
    for _ in range(500):
        desk.leave(desk.answers[desk.join(session_ms=1_800_000)].member_id)
        desk.join(version=3, session_ms=1_800_000)
        desk.leave(*desk.group.members)
    assert not desk.group.members
    assert not desk.group.pending
    assert len(desk.timers) <= TIMERS_MAX


def test_phases_that_are_over_are_not_kept_until_they_would_have_ended(desk):
    (leader,) = desk.stable(1, rebalance_ms=WEEKS_MS)
    for _ in range(500):
        desk.join(leader, rebalance_ms=WEEKS_MS)
        desk.sync(leader, assignments={leader: b"x"})
    assert desk.group.generation == 501
    assert len(desk.timers) <= TIMERS_MAX


def test_groups_that_are_unloaded_are_not_kept_until_their_sessions_would_have_ended(desk):
    for number in range(500):
        desk.join(version=3, rebalance_ms=WEEKS_MS, group=f"g{number}")
        desk.join(version=9, session_ms=1_800_000, group=f"g{number}")
    desk.advance(DELAY_MS)
    desk.unload()
    assert len(desk.timers) <= TIMERS_MAX


def test_ids_that_were_handed_out_are_bounded_and_the_oldest_makes_room(desk, monkeypatch):
    monkeypatch.setattr(pending_ids, "PENDING_MEMBERS_MAX", 10)
    ids = [desk.answers[desk.join(group=f"g{number % 7}")].member_id for number in range(100)]
    groups = desk.coordinator.groups.values()
    assert sorted(each for group in groups for each in group.pending) == sorted(ids[-10:])
    assert desk.error_of(desk.join(ids[89], group=f"g{89 % 7}")) == "UNKNOWN_MEMBER_ID"
    waiting = desk.join(ids[90], group=f"g{90 % 7}")
    desk.advance(REBALANCE_MS)
    assert desk.error_of(waiting) == "NONE"
    assert not any(group.pending for group in groups)


def test_without_room_for_timers_no_member_is_added_and_those_that_are_go_on(desk):
    (leader,) = desk.stable(1)
    waiting = desk.answers[desk.join()].member_id
    desk.has_timers = False
    for ask in (lambda: desk.join(), lambda: desk.join(version=3), lambda: desk.join(group="another")):
        assert desk.error_of(ask()) == "COORDINATOR_NOT_AVAILABLE"
    assert set(desk.coordinator.groups) == {"g"}
    assert desk.error_of(desk.heartbeat(leader)) == "NONE"
    joined = desk.join(waiting)  # its id has a timer already, which goes
    desk.join(leader)
    desk.advance(REBALANCE_MS)
    assert desk.error_of(joined) == "NONE"
    desk.has_timers = True
    assert desk.error_of(desk.join()) == "MEMBER_ID_REQUIRED"


def test_protocols_that_nobody_knows_any_more_are_not_kept(desk):
    (leader,) = desk.stable(1)
    for number in range(100):
        desk.join(leader, protocols={f"p{number}": b"", "range": b""})
    assert len(desk.group.supporters) == 2
    desk.leave(leader)
    assert not desk.group.supporters


def test_static_members_that_are_away_are_waited_for_whatever_their_rebalance_timeout(desk):
    """With one of 0 ms the worker would look again, and again, in the same moment."""
    tickets = [desk.join(instance=name, version=5) for name in "xy"]
    desk.advance(2 * DELAY_MS)
    first, second = (desk.answers[ticket].member_id for ticket in tickets)
    desk.sync(second, instance="y")
    desk.sync(first, assignments={}, instance="x")
    for name in "xy":
        desk.join(instance=name, version=5, rebalance_ms=0)
    desk.leave(("", "x"))
    assert desk.state == "PreparingRebalance"
    for _ in range(10):
        before_ms = desk.now_ms = desk.timers.next_ms
        desk.tick()
        if desk.state == "Empty":
            break
        assert desk.timers.next_ms > before_ms
    desk.advance(SESSION_MS)
    assert desk.state == "Empty"


def test_an_id_that_was_handed_out_takes_no_instance_id_from_its_member(desk):
    """Static members are not handed out ids. Two with one instance id would take it from each other when they leave."""
    first = desk.join(instance="x")
    desk.advance(DELAY_MS)
    static_id = desk.answers[first].member_id
    handed_out = desk.answers[desk.join()].member_id
    assert desk.error_of(desk.join(handed_out, instance="x")) == "FENCED_INSTANCE_ID"
    assert desk.error_of(desk.join(handed_out, instance="y")) == "UNKNOWN_MEMBER_ID"
    assert desk.group.static == {"x": static_id}
