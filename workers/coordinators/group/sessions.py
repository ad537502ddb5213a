"""The session of a member: a deadline that every sign of life moves.

A member that waits for the node (join or sync) can't miss it, except a new one, whose client may be gone. There is one timer
a member, which comes up early enough; the deadline itself is a field, so that a heartbeat costs a store.

Pure. Source: Kafka `GroupCoordinator.completeAndScheduleNextHeartbeatExpiration`; KIP-62.
"""

from __future__ import annotations

from headrace.workers.coordinators.group.events import MemberGone, SessionTime
from headrace.workers.coordinators.group.group import Group, Member
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason


def beat(machine: GroupMachine, member: Member) -> None:
    """A member was heard of."""
    member.deadline_ms = machine.now_ms + member.session_timeout_ms
    if not member.timer:
        set_timer(machine, member, member.deadline_ms)


def set_deadline(machine: GroupMachine, member: Member, deadline_ms: int) -> None:
    """A deadline that may be earlier than the one before."""
    member.deadline_ms = deadline_ms
    if not member.timer or member.timer_ms > deadline_ms:
        set_timer(machine, member, deadline_ms)


def set_timer(machine: GroupMachine, member: Member, due_ms: int) -> None:
    """The member's one timer, in place of the one before."""
    machine.cancel_timer(member.timer)
    member.timer_ms = due_ms
    member.timer = machine.set_timer(due_ms, SessionTime, member.group, member)


def end_session(machine: GroupMachine, member: Member) -> None:
    machine.cancel_timer(member.timer)
    member.timer = 0


def remove_member(machine: GroupMachine, group: Group, member: Member) -> None:
    """Forget a member, which waits for nothing any more."""
    group.remove(member.member_id)
    end_session(machine, member)


def check_session(machine: GroupMachine, group: Group, event: SessionTime) -> None:
    """A session's timer came up: it is over, or was prolonged meanwhile, or waits for us."""
    member = event.member
    if member.timer != event.serial:
        return
    member.timer = 0
    if group.members.get(member.member_id) is not member:
        return
    waits = member.sync_ticket is not None or (member.join_ticket is not None and not member.is_new)
    if waits:
        return  # the answer sets a new timer
    if member.deadline_ms > machine.now_ms:
        set_timer(machine, member, member.deadline_ms)
        return
    machine.do(group, MemberGone(group, member, RebalanceReason.SESSION_EXPIRED))
