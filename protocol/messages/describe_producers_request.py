"""DescribeProducersRequest, v0.

Made by `make codec` from protocol/schema/61_describe_producers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_producers_response import DescribeProducersResponse


class TopicRequest(NamedTuple):
    name: str = ""  # v0+
    partition_indexes: Sequence[int] = ()  # v0+


class _DescribeProducersRequest(NamedTuple):
    topics: Sequence[TopicRequest] = ()  # v0+


class DescribeProducersRequest(_DescribeProducersRequest):
    __slots__ = ()
    TopicRequest: TypeAlias = TopicRequest
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeProducersResponse: ...
