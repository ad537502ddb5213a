"""ConsumerGroupDescribeRequest, v0.

Made by `make codec` from protocol/schema/69_consumer_group_describe.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse


class _ConsumerGroupDescribeRequest(NamedTuple):
    group_ids: Sequence[str] = ()  # v0+
    include_authorized_operations: bool = False  # v0+


class ConsumerGroupDescribeRequest(_ConsumerGroupDescribeRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> ConsumerGroupDescribeResponse: ...
