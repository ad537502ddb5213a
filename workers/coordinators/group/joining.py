"""JoinGroup: who may join, which kind of join it is, and what each kind does.

A request is judged first, by the room in its group and by its protocols; then it is one of the events below, and the table
chooses what is done (S: a static member that came back without its id):

    state          new member          known, nothing new      known, other metadata    leader         S
    Empty          add, prepare        UNKNOWN_MEMBER_ID       UNKNOWN_MEMBER_ID        -              -
    Preparing      add, wait           wait                    wait                     wait           fence, wait
    Completing     add, prepare        answer again            prepare                  answer again   fence, prepare
    Stable         add, prepare        answer again            prepare                  prepare        fence, answer

Pure. Source: Kafka `GroupCoordinator.doJoinGroup`; KIP-345 (static members), KIP-394 (ids before members), KIP-814.
"""

from __future__ import annotations

from sys import intern
from typing import Any, Final

from headrace.errors import ErrorCode
from headrace.limits import GROUP_STRING_LENGTH_MAX
from headrace.protocol import messages
from headrace.workers.coordinators.group.events import (
    Join,
    LeaderRejoined,
    MemberIdWanted,
    MemberRejoined,
    MetadataChanged,
    NewMember,
    StaticReturned,
)
from headrace.workers.coordinators.group.group import Group, Member, Protocols
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.member_answers import NO_MEMBER_ID, answer_join, park_join, refuse_join
from headrace.workers.coordinators.group.membership import validate_member
from headrace.workers.coordinators.group.pending_ids import take_id
from headrace.workers.coordinators.group.rebalance import complete_if_all_joined, prepare
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason
from headrace.workers.coordinators.group.sessions import remove_member, set_timer

VERSION_OF_KNOWN_MEMBERS: Final = 4

_E = ErrorCode

# What a JoinGroup turns out to be.
Kind = NewMember | MemberIdWanted | MemberRejoined | LeaderRejoined | MetadataChanged | StaticReturned
# Of a known member.
Rejoin = MemberRejoined | LeaderRejoined | MetadataChanged


def fault_of_join(machine: GroupMachine, event: Join) -> ErrorCode:
    """What is wrong with a request, whatever group it meets."""
    config, request = machine.config, event.request
    if not config.session_timeout_min_ms <= request.session_timeout_ms <= config.session_timeout_max_ms:
        return _E.INVALID_SESSION_TIMEOUT
    return _E.NONE if _is_writable(request) else _E.INVALID_REQUEST


def _is_writable(request: Any) -> bool:
    """Whether the strings of a JoinGroup fit the formats of the log and of older responses."""
    texts = (request.protocol_type, request.group_instance_id or "", *(row.name for row in request.protocols))
    return all(len(text) <= GROUP_STRING_LENGTH_MAX for text in texts)


# Requests, by the state that they meet


def join_unknown_group(machine: GroupMachine, _group: None, event: Join) -> None:
    """The first member makes its group."""
    if event.request.member_id:
        machine.refuse(event, _E.UNKNOWN_MEMBER_ID)
    elif not (machine.has_room and machine.has_timers()):
        machine.refuse(event, _E.COORDINATOR_NOT_AVAILABLE)
    else:
        machine.do(machine.new_group(event.group_id), event)


def join_empty(machine: GroupMachine, group: Group, event: Join) -> None:
    _join(machine, group, event)


def join_preparing(machine: GroupMachine, group: Group, event: Join) -> None:
    member = group.members.get(event.request.member_id)
    is_waiting = member is not None and member.join_ticket is not None
    if is_waiting or group.awaiting_join < machine.config.members_max:
        _join(machine, group, event)
    else:
        _refuse_oversize(machine, group, event)
    complete_if_all_joined(machine, group)


def join_generation(machine: GroupMachine, group: Group, event: Join) -> None:
    """There is a generation: Completing or Stable."""
    if event.request.member_id in group.members or len(group.members) < machine.config.members_max:
        _join(machine, group, event)
    else:
        _refuse_oversize(machine, group, event)


def _refuse_oversize(machine: GroupMachine, group: Group, event: Join) -> None:
    """`group.max.size`. A member may be out by it: the limit was lowered, and it is no longer waited for."""
    member_id = event.request.member_id
    take_id(machine, group, member_id)
    member = group.members.get(member_id)
    if member is not None:
        remove_member(machine, group, member)
    refuse_join(machine, event.ticket, NO_MEMBER_ID, _E.GROUP_MAX_SIZE_REACHED)


