"""ConsumerGroupPartitionMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class PartitionMetadata(NamedTuple):
    partition: int = 0  # v0+
    racks: Sequence[str] = ()  # v0+


class TopicMetadata(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    topic_name: str = ""  # v0+
    num_partitions: int = 0  # v0+
    partition_metadata: Sequence[PartitionMetadata] = ()  # v0+


class _ConsumerGroupPartitionMetadataValue(NamedTuple):
    topics: Sequence[TopicMetadata] = ()  # v0+


class ConsumerGroupPartitionMetadataValue(_ConsumerGroupPartitionMetadataValue):
    __slots__ = ()
    PartitionMetadata: TypeAlias = PartitionMetadata
    TopicMetadata: TypeAlias = TopicMetadata
