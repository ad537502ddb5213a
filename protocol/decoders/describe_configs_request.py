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
    (resources_count,) = unpack_i(buf, pos)
    pos += 4
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 7 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 308
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # resources.configuration_keys
        (configuration_keys_count,) = unpack_i(buf, pos)
        pos += 4
        if configuration_keys_count < -1:
            raise Malformed(f"length {configuration_keys_count}")
        if configuration_keys_count < 0:
            configuration_keys = None
        else:
            if configuration_keys_count * 2 > end - pos:
                raise Malformed(f"{configuration_keys_count} elements announced, {end - pos} bytes remain")
            budget -= configuration_keys_count * 100
            if budget < 0:
                raise Malformed(
                    f"{configuration_keys_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            configuration_keys = []
            for _ in range(configuration_keys_count):
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
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
    (resources_count,) = unpack_i(buf, pos)
    pos += 4
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 7 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 308
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # resources.configuration_keys
        (configuration_keys_count,) = unpack_i(buf, pos)
        pos += 4
        if configuration_keys_count < -1:
            raise Malformed(f"length {configuration_keys_count}")
        if configuration_keys_count < 0:
            configuration_keys = None
        else:
            if configuration_keys_count * 2 > end - pos:
                raise Malformed(f"{configuration_keys_count} elements announced, {end - pos} bytes remain")
            budget -= configuration_keys_count * 100
            if budget < 0:
                raise Malformed(
                    f"{configuration_keys_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            configuration_keys = []
            for _ in range(configuration_keys_count):
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
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
    (resources_count,) = unpack_i(buf, pos)
    pos += 4
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 7 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 308
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # resources.configuration_keys
        (configuration_keys_count,) = unpack_i(buf, pos)
        pos += 4
        if configuration_keys_count < -1:
            raise Malformed(f"length {configuration_keys_count}")
        if configuration_keys_count < 0:
            configuration_keys = None
        else:
            if configuration_keys_count * 2 > end - pos:
                raise Malformed(f"{configuration_keys_count} elements announced, {end - pos} bytes remain")
            budget -= configuration_keys_count * 100
            if budget < 0:
                raise Malformed(
                    f"{configuration_keys_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            configuration_keys = []
            for _ in range(configuration_keys_count):
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
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
    resources_count = buf[pos]
    pos += 1
    if resources_count > 127:
        resources_count, pos = read_uvarint(buf, pos - 1)
    resources_count -= 1
    if resources_count < 0:
        raise Malformed(f"invalid length {resources_count}")
    if resources_count * 4 > end - pos:
        raise Malformed(f"{resources_count} elements announced, {end - pos} bytes remain")
    budget -= resources_count * 308
    if budget < 0:
        raise Malformed(f"{resources_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # resources.configuration_keys
        configuration_keys_count = buf[pos]
        pos += 1
        if configuration_keys_count > 127:
            configuration_keys_count, pos = read_uvarint(buf, pos - 1)
        configuration_keys_count -= 1
        if configuration_keys_count < 0:
            configuration_keys = None
        else:
            if configuration_keys_count * 1 > end - pos:
                raise Malformed(f"{configuration_keys_count} elements announced, {end - pos} bytes remain")
            budget -= configuration_keys_count * 100
            if budget < 0:
                raise Malformed(
                    f"{configuration_keys_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            configuration_keys = []
            for _ in range(configuration_keys_count):
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
26 82 86 144 149 207 212 293 the message
30 80 90 140 153 203 216 285 resources
42 102 165 231 resources.resource_type to resources.resource_name
44 104 167 233 resources.resource_name
53 113 176 247 resources.configuration_keys
142 205 include_synonyms to the end
280 resources.tags
287 include_synonyms to tags
289 tags
"""
