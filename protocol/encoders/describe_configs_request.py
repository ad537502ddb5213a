"""Encoders of DescribeConfigsRequest, v0 to v4.

Made by `make codec` from protocol/schema/32_describe_configs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_B0B0 = Struct(">??").pack
pack_B0B0x = Struct(">??x").pack
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
    resources, _, _ = msg
    # resources
    put(pack_i(len(resources)))
    for resource_type, resource_name, configuration_keys in resources:
        # resources.resource_name
        text = resource_name.encode()
        # resources.resource_type to resources.resource_name
        put(pack_bh(resource_type, len(text)))
        # resources.resource_name
        put(text)
        # resources.configuration_keys
        if configuration_keys is None:
            put(b"\xff\xff\xff\xff")
        else:
            put(pack_i(len(configuration_keys)))
            for one in configuration_keys:
                text = one.encode()
                put(pack_h(len(text)))
                put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    resources, include_synonyms, _ = msg
    # resources
    put(pack_i(len(resources)))
    for resource_type, resource_name, configuration_keys in resources:
        # resources.resource_name
        text = resource_name.encode()
        # resources.resource_type to resources.resource_name
        put(pack_bh(resource_type, len(text)))
        # resources.resource_name
        put(text)
        # resources.configuration_keys
        if configuration_keys is None:
            put(b"\xff\xff\xff\xff")
        else:
            put(pack_i(len(configuration_keys)))
            for one in configuration_keys:
                text = one.encode()
                put(pack_h(len(text)))
                put(text)
    # include_synonyms to the end
    put(pack_B0(include_synonyms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    resources, include_synonyms, include_documentation = msg
    # resources
    put(pack_i(len(resources)))
    for resource_type, resource_name, configuration_keys in resources:
        # resources.resource_name
        text = resource_name.encode()
        # resources.resource_type to resources.resource_name
        put(pack_bh(resource_type, len(text)))
        # resources.resource_name
        put(text)
        # resources.configuration_keys
        if configuration_keys is None:
            put(b"\xff\xff\xff\xff")
        else:
            put(pack_i(len(configuration_keys)))
            for one in configuration_keys:
                text = one.encode()
                put(pack_h(len(text)))
                put(text)
    # include_synonyms to the end
    put(pack_B0B0(include_synonyms, include_documentation))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    resources, include_synonyms, include_documentation = msg
    # resources
    n = len(resources) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for resource_type, resource_name, configuration_keys in resources:
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
        # resources.configuration_keys
        if configuration_keys is None:
            put(b"\x00")
        else:
            n = len(configuration_keys) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for one in configuration_keys:
                text = one.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
        # resources
        put(b"\x00")
    # include_synonyms to the end
    put(pack_B0B0x(include_synonyms, include_documentation))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
24 47 53 78 84 109 115 152 the message
29 58 89 120 148 resources
32 36 61 65 92 96 124 130 134 resources.resource_name
34 63 94 128 132 resources.resource_type to resources.resource_name
38 67 98 137 resources.configuration_keys
76 107 150 include_synonyms to the end
"""
