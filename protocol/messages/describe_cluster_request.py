"""DescribeClusterRequest, v0 to v1.

Made by `make codec` from protocol/schema/60_describe_cluster.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_cluster_response import DescribeClusterResponse


class _DescribeClusterRequest(NamedTuple):
    include_cluster_authorized_operations: bool = False  # v0+
    endpoint_type: int = 1  # v1+


class DescribeClusterRequest(_DescribeClusterRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeClusterResponse: ...
