"""JoinGroupResponse, v0 to v9.

Made by `make codec` from protocol/schema/11_join_group.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class JoinGroupResponseMember(NamedTuple):
    member_id: str = ""  # v0+
    group_instance_id: str | None = None  # v5+, null v5+
    metadata: bytes = b""  # v0+


class _JoinGroupResponse(NamedTuple):
    throttle_time_ms: int = 0  # v2+
    error_code: int = 0  # v0+
    generation_id: int = -1  # v0+
    protocol_type: str | None = None  # v7+, null v7+
    protocol_name: str | None = ""  # v0+, null v7+
    leader: str = ""  # v0+
    skip_assignment: bool = False  # v9+
    member_id: str = ""  # v0+
    members: Sequence[JoinGroupResponseMember] = ()  # v0+


class JoinGroupResponse(_JoinGroupResponse):
    __slots__ = ()
    JoinGroupResponseMember: TypeAlias = JoinGroupResponseMember
