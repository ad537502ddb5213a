"""DeleteAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/31_delete_acls.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DeleteAclsMatchingAcl(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    pattern_type: int = 3  # v1+
    principal: str = ""  # v0+
    host: str = ""  # v0+
    operation: int = 0  # v0+
    permission_type: int = 0  # v0+


class DeleteAclsFilterResult(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    matching_acls: Sequence[DeleteAclsMatchingAcl] = ()  # v0+


class _DeleteAclsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    filter_results: Sequence[DeleteAclsFilterResult] = ()  # v0+


class DeleteAclsResponse(_DeleteAclsResponse):
    __slots__ = ()
    DeleteAclsMatchingAcl: TypeAlias = DeleteAclsMatchingAcl
    DeleteAclsFilterResult: TypeAlias = DeleteAclsFilterResult
