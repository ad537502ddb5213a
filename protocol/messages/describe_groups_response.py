"""DescribeGroupsResponse, v0 to v5.

Made by `make codec` from protocol/schema/15_describe_groups.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DescribedGroupMember(NamedTuple):
    member_id: str = ""  # v0+
    group_instance_id: str | None = None  # v4+, null v4+
    client_id: str = ""  # v0+
    client_host: str = ""  # v0+
    member_metadata: bytes = b""  # v0+
    member_assignment: bytes = b""  # v0+


class DescribedGroup(NamedTuple):
    error_code: int = 0  # v0+
    group_id: str = ""  # v0+
    group_state: str = ""  # v0+
    protocol_type: str = ""  # v0+
    protocol_data: str = ""  # v0+
    members: Sequence[DescribedGroupMember] = ()  # v0+
    authorized_operations: int = -2147483648  # v3+


class _DescribeGroupsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    groups: Sequence[DescribedGroup] = ()  # v0+


class DescribeGroupsResponse(_DescribeGroupsResponse):
    __slots__ = ()
    DescribedGroupMember: TypeAlias = DescribedGroupMember
    DescribedGroup: TypeAlias = DescribedGroup
