"""ListGroupsRequest, v0 to v5.

Made by `make codec` from protocol/schema/16_list_groups.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.list_groups_response import ListGroupsResponse


class _ListGroupsRequest(NamedTuple):
    states_filter: Sequence[str] = ()  # v4+
    types_filter: Sequence[str] = ()  # v5+


class ListGroupsRequest(_ListGroupsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> ListGroupsResponse: ...
