"""ShareGroupPartitionMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class TopicPartitionsInfo(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    topic_name: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class TopicInfo(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    topic_name: str = ""  # v0+


class _ShareGroupPartitionMetadataValue(NamedTuple):
    initialized_topics: Sequence[TopicPartitionsInfo] = ()  # v0+
    deleting_topics: Sequence[TopicInfo] = ()  # v0+


class ShareGroupPartitionMetadataValue(_ShareGroupPartitionMetadataValue):
    __slots__ = ()
    TopicPartitionsInfo: TypeAlias = TopicPartitionsInfo
    TopicInfo: TypeAlias = TopicInfo
