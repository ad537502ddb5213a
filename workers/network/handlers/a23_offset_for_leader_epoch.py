"""OffsetForLeaderEpoch (key 23), v0 to v4: where a leader epoch ended in the leader's log.

Followers truncate by it, consumers notice by it that a log was truncated under them. The epochs come from the
partition's `leader-epoch-checkpoint`, which is written before the first append of an epoch, the end of the latest one
from the row; the leader process is not asked.

Of an epoch after all that it knows, a leader whose controller process is not in the cluster says NOT_LEADER_OR_FOLLOWER: it was deposed.
Apache's broker says that there is no such epoch, and librdkafka's consumers begin again at the first record.

To a broker that debugs (replica id -2) a follower answers as well, and a replica that is held back: where two logs have parted is found so
(decision 071). Apache's broker answers of what it leads.

Source: Kafka `Partition.lastOffsetForLeaderEpoch`; KIP-101, KIP-279, KIP-320.
"""

from __future__ import annotations

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.log.state.leader_epochs import end_offset_for
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.partition_table import RowState
from headrace.workers.network.context import Context
from headrace.workers.network.epoch_files import Epochs
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.handlers.a02_list_offsets import DEBUGGING_REPLICA
from headrace.workers.network.partition_reads import CONSUMER_REPLICA_ID_MAX, refusal_of

VERSION_OF_REPLICA = 3  # says who asks; before that it is left at the default, -2

_Wanted = messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition
_Topic = messages.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
_EndOffset = messages.OffsetForLeaderEpochResponse.EpochEndOffset


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from checkpoints and rows. A partition may be named often: its file is read once for a request."""
    request = decode_request(ApiKey.OFFSET_FOR_LEADER_EPOCH, exchange.api_version, body)
    is_follower = request.replica_id > CONSUMER_REPLICA_ID_MAX
    if is_follower and not context.broker_requests.is_of_broker(exchange.connection, exchange.api_key):
        topics = [
            _Topic(topic=topic.topic, partitions=[_refusal(wanted) for wanted in topic.partitions])
            for topic in request.topics
        ]
    else:
        is_debugging = request.replica_id == DEBUGGING_REPLICA and exchange.api_version >= VERSION_OF_REPLICA
        known: dict[int, Epochs] = {}
        topics = [
            _Topic(
                topic=topic.topic,
                partitions=[
                    _find(context, topic.topic, wanted, known, may_follow=is_debugging) for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    response = messages.OffsetForLeaderEpochResponse(topics=topics)
    exchange.answer_bytes(encode_response(ApiKey.OFFSET_FOR_LEADER_EPOCH, exchange.api_version, response))


def _refusal(wanted: _Wanted) -> _EndOffset:
    return _EndOffset(partition=wanted.partition, error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))


def _find(context: Context, topic: str, wanted: _Wanted, known: dict[int, Epochs], *, may_follow: bool) -> _EndOffset:
    """
    known   by slot: what was read for this request
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
    try:
        entries = known.get(route.slot)
        if entries is None:
            entries = context.epochs.entries(route, row) if is_leader else context.epochs.of_follower(route, row)
            known[route.slot] = entries
    except KafkaError as failure:
        return _EndOffset(partition=index, error_code=int(failure.code))
    except (HeadraceError, OSError) as failure:
        context.note_unread(route, failure)
        return _EndOffset(partition=index, error_code=int(ErrorCode.KAFKA_STORAGE_ERROR))
    epoch, end_offset = end_offset_for(entries, wanted.leader_epoch, row.log_end_offset)
    return _EndOffset(partition=index, error_code=0, leader_epoch=epoch, end_offset=end_offset)
