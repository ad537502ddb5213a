"""Encoders of DescribeClusterRequest, v0 to v1.

Made by `make codec` from protocol/schema/60_describe_cluster.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_B0bx = Struct(">?bx").pack
pack_B0x = Struct(">?x").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    include_cluster_authorized_operations, _ = msg
    # include_cluster_authorized_operations to the end
    put(pack_B0x(include_cluster_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    include_cluster_authorized_operations, endpoint_type = msg
    # include_cluster_authorized_operations to the end
    put(pack_B0bx(include_cluster_authorized_operations, endpoint_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
15 22 28 35 the message
20 33 include_cluster_authorized_operations to the end
"""
