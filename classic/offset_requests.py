"""OffsetCommit, OffsetFetch and FindCoordinator as old consumers send them: v0 for ZooKeeper, v1 or v2 for Kafka.

Source: Kafka 0.8.2 `OffsetCommitRequest`, `OffsetFetchRequest`, `ConsumerMetadataRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.client.cluster import error_of
from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.ids import NO_GENERATION, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

COMMIT_TO_KAFKA = (1, 2)  # of a group without members
FETCH_FROM_KAFKA = (1, 2)
TO_ZOOKEEPER = (0, 0)


def find_coordinator(connection: Connection, group: str) -> tuple[str, int]:
    """Host and port of a group's coordinator. raises KafkaError, ConnectionFailed"""
    version = connection.version(ApiKey.FIND_COORDINATOR, 0, 3)
    answer = connection.request(ApiKey.FIND_COORDINATOR, version, messages.FindCoordinatorRequest(key=group))
    if answer.error_code:
        raise error_of(answer.error_code, f"coordinator of group {group}")
    return answer.host, answer.port


def commit(
    connection: Connection, group: str, offsets: Mapping[TopicPartition, int], is_kafka: bool, metadata: str = ""
) -> None:
    """raises   KafkaError with the first partition that was refused; ConnectionFailed"""
    kind = messages.OffsetCommitRequest
    topics: dict[str, list[messages.OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
    for name, offset in sorted(offsets.items()):
        row = kind.OffsetCommitRequestPartition(name.partition, offset, committed_metadata=metadata)
        topics.setdefault(name.topic, []).append(row)
    request = kind(
        group_id=group,
        generation_id_or_member_epoch=NO_GENERATION,
        topics=[kind.OffsetCommitRequestTopic(topic, rows) for topic, rows in topics.items()],
    )
    version = connection.version(ApiKey.OFFSET_COMMIT, *(COMMIT_TO_KAFKA if is_kafka else TO_ZOOKEEPER))
    answer = connection.request(ApiKey.OFFSET_COMMIT, version, request)
    for topic in answer.topics:
        for refused in topic.partitions:
            if refused.error_code:
                raise error_of(refused.error_code, f"offset of {topic.name}-{refused.partition_index} in group {group}")


def committed(
    connection: Connection, group: str, names: Sequence[TopicPartition], is_kafka: bool
) -> dict[TopicPartition, int]:
    """Offsets; partitions without one are left out. raises KafkaError, ConnectionFailed"""
    kind = messages.OffsetFetchRequest
    topics: dict[str, list[int]] = {}
    for name in names:
        topics.setdefault(name.topic, []).append(name.partition)
    rows = [kind.OffsetFetchRequestTopic(topic, numbers) for topic, numbers in topics.items()]
    version = connection.version(ApiKey.OFFSET_FETCH, *(FETCH_FROM_KAFKA if is_kafka else TO_ZOOKEEPER))
    answer = connection.request(ApiKey.OFFSET_FETCH, version, kind(group_id=group, topics=rows))
    if answer.error_code:
        raise error_of(answer.error_code, f"offsets of group {group}")
    found = {}
    for topic in answer.topics:
        for row in topic.partitions:
            name = TopicPartition(topic.name, row.partition_index)
            if row.error_code and row.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # v0 and v1: there is none
                raise error_of(row.error_code, f"offset of {name} in group {group}")
            if not row.error_code and row.committed_offset >= 0:
                found[name] = row.committed_offset
    return found
