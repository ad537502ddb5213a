"""DeleteGroupsResponse, v0 to v2.

Made by `make codec` from protocol/schema/42_delete_groups.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DeletableGroupResult(NamedTuple):
    group_id: str = ""  # v0+
    error_code: int = 0  # v0+


class _DeleteGroupsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    results: Sequence[DeletableGroupResult] = ()  # v0+


class DeleteGroupsResponse(_DeleteGroupsResponse):
    __slots__ = ()
    DeletableGroupResult: TypeAlias = DeletableGroupResult
