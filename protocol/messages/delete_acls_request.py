"""DeleteAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/31_delete_acls.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.delete_acls_response import DeleteAclsResponse


class DeleteAclsFilter(NamedTuple):
    resource_type_filter: int = 0  # v0+
    resource_name_filter: str | None = ""  # v0+, null v0+
    pattern_type_filter: int = 3  # v1+
    principal_filter: str | None = ""  # v0+, null v0+
    host_filter: str | None = ""  # v0+, null v0+
    operation: int = 0  # v0+
    permission_type: int = 0  # v0+


class _DeleteAclsRequest(NamedTuple):
    filters: Sequence[DeleteAclsFilter] = ()  # v0+


class DeleteAclsRequest(_DeleteAclsRequest):
    __slots__ = ()
    DeleteAclsFilter: TypeAlias = DeleteAclsFilter
    if TYPE_CHECKING:

        def _answer_(self) -> DeleteAclsResponse: ...
