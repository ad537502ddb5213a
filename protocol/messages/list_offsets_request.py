"""ListOffsetsRequest, v0 to v9.

Made by `make codec` from protocol/schema/02_list_offsets.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.list_offsets_response import ListOffsetsResponse


class ListOffsetsPartition(NamedTuple):
    partition_index: int = 0  # v0+
    current_leader_epoch: int = -1  # v4+
    timestamp: int = 0  # v0+
    max_num_offsets: int = 1  # v0


class ListOffsetsTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[ListOffsetsPartition] = ()  # v0+


class _ListOffsetsRequest(NamedTuple):
    replica_id: int = 0  # v0+
    isolation_level: int = 0  # v2+
    topics: Sequence[ListOffsetsTopic] = ()  # v0+


class ListOffsetsRequest(_ListOffsetsRequest):
    __slots__ = ()
    ListOffsetsPartition: TypeAlias = ListOffsetsPartition
    ListOffsetsTopic: TypeAlias = ListOffsetsTopic
    if TYPE_CHECKING:

        def _answer_(self) -> ListOffsetsResponse: ...
