"""What a follower asks its leader besides Fetch: where an epoch ended, and where the log begins and ends.

Pure: a request of followers, and the answers by follower. One that an answer does not name has no answer.

Source: Kafka `RemoteLeaderEndPoint.fetchEpochEndOffsets`, `fetchOffset`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.protocol import messages
from headrace.workers.partition.replication.followed import Followed

LATEST: Final = -1
EARLIEST: Final = -2

_EpochRequest = messages.OffsetForLeaderEpochRequest
_OffsetRequest = messages.ListOffsetsRequest


def epochs_request(node_id: int, asked: Iterable[Followed]) -> messages.OffsetForLeaderEpochRequest:
    """Where did the epoch of the last record of each one's log end?"""
    rows: dict[str, list[messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition]] = {}
    for followed in asked:
        row = _EpochRequest.OffsetForLeaderPartition(
            partition=followed.index,
            current_leader_epoch=followed.leader_epoch,
            leader_epoch=followed.asked_epoch,
        )
        rows.setdefault(followed.topic, []).append(row)
    topics = [_EpochRequest.OffsetForLeaderTopic(topic=topic, partitions=part) for topic, part in rows.items()]
    return _EpochRequest(replica_id=node_id, topics=topics)


def epoch_answers(
    response: messages.OffsetForLeaderEpochResponse, asked: Iterable[Followed]
) -> Iterator[tuple[Followed, int, int, int]]:
    """(follower, error, epoch, end offset)"""
    by_name = {(followed.topic, followed.index): followed for followed in asked}
    for topic in response.topics:
        for row in topic.partitions:
            followed = by_name.pop((topic.topic, row.partition), None)
            if followed is not None:
                yield followed, row.error_code, row.leader_epoch, row.end_offset


def offsets_request(node_id: int, asked: Iterable[Followed], timestamp: int) -> messages.ListOffsetsRequest:
    """Where does each one's log begin (EARLIEST), or end (LATEST)?"""
    rows: dict[str, list[messages.ListOffsetsRequest.ListOffsetsPartition]] = {}
    for followed in asked:
        row = _OffsetRequest.ListOffsetsPartition(
            partition_index=followed.index, current_leader_epoch=followed.leader_epoch, timestamp=timestamp
        )
        rows.setdefault(followed.topic, []).append(row)
    topics = [_OffsetRequest.ListOffsetsTopic(name=topic, partitions=part) for topic, part in rows.items()]
    return _OffsetRequest(replica_id=node_id, topics=topics)


def offset_answers(
    response: messages.ListOffsetsResponse, asked: Iterable[Followed]
) -> dict[Followed, tuple[int, int]]:
    """(error, offset) by follower"""
    by_name = {(followed.topic, followed.index): followed for followed in asked}
    found = {}
    for topic in response.topics:
        for row in topic.partitions:
            followed = by_name.pop((topic.name, row.partition_index), None)
            if followed is not None:
                found[followed] = (row.error_code, row.offset)
    return found
