"""ListPartitionReassignmentsRequest, v0.

Made by `make codec` from protocol/schema/46_list_partition_reassignments.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse


class ListPartitionReassignmentsTopics(NamedTuple):
    name: str = ""  # v0+
    partition_indexes: Sequence[int] = ()  # v0+


class _ListPartitionReassignmentsRequest(NamedTuple):
    timeout_ms: int = 60000  # v0+
    topics: Sequence[ListPartitionReassignmentsTopics] | None = None  # v0+, null v0+


class ListPartitionReassignmentsRequest(_ListPartitionReassignmentsRequest):
    __slots__ = ()
    ListPartitionReassignmentsTopics: TypeAlias = ListPartitionReassignmentsTopics
    if TYPE_CHECKING:

        def _answer_(self) -> ListPartitionReassignmentsResponse: ...
