"""Decoders of IncrementalAlterConfigsRequest, v0 to v1.

Made by `make codec` from protocol/schema/44_incremental_alter_configs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_bB = Struct(">bB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> IncrementalAlterConfigsRequest:
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
        if configs_count * 5 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 300
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
            # resources.configs.config_operation to resources.configs.value
            config_operation, n = unpack_bh(buf, pos)
            # resources.configs.value
            pos += 3
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
            configs.append(new(AlterableConfig, (name, config_operation, value)))
        # resources
        resources.append(new(AlterConfigsResource, (resource_type, resource_name, configs)))
    # validate_only to the end
    (validate_only,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(IncrementalAlterConfigsRequest, (resources, validate_only))


def decode_v1(buf: memoryview) -> IncrementalAlterConfigsRequest:
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
        if configs_count * 4 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 300
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
            # resources.configs.config_operation to resources.configs.value
            config_operation, n = unpack_bB(buf, pos)
            # resources.configs.value
            pos += 2
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
            configs.append(new(AlterableConfig, (name, config_operation, value)))
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
    return new(IncrementalAlterConfigsRequest, (resources, validate_only))


DECODERS: Final[dict[int, Callable[[memoryview], IncrementalAlterConfigsRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
29 98 103 205 the message
33 94 107 197 resources
45 122 resources.resource_type to resources.resource_name
47 124 resources.resource_name
56 92 138 190 resources.configs
68 153 resources.configs.name
78 168 resources.configs.config_operation to resources.configs.value
80 170 resources.configs.value
96 validate_only to the end
185 resources.configs.tags
192 resources.tags
199 validate_only to tags
201 tags
"""
