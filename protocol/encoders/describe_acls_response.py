"""Encoders of DescribeAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/29_describe_acls.txt: do not edit.
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
pack_bi = Struct(">bi").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, resources = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\xff\xff")
    else:
        text = error_message.encode()
        put(pack_h(len(text)))
        put(text)
    # resources
    put(pack_i(len(resources)))
    for resource_type, resource_name, _, acls in resources:
        # resources.resource_name
        text = resource_name.encode()
        # resources.resource_type to resources.resource_name
        put(pack_bh(resource_type, len(text)))
        # resources.resource_name
        put(text)
        # resources.acls
        put(pack_i(len(acls)))
        for principal, host, operation, permission_type in acls:
            # resources.acls.principal
            text = principal.encode()
            put(pack_h(len(text)))
            put(text)
            # resources.acls.host
            text = host.encode()
            put(pack_h(len(text)))
            put(text)
            # resources.acls.operation to resources.acls
            put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, resources = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\xff\xff")
    else:
        text = error_message.encode()
        put(pack_h(len(text)))
        put(text)
    # resources
    put(pack_i(len(resources)))
    for resource_type, resource_name, pattern_type, acls in resources:
        # resources.resource_name
        text = resource_name.encode()
        # resources.resource_type to resources.resource_name
        put(pack_bh(resource_type, len(text)))
        # resources.resource_name
        put(text)
        # resources.pattern_type to resources.acls
        put(pack_bi(pattern_type, len(acls)))
        # resources.acls
        for principal, host, operation, permission_type in acls:
            # resources.acls.principal
            text = principal.encode()
            put(pack_h(len(text)))
            put(text)
            # resources.acls.host
            text = host.encode()
            put(pack_h(len(text)))
            put(text)
            # resources.acls.operation to resources.acls
            put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, resources = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\x00")
    else:
        text = error_message.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # resources
    n = len(resources) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for resource_type, resource_name, pattern_type, acls in resources:
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
        # resources.acls
        n = len(acls) + 1
        if n < 128:
            # resources.pattern_type to resources.acls
            put(pack_bB(pattern_type, n))
        # resources.acls
        else:
            # resources.pattern_type to resources.acls
            put(pack_b(pattern_type))
            # resources.acls
            put(encode_uvarint(n))
        for principal, host, operation, permission_type in acls:
            # resources.acls.principal
            text = principal.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # resources.acls.host
            text = host.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # resources.acls.operation to resources.acls
            put(pack_bbx(operation, permission_type))
        # resources
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
25 61 67 104 110 168 the message
30 72 115 throttle_time_ms to error_message
32 74 117 error_message
39 81 125 166 resources
42 46 84 88 129 135 139 resources.resource_name
44 86 133 137 resources.resource_type to resources.resource_name
48 92 142 147 151 resources.acls
51 94 154 resources.acls.principal
55 98 159 resources.acls.host
59 102 164 resources.acls.operation to resources.acls
90 145 149 resources.pattern_type to resources.acls
"""
