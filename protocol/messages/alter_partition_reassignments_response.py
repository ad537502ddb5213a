"""AlterPartitionReassignmentsResponse, v0.

Made by `make codec` from protocol/schema/45_alter_partition_reassignments.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class ReassignablePartitionResponse(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+


class ReassignableTopicResponse(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[ReassignablePartitionResponse] = ()  # v0+


class _AlterPartitionReassignmentsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    responses: Sequence[ReassignableTopicResponse] = ()  # v0+


class AlterPartitionReassignmentsResponse(_AlterPartitionReassignmentsResponse):
    __slots__ = ()
    ReassignablePartitionResponse: TypeAlias = ReassignablePartitionResponse
    ReassignableTopicResponse: TypeAlias = ReassignableTopicResponse
