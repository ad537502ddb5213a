"""OffsetDeleteRequest, v0.

Made by `make codec` from protocol/schema/47_offset_delete.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.offset_delete_response import OffsetDeleteResponse


class OffsetDeleteRequestPartition(NamedTuple):
    partition_index: int = 0  # v0+


class OffsetDeleteRequestTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[OffsetDeleteRequestPartition] = ()  # v0+


class _OffsetDeleteRequest(NamedTuple):
    group_id: str = ""  # v0+
    topics: Sequence[OffsetDeleteRequestTopic] = ()  # v0+


class OffsetDeleteRequest(_OffsetDeleteRequest):
    __slots__ = ()
    OffsetDeleteRequestPartition: TypeAlias = OffsetDeleteRequestPartition
    OffsetDeleteRequestTopic: TypeAlias = OffsetDeleteRequestTopic
    if TYPE_CHECKING:

        def _answer_(self) -> OffsetDeleteResponse: ...
