"""Requests about groups, as the partition worker that owns their offsets partition takes them.

Runs in: a partition worker. A request that concerns one group is an event of its coordinator. One that names
several (OffsetFetch v8, DescribeGroups, DeleteGroups) comes here with the groups of this worker alone; the network
worker puts the parts together.

Source: Kafka `KafkaApis`, the group requests.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from headrace.errors import BadFrame, ErrorCode, KafkaError
from headrace.limits import FETCHED_PARTITIONS_MAX, VERIFICATION_WAIT_MS
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import CLIENT_HEADER
from headrace.workers.coordinators.group.commit_request import read_commit
from headrace.workers.coordinators.group.events import (
    Client,
    Commit,
    CommitTransactional,
    DeleteGroup,
    DeleteOffsets,
    Heartbeat,
    Join,
    Leave,
    Sync,
)
from headrace.workers.coordinators.group.group_coordinator import GroupCoordinator
from headrace.workers.coordinators.group.queries import Fetched
from headrace.workers.coordinators.group.refusals import refusal_of
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.ticket import Ticket
from headrace.workers.partition.coordination.verifier import Ask

VERSION_OF_MANY_GROUPS: Final = 8
VERSION_OF_GROUP_ERROR: Final = 2
VERSION_OF_LOADING: Final = 2  # of TxnOffsetCommit
VERSION_OF_ABORTABLE: Final = 4  # the same: TRANSACTION_ABORTABLE is known

_KNOWN_BEFORE: Final = {int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS): int(ErrorCode.COORDINATOR_NOT_AVAILABLE)}

_HEARTBEAT, _OFFSET_COMMIT = int(ApiKey.HEARTBEAT), int(ApiKey.OFFSET_COMMIT)  # an enum's member costs a look-up
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor
_Fetch = messages.OffsetFetchResponse


class CoordinatorFailed(KafkaError):
    """The request's event raised in its coordinator. Whether it was done is not known: its connection is closed."""


