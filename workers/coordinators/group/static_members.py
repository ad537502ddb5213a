"""A static member restarts: it comes back without its id, gets a new one, and a client with the old one is fenced (KIP-345).

In a Stable group it takes up its assignment without a rebalance, once the log knows its new id; where that can't be stored,
it has its old id again.

Pure. Source: Kafka `GroupCoordinator.updateStaticMemberAndRebalance`; KIP-814.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.effects import Append
from headrace.workers.coordinators.group.events import StaticMemberRecord, StaticReturned
from headrace.workers.coordinators.group.group import Group, Member, Protocols
from headrace.workers.coordinators.group.joining import timeouts_of
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.member_answers import (
    NO_MEMBER_ID,
    answer_join,
    answer_sync,
    park_join,
    refuse_join,
)
from headrace.workers.coordinators.group.rebalance import group_error, prepare, record_of
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason
from headrace.workers.coordinators.group.sessions import beat

VERSION_OF_SKIPPED_ASSIGNMENT: Final = 9


def replace_static(machine: GroupMachine, group: Group, event: StaticReturned) -> None:
    """Take its old place under the new id, and wait for the phase to end."""
    member, request = event.member, event.join.request
    machine.info(
        "static member rejoined group=%s instance=%s member=%s fenced=%s state=%s",
        group.group_id, member.instance_id, event.member_id, member.member_id, group.state.value,
    )  # fmt: skip
    _fence(machine, group, member)
    group.rename_static(member, event.member_id)
    beat(machine, member)
    group.update(member, event.protocols, *timeouts_of(request))
    park_join(machine, group, member, event.join.ticket)


def _fence(machine: GroupMachine, group: Group, member: Member) -> None:
    """What waits under a static member's old id is notified that another took its place."""
    waiting = group.park_join(member, None)
    if waiting is not None:
        refuse_join(machine, waiting, member.member_id, ErrorCode.FENCED_INSTANCE_ID)
    answer_sync(machine, group, member, ErrorCode.FENCED_INSTANCE_ID)


def replace_static_and_prepare(machine: GroupMachine, group: Group, event: StaticReturned) -> None:
    replace_static(machine, group, event)
    _prepare(machine, group, event, RebalanceReason.STATIC_MEMBER_REJOINED)


def replace_static_in_stable(machine: GroupMachine, group: Group, event: StaticReturned) -> None:
    """Without a rebalance, where the protocol stays."""
    member, former_leader, former_id = event.member, group.leader, event.member.member_id
    former: tuple[Protocols, int, int] = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    replace_static(machine, group, event)
    if group.select_protocol() != group.protocol:
        _prepare(machine, group, event, RebalanceReason.STATIC_MEMBER_CHANGED_PROTOCOL)
        return
    what = StaticMemberRecord(
        group, member, event.member_id, former_id, former, former_leader, group.generation, event.join.version,
        event.join.ticket,
    )  # fmt: skip
    machine.effects.append(Append([record_of(group)], what))


def _prepare(machine: GroupMachine, group: Group, event: StaticReturned, reason: RebalanceReason) -> None:
    prepare(machine, group, reason, event.member_id, event.join.request.reason)


def answer_static(machine: GroupMachine, group: Group, event: Appended) -> None:
    """The log knows its new id: it keeps the assignment that it had."""
    what: StaticMemberRecord = event.what
    member = what.member
    if member.join_ticket is not what.ticket or group.generation != what.generation:
        return  # answered meanwhile: fenced, or a rebalance took it along
    group.park_join(member, None)
    beat(machine, member)
    can_skip = what.version >= VERSION_OF_SKIPPED_ASSIGNMENT
    is_leader = group.leader == what.member_id
    answer_join(
        machine,
        group,
        member,
        what.ticket,
        leader=group.leader if can_skip else what.former_leader,
        with_members=can_skip and is_leader,
        skip_assignment=can_skip and is_leader,
    )


def restore_static(machine: GroupMachine, group: Group, event: AppendFailed) -> None:
    """The log does not know its new id: it has the old one again."""
    what: StaticMemberRecord = event.what
    member = what.member
    if member.join_ticket is not what.ticket:
        return
    group.park_join(member, None)
    group.update(member, *what.former)
    group.rename_static(member, what.former_id)
    beat(machine, member)
    refuse_join(machine, what.ticket, NO_MEMBER_ID, group_error(event.error))