def _join(machine: GroupMachine, group: Group, event: Join) -> None:
    """A request that there is room for: refused, or done as what it turns out to be."""
    request = event.request
    by_name: dict[str, bytes] = {}  # one named twice would count as two of its supporters
    for row in request.protocols:
        by_name.setdefault(intern(row.name), bytes(row.metadata))
    protocols = tuple(by_name.items())
    kind: Kind | ErrorCode
    if not group.supports(request.protocol_type, protocols):
        kind = _E.INCONSISTENT_GROUP_PROTOCOL
    elif not request.member_id:
        kind = _kind_without_id(machine, group, event, protocols)
        if not isinstance(kind, StaticReturned) and not machine.has_timers():
            kind = _E.COORDINATOR_NOT_AVAILABLE  # as where there are too many groups: it may try again
    else:
        kind = _kind_with_id(machine, group, event, protocols)
    if isinstance(kind, ErrorCode):
        machine.refuse(event, kind)
    else:
        machine.do(group, kind)


def _kind_without_id(machine: GroupMachine, group: Group, event: Join, protocols: Protocols) -> Kind:
    instance_id = event.request.group_instance_id
    member_id = f"{event.client.client_id if instance_id is None else instance_id}-{machine.new_id()}"
    if instance_id is not None and instance_id in group.static:
        return StaticReturned(group, event, group.members[group.static[instance_id]], member_id, protocols)
    if instance_id is None and event.version >= VERSION_OF_KNOWN_MEMBERS:
        return MemberIdWanted(group, event, member_id)
    return NewMember(group, event, member_id, protocols)


def _kind_with_id(machine: GroupMachine, group: Group, event: Join, protocols: Protocols) -> Kind | ErrorCode:
    request = event.request
    member_id = request.member_id
    if request.group_instance_id is None and take_id(machine, group, member_id):
        return NewMember(group, event, member_id, protocols)
    error = validate_member(group, member_id, request.group_instance_id)
    if error:
        return error
    member = group.members[member_id]
    if member.protocols != protocols:
        return MetadataChanged(group, event, member, protocols)
    if group.leader == member_id:
        return LeaderRejoined(group, event, member, protocols)
    return MemberRejoined(group, event, member, protocols)


# New members


def add_member(machine: GroupMachine, group: Group, event: NewMember) -> None:
    """It may be gone before the join phase ends, so it has a deadline of its own."""
    request, client, now_ms = event.join.request, event.join.client, machine.now_ms
    member = Member(
        group,
        event.member_id,
        request.group_instance_id,
        intern(client.client_id),
        intern(client.host),
        *timeouts_of(request),
        group.intern_protocols(event.protocols),
    )
    member.is_new = True
    group.add(member, request.protocol_type)
    park_join(machine, group, member, event.join.ticket)
    member.deadline_ms = now_ms + machine.config.new_member_join_timeout_ms
    set_timer(machine, member, min(member.deadline_ms, now_ms + member.session_timeout_ms))  # one that serves later too
    if group.initial_left >= 0 and not group.generation:
        group.newcomer = True


def add_member_and_prepare(machine: GroupMachine, group: Group, event: NewMember) -> None:
    add_member(machine, group, event)
    prepare(machine, group, RebalanceReason.MEMBER_JOINED, event.member_id, event.join.request.reason)


# Known members


def wait_again(machine: GroupMachine, group: Group, event: Rejoin) -> None:
    """Joins in the join phase, perhaps with something else to say."""
    group.update(event.member, event.protocols, *timeouts_of(event.join.request))
    park_join(machine, group, event.member, event.join.ticket)


def answer_leader_again(machine: GroupMachine, group: Group, event: LeaderRejoined) -> None:
    """The answer to its last one was lost: it still has to assign."""
    answer_join(machine, group, event.member, event.join.ticket, with_members=True)


def answer_again(machine: GroupMachine, group: Group, event: MemberRejoined) -> None:
    """The answer to its last one was lost."""
    answer_join(machine, group, event.member, event.join.ticket, with_members=False)


def prepare_for_leader(machine: GroupMachine, group: Group, event: LeaderRejoined) -> None:
    wait_again(machine, group, event)
    prepare(machine, group, RebalanceReason.LEADER_REJOINED, event.member.member_id, event.join.request.reason)


def prepare_for_metadata(machine: GroupMachine, group: Group, event: MetadataChanged) -> None:
    wait_again(machine, group, event)
    prepare(machine, group, RebalanceReason.METADATA_CHANGED, event.member.member_id, event.join.request.reason)


def timeouts_of(request: messages.JoinGroupRequest) -> tuple[int, int]:
    """(rebalance, session) timeout in ms; JoinGroup v0 has but one."""
    rebalance_ms = request.rebalance_timeout_ms
    return (rebalance_ms if rebalance_ms >= 0 else request.session_timeout_ms), request.session_timeout_ms
