"""LeaveGroupResponse, v0 to v5.

Made by `make codec` from protocol/schema/13_leave_group.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class MemberResponse(NamedTuple):
    member_id: str = ""  # v3+
    group_instance_id: str | None = ""  # v3+, null v3+
    error_code: int = 0  # v3+


class _LeaveGroupResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # v0+
    members: Sequence[MemberResponse] = ()  # v3+


class LeaveGroupResponse(_LeaveGroupResponse):
    __slots__ = ()
    MemberResponse: TypeAlias = MemberResponse
