"""ListOffsetsResponse, v0 to v9.

Made by `make codec` from protocol/schema/02_list_offsets.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class ListOffsetsPartitionResponse(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+
    old_style_offsets: Sequence[int] = ()  # v0
    timestamp: int = -1  # v1+
    offset: int = -1  # v1+
    leader_epoch: int = -1  # v4+


class ListOffsetsTopicResponse(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[ListOffsetsPartitionResponse] = ()  # v0+


class _ListOffsetsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v2+
    topics: Sequence[ListOffsetsTopicResponse] = ()  # v0+


class ListOffsetsResponse(_ListOffsetsResponse):
    __slots__ = ()
    ListOffsetsPartitionResponse: TypeAlias = ListOffsetsPartitionResponse
    ListOffsetsTopicResponse: TypeAlias = ListOffsetsTopicResponse
