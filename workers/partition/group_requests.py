"""Requests about groups, as the partition worker that owns their offsets partition takes them.

Runs in: a partition worker. A request that concerns one group is an event of its coordinator. One that names
several (OffsetFetch v8, DescribeGroups, DeleteGroups) comes here with the groups of this worker alone; the network
worker puts the parts together.

Source: Kafka `KafkaApis`, the group requests.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from headrace.errors import BadFrame, ErrorCode
from headrace.limits import FETCHED_PARTITIONS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.messages import CLIENT_HEADER
from headrace.workers.coordinators.commit_request import read_commit
from headrace.workers.coordinators.group_coordinator import Fetched
from headrace.workers.coordinators.membership import Client
from headrace.workers.coordinators.refusals import refusal_of
from headrace.workers.partition.coordinator_host import CoordinatorHost
from headrace.workers.partition.requests import Handler, Reply

VERSION_OF_MANY_GROUPS = 8
VERSION_OF_GROUP_ERROR = 2
NOBODY = Client("", "")

_EVENTS = (ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_DELETE)
_Fetch = messages.OffsetFetchResponse


class GroupRequests:
    """Handlers over the coordinators of one worker."""

    def __init__(self, host: CoordinatorHost) -> None:
        self._host = host

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {
            **{int(key): partial(self._event, int(key)) for key in _EVENTS},
            ApiKey.OFFSET_COMMIT: self._commit,
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.OFFSET_FETCH: self._fetch,
            ApiKey.DESCRIBE_GROUPS: self._describe,
            ApiKey.LIST_GROUPS: self._list,
            ApiKey.DELETE_GROUPS: self._delete,
        }

    def _event(self, api_key: int, version: int, body: memoryview, reply: Reply, client: Client = NOBODY) -> None:
        request = decode_request(api_key, version, body)
        coordinator = self._host.coordinator_of(request.group_id)
        if coordinator is None:
            message = refusal_of(api_key, request, ErrorCode.NOT_COORDINATOR)
            reply(encode_response(api_key, version, message))
        else:
            coordinator.handle(api_key, version, request, client, (reply, api_key, version), self._host.now_ms)

    def _commit(self, version: int, body: memoryview, reply: Reply) -> None:
        request = read_commit(version, body)
        coordinator = self._host.coordinator_of(request.group_id)
        if coordinator is None:
            reply(request.response(ErrorCode.NOT_COORDINATOR))
        else:
            coordinator.commit(request, (reply, ApiKey.OFFSET_COMMIT, version), self._host.now_ms)

    def _join(self, version: int, body: memoryview, reply: Reply) -> None:
        if len(body) < CLIENT_HEADER.size:
            raise BadFrame(f"JoinGroup of {len(body)} bytes without its client")
        id_length, host_length = CLIENT_HEADER.unpack_from(body)
        id_end = CLIENT_HEADER.size + id_length
        client = Client(
            str(body[CLIENT_HEADER.size : id_end], "utf-8", "replace"),
            str(body[id_end : id_end + host_length], "utf-8", "replace"),
        )
        self._event(ApiKey.JOIN_GROUP, version, body[id_end + host_length :], reply, client)

    def _fetch(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.OFFSET_FETCH, version, body)
        rows = request.groups if version >= VERSION_OF_MANY_GROUPS else [request]
        count = sum(len(topic.partition_indexes) for row in rows for topic in row.topics or ())
        if count > FETCHED_PARTITIONS_MAX:
            raise BadFrame(f"offsets of {count} partitions are asked for, {FETCHED_PARTITIONS_MAX} at most are told")
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
        coordinator = self._host.coordinator_of(group_id)
        if coordinator is None:
            return ErrorCode.NOT_COORDINATOR, {}
        wanted = None if topics is None else [(topic.name, topic.partition_indexes) for topic in topics]
        return coordinator.fetch(group_id, wanted, require_stable)

    def _describe(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.DESCRIBE_GROUPS, version, body)
        rows = []
        for group_id in request.groups:
            coordinator = self._host.coordinator_of(group_id)
            if coordinator is None:
                row = messages.DescribeGroupsResponse.DescribedGroup(
                    error_code=int(ErrorCode.NOT_COORDINATOR), group_id=group_id
                )
            else:
                row = coordinator.describe(group_id, request.include_authorized_operations)
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
        row = messages.DeleteGroupsResponse.DeletableGroupResult
        names = list(dict.fromkeys(request.groups_names))
        results: dict[str, ErrorCode] = {}

        def settle(name: str, error: ErrorCode) -> None:
            results[name] = error
            if len(results) == len(names):
                rows = [row(group_id=each, error_code=int(results[each])) for each in names]
                reply(encode_response(ApiKey.DELETE_GROUPS, version, messages.DeleteGroupsResponse(results=rows)))

        if not names:
            reply(encode_response(ApiKey.DELETE_GROUPS, version, messages.DeleteGroupsResponse(results=[])))
        for name in names:
            coordinator = self._host.coordinator_of(name)
            if coordinator is None:
                settle(name, ErrorCode.NOT_COORDINATOR)
            else:
                coordinator.delete_group(name, partial(settle, name), self._host.now_ms)


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
