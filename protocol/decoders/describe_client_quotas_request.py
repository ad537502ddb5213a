"""Decoders of DescribeClientQuotasRequest, v0 to v1.

Made by `make codec` from protocol/schema/48_describe_client_quotas.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_bB = Struct(">bB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeClientQuotasRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # components
    (components_count,) = unpack_i(buf, pos)
    pos += 4
    if components_count < 0:
        raise Malformed(f"invalid length {components_count}")
    if components_count * 5 > end - pos:
        raise Malformed(f"{components_count} elements announced, {end - pos} bytes remain")
    budget -= components_count * 300
    if budget < 0:
        raise Malformed(f"{components_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    components = []
    for _ in range(components_count):
        # components.entity_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        entity_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # components.match_type to components.match
        match_type, n = unpack_bh(buf, pos)
        # components.match
        pos += 3
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            match = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            match = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # components
        components.append(new(ComponentData, (entity_type, match_type, match)))
    # strict to the end
    (strict,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(DescribeClientQuotasRequest, (components, strict))


def decode_v1(buf: memoryview) -> DescribeClientQuotasRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # components
    components_count = buf[pos]
    pos += 1
    if components_count > 127:
        components_count, pos = read_uvarint(buf, pos - 1)
    components_count -= 1
    if components_count < 0:
        raise Malformed(f"invalid length {components_count}")
    if components_count * 4 > end - pos:
        raise Malformed(f"{components_count} elements announced, {end - pos} bytes remain")
    budget -= components_count * 300
    if budget < 0:
        raise Malformed(f"{components_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    components = []
    for _ in range(components_count):
        # components.entity_type
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
        entity_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # components.match_type to components.match
        match_type, n = unpack_bB(buf, pos)
        # components.match
        pos += 2
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            match = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            match = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # components.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # components
        components.append(new(ComponentData, (entity_type, match_type, match)))
    # strict to tags
    strict, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeClientQuotasRequest, (components, strict))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeClientQuotasRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
25 69 74 138 the message
29 65 78 130 components
41 93 components.entity_type
51 108 components.match_type to components.match
53 110 components.match
67 strict to the end
125 components.tags
132 strict to tags
134 tags
"""
