"""Decoders of DescribeAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/29_describe_acls.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_acls_response import AclDescription, DescribeAclsResource, DescribeAclsResponse
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bb = Struct(">bb").unpack_from
unpack_bbB = Struct(">bbB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_bi = Struct(">bi").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihh = Struct(">ihh").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeAclsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihh(buf, pos)
    # error_message
    pos += 8
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # resources
    (resources_count,) = unpack_i(buf, pos)
    pos += 4
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 7 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 316
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_BYTES_MAX} bytes")
    resources = []
    for _ in range(resources_count):
        # resources.resource_type to resources.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # resources.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.acls
        (acls_count,) = unpack_i(buf, pos)
        pos += 4
        if acls_count < 0:
            raise Malformed(f"invalid length {acls_count}")
        if acls_count * 6 > end - pos:
            raise Malformed(f"{acls_count} elements announced, {end - pos} bytes remain")
        budget -= acls_count * 340
        if budget < 0:
            raise Malformed(f"{acls_count} more would take more than {DECODED_BYTES_MAX} bytes")
        acls = []
        for _ in range(acls_count):
            # resources.acls.principal
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.acls.host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.acls.operation to resources.acls
            operation, permission_type = unpack_bb(buf, pos)
            # resources.acls
            pos += 2
            acls.append(new(AclDescription, (principal, host, operation, permission_type)))
        # resources
        resources.append(new(DescribeAclsResource, (resource_type, resource_name, 3, acls)))
    # the message
    return new(DescribeAclsResponse, (throttle_time_ms, error_code, error_message, resources))


def decode_v1(buf: memoryview) -> DescribeAclsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihh(buf, pos)
    # error_message
    pos += 8
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # resources
    (resources_count,) = unpack_i(buf, pos)
    pos += 4
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 8 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 348
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_BYTES_MAX} bytes")
    resources = []
    for _ in range(resources_count):
        # resources.resource_type to resources.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # resources.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.pattern_type to resources.acls
        pattern_type, acls_count = unpack_bi(buf, pos)
        # resources.acls
        pos += 5
        if acls_count < 0:
            raise Malformed(f"invalid length {acls_count}")
        if acls_count * 6 > end - pos:
            raise Malformed(f"{acls_count} elements announced, {end - pos} bytes remain")
        budget -= acls_count * 340
        if budget < 0:
            raise Malformed(f"{acls_count} more would take more than {DECODED_BYTES_MAX} bytes")
        acls = []
        for _ in range(acls_count):
            # resources.acls.principal
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.acls.host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.acls.operation to resources.acls
            operation, permission_type = unpack_bb(buf, pos)
            # resources.acls
            pos += 2
            acls.append(new(AclDescription, (principal, host, operation, permission_type)))
        # resources
        resources.append(new(DescribeAclsResource, (resource_type, resource_name, pattern_type, acls)))
    # the message
    return new(DescribeAclsResponse, (throttle_time_ms, error_code, error_message, resources))


def decode_v2(buf: memoryview) -> DescribeAclsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # error_message
    pos += 7
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # resources
    resources_count = buf[pos]
    pos += 1
    if resources_count > 127:
        resources_count, pos = read_uvarint(buf, pos - 1)
    resources_count -= 1
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 5 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 348
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_BYTES_MAX} bytes")
    resources = []
    for _ in range(resources_count):
        # resources.resource_type to resources.resource_name
        resource_type, n = unpack_bB(buf, pos)
        # resources.resource_name
        pos += 2
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
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.pattern_type to resources.acls
        pattern_type, acls_count = unpack_bB(buf, pos)
        # resources.acls
        pos += 2
        if acls_count > 127:
            acls_count, pos = read_uvarint(buf, pos - 1)
        acls_count -= 1
        if acls_count < 0:
            raise Malformed(f"invalid length {acls_count}")
        if acls_count * 5 > end - pos:
            raise Malformed(f"{acls_count} elements announced, {end - pos} bytes remain")
        budget -= acls_count * 340
        if budget < 0:
            raise Malformed(f"{acls_count} more would take more than {DECODED_BYTES_MAX} bytes")
        acls = []
        for _ in range(acls_count):
            # resources.acls.principal
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
            principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.acls.host
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
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.acls.operation to resources.acls.tags
            operation, permission_type, n = unpack_bbB(buf, pos)
            # resources.acls.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # resources.acls
            acls.append(new(AclDescription, (principal, host, operation, permission_type)))
        # resources.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # resources
        resources.append(new(DescribeAclsResource, (resource_type, resource_name, pattern_type, acls)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeAclsResponse, (throttle_time_ms, error_code, error_message, resources))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeAclsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
28 108 112 193 197 315 the message
32 116 201 throttle_time_ms to error_message
34 118 203 error_message
46 106 130 191 218 308 resources
58 142 233 resources.resource_type to resources.resource_name
60 144 235 resources.resource_name
69 103 155 188 251 301 resources.acls
81 166 265 resources.acls.principal
91 176 280 resources.acls.host
101 186 resources.acls.operation to resources.acls
153 249 resources.pattern_type to resources.acls
295 resources.acls.operation to resources.acls.tags
297 resources.acls.tags
303 resources.tags
310 tags
"""
