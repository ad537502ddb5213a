"""The phases of a rebalance.

    prepare    -> every member is to join; ends when all have, or after the largest rebalance timeout
    complete   -> who has not joined is out (static members stay until their session ends); a new generation
    sync       -> the leader's assignment is stored, then handed to everyone (`syncing.py`)
    stable     -> nothing, until a member comes, goes, or is not heard of

From Empty, the first phase lasts `group.initial.rebalance.delay.ms`, and as long again (up to the rebalance
timeout) while members keep coming: one rebalance for a whole fleet that starts.

Pure. Source: Kafka `GroupCoordinator.prepareRebalance`, `onCompleteJoin`; KIP-134, KIP-62.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import REBALANCE_REASON_LENGTH_MAX
from headrace.workers.coordinators.coordinator import NO_ROOM, AppendFailed
from headrace.workers.coordinators.effects import Append, KeyValue
from headrace.workers.coordinators.group.events import EmptyGroupRecord, JoinTime, SyncTime
from headrace.workers.coordinators.group.group import Group, next_generation
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.member_answers import answer_join, answer_sync
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason, RebalanceStarted
from headrace.workers.coordinators.group.records import encode_group, group_key
from headrace.workers.coordinators.group.sessions import remove_member, set_deadline
from headrace.workers.coordinators.group.state import GroupState

ABSENCE_CHECK_MIN_MS: Final = 1_000  # whether a group of static members, none of whom is here, has lost the last one

_E = ErrorCode

# What a group is told when its record could not be stored (Kafka `storeGroup`); others as they are.
_GROUP_ERRORS: Final = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.REBALANCE_IN_PROGRESS,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    NO_ROOM: _E.NOT_COORDINATOR,  # what the host says of a full disk is not what Java expects here
    _E.MESSAGE_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.RECORD_LIST_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
}


def group_error(error: ErrorCode) -> ErrorCode:
    """What an append's error means to the members."""
    return _GROUP_ERRORS.get(error, error)


def record_of(group: Group, assignments: dict[str, bytes] | None = None) -> KeyValue:
    """The group as the log is to have it; `assignments` in place of those that the members have."""
    return group_key(group.group_id), encode_group(group.to_message(assignments))


# Join phase


def prepare(
    machine: GroupMachine, group: Group, reason: RebalanceReason, member_id: str, detail: str | None = None
) -> None:
    """Start a rebalance: every member is to join. From any state that has members, or from Empty.

    detail   what the client said of it (KIP-800)
    """
    before = group.state
    if before is GroupState.COMPLETING:
        reset_assignments(machine, group, ErrorCode.REBALANCE_IN_PROGRESS)
    machine.effects.append(RebalanceStarted(group.group_id, reason))
    machine.info(
        "rebalance group=%s generation=%d members=%d from=%s reason=%s member=%s%s",
        group.group_id, group.generation, len(group.members), before.value, reason.value, member_id, quoted(detail),
    )  # fmt: skip
    group.pending_sync.clear()
    delay_ms = group.rebalance_timeout_ms
    group.initial_left = -1
    if before is GroupState.EMPTY:
        initial_ms = machine.config.initial_rebalance_delay_ms
        group.initial_left = max(delay_ms - initial_ms, 0)
        delay_ms = initial_ms
    group.newcomer = False
    group.enter(GroupState.PREPARING, machine.date_ms)
    _time_join(machine, group, delay_ms)
    complete_if_all_joined(machine, group)


def complete_if_all_joined(machine: GroupMachine, group: Group) -> None:
    """End the join phase early, if it still runs; the initial delay always runs to its end."""
    if group.state is GroupState.PREPARING and group.initial_left < 0 and group.all_joined:
        _complete(machine, group)


def end_join_phase(machine: GroupMachine, group: Group, event: JoinTime) -> None:
    """The join phase's time is over; the initial delay continues while members keep coming."""
    if group.timer != event.serial:
        return
    group.timer = 0
    if group.newcomer and group.initial_left > 0:
        group.newcomer = False
        delay_ms = min(machine.config.initial_rebalance_delay_ms, group.initial_left)
        group.initial_left -= delay_ms
        _time_join(machine, group, delay_ms)
        return
    _complete(machine, group)


def _complete(machine: GroupMachine, group: Group) -> None:
    """The join phase is over: a new generation of those who came."""
    group.initial_left = -1
    _remove_late(machine, group)
    if group.members and not _elect_leader(group):
        # Static members alone, none of whom is here: their sessions decide. Their timeout may be 0.
        _time_join(machine, group, max(group.rebalance_timeout_ms, ABSENCE_CHECK_MIN_MS))
        return
    end_phase(machine, group)
    group.generation = next_generation(group.generation)
    if group.members:
        _start_generation(machine, group)
    else:
        _become_empty(machine, group)


def _remove_late(machine: GroupMachine, group: Group) -> None:
    late = [member for member in group.members.values() if member.join_ticket is None and member.instance_id is None]
    for member in late:
        remove_member(machine, group, member)
    if late:
        machine.info(
            "members removed group=%s reason=not joined in time members=%s",
            group.group_id,
            [member.member_id for member in late],
        )


def _elect_leader(group: Group) -> bool:
    """The leader stays if it has joined, else the first who has takes its place; False where none has."""
    leader = group.members.get(group.leader or "")
    if leader is not None and leader.join_ticket is not None:
        return True
    for member in group.members.values():
        if member.join_ticket is not None:
            group.leader = member.member_id
            return True
    return False


def _start_generation(machine: GroupMachine, group: Group) -> None:
    group.protocol = group.select_protocol()
    group.enter(GroupState.COMPLETING, machine.date_ms)
    group.topics = group.subscribed()
    group.pending_sync = set(group.members)
    for member in group.members.values():
        ticket = group.park_join(member, None)
        member.is_new = False
        set_deadline(machine, member, machine.now_ms + member.session_timeout_ms)
        if ticket is not None:
            answer_join(machine, group, member, ticket, with_members=member.member_id == group.leader)
    group.timer = machine.set_timer(machine.now_ms + group.rebalance_timeout_ms, SyncTime, group)
    machine.info(
        "generation group=%s generation=%d members=%d leader=%s protocol=%s",
        group.group_id, group.generation, len(group.members), group.leader, group.protocol,
    )  # fmt: skip


def _become_empty(machine: GroupMachine, group: Group) -> None:
    group.protocol = None
    group.enter(GroupState.EMPTY, machine.date_ms)
    group.topics = group.subscribed()
    machine.effects.append(Append([record_of(group)], EmptyGroupRecord(group)))


def report_empty_not_stored(machine: GroupMachine, group: Group, event: AppendFailed) -> None:
    machine.warn("group not stored, kept in memory group=%s error=%s", group.group_id, event.error.name)


# Of both phases


def reset_assignments(machine: GroupMachine, group: Group, error: ErrorCode) -> None:
    """No member has one any more; those that wait for theirs are told why."""
    for member in group.members.values():
        member.assignment = b""
        answer_sync(machine, group, member, error, prolongs=True)


def _time_join(machine: GroupMachine, group: Group, delay_ms: int) -> None:
    """The join phase ends then, whatever was set before."""
    machine.cancel_timer(group.timer)
    group.timer = machine.set_timer(machine.now_ms + delay_ms, JoinTime, group)


def end_phase(machine: GroupMachine, group: Group) -> None:
    machine.cancel_timer(group.timer)
    group.timer = 0


def quoted(detail: str | None) -> str:
    """The end of a log line: a client's own words."""
    return f" detail={detail[:REBALANCE_REASON_LENGTH_MAX]!r}" if detail else ""
