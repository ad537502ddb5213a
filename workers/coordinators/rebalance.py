"""The phases of a rebalance, and the sessions of members.

    prepare    -> every member is to join; ends when all have, or after the largest rebalance timeout
    complete   -> who has not joined is out (static members stay until their session ends); a new generation
    sync       -> the leader's assignment is stored, then handed to everyone; who does not ask for it in the
                  rebalance timeout is out
    stable

From Empty, the first phase lasts `group.initial.rebalance.delay.ms`, and as long again (up to the rebalance
timeout) while members keep coming: one rebalance for a whole fleet that starts.

A session is a deadline of each member; a member that waits for the node (join or sync) can't miss it, except a
new one, whose client may be gone.

Source: Kafka `GroupCoordinator.prepareRebalance`, `onCompleteJoin`, `onExpirePendingSync`; KIP-134, KIP-62.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.workers.coordinators.config import GroupConfig
from headrace.workers.coordinators.effects import Answer, Append, Began, Effect
from headrace.workers.coordinators.group import Group, GroupState, Member, next_generation
from headrace.workers.coordinators.group_records import encode_group, group_key
from headrace.workers.coordinators.timers import OnTime, Timers

NO_MEMBER_ID = ""
NO_GENERATION = -1
LOOK_AGAIN_MIN_MS = 1_000  # whether a group of static members, none of whom is here, has lost the last one
DETAIL_LENGTH_MAX = 255  # of a client's reason, in the log; Kafka's clients send no more

_log = logging.getLogger(__name__)
_JoinRow = messages.JoinGroupResponse.JoinGroupResponseMember
_E = ErrorCode

# What a group is told when its record could not be stored (Kafka `storeGroup`); others as they are.
_GROUP_ERRORS = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.REBALANCE_IN_PROGRESS,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    _E.COORDINATOR_LOAD_IN_PROGRESS: _E.NOT_COORDINATOR,  # no room; an answer to SyncGroup that Java does not expect
    _E.MESSAGE_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.RECORD_LIST_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
}


def group_error(error: ErrorCode) -> ErrorCode:
    """What an append's error means to the members."""
    return _GROUP_ERRORS.get(error, error)


