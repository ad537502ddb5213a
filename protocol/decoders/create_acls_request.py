"""Decoders of CreateAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/30_create_acls.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bb = Struct(">bb").unpack_from
unpack_bbB = Struct(">bbB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreateAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # creations
    (creations_count,) = unpack_i(buf, pos)
    pos += 4
    if creations_count < 0:
        raise Malformed(f"invalid length {creations_count}")
    if creations_count * 9 > end - pos:
        raise Malformed(f"{creations_count} elements announced, {end - pos} bytes remain")
    budget -= creations_count * 476
    if budget < 0:
        raise Malformed(f"{creations_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    creations = []
    for _ in range(creations_count):
        # creations.resource_type to creations.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # creations.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.principal
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.host
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.operation to creations
        operation, permission_type = unpack_bb(buf, pos)
        # creations
        pos += 2
        creations.append(
            new(AclCreation, (resource_type, resource_name, 3, principal, host, operation, permission_type))
        )
    # the message
    return new(CreateAclsRequest, (creations,))


def decode_v1(buf: memoryview) -> CreateAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # creations
    (creations_count,) = unpack_i(buf, pos)
    pos += 4
    if creations_count < 0:
        raise Malformed(f"invalid length {creations_count}")
    if creations_count * 10 > end - pos:
        raise Malformed(f"{creations_count} elements announced, {end - pos} bytes remain")
    budget -= creations_count * 508
    if budget < 0:
        raise Malformed(f"{creations_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    creations = []
    for _ in range(creations_count):
        # creations.resource_type to creations.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # creations.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.resource_pattern_type to creations.principal
        resource_pattern_type, n = unpack_bh(buf, pos)
        # creations.principal
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.host
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.operation to creations
        operation, permission_type = unpack_bb(buf, pos)
        # creations
        pos += 2
        creations.append(
            new(
                AclCreation,
                (resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type),
            )
        )
    # the message
    return new(CreateAclsRequest, (creations,))


def decode_v2(buf: memoryview) -> CreateAclsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # creations
    creations_count = buf[pos]
    pos += 1
    if creations_count > 127:
        creations_count, pos = read_uvarint(buf, pos - 1)
    creations_count -= 1
    if creations_count < 0:
        raise Malformed(f"invalid length {creations_count}")
    if creations_count * 8 > end - pos:
        raise Malformed(f"{creations_count} elements announced, {end - pos} bytes remain")
    budget -= creations_count * 508
    if budget < 0:
        raise Malformed(f"{creations_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    creations = []
    for _ in range(creations_count):
        # creations.resource_type to creations.resource_name
        resource_type, n = unpack_bB(buf, pos)
        # creations.resource_name
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
        # creations.resource_pattern_type to creations.principal
        resource_pattern_type, n = unpack_bB(buf, pos)
        # creations.principal
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
        principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # creations.host
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
        # creations.operation to creations.tags
        operation, permission_type, n = unpack_bbB(buf, pos)
        # creations.tags
        pos += 3
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # creations
        creations.append(
            new(
                AclCreation,
                (resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(CreateAclsRequest, (creations,))


DECODERS: Final[dict[int, Callable[[memoryview], CreateAclsRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
25 79 83 141 145 229 the message
29 74 87 133 149 217 creations
41 99 164 creations.resource_type to creations.resource_name
43 101 166 creations.resource_name
52 112 182 creations.principal
62 121 196 creations.host
72 131 creations.operation to creations
110 180 creations.resource_pattern_type to creations.principal
211 creations.operation to creations.tags
213 creations.tags
224 tags
"""
