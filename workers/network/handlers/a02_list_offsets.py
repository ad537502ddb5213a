"""ListOffsets (key 2), v0 to v9: earliest, latest, by timestamp, max timestamp.

Rows and time indexes answer; the leader process is not asked. Latest is the high watermark, or the last
stable offset for read_committed; the log's end for a follower. A leader whose high watermark has not reached the start of its
epoch yet tells clients no end (OFFSET_NOT_AVAILABLE, KIP-207): a leader before it may have told a later one. So it is with one that
took its mark from a checkpoint, up to where its log ended then: it may have told a later one itself, before its node was killed.
To who debugs (replica id -2) a follower answers as well, and a replica that is held back: latest is the log's end then, and the
epoch of its last record. The time says that this is so, and the high watermark: LOG_EPOCH_MS - 1 - mark. The leader epoch of an
offset is that in which its record was written. All of a log is local: what is kept here begins at the earliest offset, and nothing lies
in tiered storage.

A record is looked for in slices, and the request waits between them (`look_ups.py`, `log/reading/time_search.py`): the answer is always
that of the log. Where a look-up may take no longer, the partitions that are left get OFFSET_NOT_AVAILABLE, which clients retry. The search
that was in progress continues with the next request for the same time, in the same leader epoch: no truncation came between.

v0 has offsets where segments begin, the newest first (`log/reading/segment_starts.py`).

Source: Kafka `KafkaApis.handleListOffsetRequest`, `UnifiedLog.fetchOffsetByTimestamp`; KIP-734 for max
timestamp, KIP-405 and KIP-1005 for tiered storage.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.log.reading.segment_starts import SegmentStarts
from headrace.log.reading.time_search import LatestSearch, TimeSearch
from headrace.log.reading.work_share import WorkShare
from headrace.log.state.leader_epochs import epoch_of
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.partition_table import PartitionRow
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.fetch.look_ups import ROW_COST, LookUp
from headrace.workers.network.fetch.partition_reads import CONSUMER_REPLICA_ID_MAX, may_be_replica, refusal_of
from headrace.workers.network.handlers.a01_fetch import READ_COMMITTED
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


class _Search(NamedTuple):
    """A partition whose records are searched.

    row   as of the beginning; the search ends where the log ended then
    key   what is looked for; None: of another one nothing can be used
    """

    route: Route
    row: PartitionRow
    end_offset: int
    is_follower: bool
    search: TimeSearch | LatestSearch | SegmentStarts
    key: tuple[int, ...] | None = None


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from rows and files, in as many turns as that takes."""
    request = decode_request(ApiKey.LIST_OFFSETS, exchange.api_version, body)
    context.look_up(_ListOffsets(context, exchange, request))


