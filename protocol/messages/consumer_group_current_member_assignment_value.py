"""ConsumerGroupCurrentMemberAssignmentValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class TopicPartitions(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    partitions: Sequence[int] = ()  # v0+


class _ConsumerGroupCurrentMemberAssignmentValue(NamedTuple):
    member_epoch: int = 0  # v0+
    previous_member_epoch: int = 0  # v0+
    state: int = 0  # v0+
    assigned_partitions: Sequence[TopicPartitions] = ()  # v0+
    partitions_pending_revocation: Sequence[TopicPartitions] = ()  # v0+


class ConsumerGroupCurrentMemberAssignmentValue(_ConsumerGroupCurrentMemberAssignmentValue):
    __slots__ = ()
    TopicPartitions: TypeAlias = TopicPartitions
