"""ListPartitionReassignmentsResponse, v0.

Made by `make codec` from protocol/schema/46_list_partition_reassignments.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class OngoingPartitionReassignment(NamedTuple):
    partition_index: int = 0  # v0+
    replicas: Sequence[int] = ()  # v0+
    adding_replicas: Sequence[int] = ()  # v0+
    removing_replicas: Sequence[int] = ()  # v0+


class OngoingTopicReassignment(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[OngoingPartitionReassignment] = ()  # v0+


class _ListPartitionReassignmentsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    topics: Sequence[OngoingTopicReassignment] = ()  # v0+


class ListPartitionReassignmentsResponse(_ListPartitionReassignmentsResponse):
    __slots__ = ()
    OngoingPartitionReassignment: TypeAlias = OngoingPartitionReassignment
    OngoingTopicReassignment: TypeAlias = OngoingTopicReassignment
