"""A group's committed offsets, with what was noted beside them: read, and written from outside of the group.

Source: Kafka `KafkaAdminClient.listConsumerGroupOffsets`, `alterConsumerGroupOffsets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.client.cluster import error_of
from headrace.client.coordinator import MOVED, CoordinatorClient
from headrace.ids import NO_GENERATION, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

VERSION_OF_KAFKA_OFFSETS = 1  # of OffsetFetch; v0 reads ZooKeeper
VERSION_OF_ALL_TOPICS = 2  # the first that can ask for all partitions of a group


class Committed(NamedTuple):
    """What is committed of a partition.

    leader_epoch   of the last record before the offset; -1: not known
    """

    offset: int
    metadata: str
    leader_epoch: int = -1


def committed_offsets(
    coordinator: CoordinatorClient, names: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, int]:
    """Committed offsets; partitions without one are left out.

    names    None: all of the group's
    raises   KafkaError with the group or partition; ConnectionFailed
    """
    return {name: found.offset for name, found in committed(coordinator, names).items()}


def committed(
    coordinator: CoordinatorClient, names: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, Committed]:
    """The same, with their metadata."""
    kind = messages.OffsetFetchRequest
    topics: list[messages.OffsetFetchRequest.OffsetFetchRequestTopic] | None = None
    if names is not None:
        by_topic: dict[str, list[int]] = {}
        for name in names:
            by_topic.setdefault(name.topic, []).append(name.partition)
        topics = [kind.OffsetFetchRequestTopic(topic, indexes) for topic, indexes in by_topic.items()]
    request = kind(group_id=coordinator.group_id, topics=topics, groups=[])
    lowest = VERSION_OF_ALL_TOPICS if names is None else VERSION_OF_KAFKA_OFFSETS
    answer = coordinator.ask(ApiKey.OFFSET_FETCH, (lowest, 7), request, _group_code)
    if answer.error_code:
        raise error_of(answer.error_code, f"offsets of group {coordinator.group_id}")
    found = {}
    for topic in answer.topics:
        for row in topic.partitions:
            name = TopicPartition(topic.name, row.partition_index)
            if row.error_code:
                raise error_of(row.error_code, f"offset of {name} in group {coordinator.group_id}")
            if row.committed_offset >= 0:
                found[name] = Committed(row.committed_offset, row.metadata or "", row.committed_leader_epoch)
    return found


def store_offsets(
    coordinator: CoordinatorClient,
    offsets: Mapping[TopicPartition, int],
    metadata: str = "",
    epochs: Mapping[TopicPartition, int] | None = None,
) -> None:
    """Commit offsets for a group without members, all or none; the coordinator refuses if it has some.

    metadata   noted beside each, `offset.metadata.max.bytes` at most
    epochs     leader epochs of the last records before the offsets, as far as they are known
    raises     KafkaError with the first partition that was refused; ConnectionFailed
    """
    request = messages.OffsetCommitRequest(
        group_id=coordinator.group_id,
        generation_id_or_member_epoch=NO_GENERATION,
        topics=commit_topics(offsets, metadata, epochs),
    )
    answer = coordinator.ask(ApiKey.OFFSET_COMMIT, (2, 8), request, _first_code)
    for topic in answer.topics:
        for row in topic.partitions:
            if row.error_code:
                name = TopicPartition(topic.name, row.partition_index)
                raise error_of(row.error_code, f"offset of {name} in group {coordinator.group_id}")


def commit_topics(
    offsets: Mapping[TopicPartition, int], metadata: str = "", epochs: Mapping[TopicPartition, int] | None = None
) -> list[messages.OffsetCommitRequest.OffsetCommitRequestTopic]:
    """Offsets as the topics of an OffsetCommit request, which has leader epochs from v6 on."""
    kind = messages.OffsetCommitRequest
    known = epochs or {}
    topics: dict[str, list[messages.OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
    for name, offset in sorted(offsets.items()):
        row = kind.OffsetCommitRequestPartition(
            name.partition, offset, known.get(name, -1), committed_metadata=metadata
        )
        topics.setdefault(name.topic, []).append(row)
    return [kind.OffsetCommitRequestTopic(topic, rows) for topic, rows in topics.items()]


def _group_code(answer: messages.OffsetFetchResponse) -> int:
    """The error of the whole group; before v2 the coordinator reports it with each partition."""
    rows = (row.error_code for topic in answer.topics for row in topic.partitions if row.error_code in MOVED)
    return int(answer.error_code) or next(rows, 0)


def _first_code(answer: messages.OffsetCommitResponse) -> int:
    return next((row.error_code for topic in answer.topics for row in topic.partitions if row.error_code), 0)
