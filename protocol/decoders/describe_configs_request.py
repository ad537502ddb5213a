"""Decoders of DescribeConfigsRequest, v0 to v4.

Made by `make codec` from protocol/schema/32_describe_configs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_B0B0 = Struct(">??").unpack_from
unpack_B0B0B = Struct(">??B").unpack_from
unpack_bB = Struct(">bB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeConfigsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # resources
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 308
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    resources = []
    for _ in range(n):
        # resources.resource_type to resources.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # resources.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.configuration_keys
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            configuration_keys = None
        else:
            if n * 2 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 100
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            configuration_keys = []
            for _ in range(n):
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                one = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                configuration_keys.append(one)
        # resources
        resources.append(new(DescribeConfigsResource, (resource_type, resource_name, configuration_keys)))
    # the message
    return new(DescribeConfigsRequest, (resources, False, False))


def decode_v1(buf: memoryview) -> DescribeConfigsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # resources
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 308
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    resources = []
    for _ in range(n):
        # resources.resource_type to resources.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # resources.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.configuration_keys
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            configuration_keys = None
        else:
            if n * 2 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 100
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            configuration_keys = []
            for _ in range(n):
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                one = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                configuration_keys.append(one)
        # resources
        resources.append(new(DescribeConfigsResource, (resource_type, resource_name, configuration_keys)))
    # include_synonyms to the end
    (include_synonyms,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(DescribeConfigsRequest, (resources, include_synonyms, False))


def decode_v3(buf: memoryview) -> DescribeConfigsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # resources
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 308
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    resources = []
    for _ in range(n):
        # resources.resource_type to resources.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # resources.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.configuration_keys
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            configuration_keys = None
        else:
            if n * 2 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 100
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            configuration_keys = []
            for _ in range(n):
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                one = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                configuration_keys.append(one)
        # resources
        resources.append(new(DescribeConfigsResource, (resource_type, resource_name, configuration_keys)))
    # include_synonyms to the end
    include_synonyms, include_documentation = unpack_B0B0(buf, pos)
    # the message
    pos += 2
    return new(DescribeConfigsRequest, (resources, include_synonyms, include_documentation))


def decode_v4(buf: memoryview) -> DescribeConfigsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # resources
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 4 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 308
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    resources = []
    for _ in range(n):
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
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # resources.configuration_keys
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            configuration_keys = None
        else:
            if n * 1 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 100
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            configuration_keys = []
            for _ in range(n):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                one = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                configuration_keys.append(one)
        # resources.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # resources
        resources.append(new(DescribeConfigsResource, (resource_type, resource_name, configuration_keys)))
    # include_synonyms to tags
    include_synonyms, include_documentation, n = unpack_B0B0B(buf, pos)
    # tags
    pos += 3
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeConfigsRequest, (resources, include_synonyms, include_documentation))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeConfigsRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
}
PLACES: Final = """\
26 80 84 140 145 201 206 285 the message
30 78 88 136 149 197 210 277 resources
42 100 161 225 resources.resource_type to resources.resource_name
44 102 163 227 resources.resource_name
53 111 172 241 resources.configuration_keys
138 199 include_synonyms to the end
272 resources.tags
279 include_synonyms to tags
281 tags
"""
