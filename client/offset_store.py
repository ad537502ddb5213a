"""A group's committed offsets, with what was noted beside them: read, and written from outside of the group, by a tool's `Cluster`.

Source: Kafka `KafkaAdminClient.listConsumerGroupOffsets`, `alterConsumerGroupOffsets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.client.cluster import Cluster
from headrace.client.engine.coordinator import Committed
from headrace.client.engine.group_administration import GroupAdministration
from headrace.ids import NO_EPOCH, TopicPartition


def committed_offsets(
    cluster: Cluster, group_id: str, names: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, int]:
    """Committed offsets; partitions without one are left out.

    names    None: all of the group's
    raises   KafkaError with the group or partition; ConnectionFailed
    """
    return {name: found.offset for name, found in committed(cluster, group_id, names).items()}


def committed(
    cluster: Cluster, group_id: str, names: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, Committed]:
    """The same, with their metadata."""
    return cluster.run(
        lambda engine: GroupAdministration(engine).committed(group_id, names), f"offsets of group {group_id}"
    )


def store_offsets(
    cluster: Cluster,
    group_id: str,
    offsets: Mapping[TopicPartition, int],
    metadata: str = "",
    epochs: Mapping[TopicPartition, int] | None = None,
) -> None:
    """Commit offsets for a group without members, all or none; the coordinator refuses if it has some.

    metadata   noted beside each, `offset.metadata.max.bytes` at most
    epochs     leader epochs of the last records before the offsets, as far as they are known
    raises     KafkaError; ConnectionFailed
    """
    known = epochs or {}
    wanted = {name: (offset, known.get(name, NO_EPOCH), metadata) for name, offset in offsets.items()}
    cluster.run(lambda engine: GroupAdministration(engine).commit(group_id, wanted), f"offsets of group {group_id}")
