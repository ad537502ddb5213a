"""DeleteTopicsResponse, v0 to v6.

Made by `make codec` from protocol/schema/20_delete_topics.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class DeletableTopicResult(NamedTuple):
    name: str | None = ""  # v0+, null v6+
    topic_id: bytes = ZERO_UUID  # v6+
    error_code: int = 0  # v0+
    error_message: str | None = None  # v5+, null v5+


class _DeleteTopicsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    responses: Sequence[DeletableTopicResult] = ()  # v0+


class DeleteTopicsResponse(_DeleteTopicsResponse):
    __slots__ = ()
    DeletableTopicResult: TypeAlias = DeletableTopicResult
