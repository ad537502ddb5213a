"""Who is a member: heartbeats, and members that go.

Pure. Source: Kafka `GroupCoordinator.handleHeartbeat`, `handleLeaveGroup`, `removeMemberAndUpdateGroup`.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.workers.coordinators.effects import Answer
from headrace.workers.coordinators.group.events import (
    GroupLoaded,
    GroupUnloaded,
    Heartbeat,
    IdDropped,
    Leave,
    MemberGone,
)
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.member_answers import NO_MEMBER_ID, answer_sync, refuse_waiting
from headrace.workers.coordinators.group.rebalance import complete_if_all_joined, end_phase, prepare, quoted
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason
from headrace.workers.coordinators.group.sessions import beat, end_session, remove_member
from headrace.workers.coordinators.group.state import GroupState

VERSION_OF_LEFT_MEMBERS: Final = 3

_E = ErrorCode
_LeftMember = messages.LeaveGroupResponse.MemberResponse
_HeartbeatResponse = messages.HeartbeatResponse
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def validate_member(group: Group, member_id: str, instance_id: str | None) -> ErrorCode:
    """Whether this is a member: NONE, UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID where another has its instance id."""
    if instance_id is not None:
        known = group.static.get(instance_id)
        if known is not None and known != member_id:
            return _E.FENCED_INSTANCE_ID
        if known is None:
            return _E.UNKNOWN_MEMBER_ID
    return _E.NONE if member_id in group.members else _E.UNKNOWN_MEMBER_ID


# Heartbeat


def heartbeat(machine: GroupMachine, group: Group, event: Heartbeat) -> None:
    """A valid one moves the member's deadline."""
    error = _beat(machine, group, event)
    machine.effects.append(_new(Answer, (event.ticket, _HeartbeatResponse(error_code=int(error)))))


def heartbeat_in_join_phase(machine: GroupMachine, group: Group, event: Heartbeat) -> None:
    """The same; the member is told to join again."""
    error = _beat(machine, group, event) or _E.REBALANCE_IN_PROGRESS
    machine.answer(event.ticket, _HeartbeatResponse(error_code=int(error)))


def _beat(machine: GroupMachine, group: Group, event: Heartbeat) -> ErrorCode:
    request = event.request
    member_id = request.member_id
    error = validate_member(group, member_id, request.group_instance_id)
    if error:
        return error
    if request.generation_id != group.generation:
        return _E.ILLEGAL_GENERATION
    beat(machine, group.members[member_id])
    return _E.NONE


# LeaveGroup


def leave(machine: GroupMachine, group: Group, event: Leave) -> None:
    """Take members out; one row of the response for each."""
    rows = []
    for member_id, instance_id, reason in _leaving(event):
        error = _leave_one(machine, group, member_id, instance_id, reason)
        rows.append(_LeftMember(member_id=member_id, group_instance_id=instance_id, error_code=int(error)))
    _answer_leave(machine, event, rows)


def leave_unknown_group(machine: GroupMachine, _group: None, event: Leave) -> None:
    """A group that does not exist has no members: each row says so."""
    code = int(_E.UNKNOWN_MEMBER_ID)
    rows = [
        _LeftMember(member_id=member_id, group_instance_id=instance_id, error_code=code)
        for member_id, instance_id, _reason in _leaving(event)
    ]
    _answer_leave(machine, event, rows)


def _leaving(event: Leave) -> list[tuple[str, str | None, str | None]]:
    """(member id, instance id, reason) each."""
    request = event.request
    if event.version >= VERSION_OF_LEFT_MEMBERS:
        return [(row.member_id, row.group_instance_id, row.reason) for row in request.members]
    return [(request.member_id, None, None)]


def _leave_one(
    machine: GroupMachine, group: Group, member_id: str, instance_id: str | None, reason: str | None
) -> ErrorCode:
    if member_id == NO_MEMBER_ID:
        if instance_id is None or instance_id not in group.static:
            return _E.UNKNOWN_MEMBER_ID
        member_id = group.static[instance_id]
    elif member_id in group.pending:
        machine.do(group, IdDropped(group, member_id))
        return _E.NONE
    else:
        error = validate_member(group, member_id, instance_id)
        if error:
            return error
    machine.do(group, MemberGone(group, group.members[member_id], RebalanceReason.MEMBER_LEFT, reason))
    return _E.NONE


def _answer_leave(machine: GroupMachine, event: Leave, rows: list[Any]) -> None:
    error = int(_E.NONE) if event.version >= VERSION_OF_LEFT_MEMBERS else rows[0].error_code
    machine.answer(event.ticket, messages.LeaveGroupResponse(error_code=error, members=rows))


# Members that are gone


def remove_in_join_phase(machine: GroupMachine, group: Group, event: MemberGone) -> None:
    """The others may all have joined."""
    _remove(machine, group, event)
    complete_if_all_joined(machine, group)


def remove_and_prepare(machine: GroupMachine, group: Group, event: MemberGone) -> None:
    """The others share its work."""
    member_id = event.member.member_id
    _remove(machine, group, event)
    prepare(machine, group, event.reason, member_id)


def _remove(machine: GroupMachine, group: Group, event: MemberGone) -> None:
    machine.info(
        "member removed group=%s member=%s reason=%s%s",
        group.group_id, event.member.member_id, event.reason.value, quoted(event.detail),
    )  # fmt: skip
    refuse_waiting(machine, group, event.member)
    remove_member(machine, group, event.member)


# The node leads the partition, or does no more


def resume_sessions(machine: GroupMachine, group: Group, _event: GroupLoaded) -> None:
    """Members are given a whole session to be heard of; those above a lowered `group.max.size` have to join again."""
    for member in group.members.values():
        beat(machine, member)
    if len(group.members) > machine.config.members_max:
        prepare(machine, group, RebalanceReason.OVER_SIZE, "")


def unload(machine: GroupMachine, group: Group, _event: GroupUnloaded) -> None:
    """Those that wait ask elsewhere."""
    group.enter(GroupState.DEAD, machine.date_ms)
    cancel_timers(machine, group)
    for member in group.members.values():
        waiting = group.park_join(member, None)
        if waiting is not None:
            machine.answer(waiting, messages.JoinGroupResponse(error_code=int(_E.NOT_COORDINATOR)))
        answer_sync(machine, group, member, _E.NOT_COORDINATOR)


def cancel_timers(machine: GroupMachine, group: Group) -> None:
    """Nothing is due any more in a group that is gone."""
    end_phase(machine, group)
    for member in group.members.values():
        end_session(machine, member)
    for member_id, serial in group.pending.items():
        machine.cancel_timer(serial)
        del machine.handed_out[member_id]
    group.pending.clear()
