"""OffsetDeleteResponse, v0.

Made by `make codec` from protocol/schema/47_offset_delete.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class OffsetDeleteResponsePartition(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class OffsetDeleteResponseTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[OffsetDeleteResponsePartition] = ()  # v0+


class _OffsetDeleteResponse(NamedTuple):
    error_code: int = 0  # v0+
    throttle_time_ms: int = 0  # v0+
    topics: Sequence[OffsetDeleteResponseTopic] = ()  # v0+


class OffsetDeleteResponse(_OffsetDeleteResponse):
    __slots__ = ()
    OffsetDeleteResponsePartition: TypeAlias = OffsetDeleteResponsePartition
    OffsetDeleteResponseTopic: TypeAlias = OffsetDeleteResponseTopic
