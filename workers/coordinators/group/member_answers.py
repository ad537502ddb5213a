"""Answers to the JoinGroup and SyncGroup of members, at once or after they waited for a phase to end. Pure."""

from __future__ import annotations

from typing import Any, Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.workers.coordinators.group.group import Group, Member
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.refusals import join_refusal, sync_refusal
from headrace.workers.coordinators.group.sessions import beat

NO_MEMBER_ID: Final = ""

_JoinRow = messages.JoinGroupResponse.JoinGroupResponseMember


def park_join(machine: GroupMachine, group: Group, member: Member, ticket: Any) -> None:
    """Keep a JoinGroup until the phase ends; an earlier one of the same member is refused: its client gave it up."""
    earlier = group.park_join(member, ticket)
    if earlier is not None:
        refuse_join(machine, earlier, member.member_id, ErrorCode.REBALANCE_IN_PROGRESS)


def answer_join(
    machine: GroupMachine,
    group: Group,
    member: Member,
    ticket: Any,
    *,
    with_members: bool,
    leader: str | None = None,
    skip_assignment: bool = False,
) -> None:
    """The present generation, with everyone's metadata for a leader that is to assign."""
    rows = []
    if with_members:
        rows = [
            _JoinRow(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                metadata=each.metadata(group.protocol),
            )
            for each in group.members.values()
        ]
    message = messages.JoinGroupResponse(
        error_code=0,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol or "",
        leader=leader or group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=rows,
    )
    machine.answer(ticket, message)


def answer_sync(
    machine: GroupMachine, group: Group, member: Member, error: ErrorCode, *, prolongs: bool = False
) -> None:
    """Answer a SyncGroup that waits, if there is one.

    prolongs   whether the member's session starts again
    """
    ticket, member.sync_ticket = member.sync_ticket, None
    if ticket is None:
        return
    if error:
        refuse_sync(machine, ticket, error)
    else:
        give_assignment(machine, group, member, ticket)
    if prolongs:
        beat(machine, member)


def give_assignment(machine: GroupMachine, group: Group, member: Member, ticket: Any) -> None:
    message = messages.SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )
    machine.answer(ticket, message)


def refuse_waiting(machine: GroupMachine, group: Group, member: Member) -> None:
    """A member is removed while it waits: it may join again as a new one."""
    ticket = group.park_join(member, None)
    if ticket is not None:
        refuse_join(machine, ticket, NO_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID)
    answer_sync(machine, group, member, ErrorCode.UNKNOWN_MEMBER_ID)


def refuse_join(machine: GroupMachine, ticket: Any, member_id: str, error: ErrorCode) -> None:
    machine.answer(ticket, join_refusal(member_id, error))


def refuse_sync(machine: GroupMachine, ticket: Any, error: ErrorCode) -> None:
    machine.answer(ticket, sync_refusal(error))
