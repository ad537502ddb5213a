"""Fetch (key 1), v0 to v17: rows, index look-ups and file ranges; the leader process is never asked.

Here are clients; a follower's fetch is in `follower_fetch.py`. Clients' sessions (KIP-227) are always declined with session
id 0, which is legal; a full response then names exactly the partitions asked for. A client that continues a session which we never
gave out gets FETCH_SESSION_ID_NOT_FOUND, and begins with a full fetch. v0 to v3 want the old message formats:
`down_conversion.py`. v13 names topics by id: who asked for a topic that was deleted never gets records of another one of its
name, however long the fetch waited.

A follower here answers clients too, up to its own mark, from v11 on (KIP-392): a leader sends those there that say that they are in
its rack. None but a leader does so (KAFKA-13778).

A connection whose answers take OUTBOX_BYTES_MAX already gets file ranges only, and an old version nothing yet: fetches
that wait after a slow answer all come due in the end.

A leader whose controller process is not in the cluster may have been deposed, and says NOT_LEADER_OR_FOLLOWER of what is after its log's
end. So does a follower. OFFSET_OUT_OF_RANGE would send a client that knows no epochs back to the first record. Apache's broker says that.

For each partition: one seqlock read (2 us), one `locate` (1 to 5 us, at most one pread of headers). Bytes and
copies: head from memory, records by sendfile, or by one pread where they are few (SMALL_RANGE_BYTES): then
one `send` carries all.

Source: Kafka `KafkaApis.handleFetchRequest`, `ReplicaManager.readFromLog`; KIP-74 for the size limits;
KIP-320 for epochs.
"""

from __future__ import annotations

import os
from typing import Final

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import OUTBOX_BYTES_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request
from headrace.protocol.compression import Codec
from headrace.shm.counters import FETCH_BYTES, FETCH_REQUESTS, PARKED_FETCHES
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.connections.outbox import FilePart
from headrace.workers.network.context import Context
from headrace.workers.network.fetch import down_conversion, follower_fetch
from headrace.workers.network.fetch.down_conversion import VERSION_OF_MAGIC_2, OldRange
from headrace.workers.network.fetch.fetch_answer import (
    VERSION_OF_CLOSEST,
    VERSION_OF_TOPIC_IDS,
    PartitionAnswer,
    TopicAnswer,
    answer_fetch,
    as_row,
    refusal,
)
from headrace.workers.network.fetch.fetch_sessions import FIRST_EPOCH, NO_SESSION_EPOCH
from headrace.workers.network.fetch.partition_reads import (
    CONSUMER_REPLICA_ID_MAX,
    SMALL_RANGE_BYTES,
    closest_replica,
    refusal_of,
)
from headrace.workers.network.produce.opening_budget import OpeningBudget
from headrace.workers.network.routes import Route

READ_COMMITTED: Final = 1
VERSION_OF_FIRST_MESSAGE_WHOLE: Final = 3
VERSION_OF_ZSTD: Final = 10
VERSION_OF_REPLICA_STATE: Final = 15

