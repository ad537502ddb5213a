"""LeaveGroupRequest, v0 to v5.

Made by `make codec` from protocol/schema/13_leave_group.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.leave_group_response import LeaveGroupResponse


class MemberIdentity(NamedTuple):
    member_id: str = ""  # v3+
    group_instance_id: str | None = None  # v3+, null v3+
    reason: str | None = None  # v5+, null v5+


class _LeaveGroupRequest(NamedTuple):
    group_id: str = ""  # v0+
    member_id: str = ""  # v0-2
    members: Sequence[MemberIdentity] = ()  # v3+


class LeaveGroupRequest(_LeaveGroupRequest):
    __slots__ = ()
    MemberIdentity: TypeAlias = MemberIdentity
    if TYPE_CHECKING:

        def _answer_(self) -> LeaveGroupResponse: ...
