"""Encoders of IncrementalAlterConfigsRequest, v0 to v1.

Made by `make codec` from protocol/schema/44_incremental_alter_configs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_B0x = Struct(">?x").pack
pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_bh = Struct(">bh").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    resources, validate_only = msg
    # resources
    put(pack_i(len(resources)))
    for resource_type, resource_name, configs in resources:
        # resources.resource_name
        text = resource_name.encode()
        # resources.resource_type to resources.resource_name
        put(pack_bh(resource_type, len(text)))
        # resources.resource_name
        put(text)
        # resources.configs
        put(pack_i(len(configs)))
        for name, config_operation, value in configs:
            # resources.configs.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # resources.configs.config_operation to resources.configs.value
            put(pack_b(config_operation))
            # resources.configs.value
            if value is None:
                put(b"\xff\xff")
            else:
                text = value.encode()
                put(pack_h(len(text)))
                put(text)
    # validate_only to the end
    put(pack_B0(validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    resources, validate_only = msg
    # resources
    n = len(resources) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for resource_type, resource_name, configs in resources:
        # resources.resource_name
        text = resource_name.encode()
        n = len(text) + 1
        if n < 128:
            # resources.resource_type to resources.resource_name
            put(pack_bB(resource_type, n))
        # resources.resource_name
        else:
            # resources.resource_type to resources.resource_name
            put(pack_b(resource_type))
            # resources.resource_name
            put(encode_string_length(n))
        put(text)
        # resources.configs
        n = len(configs) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, config_operation, value in configs:
            # resources.configs.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # resources.configs.config_operation to resources.configs.value
            put(pack_b(config_operation))
            # resources.configs.value
            if value is None:
                put(b"\x00")
            else:
                text = value.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # resources.configs
            put(b"\x00")
        # resources
        put(b"\x00")
    # validate_only to the end
    put(pack_B0x(validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
23 55 61 108 the message
28 66 104 resources
31 35 70 76 80 resources.resource_name
33 74 78 resources.resource_type to resources.resource_name
37 83 102 resources.configs
40 87 resources.configs.name
44 92 resources.configs.config_operation to resources.configs.value
46 94 resources.configs.value
53 106 validate_only to the end
"""
