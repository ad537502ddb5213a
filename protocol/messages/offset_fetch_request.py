"""OffsetFetchRequest, v0 to v9.

Made by `make codec` from protocol/schema/09_offset_fetch.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.offset_fetch_response import OffsetFetchResponse


class OffsetFetchRequestTopic(NamedTuple):
    name: str = ""  # v0-7
    partition_indexes: Sequence[int] = ()  # v0-7


class OffsetFetchRequestTopics(NamedTuple):
    name: str = ""  # v8+
    partition_indexes: Sequence[int] = ()  # v8+


class OffsetFetchRequestGroup(NamedTuple):
    group_id: str = ""  # v8+
    member_id: str | None = None  # v9+, null v9+
    member_epoch: int = -1  # v9+
    topics: Sequence[OffsetFetchRequestTopics] | None = ()  # v8+, null v8+


class _OffsetFetchRequest(NamedTuple):
    group_id: str = ""  # v0-7
    topics: Sequence[OffsetFetchRequestTopic] | None = ()  # v0-7, null v2-7
    groups: Sequence[OffsetFetchRequestGroup] = ()  # v8+
    require_stable: bool = False  # v7+


class OffsetFetchRequest(_OffsetFetchRequest):
    __slots__ = ()
    OffsetFetchRequestTopic: TypeAlias = OffsetFetchRequestTopic
    OffsetFetchRequestTopics: TypeAlias = OffsetFetchRequestTopics
    OffsetFetchRequestGroup: TypeAlias = OffsetFetchRequestGroup
    if TYPE_CHECKING:

        def _answer_(self) -> OffsetFetchResponse: ...
