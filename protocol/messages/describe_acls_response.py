"""DescribeAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/29_describe_acls.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AclDescription(NamedTuple):
    principal: str = ""  # v0+
    host: str = ""  # v0+
    operation: int = 0  # v0+
    permission_type: int = 0  # v0+


class DescribeAclsResource(NamedTuple):
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    pattern_type: int = 3  # v1+
    acls: Sequence[AclDescription] = ()  # v0+


class _DescribeAclsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    resources: Sequence[DescribeAclsResource] = ()  # v0+


class DescribeAclsResponse(_DescribeAclsResponse):
    __slots__ = ()
    AclDescription: TypeAlias = AclDescription
    DescribeAclsResource: TypeAlias = DescribeAclsResource
