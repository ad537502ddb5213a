"""ListOffsets (key 2), v0 to v9: earliest, latest, by timestamp, max timestamp.

Rows and time indexes answer; the leader process is not asked. Latest is the high watermark, or the last
stable offset for read_committed; the log's end for a follower. A leader whose high watermark has not reached the start of its
epoch yet tells clients no end (OFFSET_NOT_AVAILABLE, KIP-207): a leader before it may have told a later one. So it is with one that
took its mark from a checkpoint, up to where its log ended then: it may have told a later one itself, before its node was killed.
To who debugs (replica id -2) a follower answers as well, and a replica that is held back: latest is the log's end then, and the
epoch of its last record. The time says that this is so, and the high watermark: LOG_EPOCH_MS - 1 - mark. The leader epoch of an
offset is that in which its record was written. All of a log is local: what is kept here begins at the earliest offset, and nothing lies
in tiered storage.

A record is looked for in the batches whose headers promise one of that time. What a header says its client wrote, so all of them are
opened within one budget of the request (`opening_budget.py`). Beyond it the answer is where such a batch begins: no later than the record.

Source: Kafka `KafkaApis.handleListOffsetRequest`, `UnifiedLog.fetchOffsetByTimestamp`; KIP-734 for max
timestamp, KIP-405 and KIP-1005 for tiered storage.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.state.leader_epochs import epoch_of
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.partition_table import PartitionRow
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.handlers.a01_fetch import READ_COMMITTED
from headrace.workers.network.opening_budget import OpeningBudget
from headrace.workers.network.partition_reads import CONSUMER_REPLICA_ID_MAX, may_be_replica, refusal_of
from headrace.workers.network.routes import Route

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
VERSION_OF_ONE_OFFSET: Final = 1
VERSION_OF_NOT_AVAILABLE: Final = 5
FIRST_VERSIONS: Final = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
NO_VERSION: Final = 1 << 15  # knows a negative time that is none of these
NOT_FOUND: Final = (-1, -1, -1)
DEBUGGING_REPLICA: Final = -2
LOG_EPOCH_MS: Final = (
    -2
)  # at it, or below: the epoch is the log's last; Apache's broker says -1, and the partition's epoch

_Wanted = messages.ListOffsetsRequest.ListOffsetsPartition
_PartitionResponse = messages.ListOffsetsResponse.ListOffsetsPartitionResponse
_TopicResponse = messages.ListOffsetsResponse.ListOffsetsTopicResponse


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from the rows; a partition that is named twice is refused, as each look-up may read files."""
    request = decode_request(ApiKey.LIST_OFFSETS, exchange.api_version, body)
    is_follower = request.replica_id > CONSUMER_REPLICA_ID_MAX
    is_broker = is_follower and context.broker_requests.is_of_broker(exchange.connection, exchange.api_key)
    budget = OpeningBudget()
    times = Counter((topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions)
    topics = [
        _TopicResponse(
            name=topic.name,
            partitions=[
                _list_one(context, exchange, request, is_broker, topic.name, wanted, budget)
                if times[topic.name, wanted.partition_index] == 1
                else _PartitionResponse(
                    partition_index=wanted.partition_index, error_code=int(ErrorCode.INVALID_REQUEST)
                )
                for wanted in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    context.heavy_requests += budget.is_heavy
    response = messages.ListOffsetsResponse(topics=topics)
    exchange.answer_bytes(encode_response(ApiKey.LIST_OFFSETS, exchange.api_version, response))


def _list_one(
    context: Context,
    exchange: Exchange,
    request: messages.ListOffsetsRequest,
    is_broker: bool,
    topic: str,
    wanted: _Wanted,
    budget: OpeningBudget,
) -> _PartitionResponse:
    index = wanted.partition_index
    route = context.routes.partition(topic, index)
    if route is None:
        return _PartitionResponse(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    is_follower = request.replica_id > CONSUMER_REPLICA_ID_MAX
    if is_follower and not (is_broker and may_be_replica(context, route, request.replica_id)):
        return _PartitionResponse(partition_index=index, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if wanted.timestamp < 0 and exchange.api_version < FIRST_VERSIONS.get(wanted.timestamp, NO_VERSION):
        return _PartitionResponse(partition_index=index, error_code=ErrorCode.UNSUPPORTED_VERSION)
    row = context.seat.partitions.read(route.slot) if route.slot >= 0 else None
    if row is None:
        return _PartitionResponse(partition_index=index, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    is_debugging = request.replica_id == DEBUGGING_REPLICA
    error = refusal_of(route, row, wanted.current_leader_epoch, may_follow=is_debugging)
    if error:
        return _PartitionResponse(partition_index=index, error_code=int(error))
    try:
        if exchange.api_version < VERSION_OF_ONE_OFFSET:
            offsets = _old_style(context, route, row, wanted)
            return _PartitionResponse(partition_index=index, error_code=0, old_style_offsets=offsets)
        if is_debugging and wanted.timestamp == LATEST:
            epoch = context.epochs.written(route, row)
            return _PartitionResponse(
                partition_index=index,
                error_code=0,
                timestamp=LOG_EPOCH_MS - 1 - row.high_watermark,
                offset=row.log_end_offset,
                leader_epoch=epoch,
            )
        is_follower = is_follower or is_debugging
        end = _end_for(row, request.isolation_level, is_follower=is_follower)
        timestamp, offset, leader_epoch = _find_offset(context, route, row, end, wanted.timestamp, budget)
        if not is_follower and row.high_watermark < row.told_end and _may_be_beyond(wanted.timestamp, offset, end[0]):
            is_told = exchange.api_version >= VERSION_OF_NOT_AVAILABLE
            error = ErrorCode.OFFSET_NOT_AVAILABLE if is_told else ErrorCode.LEADER_NOT_AVAILABLE
            return _PartitionResponse(partition_index=index, error_code=int(error))
    except KafkaError as failure:
        return _PartitionResponse(partition_index=index, error_code=int(failure.code))
    except (HeadraceError, OSError) as failure:
        context.note_unread(route, failure)
        return _PartitionResponse(partition_index=index, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return _PartitionResponse(
        partition_index=index, error_code=0, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch
    )


def _end_for(row: PartitionRow, isolation_level: int, *, is_follower: bool) -> tuple[int, int, int]:
    """(offset, segment, position) where the log ends for who asks."""
    if is_follower:
        return row.log_end_offset, row.end_segment, row.end_position
    if isolation_level == READ_COMMITTED:
        return row.last_stable_offset, row.lso_segment, row.lso_position
    return row.high_watermark, row.hw_segment, row.hw_position


def _may_be_beyond(timestamp: int, offset: int, end_offset: int) -> bool:
    """Whether what was found may lie after a mark that is still to move."""
    return timestamp == LATEST or (
        timestamp not in (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED) and not 0 <= offset < end_offset
    )


def _find_offset(
    context: Context,
    route: Route,
    row: PartitionRow,
    end: tuple[int, int, int],
    timestamp: int,
    budget: OpeningBudget,
) -> tuple[int, int, int]:
    """(timestamp, offset, leader epoch); offset -1 where no record is that late.

    budget   of the request: how far batches are opened to find a record

    raises   KafkaError, HeadraceError, OSError
    """
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, row.log_start_offset, epoch_of(context.epochs.entries(route, row), row.log_start_offset)
    end_offset, end_segment, end_position = end
    if timestamp == LATEST:
        return -1, end_offset, row.leader_epoch
    if timestamp == LATEST_TIERED:
        return NOT_FOUND
    reader = context.files.reader(route, row)
    if timestamp == MAX_TIMESTAMP:
        found = reader.max_timestamp(end_segment, end_position, budget)
    else:
        found = reader.first_offset_at(timestamp, row.log_start_offset, end_segment, end_position, budget)
    return found if found is not None else NOT_FOUND


def _old_style(context: Context, route: Route, row: PartitionRow, wanted: _Wanted) -> list[int]:
    """v0: offsets where a segment begins and the log's end, newest first, from the last one not younger than asked.

    A segment's age is that of its file; of records before the log's start none is told, of those beyond the high
    watermark only that. Source: Kafka `UnifiedLog.legacyFetchOffsetsBefore`.
    """
    reader = context.files.reader(route, row)
    bases = [base for base in reader.segment_bases() if base <= row.end_segment]
    offsets = [max(base, row.log_start_offset) for base in bases]
    if row.end_position:
        offsets.append(row.log_end_offset)
    if wanted.timestamp == EARLIEST:
        offsets = offsets[:1]
    elif wanted.timestamp != LATEST:
        written_ms = [path_of(reader.directory, base, LOG_SUFFIX).stat().st_mtime_ns // 1_000_000 for base in bases]
        written_ms.append(context.clock.now_ms())
        while offsets and written_ms[len(offsets) - 1] > wanted.timestamp:
            offsets.pop()
    found = sorted(offsets, reverse=True)[: max(0, wanted.max_num_offsets)]
    if found and found[0] > row.high_watermark:
        found = [row.high_watermark, *(offset for offset in found if offset <= row.high_watermark)]
    return found
