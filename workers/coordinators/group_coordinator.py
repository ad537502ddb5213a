"""The coordinator of the groups in one partition of `__consumer_offsets`.

Pure: requests, timers, loaded groups and lost leadership are its events; effects go to `emit`.

    loading    every request is refused with COORDINATOR_LOAD_IN_PROGRESS; a heartbeat is taken for good, so that
               members stay, and a SyncGroup is sent back to JoinGroup: the rebalance it belongs to is lost
    active     requests go to their group
    unloaded   whoever waited was told NOT_COORDINATOR; nothing comes any more

Source: Kafka `GroupCoordinator.validateGroupStatus`, `onGroupLoaded`, `onGroupUnloaded`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Set
from typing import Any

from headrace.errors import ErrorCode
from headrace.limits import GROUP_STRING_LENGTH_MAX, GROUPS_PER_PARTITION_MAX, TOPIC_NAME_LENGTH_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.workers.coordinators.commit_request import CommitRequest
from headrace.workers.coordinators.config import GroupConfig
from headrace.workers.coordinators.effects import Answer, Effect
from headrace.workers.coordinators.group import CONSUMER_PROTOCOL, Group, GroupState
from headrace.workers.coordinators.group_records import (
    CommittedOffset,
    decode_offset,
    read_suffix,
    suffix_of,
)
from headrace.workers.coordinators.membership import Client, Membership, validate_member
from headrace.workers.coordinators.offsets import IsKnown, Offsets, validate_commit
from headrace.workers.coordinators.refusals import VERSION_OF_LEFT_MEMBERS, refusal_of
from headrace.workers.coordinators.timers import Timers

NO_OFFSET = CommittedOffset(-1, -1, "", -1)
CLASSIC_TYPE = "classic"
VERSION_OF_NAMED_PROTOCOL = 5  # of SyncGroup: type and name of the protocol may be null, but must not (KIP-559)
OPERATIONS_ALL = 1 << 3 | 1 << 6 | 1 << 8  # READ, DELETE, DESCRIBE: what a group has
OPERATIONS_NOT_ASKED = -(2**31)

_E = ErrorCode
_log = logging.getLogger(__name__)
_Described = messages.DescribeGroupsResponse.DescribedGroup
_DescribedMember = messages.DescribeGroupsResponse.DescribedGroupMember
_Listed = messages.ListGroupsResponse.ListedGroup

# topic -> partitions, each with its committed offset and an error
Fetched = dict[str, list[tuple[int, CommittedOffset, ErrorCode]]]


class GroupCoordinator:
    """Groups of one offsets partition.

    partition   index in `__consumer_offsets`
    emit        called with each effect, in order
    new_id      makes the random part of member ids
    is_known    whether a topic has a partition
    """

    def __init__(
        self,
        partition: int,
        config: GroupConfig,
        timers: Timers,
        emit: Callable[[Effect], None],
        new_id: Callable[[], str],
        is_known: IsKnown,
    ) -> None:
        self.partition = partition
        self.groups: dict[str, Group] = {}
        self.is_loading = True
        self._emit = emit
        self.members = Membership(config, timers, emit, new_id)
        self.offsets = Offsets(config, emit, is_known)
        self._config = config
        self._events: dict[int, Callable[[Any, int, Client, Any, int], None]] = {
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.SYNC_GROUP: self._sync,
            ApiKey.HEARTBEAT: self._heartbeat,
            ApiKey.LEAVE_GROUP: self._leave,
            ApiKey.TXN_OFFSET_COMMIT: self._commit_transactional,
            ApiKey.OFFSET_DELETE: self._delete_offsets,
        }

    # Requests that concern one group

    def handle(self, api_key: int, version: int, request: Any, client: Client, ticket: Any, now_ms: int) -> None:
        """One request of a client, no OffsetCommit; exactly one Answer with its ticket follows, now or later."""
        group_id = request.group_id
        if not group_id or len(group_id) > GROUP_STRING_LENGTH_MAX:
            self._refuse(api_key, request, ticket, _E.INVALID_GROUP_ID)
        elif not self.is_loading:
            self._events[api_key](request, version, client, ticket, now_ms)
        elif api_key == ApiKey.HEARTBEAT:
            self._refuse(api_key, request, ticket, _E.NONE)
        elif api_key == ApiKey.SYNC_GROUP:
            self._refuse(api_key, request, ticket, _E.REBALANCE_IN_PROGRESS)
        else:
            self._refuse(api_key, request, ticket, _E.COORDINATOR_LOAD_IN_PROGRESS)

    def _refuse(self, api_key: int, request: Any, ticket: Any, error: ErrorCode) -> None:
        self._emit(Answer(ticket, refusal_of(api_key, request, error)))

    def _join(self, request: Any, version: int, client: Client, ticket: Any, now_ms: int) -> None:
        config = self._config
        group = self.groups.get(request.group_id)
        error = _E.NONE
        if not config.session_timeout_min_ms <= request.session_timeout_ms <= config.session_timeout_max_ms:
            error = _E.INVALID_SESSION_TIMEOUT
        elif not _is_writable(request):
            error = _E.INVALID_REQUEST
        elif group is None:
            if request.member_id:
                error = _E.UNKNOWN_MEMBER_ID
            elif len(self.groups) >= GROUPS_PER_PARTITION_MAX:
                error = _E.COORDINATOR_NOT_AVAILABLE
            else:
                group = self.groups[request.group_id] = Group(request.group_id, now_ms)
        if group is None or error:
            self._refuse(ApiKey.JOIN_GROUP, request, ticket, error)
        else:
            self.members.join(group, request, version, client, ticket, now_ms)

    def _sync(self, request: Any, version: int, _client: Client, ticket: Any, now_ms: int) -> None:
        group = self.groups.get(request.group_id)
        error = _fault_of_sync(group, request, version)
        if group is None or error:
            self._refuse(ApiKey.SYNC_GROUP, request, ticket, error)
        else:
            self.members.sync(group, request, ticket, now_ms)

    def _heartbeat(self, request: Any, _version: int, _client: Client, ticket: Any, now_ms: int) -> None:
        group = self.groups.get(request.group_id)
        error = _E.UNKNOWN_MEMBER_ID if group is None else self.members.heartbeat(group, request, now_ms)
        self._emit(Answer(ticket, messages.HeartbeatResponse(error_code=int(error))))

    def _leave(self, request: Any, version: int, _client: Client, ticket: Any, now_ms: int) -> None:
        if version >= VERSION_OF_LEFT_MEMBERS:
            leaving = [(row.member_id, row.group_instance_id, row.reason) for row in request.members]
        else:
            leaving = [(request.member_id, None, None)]
        group = self.groups.get(request.group_id)
        if group is not None and group.state is GroupState.DEAD:
            self._refuse(ApiKey.LEAVE_GROUP, request, ticket, _E.COORDINATOR_NOT_AVAILABLE)
            return
        rows = self.members.leave(group or _NOBODY, leaving, now_ms)
        error = int(_E.NONE) if version >= VERSION_OF_LEFT_MEMBERS else rows[0].error_code
        self._emit(Answer(ticket, messages.LeaveGroupResponse(error_code=error, members=rows)))

    def commit(self, request: CommitRequest, ticket: Any, now_ms: int) -> None:
        """An OffsetCommit; its Answer has the response's bytes in place of a message."""
        group_id, generation = request.group_id, request.generation
        group = self.groups.get(group_id)
        if len(group_id) > GROUP_STRING_LENGTH_MAX:
            error = _E.INVALID_GROUP_ID
        elif self.is_loading:
            error = _E.COORDINATOR_LOAD_IN_PROGRESS
        else:
            if group is None and generation < 0 and len(self.groups) < GROUPS_PER_PARTITION_MAX:
                group = self.groups[group_id] = Group(group_id, now_ms)
            if group is None:
                error = _E.ILLEGAL_GENERATION if generation >= 0 else _E.COORDINATOR_NOT_AVAILABLE
            else:
                error = validate_commit(group, generation, request.member_id, request.instance_id)
                member = group.members.get(request.member_id)
                if member is not None and (not error or error is _E.REBALANCE_IN_PROGRESS):
                    self.members.beat(member, now_ms)
        if group is None or error:
            self._emit(Answer(ticket, request.response(error)))
        else:
            self.offsets.commit(group, request, ticket, now_ms)

    def _commit_transactional(self, request: Any, _version: int, _client: Client, ticket: Any, now_ms: int) -> None:
        group = self.groups.get(request.group_id)
        if group is None and request.generation_id < 0:
            group = self.groups[request.group_id] = Group(request.group_id, now_ms)
        if group is None:
            error = _E.ILLEGAL_GENERATION
        else:
            error = validate_commit(
                group, request.generation_id, request.member_id, request.group_instance_id, is_transactional=True
            )
        if group is None or error:
            self._refuse(ApiKey.TXN_OFFSET_COMMIT, request, ticket, error)
        else:
            self.offsets.commit_transactional(group, request, ticket, now_ms)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """A transaction marker came into this partition."""
        for group in self.groups.values():
            if producer_id in group.transactions:
                self.offsets.end_transaction(group, producer_id, is_commit)

    def _delete_offsets(self, request: Any, _version: int, _client: Client, ticket: Any, now_ms: int) -> None:
        group = self.groups.get(request.group_id)
        if group is None or group.state is GroupState.DEAD:
            self._refuse(ApiKey.OFFSET_DELETE, request, ticket, _E.GROUP_ID_NOT_FOUND)
            return
        if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL:
            self._refuse(ApiKey.OFFSET_DELETE, request, ticket, _E.NON_EMPTY_GROUP)
            return
        topic_row = messages.OffsetDeleteResponse.OffsetDeleteResponseTopic
        row = messages.OffsetDeleteResponse.OffsetDeleteResponsePartition
        in_use = group.state is not GroupState.EMPTY
        errors: dict[str, dict[int, ErrorCode]] = {}
        for topic in request.topics:
            is_read = in_use and (group.topics is None or topic.name in group.topics)
            for partition in topic.partitions:
                index = partition.partition_index
                error = _E.GROUP_SUBSCRIBED_TO_TOPIC if is_read else _E.NONE
                if not self.offsets.is_known(topic.name, index):
                    error = _E.UNKNOWN_TOPIC_OR_PARTITION
                errors.setdefault(topic.name, {})[index] = error

        def deleted(failure: ErrorCode) -> None:
            topics = [
                topic_row(
                    name=name,
                    partitions=[
                        row(partition_index=index, error_code=int(error or failure)) for index, error in rows.items()
                    ],
                )
                for name, rows in errors.items()
            ]
            self._emit(Answer(ticket, messages.OffsetDeleteResponse(topics=topics)))

        suffixes = [suffix_of(name, index) for name, rows in errors.items() for index, bad in rows.items() if not bad]
        if suffixes and self._is_over(group, sum(suffix in group.offsets for suffix in suffixes)):
            self._bury(group, deleted, now_ms)
        else:
            self.offsets.delete(group, suffixes, deleted)

    # Requests that concern many groups: the host puts the answers together

    def fetch(
        self, group_id: str, topics: Iterable[tuple[str, list[int]]] | None, require_stable: bool
    ) -> tuple[ErrorCode, Fetched]:
        """Committed offsets of partitions, or of all that the group has.

        returns   (error for the group, offsets by topic); an offset of -1 where nothing is committed
        """
        if self.is_loading:
            return _E.COORDINATOR_LOAD_IN_PROGRESS, {}
        group = self.groups.get(group_id)
        known = {} if group is None or group.state is GroupState.DEAD else group.offsets
        found: Fetched = {}
        if topics is None:
            pairs = {suffix: read_suffix(suffix) for suffix in known}
            if group is not None and require_stable:
                pairs.update({suffix: read_suffix(suffix) for held in group.transactions.values() for suffix in held})
        else:
            pairs = {}
            for name, rows in topics:
                if len(name) <= TOPIC_NAME_LENGTH_MAX:
                    pairs.update({suffix_of(name, index): (name, index) for index in rows})
                else:  # it can't exist, and would be copied for each partition
                    found.setdefault(name, []).extend((index, NO_OFFSET, _E.NONE) for index in rows)
        may_wait = require_stable and group is not None and bool(group.transactions or group.in_flight)
        for suffix, (name, index) in pairs.items():
            if may_wait and group is not None and self.offsets.is_unstable(group, suffix):
                row = (index, NO_OFFSET, _E.UNSTABLE_OFFSET_COMMIT)
            else:
                value = known.get(suffix)
                row = (index, NO_OFFSET if value is None else decode_offset(value), _E.NONE)
            found.setdefault(name, []).append(row)
        return _E.NONE, found

    def describe(self, group_id: str, with_operations: bool) -> Any:
        """A `DescribedGroup`; a group that is not there is described as Dead."""
        operations = OPERATIONS_ALL if with_operations else OPERATIONS_NOT_ASKED
        if self.is_loading:
            return _Described(
                error_code=int(_E.COORDINATOR_LOAD_IN_PROGRESS), group_id=group_id, authorized_operations=operations
            )
        group = self.groups.get(group_id)
        if group is None:
            return _Described(group_id=group_id, group_state=GroupState.DEAD.value, authorized_operations=operations)
        is_stable = group.state is GroupState.STABLE
        return _Described(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol or "") if is_stable else "",
            members=[
                _DescribedMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(group.protocol) if is_stable else b"",
                    member_assignment=member.assignment if is_stable else b"",
                )
                for member in group.members.values()
            ],
            authorized_operations=operations,
        )

    def rows(self, states: set[str], types: set[str]) -> tuple[ErrorCode, list[Any]]:
        """`ListedGroup` rows; states and types in small letters, none for all."""
        if self.is_loading:
            return _E.COORDINATOR_LOAD_IN_PROGRESS, []
        if types and CLASSIC_TYPE not in types:
            return _E.NONE, []
        return _E.NONE, [
            _Listed(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=CLASSIC_TYPE,
            )
            for group in self.groups.values()
            if not states or group.state.value.lower() in states
        ]

    def delete_group(self, group_id: str, then: Callable[[ErrorCode], None], now_ms: int) -> None:
        """Forget an empty group, its offsets with it."""
        group = self.groups.get(group_id)
        if self.is_loading:
            then(_E.COORDINATOR_LOAD_IN_PROGRESS)
        elif group is None or group.state is GroupState.DEAD:
            then(_E.GROUP_ID_NOT_FOUND)
        elif group.state is not GroupState.EMPTY:
            then(_E.NON_EMPTY_GROUP)
        else:
            self._bury(group, then, now_ms)

    # Events of the node

    def loaded(self, groups: dict[str, Group], now_ms: int) -> None:
        """The log was read: sessions begin anew, requests are taken."""
        self.groups = groups
        self.is_loading = False
        for group in groups.values():
            for member in group.members.values():
                self.members.beat(member, now_ms)
            if len(group.members) > self._config.members_max:
                self.members.prepare(group, "over group.max.size", "", now_ms)

    def unload(self, now_ms: int) -> None:
        """Leadership is lost: whoever waits asks elsewhere."""
        for group in self.groups.values():
            group.enter(GroupState.DEAD, now_ms)
            self.members.let_go(group)
            for member in group.members.values():
                waiting = group.park_join(member, None)
                if waiting is not None:
                    self._emit(Answer(waiting, messages.JoinGroupResponse(error_code=int(_E.NOT_COORDINATOR))))
                self.members.answer_sync(group, member, _E.NOT_COORDINATOR)
        self.groups = {}

    def expire(self, now_ms: int) -> int:
        """Forget offsets whose retention is over, and groups of which nothing is left; returns how many offsets."""
        count = 0
        for group in list(self.groups.values()):
            gone = self.offsets.expired(group, now_ms)
            count += len(gone)
            self._drop(group, gone, now_ms)
        return count

    def topics_deleted(self, topics: Set[str], then: Callable[[ErrorCode], None], now_ms: int) -> None:
        """Offsets of topics that are no more; one look at each offset, however many topics.

        then   called once their tombstones are committed, or with an error: then they are here still, and may be deleted again
        """
        names = {topic.encode() for topic in topics}
        found: dict[Group, list[bytes]] = {}
        for group in self.groups.values():
            suffixes = dict.fromkeys(suffix for suffix in group.offsets if suffix[2:-4] in names)
            suffixes.update(dict.fromkeys(suffix for suffix in group.in_flight if suffix[2:-4] in names))
            for held in group.transactions.values():
                suffixes.update(dict.fromkeys(suffix for suffix in held if suffix[2:-4] in names))
            if suffixes:
                found[group] = list(suffixes)
        if not found:
            then(_E.NONE)
        outcomes: list[ErrorCode] = []

        def settled(group: Group, error: ErrorCode) -> None:
            outcomes.append(error)
            if not error and self.groups.get(group.group_id) is group and self._is_over(group, 0):
                self._bury(group, lambda _error: None, now_ms)
            if len(outcomes) == len(found):
                then(next((each for each in outcomes if each), _E.NONE))

        for group, gone in found.items():
            self.offsets.delete(group, gone, lambda error, group=group: settled(group, error))  # type: ignore[misc]

    def _drop(self, group: Group, gone: list[bytes], now_ms: int) -> None:
        if self._is_over(group, len(gone)):
            self._bury(group, lambda _error: None, now_ms)
        elif gone:
            self.offsets.delete(group, gone, lambda _error: None)

    @staticmethod
    def _is_over(group: Group, gone: int) -> bool:
        """Whether nothing is left of a group without so many of its offsets."""
        is_idle = group.state is GroupState.EMPTY and not group.pending and not group.in_flight
        return is_idle and not group.transactions and gone == len(group.offsets)

    def _bury(self, group: Group, then: Callable[[ErrorCode], None], now_ms: int) -> None:
        del self.groups[group.group_id]
        self.members.let_go(group)
        self.offsets.bury(group, then, now_ms)


def _is_writable(request: Any) -> bool:
    """Whether the strings of a JoinGroup fit the formats of the log and of older responses."""
    texts = (request.protocol_type, request.group_instance_id or "", *(row.name for row in request.protocols))
    return all(len(text) <= GROUP_STRING_LENGTH_MAX for text in texts)


def _fault_of_sync(group: Group | None, request: Any, version: int) -> ErrorCode:
    if version >= VERSION_OF_NAMED_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        return _E.INCONSISTENT_GROUP_PROTOCOL
    if group is None:
        return _E.UNKNOWN_MEMBER_ID
    if group.state is GroupState.DEAD:
        return _E.COORDINATOR_NOT_AVAILABLE
    error = validate_member(group, request.member_id, request.group_instance_id)
    if error:
        return error
    if request.generation_id != group.generation:
        return _E.ILLEGAL_GENERATION
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        return _E.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name is not None and request.protocol_name != group.protocol:
        return _E.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING:
        return _E.REBALANCE_IN_PROGRESS
    return _E.NONE


_NOBODY = Group("", 0)  # what a group that does not exist looks like to those who want to leave it
