"""Decoders of DeleteAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/31_delete_acls.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bb = Struct(">bb").unpack_from
unpack_bbB = Struct(">bbB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DeleteAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # filters
    (filters_count,) = unpack_i(buf, pos)
    pos += 4
    if filters_count < 0:
        raise Malformed(f"invalid length {filters_count}")
    if filters_count * 9 > end - pos:
        raise Malformed(f"{filters_count} elements announced, {end - pos} bytes remain")
    budget -= filters_count * 476
    if budget < 0:
        raise Malformed(f"{filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    filters = []
    for _ in range(filters_count):
        # filters.resource_type_filter to filters.resource_name_filter
        resource_type_filter, n = unpack_bh(buf, pos)
        # filters.resource_name_filter
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
        # filters.principal_filter
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
        # filters.host_filter
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
        # filters.operation to filters
        operation, permission_type = unpack_bb(buf, pos)
        # filters
        pos += 2
        filters.append(
            new(
                DeleteAclsFilter,
                (
                    resource_type_filter,
                    resource_name_filter,
                    3,
                    principal_filter,
                    host_filter,
                    operation,
                    permission_type,
                ),
            )
        )
    # the message
    return new(DeleteAclsRequest, (filters,))


def decode_v1(buf: memoryview) -> DeleteAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # filters
    (filters_count,) = unpack_i(buf, pos)
    pos += 4
    if filters_count < 0:
        raise Malformed(f"invalid length {filters_count}")
    if filters_count * 10 > end - pos:
        raise Malformed(f"{filters_count} elements announced, {end - pos} bytes remain")
    budget -= filters_count * 508
    if budget < 0:
        raise Malformed(f"{filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    filters = []
    for _ in range(filters_count):
        # filters.resource_type_filter to filters.resource_name_filter
        resource_type_filter, n = unpack_bh(buf, pos)
        # filters.resource_name_filter
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
        # filters.pattern_type_filter to filters.principal_filter
        pattern_type_filter, n = unpack_bh(buf, pos)
        # filters.principal_filter
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
        # filters.host_filter
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
        # filters.operation to filters
        operation, permission_type = unpack_bb(buf, pos)
        # filters
        pos += 2
        filters.append(
            new(
                DeleteAclsFilter,
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
        )
    # the message
    return new(DeleteAclsRequest, (filters,))


def decode_v2(buf: memoryview) -> DeleteAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # filters
    filters_count = buf[pos]
    pos += 1
    if filters_count > 127:
        filters_count, pos = read_uvarint(buf, pos - 1)
    filters_count -= 1
    if filters_count < 0:
        raise Malformed(f"invalid length {filters_count}")
    if filters_count * 8 > end - pos:
        raise Malformed(f"{filters_count} elements announced, {end - pos} bytes remain")
    budget -= filters_count * 508
    if budget < 0:
        raise Malformed(f"{filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    filters = []
    for _ in range(filters_count):
        # filters.resource_type_filter to filters.resource_name_filter
        resource_type_filter, n = unpack_bB(buf, pos)
        # filters.resource_name_filter
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
        # filters.pattern_type_filter to filters.principal_filter
        pattern_type_filter, n = unpack_bB(buf, pos)
        # filters.principal_filter
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
        # filters.host_filter
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
        # filters.operation to filters.tags
        operation, permission_type, n = unpack_bbB(buf, pos)
        # filters.tags
        pos += 3
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # filters
        filters.append(
            new(
                DeleteAclsFilter,
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
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DeleteAclsRequest, (filters,))


DECODERS: Final[dict[int, Callable[[memoryview], DeleteAclsRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
25 99 103 178 182 277 the message
29 83 107 162 186 257 filters
41 119 201 filters.resource_type_filter to filters.resource_name_filter
43 121 203 filters.resource_name_filter
55 135 220 filters.principal_filter
68 147 235 filters.host_filter
81 160 filters.operation to filters
133 218 filters.pattern_type_filter to filters.principal_filter
251 filters.operation to filters.tags
253 filters.tags
272 tags
"""
