"""ListGroupsResponse, v0 to v5.

Made by `make codec` from protocol/schema/16_list_groups.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class ListedGroup(NamedTuple):
    group_id: str = ""  # v0+
    protocol_type: str = ""  # v0+
    group_state: str = ""  # v4+
    group_type: str = ""  # v5+


class _ListGroupsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # v0+
    groups: Sequence[ListedGroup] = ()  # v0+


class ListGroupsResponse(_ListGroupsResponse):
    __slots__ = ()
    ListedGroup: TypeAlias = ListedGroup