class Rebalance:
    """Phases and sessions, for all groups of a worker. Effects go to `emit`."""

    def __init__(self, config: GroupConfig, timers: Timers, emit: Callable[[Effect], None]) -> None:
        self.config = config
        self.timers = timers
        self.emit = emit
        self._on_session = self._on_session_time  # one object for all entries

    # Join phase

    def prepare_unless_under_way(
        self, group: Group, reason: str, member_id: str, now_ms: int, detail: str | None = None
    ) -> None:
        if group.can_rebalance:
            self.prepare(group, reason, member_id, now_ms, detail)

    def prepare(self, group: Group, reason: str, member_id: str, now_ms: int, detail: str | None = None) -> None:
        """Begin a rebalance: every member is to join.

        detail   what the client said of it (KIP-800)
        """
        if group.state is GroupState.COMPLETING:
            self._reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        self.emit(Began(group.group_id, reason))
        _log.info(
            "rebalance group=%s generation=%d members=%d from=%s reason=%s member=%s%s",
            group.group_id,
            group.generation,
            len(group.members),
            group.state.value,
            reason,
            member_id,
            _said(detail),
        )
        group.pending_sync.clear()
        delay_ms = group.rebalance_timeout_ms
        group.initial_left = -1
        if group.state is GroupState.EMPTY:
            initial_ms = self.config.initial_rebalance_delay_ms
            group.initial_left = max(delay_ms - initial_ms, 0)
            delay_ms = initial_ms
        group.newcomer = False
        group.enter(GroupState.PREPARING, now_ms)
        self._time_phase(group, now_ms + delay_ms, self._on_join_time)
        self.complete_if_all_joined(group, now_ms)

    def complete_if_all_joined(self, group: Group, now_ms: int) -> None:
        """End the join phase early; the initial delay always runs to its end."""
        if group.state is GroupState.PREPARING and group.initial_left < 0 and group.all_joined:
            self._complete(group, now_ms)

    def _on_join_time(self, group: Group, serial: int, now_ms: int) -> None:
        if group.timer != serial or group.state is not GroupState.PREPARING:
            return
        group.timer = 0
        if group.newcomer and group.initial_left > 0:
            group.newcomer = False
            delay_ms = min(self.config.initial_rebalance_delay_ms, group.initial_left)
            group.initial_left -= delay_ms
            self._time_phase(group, now_ms + delay_ms, self._on_join_time)
            return
        self._complete(group, now_ms)

    def _complete(self, group: Group, now_ms: int) -> None:
        """The join phase is over: a new generation of those who came."""
        group.initial_left = -1
        late = [
            member for member in group.members.values() if member.join_ticket is None and member.instance_id is None
        ]
        for member in late:
            self._drop(group, member)
        if late:
            _log.info(
                "members out group=%s reason=not joined in time members=%s",
                group.group_id,
                [member.member_id for member in late],
            )
        if group.members and not self._elect_leader(group):
            # Static members alone, none of whom is here: their sessions decide. Their timeout may be 0.
            delay_ms = max(group.rebalance_timeout_ms, LOOK_AGAIN_MIN_MS)
            self._time_phase(group, now_ms + delay_ms, self._on_join_time)
            return
        self._end_phase(group)
        group.generation = next_generation(group.generation)
        if not group.members:
            group.protocol = None
            group.enter(GroupState.EMPTY, now_ms)
            group.topics = group.subscribed()
            self._store_empty(group)
            return
        group.protocol = group.select_protocol()
        group.enter(GroupState.COMPLETING, now_ms)
        group.topics = group.subscribed()
        group.pending_sync = set(group.members)
        for member in group.members.values():
            ticket = group.park_join(member, None)
            member.is_new = False
            self.set_deadline(member, now_ms + member.session_timeout_ms)
            if ticket is not None:
                self.answer_join(group, member, ticket)
        self._time_phase(group, now_ms + group.rebalance_timeout_ms, self._on_sync_time)
        _log.info(
            "generation group=%s generation=%d members=%d leader=%s protocol=%s",
            group.group_id,
            group.generation,
            len(group.members),
            group.leader,
            group.protocol,
        )

    def _elect_leader(self, group: Group) -> bool:
        """The leader stays if it has joined, else the first who has takes its place; False where nobody has."""
        leader = group.members.get(group.leader or "")
        if leader is not None and leader.join_ticket is not None:
            return True
        for member in group.members.values():
            if member.join_ticket is not None:
                group.leader = member.member_id
                return True
        return False

    def _store_empty(self, group: Group) -> None:
        def stored(error: ErrorCode, _offset: int, _now_ms: int) -> None:
            if error:
                _log.warning("group not stored, it goes on in memory group=%s error=%s", group.group_id, error.name)

        self.emit(Append([(group_key(group.group_id), encode_group(group.to_message()))], stored))

    # Sync phase

    def sync(self, group: Group, request: Any, ticket: Any, now_ms: int) -> None:
        """A SyncGroup that found its member; the leader's brings the assignment."""
        member = group.members[request.member_id]
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._end_phase(group)
            group.pending_sync = set()  # an emptied set keeps its room
        if group.state is GroupState.STABLE:
            self.beat(member, now_ms)
            self._give_assignment(group, member, ticket)
            return
        assert group.state is GroupState.COMPLETING
        earlier, member.sync_ticket = member.sync_ticket, ticket
        if earlier is not None:
            self._refuse_sync(earlier, ErrorCode.REBALANCE_IN_PROGRESS)
        if member.member_id != group.leader:
            return
        given = {row.member_id: bytes(row.assignment) for row in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        generation = group.generation

        def stored(error: ErrorCode, _offset: int, then_ms: int) -> None:
            if group.state is not GroupState.COMPLETING or group.generation != generation:
                return  # a rebalance began meanwhile, and answered everyone
            if error:
                self._reset_assignments(group, group_error(error), then_ms)
                self.prepare_unless_under_way(group, "assignment not stored", error.name, then_ms)
                return
            for each in group.members.values():
                each.assignment = assignments.get(each.member_id, b"")
            group.enter(GroupState.STABLE, then_ms)
            for each in group.members.values():
                self.answer_sync(group, each, ErrorCode.NONE, then_ms)

        message = group.to_message(assignments)
        self.emit(Append([(group_key(group.group_id), encode_group(message))], stored))

    def _on_sync_time(self, group: Group, serial: int, now_ms: int) -> None:
        """Who has not asked for its assignment in time is out."""
        if group.timer != serial or group.state not in (GroupState.COMPLETING, GroupState.STABLE):
            return
        group.timer = 0
        late = [group.members[member_id] for member_id in sorted(group.pending_sync)]
        if not late:
            return
        names = ",".join(member.member_id for member in late)
        for member in late:
            self._answer_waiting(group, member)
            self._drop(group, member)
        self.prepare_unless_under_way(group, "not synced in time", names, now_ms)

    def _reset_assignments(self, group: Group, error: ErrorCode, now_ms: int) -> None:
        for member in group.members.values():
            member.assignment = b""
            self.answer_sync(group, member, error, now_ms)

    def _time_phase(self, group: Group, due_ms: int, on_time: OnTime) -> None:
        """The present phase ends at `due_ms`, whatever was set before."""
        self.timers.cancel(group.timer)
        group.timer = self.timers.set(due_ms, on_time, group)

    def _end_phase(self, group: Group) -> None:
        self.timers.cancel(group.timer)
        group.timer = 0

    def let_go(self, group: Group) -> None:
        """Nothing is due any more in a group that is gone."""
        self._end_phase(group)
        for member in group.members.values():
            self._end_session(member)

    # Sessions

    def beat(self, member: Member, now_ms: int) -> None:
        """A member was heard of."""
        member.deadline_ms = now_ms + member.session_timeout_ms
        if not member.timer:
            self._set_timer(member, member.deadline_ms)

    def set_deadline(self, member: Member, deadline_ms: int) -> None:
        """A deadline that may be earlier than the one before. One entry a member, which comes up early enough."""
        member.deadline_ms = deadline_ms
        if not member.timer or member.timer_ms > deadline_ms:
            self._set_timer(member, deadline_ms)

    def _set_timer(self, member: Member, due_ms: int) -> None:
        self.timers.cancel(member.timer)
        member.timer_ms = due_ms
        member.timer = self.timers.set(due_ms, self._on_session, member)

    def _end_session(self, member: Member) -> None:
        self.timers.cancel(member.timer)
        member.timer = 0

    def _drop(self, group: Group, member: Member) -> None:
        group.remove(member.member_id)
        self._end_session(member)

    def _on_session_time(self, member: Member, serial: int, now_ms: int) -> None:
        group = member.group
        if member.timer != serial:
            return
        member.timer = 0
        if group.state is GroupState.DEAD or group.members.get(member.member_id) is not member:
            return
        waits = member.sync_ticket is not None or (member.join_ticket is not None and not member.is_new)
        if waits:
            return  # it waits for us; the answer sets a new entry
        if member.deadline_ms > now_ms:
            self._set_timer(member, member.deadline_ms)
            return
        self.remove(group, member, "session expired", now_ms)

    def remove(self, group: Group, member: Member, reason: str, now_ms: int, detail: str | None = None) -> None:
        """A member is gone: the others share its work."""
        _log.info(
            "member out group=%s member=%s reason=%s%s",
            group.group_id,
            member.member_id,
            reason,
            _said(detail),
        )
        self._answer_waiting(group, member)
        self._drop(group, member)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            self.prepare(group, reason, member.member_id, now_ms)
        else:
            self.complete_if_all_joined(group, now_ms)

    # Answers

    def park(self, group: Group, member: Member, ticket: Any) -> None:
        """Keep a JoinGroup until the phase ends; an earlier one of the same member is answered for nobody."""
        earlier = group.park_join(member, ticket)
        if earlier is not None:
            self._refuse_join(earlier, member.member_id, ErrorCode.REBALANCE_IN_PROGRESS)

    def answer_join(
        self,
        group: Group,
        member: Member,
        ticket: Any,
        *,
        leader: str | None = None,
        with_members: bool | None = None,
        skip_assignment: bool = False,
    ) -> None:
        """The present generation, with everyone's metadata for the leader."""
        if with_members is None:
            with_members = member.member_id == group.leader and group.state is GroupState.COMPLETING
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
        self.emit(Answer(ticket, message))

    def answer_sync(self, group: Group, member: Member, error: ErrorCode, now_ms: int | None = None) -> None:
        """Answer a SyncGroup that waits; the member's session begins anew where a time is given."""
        ticket, member.sync_ticket = member.sync_ticket, None
        if ticket is None:
            return
        if error:
            self._refuse_sync(ticket, error)
        else:
            self._give_assignment(group, member, ticket)
        if now_ms is not None:
            self.beat(member, now_ms)

    def _give_assignment(self, group: Group, member: Member, ticket: Any) -> None:
        message = messages.SyncGroupResponse(
            protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
        )
        self.emit(Answer(ticket, message))

    def _answer_waiting(self, group: Group, member: Member) -> None:
        """Whoever is to be removed while it waits: it may join again, as somebody else."""
        ticket = group.park_join(member, None)
        if ticket is not None:
            self._refuse_join(ticket, NO_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID)
        self.answer_sync(group, member, ErrorCode.UNKNOWN_MEMBER_ID)

    def _refuse_join(self, ticket: Any, member_id: str, error: ErrorCode) -> None:
        self.emit(Answer(ticket, join_refusal(member_id, error)))

    def _refuse_sync(self, ticket: Any, error: ErrorCode) -> None:
        self.emit(Answer(ticket, messages.SyncGroupResponse(error_code=int(error))))


def _said(detail: str | None) -> str:
    """The end of a log line: a client's own words."""
    return f" detail={detail[:DETAIL_LENGTH_MAX]!r}" if detail else ""


def join_refusal(member_id: str, error: ErrorCode) -> Any:
    """A JoinGroup response without a generation."""
    return messages.JoinGroupResponse(
        error_code=int(error), generation_id=NO_GENERATION, protocol_name="", leader="", member_id=member_id
    )
