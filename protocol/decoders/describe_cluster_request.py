"""Decoders of DescribeClusterRequest, v0 to v1.

Made by `make codec` from protocol/schema/60_describe_cluster.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.describe_cluster_request import DescribeClusterRequest

unpack_B0B = Struct(">?B").unpack_from
unpack_B0bB = Struct(">?bB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeClusterRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # include_cluster_authorized_operations to tags
    include_cluster_authorized_operations, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeClusterRequest, (include_cluster_authorized_operations, 1))


def decode_v1(buf: memoryview) -> DescribeClusterRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # include_cluster_authorized_operations to tags
    include_cluster_authorized_operations, endpoint_type, n = unpack_B0bB(buf, pos)
    # tags
    pos += 3
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeClusterRequest, (include_cluster_authorized_operations, endpoint_type))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeClusterRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
19 29 33 43 the message
23 37 include_cluster_authorized_operations to tags
25 39 tags
"""
