"""Encoders of CreateAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/30_create_acls.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_bb = Struct(">bb").pack
pack_bbx = Struct(">bbx").pack
pack_bh = Struct(">bh").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (creations,) = msg
    # creations
    put(pack_i(len(creations)))
    for resource_type, resource_name, _, principal, host, operation, permission_type in creations:
        # creations.resource_name
        text = resource_name.encode()
        # creations.resource_type to creations.resource_name
        put(pack_bh(resource_type, len(text)))
        # creations.resource_name
        put(text)
        # creations.principal
        text = principal.encode()
        put(pack_h(len(text)))
        put(text)
        # creations.host
        text = host.encode()
        put(pack_h(len(text)))
        put(text)
        # creations.operation to creations
        put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (creations,) = msg
    # creations
    put(pack_i(len(creations)))
    for resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type in creations:
        # creations.resource_name
        text = resource_name.encode()
        # creations.resource_type to creations.resource_name
        put(pack_bh(resource_type, len(text)))
        # creations.resource_name
        put(text)
        # creations.principal
        text = principal.encode()
        # creations.resource_pattern_type to creations.principal
        put(pack_bh(resource_pattern_type, len(text)))
        # creations.principal
        put(text)
        # creations.host
        text = host.encode()
        put(pack_h(len(text)))
        put(text)
        # creations.operation to creations
        put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (creations,) = msg
    # creations
    n = len(creations) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type in creations:
        # creations.resource_name
        text = resource_name.encode()
        n = len(text) + 1
        if n < 128:
            # creations.resource_type to creations.resource_name
            put(pack_bB(resource_type, n))
        # creations.resource_name
        else:
            # creations.resource_type to creations.resource_name
            put(pack_b(resource_type))
            # creations.resource_name
            put(encode_string_length(n))
        put(text)
        # creations.principal
        text = principal.encode()
        n = len(text) + 1
        if n < 128:
            # creations.resource_pattern_type to creations.principal
            put(pack_bB(resource_pattern_type, n))
        # creations.principal
        else:
            # creations.resource_pattern_type to creations.principal
            put(pack_b(resource_pattern_type))
            # creations.principal
            put(encode_string_length(n))
        put(text)
        # creations.host
        text = host.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # creations.operation to creations
        put(pack_bbx(operation, permission_type))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
23 47 53 79 85 127 the message
28 58 90 creations
31 35 61 65 94 100 104 creations.resource_name
33 63 98 102 creations.resource_type to creations.resource_name
37 67 71 107 113 117 creations.principal
41 73 120 creations.host
45 77 125 creations.operation to creations
69 111 115 creations.resource_pattern_type to creations.principal
"""
