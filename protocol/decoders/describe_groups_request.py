"""Decoders of DescribeGroupsRequest, v0 to v5.

Made by `make codec` from protocol/schema/15_describe_groups.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_groups_request import DescribeGroupsRequest
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups
    (groups_count,) = unpack_i(buf, pos)
    pos += 4
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 2 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 100
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        groups.append(one)
    # the message
    return new(DescribeGroupsRequest, (groups, False))


def decode_v3(buf: memoryview) -> DescribeGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups
    (groups_count,) = unpack_i(buf, pos)
    pos += 4
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 2 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 100
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        groups.append(one)
    # include_authorized_operations to the end
    (include_authorized_operations,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(DescribeGroupsRequest, (groups, include_authorized_operations))


def decode_v5(buf: memoryview) -> DescribeGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups
    groups_count = buf[pos]
    pos += 1
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 1 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 100
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        groups.append(one)
    # include_authorized_operations to tags
    include_authorized_operations, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeGroupsRequest, (groups, include_authorized_operations))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeGroupsRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v3,
    5: decode_v5,
}
PLACES: Final = """\
23 49 53 81 86 126 the message
27 57 90 groups
79 include_authorized_operations to the end
120 include_authorized_operations to tags
122 tags
"""
