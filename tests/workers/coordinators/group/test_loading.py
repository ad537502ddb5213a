"""A coordinator that loads or unloads; and a walk of random events that must leave every count right."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import ErrorCode
from tests.workers.coordinators.group.group_fixtures import DELAY_MS, REBALANCE_MS, SESSION_MS, Desk

# Loading, unloading


def test_while_it_loads_members_stay_and_everyone_else_is_sent_away():
    desk = Desk(loading=True)
    assert desk.error_of(desk.heartbeat("m", 1)) == "NONE"
    assert desk.error_of(desk.sync("m", 1)) == "REBALANCE_IN_PROGRESS"
    assert desk.error_of(desk.join(version=3)) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert desk.error_of(desk.commit()) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert desk.committed() == (None, "COORDINATOR_LOAD_IN_PROGRESS")


def test_unloading_in_mid_rebalance_tells_everyone_who_waits():
    desk = Desk()
    ids = desk.preparing()
    desk.unload()
    assert desk.error_of(desk.waiting) == "NOT_COORDINATOR"
    desk = Desk()
    ids = desk.completing()
    waiting = desk.sync(ids[1])
    desk.unload()
    assert desk.error_of(waiting) == "NOT_COORDINATOR"
    desk.advance(10 * REBALANCE_MS)
    assert not desk.held


def test_timers_of_an_unloaded_group_touch_nothing():
    desk = Desk()
    desk.stable()
    desk.join()
    desk.unload()
    before = len(desk.log)
    desk.advance(10 * REBALANCE_MS)
    assert len(desk.log) == before
    assert len(desk.timers) == 0


def test_a_group_above_a_lowered_size_sends_the_last_ones_away_when_it_is_loaded():
    before = Desk()
    ids = before.stable(3)
    desk = Desk(loading=True, members_max=2)
    desk.load(before.log[-1:])
    assert (desk.state, desk.reasons) == ("PreparingRebalance", ["over group.max.size"])
    waiting = [desk.join(each) for each in ids[:2]]
    assert {desk.error_of(each) for each in waiting} == {None}
    assert desk.error_of(desk.join(ids[2])) == "GROUP_MAX_SIZE_REACHED"
    assert {desk.error_of(each) for each in waiting} == {"NONE"}, "nobody waits for the one that was sent away"
    assert sorted(desk.group.members) == sorted(ids[:2])


# Any order of events


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_after_any_events_every_count_is_right_and_everyone_is_answered(data):
    desk = Desk(members_max=4)
    ids = [""]
    tickets = []
    for _ in range(data.draw(st.integers(5, 60))):
        member_id = data.draw(st.sampled_from(ids[-6:]))
        action = data.draw(
            st.sampled_from(
                [
                    "join",
                    "join4",
                    "static",
                    "sync",
                    "beat",
                    "leave",
                    "commit",
                    "wait",
                    "short",
                    "hold",
                    "settle",
                    "fail",
                ]
            )
        )
        if action == "join":
            tickets.append(desk.join(member_id, version=3, protocols={"a": b"", data.draw(st.sampled_from("bc")): b""}))
        elif action == "join4":
            tickets.append(desk.join(member_id))
        elif action == "static":
            tickets.append(desk.join(instance=data.draw(st.sampled_from("xy"))))
        elif action == "sync" and desk.group:
            tickets.append(desk.sync(member_id, assignments=dict.fromkeys(ids, b"z")))
        elif action == "beat":
            tickets.append(desk.heartbeat(member_id))
        elif action == "leave":
            tickets.append(desk.leave(member_id))
        elif action == "commit":
            generation = desk.group.generation if desk.group else -1
            tickets.append(desk.commit(member_id=member_id, generation=generation))
        elif action == "wait":
            desk.advance(data.draw(st.sampled_from([SESSION_MS, DELAY_MS, REBALANCE_MS])))
        elif action == "short":
            desk.advance(100)
        elif action == "hold":
            desk.holds = True
        else:
            desk.holds = False
            desk.settle(ErrorCode.NONE if action == "settle" else ErrorCode.NOT_ENOUGH_REPLICAS)
        ids += [answer.member_id for ticket in tickets[-1:] if (answer := desk.answers.get(ticket)) is not None
                and getattr(answer, "member_id", "")]  # fmt: skip
        check(desk)
    desk.holds = False
    desk.settle()
    for _ in range(4):
        desk.advance(10 * REBALANCE_MS)
    assert all(ticket in desk.answers for ticket in tickets)
    assert desk.state in ("Empty", None)
    assert not desk.group or not (desk.group.members or desk.group.pending or desk.group.static)


def check(desk):
    group = desk.group
    if group is None:
        return
    members = list(group.members.values())
    assert group.awaiting_join == sum(member.join_ticket is not None for member in members)
    for name in {name for member in members for name, _ in member.protocols}:
        assert group.supporters[name] == sum(name in dict(member.protocols) for member in members)
    assert set(group.static.values()) <= set(group.members)
    assert group.pending_sync <= set(group.members)
    assert not group.pending.keys() & group.members.keys()
    assert group.leader is None if not members else group.leader in group.members
    if group.state.value in ("Stable", "CompletingRebalance"):
        assert members
        assert group.protocol in group.supporters
    assert len(members) <= 4 or group.state.value == "PreparingRebalance"
