"""SyncGroup: the leader's assignment is stored, then handed to everyone; who does not ask for it in time is out.

Where the disk has no room for the assignment, the members wait in their SyncGroup for a while (`store_timeout_ms`), and only
then are told to join again: librdkafka does so at once, which made a thousand rebalances a second.

Pure. Source: Kafka `GroupCoordinator.doSyncGroup`, `onExpirePendingSync`; KIP-559.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.workers.coordinators.coordinator import NO_ROOM, Appended, AppendFailed
from headrace.workers.coordinators.effects import Append
from headrace.workers.coordinators.group.events import AssignmentRecord, StoreTime, Sync, SyncTime
from headrace.workers.coordinators.group.group import Group, Member
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.member_answers import (
    answer_sync,
    give_assignment,
    refuse_sync,
    refuse_waiting,
)
from headrace.workers.coordinators.group.membership import validate_member
from headrace.workers.coordinators.group.rebalance import end_phase, group_error, prepare, record_of, reset_assignments
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason
from headrace.workers.coordinators.group.sessions import beat, remove_member
from headrace.workers.coordinators.group.state import GroupState

STORE_AGAIN_MS: Final = 500  # without room on the disk
VERSION_OF_NAMED_PROTOCOL: Final = 5  # type and name of the protocol may be null, but must not (KIP-559)

_E = ErrorCode


def fault_of_sync(_machine: GroupMachine, event: Sync) -> ErrorCode:
    """What is wrong with a request, whatever group it meets."""
    request = event.request
    if event.version >= VERSION_OF_NAMED_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        return _E.INCONSISTENT_GROUP_PROTOCOL
    return _E.NONE


def _fault_of_member(group: Group, event: Sync) -> ErrorCode:
    request = event.request
    error = validate_member(group, request.member_id, request.group_instance_id)
    if error:
        return error
    if request.generation_id != group.generation:
        return _E.ILLEGAL_GENERATION
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        return _E.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name is not None and request.protocol_name != group.protocol:
        return _E.INCONSISTENT_GROUP_PROTOCOL
    return _E.NONE


# Requests, by the state that they meet


def sync_in_join_phase(machine: GroupMachine, group: Group, event: Sync) -> None:
    """Too late: a member has to join again."""
    machine.refuse(event, _fault_of_member(group, event) or _E.REBALANCE_IN_PROGRESS)


def sync_completing(machine: GroupMachine, group: Group, event: Sync) -> None:
    """Wait for the assignment; the leader brings it."""
    error = _fault_of_member(group, event)
    if error:
        machine.refuse(event, error)
        return
    member = _note_synced(machine, group, event)
    earlier, member.sync_ticket = member.sync_ticket, event.ticket
    if earlier is not None:
        refuse_sync(machine, earlier, _E.REBALANCE_IN_PROGRESS)
    if member.member_id != group.leader:
        return
    given = {row.member_id: bytes(row.assignment) for row in event.request.assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    give_up_ms = machine.now_ms + machine.config.store_timeout_ms
    _store(machine, AssignmentRecord(group, group.generation, assignments, give_up_ms))


def _store(machine: GroupMachine, what: AssignmentRecord) -> None:
    machine.effects.append(Append([record_of(what.group, what.assignments)], what))


def sync_stable(machine: GroupMachine, group: Group, event: Sync) -> None:
    """The assignment is here."""
    error = _fault_of_member(group, event)
    if error:
        machine.refuse(event, error)
        return
    member = _note_synced(machine, group, event)
    beat(machine, member)
    give_assignment(machine, group, member, event.ticket)


def _note_synced(machine: GroupMachine, group: Group, event: Sync) -> Member:
    """The member asked for its assignment; the phase is over with the last one that does."""
    member = group.members[event.request.member_id]
    group.pending_sync.discard(member.member_id)
    if not group.pending_sync:
        end_phase(machine, group)
        group.pending_sync = set()  # an emptied set keeps its room
    return member


# The assignment's record


def hand_out_assignment(machine: GroupMachine, group: Group, event: Appended) -> None:
    """The assignment is in the log: the generation is stable."""
    what: AssignmentRecord = event.what
    if group.generation != what.generation:
        return  # a rebalance started meanwhile, and answered everyone
    for member in group.members.values():
        member.assignment = what.assignments.get(member.member_id, b"")
    group.enter(GroupState.STABLE, machine.date_ms)
    for member in group.members.values():
        answer_sync(machine, group, member, _E.NONE, prolongs=True)


def withdraw_assignment(machine: GroupMachine, group: Group, event: AppendFailed) -> None:
    what: AssignmentRecord = event.what
    if group.generation != what.generation:
        return
    is_full = event.error == NO_ROOM
    if is_full and machine.now_ms < what.give_up_ms:
        machine.set_timer(min(machine.now_ms + STORE_AGAIN_MS, what.give_up_ms), StoreTime, group, what)
        return
    # Sent to look for another coordinator, a member sends no heartbeats meanwhile; there is none.
    reset_assignments(machine, group, _E.REBALANCE_IN_PROGRESS if is_full else group_error(event.error))
    prepare(machine, group, RebalanceReason.ASSIGNMENT_NOT_STORED, event.error.name)


def store_again(machine: GroupMachine, group: Group, event: StoreTime) -> None:
    """There may be room now."""
    if group.generation == event.what.generation:
        _store(machine, event.what)


# The phase's end


def remove_not_synced(machine: GroupMachine, group: Group, event: SyncTime) -> None:
    if group.timer != event.serial:
        return
    group.timer = 0
    late = [group.members[member_id] for member_id in sorted(group.pending_sync)]
    if not late:
        return
    names = ",".join(member.member_id for member in late)
    for member in late:
        refuse_waiting(machine, group, member)
        remove_member(machine, group, member)
    prepare(machine, group, RebalanceReason.NOT_SYNCED, names)
