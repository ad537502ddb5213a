"""OffsetForLeaderEpoch (key 23), v0 to v4: where a leader epoch ended in the leader's log.

Followers truncate by it, consumers notice by it that a log was truncated under them. The epochs come from the
partition's `leader-epoch-checkpoint`, which is written before the first append of an epoch, the end of the latest one
from the row; the leader process is not asked.

Of an epoch after all that it knows, a leader whose controller process is not in the cluster says NOT_LEADER_OR_FOLLOWER: it was deposed.
Apache's broker says that there is no such epoch, and librdkafka's consumers begin again at the first record.

To a broker that debugs (replica id -2) a follower answers as well, and a replica that is held back: where two logs have parted is found so
(decision 015). Apache's broker answers of what it leads.

Source: Kafka `Partition.lastOffsetForLeaderEpoch`; KIP-101, KIP-279, KIP-320.
"""

from __future__ import annotations

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.log.reading.work_share import WorkShare
from headrace.log.state.leader_epochs import end_offset_for
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.fetch.epoch_files import Epochs
from headrace.workers.network.fetch.look_ups import ROW_COST, LookUp
from headrace.workers.network.fetch.partition_reads import CONSUMER_REPLICA_ID_MAX, refusal_of
from headrace.workers.network.handlers.a02_list_offsets import DEBUGGING_REPLICA
from headrace.workers.network.routes import Route

VERSION_OF_REPLICA = 3  # says who asks; before that it is left at the default, -2

Known = dict[tuple[int, int, int], Epochs | ErrorCode]  # by slot, key and leader epoch: what was read, or why not

_Wanted = messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition
_Topic = messages.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
_EndOffset = messages.OffsetForLeaderEpochResponse.EpochEndOffset


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from checkpoints and rows, many rows in several turns."""
    request = decode_request(ApiKey.OFFSET_FOR_LEADER_EPOCH, exchange.api_version, body)
    context.look_up(_OffsetsForLeaderEpoch(context, exchange, request))


class _OffsetsForLeaderEpoch(LookUp):
    """One request. A partition may be named often: its file is read once for a request, or found unreadable once."""

    def __init__(self, context: Context, exchange: Exchange, request: messages.OffsetForLeaderEpochRequest) -> None:
        self._rows = [(topic.topic, wanted) for topic in request.topics for wanted in topic.partitions]
        super().__init__(exchange.connection, len(self._rows))
        self._context = context
        self._exchange = exchange
        self._request = request
        is_follower = request.replica_id > CONSUMER_REPLICA_ID_MAX
        self._is_refused = is_follower and not context.broker_requests.is_of_broker(
            exchange.connection, exchange.api_key
        )
        self._may_follow = request.replica_id == DEBUGGING_REPLICA and exchange.api_version >= VERSION_OF_REPLICA
        self._known: Known = {}
        self._answers: list[_EndOffset] = []

    def step(self, share: WorkShare) -> bool:
        """`LookUp.step`."""
        while len(self._answers) < self.rows:
            if share.is_spent:
                return False
            share.spend(ROW_COST)
            topic, wanted = self._rows[len(self._answers)]
            self._answers.append(
                _refusal(wanted)
                if self._is_refused
                else _find(self._context, topic, wanted, self._known, may_follow=self._may_follow)
            )
        self._answer()
        return True

    def give_up(self) -> None:
        """`LookUp.give_up`."""
        error = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for _topic, wanted in self._rows[len(self._answers) :]:
            self._answers.append(_EndOffset(partition=wanted.partition, error_code=error))
        self._answer()

    def _answer(self) -> None:
        answers = iter(self._answers)
        topics = [
            _Topic(topic=topic.topic, partitions=[next(answers) for _ in topic.partitions])
            for topic in self._request.topics
        ]
        response = messages.OffsetForLeaderEpochResponse(topics=topics)
        self._exchange.answer_bytes(
            encode_response(ApiKey.OFFSET_FOR_LEADER_EPOCH, self._exchange.api_version, response)
        )


def _refusal(wanted: _Wanted) -> _EndOffset:
    return _EndOffset(partition=wanted.partition, error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))


def _find(context: Context, topic: str, wanted: _Wanted, known: Known, *, may_follow: bool) -> _EndOffset:
    """
    known   what was read for this request
    """
    index = wanted.partition
    route = context.routes.partition(topic, index)
    if route is None:
        return _EndOffset(partition=index, error_code=int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    row = context.seat.partitions.read(route.slot) if route.slot >= 0 else None
    if row is None:
        return _EndOffset(partition=index, error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    is_leader = row.state == RowState.LEADER
    error = refusal_of(route, row, wanted.current_leader_epoch, may_follow=may_follow)
    if error:
        return _EndOffset(partition=index, error_code=int(error))
    if is_leader and wanted.leader_epoch > row.leader_epoch and not context.is_control_current():
        return _EndOffset(partition=index, error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    place = (route.slot, row.key, row.leader_epoch)
    if place not in known:
        known[place] = _read(context, route, row, is_leader=is_leader, is_compared=may_follow)
    entries = known[place]
    if isinstance(entries, ErrorCode):
        return _EndOffset(partition=index, error_code=int(entries))
    epoch, end_offset = end_offset_for(entries, wanted.leader_epoch, row.log_end_offset)
    return _EndOffset(partition=index, error_code=0, leader_epoch=epoch, end_offset=end_offset)


def _read(
    context: Context, route: Route, row: PartitionRow, *, is_leader: bool, is_compared: bool
) -> Epochs | ErrorCode:
    """The epochs of a partition, or why there are none.

    is_compared   another node asks where the two logs have parted
    """
    try:
        if is_compared:
            context.epochs.check_owner(route, row)
        return context.epochs.entries(route, row) if is_leader else context.epochs.of_follower(route, row)
    except KafkaError as failure:
        return failure.code
    except (HeadraceError, OSError) as failure:
        context.note_unread(route, failure)
        return ErrorCode.KAFKA_STORAGE_ERROR
