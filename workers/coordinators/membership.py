"""Who is in a group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what happens when nothing comes.

Pure: events in, effects out (`effects.py`). The phases of a rebalance are in `rebalance.py`.

What a JoinGroup does, by the state it meets (S: of a static member that came back without its id):

    state          unknown member      known, nothing new      known, other metadata    leader         S
    Empty          add, prepare        UNKNOWN_MEMBER_ID       UNKNOWN_MEMBER_ID        -              add, prepare
    Preparing      add, wait           wait                    wait                     wait           fence, wait
    Completing     add, prepare        answer again            prepare                  answer again   fence, prepare
    Stable         add, prepare        answer again            prepare                  prepare        fence, answer
    Dead           COORDINATOR_NOT_AVAILABLE

Source: Kafka `GroupCoordinator`; KIP-345 (static members), KIP-394 (member ids before members), KIP-814.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from sys import intern
from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.limits import PENDING_MEMBERS_MAX
from headrace.protocol import messages
from headrace.workers.coordinators.config import GroupConfig
from headrace.workers.coordinators.effects import Append, Effect
from headrace.workers.coordinators.group import Group, GroupState, Member, Protocols
from headrace.workers.coordinators.group_records import encode_group, group_key
from headrace.workers.coordinators.rebalance import Rebalance, group_error
from headrace.workers.coordinators.timers import Timers

VERSION_OF_KNOWN_MEMBERS = 4
VERSION_OF_SKIPPED_ASSIGNMENT = 9
NO_MEMBER_ID = ""

_log = logging.getLogger(__name__)
_LeftMember = messages.LeaveGroupResponse.MemberResponse


class Client(NamedTuple):
    """Who sent a request, as far as a group cares."""

    client_id: str
    host: str


class Membership(Rebalance):
    """Events of members, for all groups of a worker.

    new_id   makes the part of a member id that nobody can guess
    """

    def __init__(
        self, config: GroupConfig, timers: Timers, emit: Callable[[Effect], None], new_id: Callable[[], str]
    ) -> None:
        super().__init__(config, timers, emit)
        self._new_id = new_id
        self._pending: dict[str, Group] = {}  # of all groups, the oldest first

    # JoinGroup

    def join(self, group: Group, request: Any, version: int, client: Client, ticket: Any, now_ms: int) -> None:
        """A JoinGroup that found its group; answered now, or when the join phase ends."""
        if not self._accepts(group, request.member_id):
            self._take_pending(group, request.member_id)
            member = group.members.get(request.member_id)
            if member is not None:
                self._drop(group, member)  # the limit was lowered: nobody waits for it any more
            self._refuse_join(ticket, NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)
        elif group.state is GroupState.DEAD:
            self._refuse_join(ticket, request.member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            by_name: dict[str, bytes] = {}  # one named twice would count as two of its supporters
            for row in request.protocols:
                by_name.setdefault(intern(row.name), bytes(row.metadata))
            protocols = tuple(by_name.items())
            if not group.supports(request.protocol_type, protocols):
                self._refuse_join(ticket, request.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            elif not request.member_id:
                self._join_unknown(group, request, protocols, version, client, ticket, now_ms)
            else:
                self._join_known(group, request, protocols, client, ticket, now_ms)
        self.complete_if_all_joined(group, now_ms)

    def _accepts(self, group: Group, member_id: str) -> bool:
        """Whether there is room: `group.max.size`."""
        room = self.config.members_max
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING:
            return (member is not None and member.join_ticket is not None) or group.awaiting_join < room
        return member is not None or len(group.members) < room

    def _join_unknown(
        self, group: Group, request: Any, protocols: Protocols, version: int, client: Client, ticket: Any, now_ms: int
    ) -> None:
        instance_id = request.group_instance_id
        member_id = f"{client.client_id if instance_id is None else instance_id}-{self._new_id()}"
        if instance_id is not None and instance_id in group.static:
            self._rejoin_static(group, request, protocols, version, member_id, ticket, now_ms)
        elif instance_id is None and version >= VERSION_OF_KNOWN_MEMBERS:
            self._hand_out(group, member_id, now_ms + request.session_timeout_ms, now_ms)
            self._refuse_join(ticket, member_id, ErrorCode.MEMBER_ID_REQUIRED)
        else:
            self._add(group, request, protocols, member_id, client, ticket, now_ms)

    def _join_known(
        self, group: Group, request: Any, protocols: Protocols, client: Client, ticket: Any, now_ms: int
    ) -> None:
        member_id = request.member_id
        if request.group_instance_id is None and self._take_pending(group, member_id):
            self._add(group, request, protocols, member_id, client, ticket, now_ms)
            return
        error = validate_member(group, member_id, request.group_instance_id)
        if error:
            self._refuse_join(ticket, member_id, error)
            return
        member = group.members[member_id]
        if group.state is GroupState.EMPTY:
            self._refuse_join(ticket, member_id, ErrorCode.UNKNOWN_MEMBER_ID)
            return
        is_leader = group.leader == member_id
        is_same = member.protocols == protocols
        if group.state is GroupState.COMPLETING and is_same:
            self.answer_join(group, member, ticket)  # the answer to its last one was lost
            return
        if group.state is GroupState.STABLE and is_same and not is_leader:
            self.answer_join(group, member, ticket)
            return
        group.update(member, protocols, *timeouts_of(request))
        self.park(group, member, ticket)
        if group.state is GroupState.STABLE and is_same:
            self.prepare_unless_under_way(group, "leader joined again", member_id, now_ms, request.reason)
        else:
            self.prepare_unless_under_way(group, "metadata changed", member_id, now_ms, request.reason)

    def _add(
        self,
        group: Group,
        request: Any,
        protocols: Protocols,
        member_id: str,
        client: Client,
        ticket: Any,
        now_ms: int,
    ) -> None:
        """A new member: it may be gone before the join phase ends, so it has a deadline of its own."""
        member = Member(
            group,
            member_id,
            request.group_instance_id,
            intern(client.client_id),
            intern(client.host),
            *timeouts_of(request),
            group.share(protocols),
        )
        member.is_new = True
        group.add(member, request.protocol_type)
        self.park(group, member, ticket)
        member.deadline_ms = now_ms + self.config.new_member_join_timeout_ms
        self._set_timer(
            member, min(member.deadline_ms, now_ms + member.session_timeout_ms)
        )  # one that serves later too
        if group.initial_left >= 0 and not group.generation:
            group.newcomer = True
        self.prepare_unless_under_way(group, "member joined", member_id, now_ms, request.reason)

    def _rejoin_static(
        self, group: Group, request: Any, protocols: Protocols, version: int, member_id: str, ticket: Any, now_ms: int
    ) -> None:
        """A static member restarted: it gets a new id, whoever still uses the old one is fenced (KIP-345)."""
        former_leader = group.leader
        member = group.members[group.static[request.group_instance_id]]
        former_id = member.member_id
        former = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        _log.info(
            "static member back group=%s instance=%s member=%s fenced=%s state=%s",
            group.group_id,
            member.instance_id,
            member_id,
            former_id,
            group.state.value,
        )
        self._fence(group, member)
        group.rename_static(member, member_id)
        self.beat(member, now_ms)
        group.update(member, protocols, *timeouts_of(request))
        if group.state is not GroupState.STABLE:
            self.park(group, member, ticket)
            self.prepare_unless_under_way(group, "static member joined again", member_id, now_ms, request.reason)
            return
        if group.select_protocol() != group.protocol:
            self.park(group, member, ticket)
            self.prepare_unless_under_way(
                group, "static member changed the protocol", member_id, now_ms, request.reason
            )
            return
        self.park(group, member, ticket)
        generation = group.generation

        def stored(error: ErrorCode, _offset: int, then_ms: int) -> None:
            if member.join_ticket is not ticket:
                return  # answered meanwhile: fenced, or a rebalance took it along
            if error and group.members.get(member_id) is member:
                group.park_join(member, None)
                group.update(member, *former)
                group.rename_static(member, former_id)
                self.beat(member, then_ms)
                self._refuse_join(ticket, NO_MEMBER_ID, group_error(error))
            elif group.state is GroupState.STABLE and group.generation == generation:
                group.park_join(member, None)
                self.beat(member, then_ms)
                can_skip = version >= VERSION_OF_SKIPPED_ASSIGNMENT
                is_leader = group.leader == member_id
                self.answer_join(
                    group,
                    member,
                    ticket,
                    leader=group.leader if can_skip else former_leader,
                    with_members=can_skip and is_leader,
                    skip_assignment=can_skip and is_leader,
                )

        self.append([(group_key(group.group_id), encode_group(group.to_message()))], stored)

    def _fence(self, group: Group, member: Member) -> None:
        """Whoever waits under a static member's old id is told that another took its place."""
        waiting = group.park_join(member, None)
        if waiting is not None:
            self._refuse_join(waiting, member.member_id, ErrorCode.FENCED_INSTANCE_ID)
        self.answer_sync(group, member, ErrorCode.FENCED_INSTANCE_ID)

    # Heartbeat

    def heartbeat(self, group: Group, request: Any, now_ms: int) -> ErrorCode:
        """The answer to a Heartbeat; a valid one moves the member's deadline."""
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = validate_member(group, request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is GroupState.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        self.beat(group.members[request.member_id], now_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else ErrorCode.NONE

    # LeaveGroup

    def leave(self, group: Group, members: list[tuple[str, str | None, str | None]], now_ms: int) -> list[Any]:
        """Take members out: (member id, instance id, reason) each; one row of the response for each."""
        rows = []
        for member_id, instance_id, reason in members:
            error = self._leave_one(group, member_id, instance_id, reason, now_ms)
            rows.append(_LeftMember(member_id=member_id, group_instance_id=instance_id, error_code=int(error)))
        return rows

    def _leave_one(
        self, group: Group, member_id: str, instance_id: str | None, reason: str | None, now_ms: int
    ) -> ErrorCode:
        if member_id == NO_MEMBER_ID:
            if instance_id is None or instance_id not in group.static:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = group.static[instance_id]
        elif member_id in group.pending:
            self._forget_pending(group, member_id, now_ms)
            return ErrorCode.NONE
        else:
            error = validate_member(group, member_id, instance_id)
            if error:
                return error
        self.remove(group, group.members[member_id], "member left", now_ms, detail=reason)
        return ErrorCode.NONE

    # Member ids that were handed out

    def _hand_out(self, group: Group, member_id: str, deadline_ms: int, now_ms: int) -> None:
        """Expect a member under this id. Its client comes back at once, so that the oldest makes room in a flood."""
        if len(self._pending) >= PENDING_MEMBERS_MAX:
            oldest = next(iter(self._pending))
            self._forget_pending(self._pending[oldest], oldest, now_ms)
        self._pending[member_id] = group
        group.pending[member_id] = self.timers.set(deadline_ms, self._on_pending_time, (group, member_id))

    def _take_pending(self, group: Group, member_id: str) -> bool:
        """Whether this id was handed out; it is not expected any more."""
        serial = group.pending.pop(member_id, 0)
        if not serial:
            return False
        self.timers.cancel(serial)
        del self._pending[member_id]
        return True

    def _on_pending_time(self, subject: tuple[Group, str], serial: int, now_ms: int) -> None:
        group, member_id = subject
        if group.pending.get(member_id) == serial:
            _log.info("member id never used group=%s member=%s", group.group_id, member_id)
            del group.pending[member_id], self._pending[member_id]
            self.complete_if_all_joined(group, now_ms)

    def _forget_pending(self, group: Group, member_id: str, now_ms: int) -> None:
        self._take_pending(group, member_id)
        self.complete_if_all_joined(group, now_ms)

    def let_go(self, group: Group) -> None:
        super().let_go(group)
        for member_id in list(group.pending):
            self._take_pending(group, member_id)

    def append(self, records: Any, then: Callable[[ErrorCode, int, int], None]) -> None:
        """Have records of a group appended; what `then` emits becomes its effects."""
        self.emit(Append(records, then))


def timeouts_of(request: Any) -> tuple[int, int]:
    """(rebalance, session) timeout in ms; JoinGroup v0 has but one."""
    rebalance_ms = request.rebalance_timeout_ms
    return (rebalance_ms if rebalance_ms >= 0 else request.session_timeout_ms), request.session_timeout_ms


def validate_member(group: Group, member_id: str, instance_id: str | None) -> ErrorCode:
    """Whether this is a member: NONE, UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID where another has its instance id."""
    if instance_id is not None:
        known = group.static.get(instance_id)
        if known is not None and known != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
        if known is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID
