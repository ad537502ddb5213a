"""DescribeClusterResponse, v0 to v1.

Made by `make codec` from protocol/schema/60_describe_cluster.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DescribeClusterBroker(NamedTuple):
    broker_id: int = 0  # v0+
    host: str = ""  # v0+
    port: int = 0  # v0+
    rack: str | None = None  # v0+, null v0+


class _DescribeClusterResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = None  # v0+, null v0+
    endpoint_type: int = 1  # v1+
    cluster_id: str = ""  # v0+
    controller_id: int = -1  # v0+
    brokers: Sequence[DescribeClusterBroker] = ()  # v0+
    cluster_authorized_operations: int = -2147483648  # v0+


class DescribeClusterResponse(_DescribeClusterResponse):
    __slots__ = ()
    DescribeClusterBroker: TypeAlias = DescribeClusterBroker