class GroupRequests:
    """Handlers over the coordinators of one worker."""

    def __init__(self, host: CoordinatorHost[GroupCoordinator]) -> None:
        self._host = host
        self._verify: Ask | None = None

    def use(self, verify: Ask) -> None:
        """What asks whether a group's partition belongs to a transaction. Before that, and without it, none is asked."""
        self._verify = verify

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {
            ApiKey.HEARTBEAT: self._heartbeat,
            ApiKey.OFFSET_COMMIT: self._commit,
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.SYNC_GROUP: self._sync,
            ApiKey.LEAVE_GROUP: self._leave,
            ApiKey.OFFSET_DELETE: self._delete_offsets,
            ApiKey.OFFSET_FETCH: self._fetch,
            ApiKey.DESCRIBE_GROUPS: self._describe,
            ApiKey.LIST_GROUPS: self._list,
            ApiKey.DELETE_GROUPS: self._delete,
            ApiKey.TXN_OFFSET_COMMIT: self._commit_transactional,
        }

    # Events of one group

    def _step(self, event: Any) -> None:
        """Hand a request to its coordinator; its answer comes now or later.

        raises   CoordinatorFailed
        """
        hosted = self._host.hosted_of(event.group_id)
        if hosted is None:
            event.ticket.give(refusal_of(event, ErrorCode.NOT_COORDINATOR))
        elif not self._host.step(hosted, event):
            what = f"{type(event).__name__} failed, its partition is being reloaded"
            raise CoordinatorFailed(ErrorCode.UNKNOWN_SERVER_ERROR, what)

    def _heartbeat(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(_HEARTBEAT, version, body)
        ticket = _new(Ticket, (reply, _HEARTBEAT, version))
        self._step(_new(Heartbeat, (request.group_id, request, ticket)))

    def _commit(self, version: int, body: memoryview, reply: Reply) -> None:
        request = read_commit(version, body)
        ticket = _new(Ticket, (reply, _OFFSET_COMMIT, version))
        self._step(_new(Commit, (request.group_id, request, ticket)))

    def _join(self, version: int, body: memoryview, reply: Reply) -> None:
        if len(body) < CLIENT_HEADER.size:
            raise BadFrame(f"JoinGroup of {len(body)} bytes without its client")
        id_length, host_length = CLIENT_HEADER.unpack_from(body)
        id_end = CLIENT_HEADER.size + id_length
        client = Client(
            str(body[CLIENT_HEADER.size : id_end], "utf-8", "replace"),
            str(body[id_end : id_end + host_length], "utf-8", "replace"),
        )
        request = decode_request(ApiKey.JOIN_GROUP, version, body[id_end + host_length :])
        self._step(Join(request.group_id, request, version, client, Ticket(reply, ApiKey.JOIN_GROUP, version)))

    def _sync(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.SYNC_GROUP, version, body)
        self._step(Sync(request.group_id, request, version, Ticket(reply, ApiKey.SYNC_GROUP, version)))

    def _leave(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.LEAVE_GROUP, version, body)
        self._step(Leave(request.group_id, request, version, Ticket(reply, ApiKey.LEAVE_GROUP, version)))

    def _delete_offsets(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.OFFSET_DELETE, version, body)
        self._step(DeleteOffsets(request.group_id, request, Ticket(reply, ApiKey.OFFSET_DELETE, version)))

    def _commit_transactional(self, version: int, body: memoryview, reply: Reply) -> None:
        """A commit that comes after its transaction would open one that nothing ends: its coordinator is asked, as for batches."""
        request = decode_request(ApiKey.TXN_OFFSET_COMMIT, version, body)
        ticket = _CommitTicket(reply, version)
        event = CommitTransactional(request.group_id, request, ticket)
        hosted = self._host.hosted_of(request.group_id)
        producer_id, epoch = request.producer_id, request.producer_epoch
        is_verified = hosted is None or not hosted.replica.log.producers.must_verify(producer_id, epoch)
        if self._verify is None or is_verified or hosted is None:
            self._step(event)
            return

        def on_done(error: ErrorCode) -> None:
            if error:
                ticket.give(refusal_of(event, _commit_error(error, version)))
                return
            try:
                self._step(event)  # the member may have gone meanwhile (KAFKA-15653)
            except CoordinatorFailed:
                reply.refuse()

        self._verify(hosted.replica, request.transactional_id, producer_id, epoch, VERIFICATION_WAIT_MS, on_done)

    # Requests that name several groups

    def _fetch(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.OFFSET_FETCH, version, body)
        rows = request.groups if version >= VERSION_OF_MANY_GROUPS else [request]
        count = sum(len(topic.partition_indexes) for row in rows for topic in row.topics or ())
        if count > FETCHED_PARTITIONS_MAX:
            raise BadFrame(f"offsets of {count} partitions requested, the limit is {FETCHED_PARTITIONS_MAX}")
        if version >= VERSION_OF_MANY_GROUPS:
            response = _Fetch(
                groups=[
                    _many_groups_row(group_id, *self._fetch_one(group_id, topics, request.require_stable))
                    for group_id, topics in _wanted(request.groups).items()
                ]
            )
        else:
            error, found = self._fetch_one(request.group_id, request.topics, request.require_stable)
            response = _one_group_response(version, request, error, found)
        reply(encode_response(ApiKey.OFFSET_FETCH, version, response))

    def _fetch_one(self, group_id: str, topics: Any, require_stable: bool) -> tuple[ErrorCode, Fetched]:
        hosted = self._host.hosted_of(group_id)
        if hosted is None:
            return ErrorCode.NOT_COORDINATOR, {}
        wanted = None if topics is None else [(topic.name, topic.partition_indexes) for topic in topics]
        return hosted.coordinator.fetch(group_id, wanted, require_stable)

    def _describe(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.DESCRIBE_GROUPS, version, body)
        rows = []
        for group_id in request.groups:
            hosted = self._host.hosted_of(group_id)
            if hosted is None:
                row = messages.DescribeGroupsResponse.DescribedGroup(
                    error_code=int(ErrorCode.NOT_COORDINATOR), group_id=group_id
                )
            else:
                row = hosted.coordinator.describe(group_id, request.include_authorized_operations)
            rows.append(row)
        response = messages.DescribeGroupsResponse(groups=rows)
        reply(encode_response(ApiKey.DESCRIBE_GROUPS, version, response))

    def _list(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.LIST_GROUPS, version, body)
        states = {state.lower() for state in request.states_filter or ()}
        types = {name.lower() for name in request.types_filter or ()}
        worst = ErrorCode.NONE
        rows: list[Any] = []
        for hosted in self._host.by_partition.values():
            error, found = hosted.coordinator.rows(states, types)
            worst = error or worst
            rows += found
        response = messages.ListGroupsResponse(error_code=int(worst), groups=rows)
        reply(encode_response(ApiKey.LIST_GROUPS, version, response))

    def _delete(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.DELETE_GROUPS, version, body)
        names = list(dict.fromkeys(request.groups_names))
        results = _Deletions(names, Ticket(reply, ApiKey.DELETE_GROUPS, version))
        if not names:
            results.give()
        for name in names:
            hosted = self._host.hosted_of(name)
            if hosted is None:
                results.settle(name, ErrorCode.NOT_COORDINATOR)
            elif not self._host.step(hosted, DeleteGroup(name, _DeletionTicket(results, name))):
                results.settle(name, ErrorCode.UNKNOWN_SERVER_ERROR)


class _CommitTicket(NamedTuple):
    """The ticket of a TxnOffsetCommit. Clients before v2 take COORDINATOR_LOAD_IN_PROGRESS for final (KAFKA-7296)."""

    reply: Reply
    version: int

    def give(self, message: messages.TxnOffsetCommitResponse) -> None:
        if self.version < VERSION_OF_LOADING:
            message = messages.TxnOffsetCommitResponse(
                topics=[
                    topic._replace(
                        partitions=[
                            row._replace(error_code=_KNOWN_BEFORE.get(row.error_code, row.error_code))
                            for row in topic.partitions
                        ]
                    )
                    for topic in message.topics
                ]
            )
        self.reply(encode_response(ApiKey.TXN_OFFSET_COMMIT, self.version, message))


def _commit_error(error: ErrorCode, version: int) -> ErrorCode:
    """What a TxnOffsetCommit is told of a verification that failed."""
    if error is ErrorCode.NOT_ENOUGH_REPLICAS:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < VERSION_OF_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return error


class _Deletions:
    """One DeleteGroups: answered when each of its groups is."""

    def __init__(self, names: list[str], ticket: Ticket) -> None:
        self._names = names
        self._ticket = ticket
        self._results: dict[str, ErrorCode] = {}

    def settle(self, name: str, error: ErrorCode) -> None:
        self._results[name] = error
        if len(self._results) == len(self._names):
            self.give()

    def give(self) -> None:
        row = messages.DeleteGroupsResponse.DeletableGroupResult
        rows = [row(group_id=name, error_code=int(self._results[name])) for name in self._names]
        self._ticket.give(messages.DeleteGroupsResponse(results=rows))


class _DeletionTicket(NamedTuple):
    """The ticket of one group in it."""

    results: _Deletions
    name: str

    def give(self, error: ErrorCode) -> None:
        self.results.settle(self.name, error)


def _wanted(rows: Any) -> dict[str, Any]:
    """What is asked of each group: topics, or None for all. Who names one twice gets its offsets once."""
    wanted: dict[str, Any] = {}
    for row in rows:
        if row.group_id not in wanted or row.topics is None:
            wanted[row.group_id] = row.topics
        elif wanted[row.group_id] is not None:
            wanted[row.group_id].extend(row.topics)
    return wanted


def _many_groups_row(group_id: str, error: ErrorCode, found: Fetched) -> Any:
    topics = _topics_of(_Fetch.OffsetFetchResponseTopics, _Fetch.OffsetFetchResponsePartitions, found)
    return _Fetch.OffsetFetchResponseGroup(group_id=group_id, error_code=int(error), topics=topics)


def _one_group_response(version: int, request: Any, error: ErrorCode, found: Fetched) -> Any:
    """Up to v7. In v0 and v1 an error has its place in the partitions alone."""
    if error and version < VERSION_OF_GROUP_ERROR:
        topics = [
            _Fetch.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    _Fetch.OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=-1, metadata="", error_code=int(error)
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
        return _Fetch(topics=topics)
    topics = _topics_of(_Fetch.OffsetFetchResponseTopic, _Fetch.OffsetFetchResponsePartition, found)
    return _Fetch(topics=topics, error_code=int(error))


def _topics_of(topic: Any, partition: Any, found: Fetched) -> list[Any]:
    """What was found, as the structs `topic` and `partition`: those up to v7, or those of a group from v8 on."""
    return [
        topic(
            name=name,
            partitions=[
                partition(
                    partition_index=index,
                    committed_offset=row.offset,
                    committed_leader_epoch=row.leader_epoch,
                    metadata=row.metadata,
                    error_code=int(fault),
                )
                for index, row, fault in rows
            ],
        )
        for name, rows in found.items()
    ]
