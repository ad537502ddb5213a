"""The offsets that a group shall have after a reset: read strictly, checked against what the partitions have.

An offset that a partition does not have is an error that names it, and nothing is written then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.cli.arguments import Start
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition


class Reset(NamedTuple):
    """One of the two: where to go, or how far from what is stored."""

    target: Start | None
    shift: int = 0


def partitions_of(
    cluster: Cluster, scope: Sequence[tuple[str, list[int] | None]], stored: Mapping[TopicPartition, int]
) -> list[TopicPartition]:
    """The partitions of `scope` (topic, partitions or None for all); of what the group has stored, where it is empty.

    raises   KafkaError, for a topic or partition that does not exist
    """
    if not scope:
        if stored:
            cluster.refresh(sorted({name.topic for name in stored}))
        return sorted(stored)
    cluster.refresh(sorted({topic for topic, _indexes in scope}))
    found: set[TopicPartition] = set()
    for topic, indexes in scope:
        names = {name for name in cluster.partitions if name.topic == topic}
        wanted = names if indexes is None else {TopicPartition(topic, index) for index in indexes}
        for name in sorted(wanted - names):
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{topic} has partitions 0 to {len(names) - 1}, no partition {name.partition}",
            )
        found |= wanted
    return sorted(found)


def shiftable(
    names: Sequence[TopicPartition],
    scope: Sequence[tuple[str, list[int] | None]],
    stored: Mapping[TopicPartition, int],
) -> list[TopicPartition]:
    """Those with a committed offset. Of a topic given without partitions, the others are skipped: nothing was read of them.

    raises   KafkaError, where a partition that was given by its number has none, or all of them
    source   Kafka's tool refuses all of it where one has none
    """
    given = {TopicPartition(topic, index) for topic, indexes in scope for index in indexes or []}
    found = [name for name in names if name in stored]
    for name in names:
        if name not in stored and (name in given or not found):
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{name} has no committed offset to shift from")
    return found


def new_offsets(
    cluster: Cluster, names: Sequence[TopicPartition], stored: Mapping[TopicPartition, int], reset: Reset
) -> dict[TopicPartition, int]:
    """Of each partition; a shift needs a committed offset (`shiftable`).

    raises   KafkaError OFFSET_OUT_OF_RANGE, for an offset that a partition does not have
    """
    target = reset.target
    if target is None:
        offsets = {name: stored[name] + reset.shift for name in names}
    elif target.offset is not None:
        offsets = dict.fromkeys(names, target.offset)
    else:
        when = EARLIEST if target.is_earliest else LATEST if target.is_latest else target.time_ms or 0
        return start_offsets(cluster, dict.fromkeys(names, when))
    check_range(cluster, offsets)
    return offsets


def start_offsets(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Where to begin for EARLIEST, LATEST or a time in milliseconds; the end, if no record is that late."""
    found = cluster.offsets(dict(wanted))
    late = [name for name, offset in found.items() if offset < 0]
    if late:
        found.update(cluster.offsets(dict.fromkeys(late, LATEST)))
    return found


def check_range(cluster: Cluster, offsets: Mapping[TopicPartition, int]) -> None:
    """raises   KafkaError OFFSET_OUT_OF_RANGE, which names the first partition that does not have its offset"""
    starts = cluster.offsets(dict.fromkeys(offsets, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(offsets, LATEST))
    for name, offset in sorted(offsets.items()):
        if not starts[name] <= offset <= ends[name]:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {name} is out of range: valid offsets are {starts[name]} to {ends[name]}",
            )
