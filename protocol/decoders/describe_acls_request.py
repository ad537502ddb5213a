"""Decoders of DescribeAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/29_describe_acls.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_acls_request import DescribeAclsRequest
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bb = Struct(">bb").unpack_from
unpack_bbB = Struct(">bbB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeAclsRequest:
    pos = 0
    end = len(buf)
    # resource_type_filter to resource_name_filter
    resource_type_filter, n = unpack_bh(buf, pos)
    # resource_name_filter
    pos += 3
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        resource_name_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # principal_filter
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        principal_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # host_filter
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        host_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # operation to the end
    operation, permission_type = unpack_bb(buf, pos)
    # the message
    pos += 2
    return new(
        DescribeAclsRequest,
        (resource_type_filter, resource_name_filter, 3, principal_filter, host_filter, operation, permission_type),
    )


def decode_v1(buf: memoryview) -> DescribeAclsRequest:
    pos = 0
    end = len(buf)
    # resource_type_filter to resource_name_filter
    resource_type_filter, n = unpack_bh(buf, pos)
    # resource_name_filter
    pos += 3
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        resource_name_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # pattern_type_filter to principal_filter
    pattern_type_filter, n = unpack_bh(buf, pos)
    # principal_filter
    pos += 3
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        principal_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # host_filter
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        host_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # operation to the end
    operation, permission_type = unpack_bb(buf, pos)
    # the message
    pos += 2
    return new(
        DescribeAclsRequest,
        (
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
        ),
    )


def decode_v2(buf: memoryview) -> DescribeAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # resource_type_filter to resource_name_filter
    resource_type_filter, n = unpack_bB(buf, pos)
    # resource_name_filter
    pos += 2
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        resource_name_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # pattern_type_filter to principal_filter
    pattern_type_filter, n = unpack_bB(buf, pos)
    # principal_filter
    pos += 2
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        principal_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # host_filter
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        host_filter = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_filter = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # operation to tags
    operation, permission_type, n = unpack_bbB(buf, pos)
    # tags
    pos += 3
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        DescribeAclsRequest,
        (
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], DescribeAclsRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
24 69 77 123 139 199 the message
27 80 143 resource_type_filter to resource_name_filter
29 82 145 resource_name_filter
41 96 162 principal_filter
54 108 177 host_filter
67 121 operation to the end
94 160 pattern_type_filter to principal_filter
193 operation to tags
195 tags
"""