class _ListOffsets(LookUp):
    """One request; a partition that is named twice is refused, as each look-up may read files."""

    def __init__(self, context: Context, exchange: Exchange, request: messages.ListOffsetsRequest) -> None:
        self._rows = [(topic.name, wanted) for topic in request.topics for wanted in topic.partitions]
        super().__init__(exchange.connection, len(self._rows))
        self._context = context
        self._exchange = exchange
        self._request = request
        self._is_follower = request.replica_id > CONSUMER_REPLICA_ID_MAX
        self._is_debugging = request.replica_id == DEBUGGING_REPLICA
        self._is_broker = self._is_follower and context.broker_requests.is_of_broker(
            exchange.connection, exchange.api_key
        )
        self._times = Counter((topic, wanted.partition_index) for topic, wanted in self._rows)
        self._answers: list[_PartitionResponse] = []
        self._search: _Search | None = None  # of the row that is answered next

    def step(self, share: WorkShare) -> bool:
        """`LookUp.step`."""
        while len(self._answers) < self.rows:
            if share.is_spent:
                return False
            topic, wanted = self._rows[len(self._answers)]
            answer = self._go_on(topic, wanted, share)
            if answer is None:
                return False
            self._answers.append(answer)
        self._answer()
        return True

    @property
    def is_in_batch(self) -> bool:
        """`LookUp.is_in_batch`."""
        search = None if self._search is None else self._search.search
        return isinstance(search, TimeSearch | LatestSearch) and search.is_in_batch

    def release(self) -> None:
        """`LookUp.release`."""
        if self._search is not None and isinstance(self._search.search, TimeSearch | LatestSearch):
            self._search.search.release()

    def leave(self) -> None:
        """`LookUp.leave`."""
        if self._search is not None and self._search.key is not None:
            self.release()
            self._context.look_ups.kept.keep(self._search.key, self._search, self._search.search.spent)

    def give_up(self) -> None:
        """`LookUp.give_up`."""
        self.leave()
        for _topic, wanted in self._rows[len(self._answers) :]:
            self._answers.append(
                _PartitionResponse(partition_index=wanted.partition_index, error_code=int(self._not_available()))
            )
        self._answer()

    def _answer(self) -> None:
        answers = iter(self._answers)
        topics = [
            _TopicResponse(name=topic.name, partitions=[next(answers) for _ in topic.partitions])
            for topic in self._request.topics
        ]
        response = messages.ListOffsetsResponse(topics=topics)
        self._exchange.answer_bytes(encode_response(ApiKey.LIST_OFFSETS, self._exchange.api_version, response))

    def _not_available(self) -> ErrorCode:
        """What says that an offset can't be determined yet."""
        is_known = self._exchange.api_version >= VERSION_OF_NOT_AVAILABLE
        return ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE

    def _go_on(self, topic: str, wanted: _Wanted, share: WorkShare) -> _PartitionResponse | None:
        """The answer of a row; None: the share is spent first."""
        index = wanted.partition_index
        route = None
        try:
            if self._search is None:
                share.spend(ROW_COST)
                if self._times[topic, index] > 1:
                    return _PartitionResponse(partition_index=index, error_code=int(ErrorCode.INVALID_REQUEST))
                route = self._context.routes.partition(topic, index)
                if route is None:
                    return _PartitionResponse(
                        partition_index=index, error_code=int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                    )
                begun = self._begin(route, wanted)
                if not isinstance(begun, _Search):
                    return begun
                self._search = begun
            else:
                route = self._search.route
            answer = self._continue(self._search, wanted, share)
            if answer is not None:
                self._search = None
            return answer
        except KafkaError as failure:
            error = int(failure.code)
        except (HeadraceError, OSError) as failure:
            if route is not None:
                self._context.note_unread(route, failure)
            error = int(ErrorCode.KAFKA_STORAGE_ERROR)
        self._search = None
        return _PartitionResponse(partition_index=index, error_code=error)

    def _begin(self, route: Route, wanted: _Wanted) -> _PartitionResponse | _Search:
        """What rows and epochs answer, or the search that is needed. raises KafkaError, HeadraceError, OSError"""
        context, index, version = self._context, wanted.partition_index, self._exchange.api_version
        row = self._row_of(route, wanted)
        if version < VERSION_OF_ONE_OFFSET:
            end_offset = row.log_end_offset if row.end_position else -1
            starts = SegmentStarts(
                wanted.timestamp,
                wanted.max_num_offsets,
                row.end_segment,
                end_offset,
                row.high_watermark,
                context.clock.now_ms(),
            )
            return _Search(route, row, end_offset, False, starts)
        if self._is_debugging and wanted.timestamp == LATEST:
            return _PartitionResponse(
                partition_index=index,
                error_code=0,
                timestamp=LOG_EPOCH_MS - 1 - row.high_watermark,
                offset=row.log_end_offset,
                leader_epoch=context.epochs.written(route, row),
            )
        is_follower = self._is_follower or self._is_debugging
        end_offset, end_segment, end_position = _end_for(row, self._request.isolation_level, is_follower=is_follower)
        if wanted.timestamp in (EARLIEST, EARLIEST_LOCAL):
            epoch = epoch_of(context.epochs.entries(route, row), row.log_start_offset)
            return self._found(wanted, row, (-1, row.log_start_offset, epoch), end_offset, is_follower)
        if wanted.timestamp == LATEST:
            return self._found(wanted, row, (-1, end_offset, row.leader_epoch), end_offset, is_follower)
        if wanted.timestamp == LATEST_TIERED:
            return self._found(wanted, row, NOT_FOUND, end_offset, is_follower)
        key = None
        if not self._is_debugging:  # a follower's log may be truncated in its leader's epoch
            key = (row.key, row.leader_epoch, wanted.timestamp, -1 if is_follower else self._request.isolation_level)
        kept = context.look_ups.kept.take(key) if key is not None else None
        if isinstance(kept, _Search) and not isinstance(kept.search, SegmentStarts) and _may_go_on(kept, row):
            kept.search.follow_end(kept.end_offset, end_segment, end_position)
            return kept._replace(route=route, row=row, end_offset=end_offset)
        search: TimeSearch | LatestSearch
        if wanted.timestamp == MAX_TIMESTAMP:
            search = LatestSearch(end_segment, end_position, context.note_unopened)
        else:
            search = TimeSearch(wanted.timestamp, end_segment, end_position, context.note_unopened)
        return _Search(route, row, end_offset, is_follower, search, key)

    def _row_of(self, route: Route, wanted: _Wanted) -> PartitionRow:
        """The row of a partition that may answer. raises KafkaError"""
        if self._is_follower and not (
            self._is_broker and may_be_replica(self._context, route, self._request.replica_id)
        ):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if wanted.timestamp < 0 and self._exchange.api_version < FIRST_VERSIONS.get(wanted.timestamp, NO_VERSION):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        row = self._context.seat.partitions.read(route.slot) if route.slot >= 0 else None
        if row is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        error = refusal_of(route, row, wanted.current_leader_epoch, may_follow=self._is_debugging)
        if error:
            raise KafkaError(ErrorCode(error))
        return row

    def _continue(self, begun: _Search, wanted: _Wanted, share: WorkShare) -> _PartitionResponse | None:
        """Search on, where the partition is what it was. raises KafkaError, HeadraceError, OSError"""
        row = self._row_of(begun.route, wanted)
        if row.leader_epoch != begun.row.leader_epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the log may have been truncated in the meantime")
        reader = self._context.files.reader(begun.route, row)
        before = share.left
        is_over = begun.search.step(reader, row.log_start_offset, share)
        begun.search.spent += before - share.left
        if not is_over:
            return None
        if isinstance(begun.search, SegmentStarts):
            return _PartitionResponse(
                partition_index=wanted.partition_index, error_code=0, old_style_offsets=begun.search.found
            )
        found = begun.search.found
        return self._found(wanted, row, NOT_FOUND if found is None else found, begun.end_offset, begun.is_follower)

    def _found(
        self, wanted: _Wanted, row: PartitionRow, found: tuple[int, int, int], end_offset: int, is_follower: bool
    ) -> _PartitionResponse:
        """
        found   (timestamp, offset, leader epoch); offset -1 where no record is that late
        """
        timestamp, offset, leader_epoch = found
        may_be_beyond = _may_be_beyond(wanted.timestamp, offset, end_offset)
        if not is_follower and row.high_watermark < row.told_end and may_be_beyond:
            raise KafkaError(self._not_available())
        return _PartitionResponse(
            partition_index=wanted.partition_index,
            error_code=0,
            timestamp=timestamp,
            offset=offset,
            leader_epoch=leader_epoch,
        )


def _end_for(row: PartitionRow, isolation_level: int, *, is_follower: bool) -> tuple[int, int, int]:
    """(offset, segment, position) where the log ends for who asks."""
    if is_follower:
        return row.log_end_offset, row.end_segment, row.end_position
    if isolation_level == READ_COMMITTED:
        return row.last_stable_offset, row.lso_segment, row.lso_position
    return row.high_watermark, row.hw_segment, row.hw_position


def _may_go_on(kept: _Search, row: PartitionRow) -> bool:
    """Whether what a search has found is there still."""
    found = kept.search.found
    return isinstance(found, list) or found is None or found.offset >= row.log_start_offset


def _may_be_beyond(timestamp: int, offset: int, end_offset: int) -> bool:
    """Whether what was found may lie after a mark that is still to move."""
    return timestamp == LATEST or (
        timestamp not in (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED) and not 0 <= offset < end_offset
    )
