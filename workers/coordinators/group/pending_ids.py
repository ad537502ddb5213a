"""Member ids that were handed out to clients which have not joined with them yet (KIP-394).

A client comes back at once, so that in a flood the oldest one makes room. A group whose members have all joined waits for the
ids that it handed out, until their sessions would be over.

Pure. Bound: PENDING_MEMBERS_MAX of one coordinator.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.limits import PENDING_MEMBERS_MAX
from headrace.workers.coordinators.group.events import IdDropped, IdTime, MemberIdWanted
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.member_answers import refuse_join
from headrace.workers.coordinators.group.rebalance import complete_if_all_joined


def hand_out(machine: GroupMachine, group: Group, event: MemberIdWanted) -> None:
    """Tell a client the id to come back with, and expect it."""
    if len(machine.handed_out) >= PENDING_MEMBERS_MAX:
        oldest = next(iter(machine.handed_out))
        other = machine.handed_out[oldest]
        machine.do(other, IdDropped(other, oldest))
    deadline_ms = machine.now_ms + event.join.request.session_timeout_ms
    machine.handed_out[event.member_id] = group
    group.pending[event.member_id] = machine.set_timer(deadline_ms, IdTime, group, event.member_id)
    refuse_join(machine, event.join.ticket, event.member_id, ErrorCode.MEMBER_ID_REQUIRED)


def take_id(machine: GroupMachine, group: Group, member_id: str) -> bool:
    """Whether this id was handed out; it is no longer expected."""
    serial = group.pending.pop(member_id, 0)
    if not serial:
        return False
    machine.cancel_timer(serial)
    del machine.handed_out[member_id]
    return True


def drop_id(machine: GroupMachine, group: Group, event: IdDropped) -> None:
    take_id(machine, group, event.member_id)


def drop_id_in_join_phase(machine: GroupMachine, group: Group, event: IdDropped) -> None:
    """The others may all have joined."""
    take_id(machine, group, event.member_id)
    complete_if_all_joined(machine, group)


def expire_id(machine: GroupMachine, group: Group, event: IdTime) -> None:
    _expire(machine, group, event)


def expire_id_in_join_phase(machine: GroupMachine, group: Group, event: IdTime) -> None:
    if _expire(machine, group, event):
        complete_if_all_joined(machine, group)


def _expire(machine: GroupMachine, group: Group, event: IdTime) -> bool:
    """Whether this timer still stands."""
    if group.pending.get(event.member_id) != event.serial:
        return False
    machine.info("member id never used group=%s member=%s", group.group_id, event.member_id)
    del group.pending[event.member_id], machine.handed_out[event.member_id]
    return True