_TopicRequest = messages.FetchRequest.FetchTopic
_PartitionRequest = messages.FetchRequest.FetchPartition


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer at once where there is enough, an error, or no wish to wait; else park."""
    version = exchange.api_version
    request = decode_request(ApiKey.FETCH, version, body)
    context.seat.counters.add(FETCH_REQUESTS, 1)
    replica_id = request.replica_id if version < VERSION_OF_REPLICA_STATE else request.replica_state.replica_id
    if replica_id > CONSUMER_REPLICA_ID_MAX:
        follower_fetch.handle(context, exchange, request, replica_id)
        return
    if request.session_epoch not in (FIRST_EPOCH, NO_SESSION_EPOCH):
        answer_fetch(exchange, [], error=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
        return
    request = _each_once(request)
    fetch = _Fetch(context, exchange, request)
    if request.max_wait_ms <= 0 or not request.topics:
        fetch.attempt(True)
        return
    if fetch.attempt(False):
        return
    context.seat.counters.add(PARKED_FETCHES, 1)
    deadline_ms = context.now_ms + request.max_wait_ms
    context.fetches.park(exchange.connection, fetch.slots, deadline_ms, fetch.attempt)


class _Fetch:
    """One fetch request, tried until it is answered."""

    __slots__ = ("context", "exchange", "is_torn", "partition_count", "rack", "request", "room", "slots")

    def __init__(self, context: Context, exchange: Exchange, request: messages.FetchRequest) -> None:
        self.context = context
        self.exchange = exchange
        self.request = request
        self.partition_count = sum(len(topic.partitions) for topic in request.topics)
        self.slots: list[int] = []
        self.is_torn = False  # a partition's row could not be read
        self.room = 0  # bytes that may still be copied into the answer
        self.rack = request.rack_id if context.is_rack_aware else ""  # of a client that may be sent elsewhere

    def attempt(self, is_last: bool) -> bool:
        """Read every partition; answer if it is enough or the last try.

        returns   whether the request is answered
        """
        self.is_torn = False
        self.room = OUTBOX_BYTES_MAX - self.exchange.connection.unsent_bytes
        request = self.request
        context = self.context
        budget = min(request.max_bytes, context.settings["fetch.max.bytes"])
        wanted_bytes = min(request.min_bytes, budget)  # more than the answer may have never comes
        gathered = 0
        has_error = False
        slots = []
        answers: list[TopicAnswer] = []
        is_by_id = self.exchange.api_version >= VERSION_OF_TOPIC_IDS
        for topic in request.topics:
            name = context.topic_of_id(topic.topic_id) if is_by_id else topic.topic
            if name is None:
                has_error = True
                unknown = [_unknown(wanted.partition, ErrorCode.UNKNOWN_TOPIC_ID) for wanted in topic.partitions]
                answers.append(TopicAnswer("", topic.topic_id, unknown))
                continue
            partitions = []
            for wanted in topic.partitions:
                route = context.routes.partition(name, wanted.partition)
                if route is not None and route.slot >= 0:
                    slots.append(route.slot)
                limit = min(wanted.partition_max_bytes, budget - gathered)
                data = self._read(route, wanted, limit, gathered == 0)
                gathered += len(data.records)
                has_error = has_error or data.error_code != 0 or data.preferred_read_replica >= 0
                partitions.append(data)
            answers.append(TopicAnswer(name, topic.topic_id, partitions))
        self.slots = slots
        if not (is_last or has_error or gathered >= wanted_bytes):
            return False
        context.seat.counters.add(FETCH_BYTES, gathered)
        if self.is_torn:
            for answer in answers:
                _tell_torn(answer.partitions)
        if self.exchange.api_version < VERSION_OF_MAGIC_2:
            self._convert(answers)
        answer_fetch(self.exchange, answers)
        return True

    def _convert(self, answers: list[TopicAnswer]) -> None:
        """The records of an old version: found until now, read and converted here."""
        flat = [data for answer in answers for data in answer.partitions]
        budget = OpeningBudget()
        on_unread = self.context.note_unreadable
        down_conversion.answer(self.exchange.api_version, self.exchange.correlation_id, flat, budget, on_unread)
        self.context.heavy_requests += budget.is_heavy

    def _find_old(
        self, route: Route, row: PartitionRow, wanted: _PartitionRequest, limit: int, is_first: bool
    ) -> OldRange | None:
        """What there is for an old version. raises KafkaError, CorruptSegment, OSError"""
        if not self.context.routes.policy(route.topic).serves_old_readers:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "message.downconversion.enable is false")
        if self.room <= 0:
            return None
        reader = self.context.files.reader(route, row)
        version, ends = self.exchange.api_version, (row.hw_segment, row.hw_position)
        return down_conversion.find(reader, version, wanted.fetch_offset, limit, self.partition_count, is_first, ends)

    def _read(self, route: Route | None, wanted: _PartitionRequest, limit: int, is_first: bool) -> PartitionAnswer:
        """What there is of one partition."""
        index = wanted.partition
        if route is None:
            return _unknown(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if route.slot < 0:
            return refusal(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        row = self.context.seat.partitions.read(route.slot)
        if row is None:  # its writer died in the middle: the next attempt sees what its successor publishes
            self.is_torn = True
            return refusal(index, ErrorCode.NONE)
        version = self.exchange.api_version
        error = refusal_of(route, row, wanted.current_leader_epoch, may_follow=version >= VERSION_OF_CLOSEST)
        if error:
            return refusal(index, error)
        if not row.log_start_offset <= wanted.fetch_offset <= row.log_end_offset:
            return refusal(index, self._why_out_of_range(row, wanted.fetch_offset))
        answer = as_row(index, row)
        if self.request.isolation_level == READ_COMMITTED:
            answer.aborted = []
        if self.rack and row.state == RowState.LEADER and wanted.fetch_offset <= row.high_watermark:
            answer.preferred_read_replica = closest_replica(self.context, route, self.rack)
            if answer.preferred_read_replica >= 0:
                return answer
        if route.policy is not None and route.policy.codec == Codec.ZSTD and version < VERSION_OF_ZSTD:
            return refusal(index, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        may_exceed = is_first and version >= VERSION_OF_FIRST_MESSAGE_WHOLE
        if limit > 0 or may_exceed:
            try:
                self._find(route, row, wanted, limit, is_first, answer)
            except KafkaError as failure:
                return refusal(index, failure.code)
            except FileNotFoundError:  # deleted since the row was read
                row = self.context.seat.partitions.read(route.slot) or row
                is_deleted = wanted.fetch_offset < row.log_start_offset
                return refusal(index, ErrorCode.OFFSET_OUT_OF_RANGE if is_deleted else ErrorCode.KAFKA_STORAGE_ERROR)
            except (HeadraceError, OSError) as failure:
                self.context.note_unread(route, failure)
                return refusal(index, ErrorCode.KAFKA_STORAGE_ERROR)
        return answer

    def _find(
        self,
        route: Route,
        row: PartitionRow,
        wanted: _PartitionRequest,
        limit: int,
        is_first: bool,
        answer: PartitionAnswer,
    ) -> None:
        """The records, and what of them is to be left out. raises KafkaError, HeadraceError, OSError"""
        offset = wanted.fetch_offset
        is_committed_read = answer.aborted is not None
        if is_committed_read:
            end_offset, end_segment, end_position = row.last_stable_offset, row.lso_segment, row.lso_position
        else:
            end_offset, end_segment, end_position = row.high_watermark, row.hw_segment, row.hw_position
        if offset >= end_offset:
            return
        version = self.exchange.api_version
        if version < VERSION_OF_MAGIC_2:
            answer.records = self._find_old(route, row, wanted, limit, is_first) or b""
            return
        reader = self.context.files.reader(route, row)
        found = reader.locate(offset, max(limit, 0), end_segment, end_position, is_first, end_offset)
        if found is None:
            return
        if is_committed_read:
            aborted = reader.aborted_transactions(offset, found, row.end_segment, end_offset)
            answer.aborted = [(one.producer_id, one.first_offset) for one in aborted]
        if found.length <= min(SMALL_RANGE_BYTES, self.room):
            answer.records = records = os.pread(found.fd, found.length, found.position)
            self.room -= len(records)
        else:
            answer.records = FilePart(found.fd, found.position, found.length, found.segment)

    def _why_out_of_range(self, row: PartitionRow, offset: int) -> ErrorCode:
        """The error of an offset that the log does not have.

        A leader that others may have deposed without its knowledge has no say about what is after its log's end: clients that
        know no epochs would begin again at the first record. Nor has a follower, which such a client may take for the leader: a
        state of the past named it so.
        """
        has_say = row.state == RowState.LEADER and self.context.is_control_current()
        if offset > row.log_end_offset and not has_say:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.OFFSET_OUT_OF_RANGE


def _each_once(request: messages.FetchRequest) -> messages.FetchRequest:
    """The request without repeats: the last mention of a partition counts, in the place of the first, as with Kafka.

    Nor does it hold what it may keep for weeks while it waits: topics without partitions, the sessions' list.
    """
    topics = request.topics
    if request.forgotten_topics_data:
        request = request._replace(forgotten_topics_data=[])
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return request
    wanted = {(topic.topic, topic.topic_id, row.partition): row for topic in topics for row in topic.partitions}
    if len(wanted) == sum(len(topic.partitions) for topic in topics) and all(topic.partitions for topic in topics):
        return request
    rows: dict[tuple[str, bytes], list[_PartitionRequest]] = {}
    for (name, topic_id, _partition), row in wanted.items():
        rows.setdefault((name, topic_id), []).append(row)
    return request._replace(
        topics=[
            _TopicRequest(topic=name, topic_id=topic_id, partitions=partitions)
            for (name, topic_id), partitions in rows.items()
        ]
    )


def _tell_torn(partitions: list[PartitionAnswer]) -> None:
    """Of a torn row nothing is known that could be told without an error."""
    for one in partitions:
        if one.high_watermark < 0 and not one.error_code:
            one.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _unknown(index: int, error: ErrorCode) -> PartitionAnswer:
    answer = refusal(index, error)
    answer.aborted = []
    return answer
