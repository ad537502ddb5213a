"""AlterPartitionReassignmentsRequest, v0.

Made by `make codec` from protocol/schema/45_alter_partition_reassignments.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse


class ReassignablePartition(NamedTuple):
    partition_index: int = 0  # v0+
    replicas: Sequence[int] | None = None  # v0+, null v0+


class ReassignableTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[ReassignablePartition] = ()  # v0+


class _AlterPartitionReassignmentsRequest(NamedTuple):
    timeout_ms: int = 60000  # v0+
    topics: Sequence[ReassignableTopic] = ()  # v0+


class AlterPartitionReassignmentsRequest(_AlterPartitionReassignmentsRequest):
    __slots__ = ()
    ReassignablePartition: TypeAlias = ReassignablePartition
    ReassignableTopic: TypeAlias = ReassignableTopic
    if TYPE_CHECKING:

        def _answer_(self) -> AlterPartitionReassignmentsResponse: ...
