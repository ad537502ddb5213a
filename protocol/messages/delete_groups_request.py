"""DeleteGroupsRequest, v0 to v2.

Made by `make codec` from protocol/schema/42_delete_groups.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.delete_groups_response import DeleteGroupsResponse


class _DeleteGroupsRequest(NamedTuple):
    groups_names: Sequence[str] = ()  # v0+


class DeleteGroupsRequest(_DeleteGroupsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> DeleteGroupsResponse: ...
