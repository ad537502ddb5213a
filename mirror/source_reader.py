"""Fetches from one source: one in flight to each leader, for the partitions that have room.

Responses are passed as they came to the part that planned the partition; a failure that fresh metadata may cure is
retried here. A partition that
failed waits by itself: one whose topic was deleted, or whose leader is away, hinders no other one.

Source: Kafka `Fetcher`; KIP-320 for the epoch of the last record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from headrace.client.cluster import FETCH_VERSIONS, Cluster, error_of
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_LANE_BYTES_MAX
from headrace.mirror.keyed_lane import KeyedLane
from headrace.mirror.lane import Lane
from headrace.mirror.outage import Outage
from headrace.mirror.partition_copy import CopyState, PartitionCopy
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

FETCH_WAIT_MS = 250
BUSY_WAIT_MS = 10  # while some partitions of the leader wait for room
FETCH_BYTES = 16 << 20
PARTITION_BYTES = 2 << 20
ANSWER_EXTRA_S = 10.0
REFRESH_PAUSE_S = 0.2
UNKNOWN_PAUSE_S = 1.0  # of a partition that its leader does not have

Row = messages.FetchResponse.PartitionData
FetchedLane = Lane | KeyedLane


class _Request(NamedTuple):
    connection: Connection
    asked: dict[TopicPartition, tuple[PartitionCopy, FetchedLane, int]]
    deadline_s: float


class SourceReader:
    """Of one source. It uses a `Cluster` of its own.

    outage       while the source is away nothing is sent to it
    on_row       called for each partition of an answer: the copy, what the broker says
    on_failure   a partition can't be fetched for now
    """

    def __init__(
        self,
        cluster: Cluster,
        outage: Outage,
        is_read_committed: bool,
        on_row: Callable[[PartitionCopy, Row], None],
        on_failure: Callable[[PartitionCopy, HeadraceError], None],
    ) -> None:
        self._cluster = cluster
        self._outage = outage
        self._is_read_committed = is_read_committed
        self._on_row = on_row
        self._on_failure = on_failure
        self._requests: dict[int, _Request] = {}
        self._refresh_at_s: float | None = 0.0
        self._turn = 0

    def connections(self) -> list[tuple[int, Connection]]:
        return [(node_id, request.connection) for node_id, request in self._requests.items()]

    def send(self, copies: Iterable[PartitionCopy], now_s: float, has_room: bool) -> None:
        """One fetch to each leader that has none in flight."""
        copying = [one for one in copies if one.state is CopyState.COPYING and one.lane is not None]
        if not copying or not self._outage.may_try:
            return
        if self._refresh_at_s is not None and now_s >= self._refresh_at_s:
            self._refresh(copying, now_s)
            if not self._outage.may_try:
                return
        by_leader: dict[int, list[PartitionCopy]] = {}
        crowded: set[int] = set()
        for copy in copying:
            if now_s < copy.due_s:
                continue
            assert copy.lane is not None
            try:
                leader = self._cluster.leader(copy.name.source_partition)
            except KafkaError:
                self._pause(copy, now_s)
                continue
            if not has_room or copy.lane.queued_bytes >= MIRROR_LANE_BYTES_MAX:
                crowded.add(leader)
            else:
                by_leader.setdefault(leader, []).append(copy)
        for node_id, some in by_leader.items():
            if node_id not in self._requests:
                self._send(node_id, some, now_s, BUSY_WAIT_MS if node_id in crowded else FETCH_WAIT_MS)

    def _send(self, node_id: int, copies: list[PartitionCopy], now_s: float, wait_ms: int) -> None:
        kind = messages.FetchRequest
        self._turn += 1
        first = self._turn % len(copies)  # a full answer leaves out the last ones
        topics: dict[str, list[messages.FetchRequest.FetchPartition]] = {}
        asked: dict[TopicPartition, tuple[PartitionCopy, FetchedLane, int]] = {}
        for copy in copies[first:] + copies[:first]:
            lane = copy.lane
            assert lane is not None
            row = kind.FetchPartition(
                partition=copy.name.partition,
                fetch_offset=lane.next_offset,
                last_fetched_epoch=lane.leader_epoch,
                partition_max_bytes=PARTITION_BYTES,
            )
            topics.setdefault(copy.name.topic, []).append(row)
            asked[copy.name.source_partition] = (copy, lane, lane.next_offset)
        request = kind(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=int(self._is_read_committed),
            session_epoch=-1,
            topics=[kind.FetchTopic(topic=topic, partitions=rows) for topic, rows in topics.items()],
        )
        try:
            connection = self._cluster.connection(node_id)
            connection.send(ApiKey.FETCH, connection.version(ApiKey.FETCH, *FETCH_VERSIONS), request)
        except (ConnectionFailed, KafkaError) as failure:
            self._failed(asked, failure, now_s)
            return
        self._requests[node_id] = _Request(connection, asked, now_s + wait_ms / 1000 + ANSWER_EXTRA_S)

    def receive(self, node_id: int, now_s: float) -> None:
        """The answer of a leader, which has begun to arrive."""
        request = self._requests.pop(node_id)
        try:
            answer: messages.FetchResponse = request.connection.receive(ANSWER_EXTRA_S)
            if answer.error_code:
                raise error_of(answer.error_code, f"broker {node_id}")
        except (ConnectionFailed, BadFrame, KafkaError) as failure:
            self._failed(request.asked, failure, now_s)
            return
        for topic in answer.responses:
            for row in topic.partitions:
                copy, lane, offset = request.asked.get(
                    TopicPartition(topic.topic, row.partition_index), (None, None, -1)
                )
                if copy is None or lane is None or copy.lane is not lane or lane.next_offset != offset:
                    continue  # found again meanwhile
                code = ErrorCode(row.error_code) if row.error_code in set(ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
                if code.retriable and code is not ErrorCode.NONE:
                    is_unknown = code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    self._pause(copy, now_s, UNKNOWN_PAUSE_S if is_unknown else REFRESH_PAUSE_S)
                    copy.reason = str(error_of(code, str(copy.name.source_partition)))
                else:
                    self._on_row(copy, row)

    def give_up_silent(self, now_s: float) -> None:
        for node_id in [node_id for node_id, request in self._requests.items() if now_s >= request.deadline_s]:
            request = self._requests.pop(node_id)
            request.connection.close()
            self._failed(request.asked, ConnectionFailed(f"{request.connection.address}: no response in time"), now_s)

    def _failed(
        self, asked: dict[TopicPartition, tuple[PartitionCopy, FetchedLane, int]], failure: HeadraceError, now_s: float
    ) -> None:
        """The leader can't be reached now; its partitions keep their places."""
        for copy, lane, _offset in asked.values():
            if copy.lane is lane:
                self._pause(copy, now_s)
                self._on_failure(copy, failure)

    def _pause(self, copy: PartitionCopy, now_s: float, pause_s: float = REFRESH_PAUSE_S) -> None:
        """Fetch a partition again after a pause, with fresh metadata."""
        copy.due_s = now_s + pause_s
        if self._refresh_at_s is None:
            self._refresh_at_s = copy.due_s

    def _refresh(self, copies: list[PartitionCopy], now_s: float) -> None:
        self._refresh_at_s = None
        begun_s = self._outage.clock_s()
        try:
            self._cluster.refresh(sorted({copy.name.topic for copy in copies}))
            self._outage.ended()
        except ConnectionFailed as failure:
            self._outage.failed(begun_s, failure)
            self._refresh_at_s = now_s + REFRESH_PAUSE_S
            for copy in copies:
                self._on_failure(copy, failure)
            return
        except KafkaError:  # of one topic: the others are refreshed
            self._refresh_at_s = now_s + UNKNOWN_PAUSE_S
        for copy in copies:
            found = self._cluster.topic_ids.get(copy.name.topic, "")
            if copy.topic_id and found and found != copy.topic_id:
                copy.topic_id = found
                self._on_failure(copy, KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, str(copy.name)))

    def close(self) -> None:
        self._requests.clear()
        self._cluster.close()
