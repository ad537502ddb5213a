"""DeleteTopicsRequest, v0 to v6.

Made by `make codec` from protocol/schema/20_delete_topics.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.delete_topics_response import DeleteTopicsResponse


class DeleteTopicState(NamedTuple):
    name: str | None = None  # v6+, null v6+
    topic_id: bytes = ZERO_UUID  # v6+


class _DeleteTopicsRequest(NamedTuple):
    topics: Sequence[DeleteTopicState] = ()  # v6+
    topic_names: Sequence[str] = ()  # v0-5
    timeout_ms: int = 0  # v0+


class DeleteTopicsRequest(_DeleteTopicsRequest):
    __slots__ = ()
    DeleteTopicState: TypeAlias = DeleteTopicState
    if TYPE_CHECKING:

        def _answer_(self) -> DeleteTopicsResponse: ...
