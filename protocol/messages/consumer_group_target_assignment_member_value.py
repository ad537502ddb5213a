"""ConsumerGroupTargetAssignmentMemberValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class TopicPartition(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    partitions: Sequence[int] = ()  # v0+


class _ConsumerGroupTargetAssignmentMemberValue(NamedTuple):
    topic_partitions: Sequence[TopicPartition] = ()  # v0+


class ConsumerGroupTargetAssignmentMemberValue(_ConsumerGroupTargetAssignmentMemberValue):
    __slots__ = ()
    TopicPartition: TypeAlias = TopicPartition
