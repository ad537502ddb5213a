"""DescribeAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/29_describe_acls.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_acls_response import DescribeAclsResponse


class _DescribeAclsRequest(NamedTuple):
    resource_type_filter: int = 0  # v0+
    resource_name_filter: str | None = ""  # v0+, null v0+
    pattern_type_filter: int = 3  # v1+
    principal_filter: str | None = ""  # v0+, null v0+
    host_filter: str | None = ""  # v0+, null v0+
    operation: int = 0  # v0+
    permission_type: int = 0  # v0+


class DescribeAclsRequest(_DescribeAclsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeAclsResponse: ...
