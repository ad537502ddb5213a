"""Decoders of AlterConfigsRequest, v0 to v2.

Made by `make codec` from protocol/schema/33_alter_configs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_configs_request import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_bB = Struct(">bB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterConfigsRequest:
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
        # resources.configs
        (configs_count,) = unpack_i(buf, pos)
        pos += 4
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 4 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 260
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # resources.configs.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.configs.value
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # resources.configs
            configs.append(new(AlterableConfig, (name, value)))
        # resources
        resources.append(new(AlterConfigsResource, (resource_type, resource_name, configs)))
    # validate_only to the end
    (validate_only,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(AlterConfigsRequest, (resources, validate_only))


def decode_v2(buf: memoryview) -> AlterConfigsRequest:
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
        # resources.configs
        configs_count = buf[pos]
        pos += 1
        if configs_count > 127:
            configs_count, pos = read_uvarint(buf, pos - 1)
        configs_count -= 1
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 3 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 260
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # resources.configs.name
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
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # resources.configs.value
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # resources.configs.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # resources.configs
            configs.append(new(AlterableConfig, (name, value)))
        # resources.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # resources
        resources.append(new(AlterConfigsResource, (resource_type, resource_name, configs)))
    # validate_only to tags
    validate_only, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterConfigsRequest, (resources, validate_only))


DECODERS: Final[dict[int, Callable[[memoryview], AlterConfigsRequest]]] = {0: decode_v0, 1: decode_v0, 2: decode_v2}
PLACES: Final = """\
25 93 98 199 the message
29 89 102 191 resources
41 117 resources.resource_type to resources.resource_name
43 119 resources.resource_name
52 87 133 184 resources.configs
64 148 resources.configs.name
74 163 resources.configs.value
91 validate_only to the end
179 resources.configs.tags
186 resources.tags
193 validate_only to tags
195 tags
"""
