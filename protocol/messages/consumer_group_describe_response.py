"""ConsumerGroupDescribeResponse, v0.

Made by `make codec` from protocol/schema/69_consumer_group_describe.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class TopicPartitions(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    topic_name: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class Assignment(NamedTuple):
    topic_partitions: Sequence[TopicPartitions] = ()  # v0+


class Member(NamedTuple):
    member_id: str = ""  # v0+
    instance_id: str | None = None  # v0+, null v0+
    rack_id: str | None = None  # v0+, null v0+
    member_epoch: int = 0  # v0+
    client_id: str = ""  # v0+
    client_host: str = ""  # v0+
    subscribed_topic_names: Sequence[str] = ()  # v0+
    subscribed_topic_regex: str | None = None  # v0+, null v0+
    assignment: Assignment = Assignment()  # v0+
    target_assignment: Assignment = Assignment()  # v0+


class DescribedGroup(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = None  # v0+, null v0+
    group_id: str = ""  # v0+
    group_state: str = ""  # v0+
    group_epoch: int = 0  # v0+
    assignment_epoch: int = 0  # v0+
    assignor_name: str = ""  # v0+
    members: Sequence[Member] = ()  # v0+
    authorized_operations: int = -2147483648  # v0+


class _ConsumerGroupDescribeResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    groups: Sequence[DescribedGroup] = ()  # v0+


class ConsumerGroupDescribeResponse(_ConsumerGroupDescribeResponse):
    __slots__ = ()
    TopicPartitions: TypeAlias = TopicPartitions
    Assignment: TypeAlias = Assignment
    Member: TypeAlias = Member
    DescribedGroup: TypeAlias = DescribedGroup
