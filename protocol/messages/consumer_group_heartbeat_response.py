"""ConsumerGroupHeartbeatResponse, v0.

Made by `make codec` from protocol/schema/68_consumer_group_heartbeat.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class TopicPartitions(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    partitions: Sequence[int] = ()  # v0+


class Assignment(NamedTuple):
    topic_partitions: Sequence[TopicPartitions] = ()  # v0+


class _ConsumerGroupHeartbeatResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = None  # v0+, null v0+
    member_id: str | None = None  # v0+, null v0+
    member_epoch: int = 0  # v0+
    heartbeat_interval_ms: int = 0  # v0+
    assignment: Assignment | None = None  # v0+, null v0+


class ConsumerGroupHeartbeatResponse(_ConsumerGroupHeartbeatResponse):
    __slots__ = ()
    TopicPartitions: TypeAlias = TopicPartitions
    Assignment: TypeAlias = Assignment
