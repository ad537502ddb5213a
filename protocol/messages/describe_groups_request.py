"""DescribeGroupsRequest, v0 to v5.

Made by `make codec` from protocol/schema/15_describe_groups.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_groups_response import DescribeGroupsResponse


class _DescribeGroupsRequest(NamedTuple):
    groups: Sequence[str] = ()  # v0+
    include_authorized_operations: bool = False  # v3+


class DescribeGroupsRequest(_DescribeGroupsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeGroupsResponse: ...
