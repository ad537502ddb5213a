"""Encoders of DeleteAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/31_delete_acls.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_bb = Struct(">bb").pack
pack_bbx = Struct(">bbx").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (filters,) = msg
    # filters
    put(pack_i(len(filters)))
    for (
        resource_type_filter,
        resource_name_filter,
        _,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ) in filters:
        # filters.resource_type_filter to filters.resource_name_filter
        put(pack_b(resource_type_filter))
        # filters.resource_name_filter
        if resource_name_filter is None:
            put(b"\xff\xff")
        else:
            text = resource_name_filter.encode()
            put(pack_h(len(text)))
            put(text)
        # filters.principal_filter
        if principal_filter is None:
            put(b"\xff\xff")
        else:
            text = principal_filter.encode()
            put(pack_h(len(text)))
            put(text)
        # filters.host_filter
        if host_filter is None:
            put(b"\xff\xff")
        else:
            text = host_filter.encode()
            put(pack_h(len(text)))
            put(text)
        # filters.operation to filters
        put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (filters,) = msg
    # filters
    put(pack_i(len(filters)))
    for (
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ) in filters:
        # filters.resource_type_filter to filters.resource_name_filter
        put(pack_b(resource_type_filter))
        # filters.resource_name_filter
        if resource_name_filter is None:
            put(b"\xff\xff")
        else:
            text = resource_name_filter.encode()
            put(pack_h(len(text)))
            put(text)
        # filters.pattern_type_filter to filters.principal_filter
        put(pack_b(pattern_type_filter))
        # filters.principal_filter
        if principal_filter is None:
            put(b"\xff\xff")
        else:
            text = principal_filter.encode()
            put(pack_h(len(text)))
            put(text)
        # filters.host_filter
        if host_filter is None:
            put(b"\xff\xff")
        else:
            text = host_filter.encode()
            put(pack_h(len(text)))
            put(text)
        # filters.operation to filters
        put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (filters,) = msg
    # filters
    n = len(filters) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for (
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ) in filters:
        # filters.resource_type_filter to filters.resource_name_filter
        put(pack_b(resource_type_filter))
        # filters.resource_name_filter
        if resource_name_filter is None:
            put(b"\x00")
        else:
            text = resource_name_filter.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # filters.pattern_type_filter to filters.principal_filter
        put(pack_b(pattern_type_filter))
        # filters.principal_filter
        if principal_filter is None:
            put(b"\x00")
        else:
            text = principal_filter.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # filters.host_filter
        if host_filter is None:
            put(b"\x00")
        else:
            text = host_filter.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # filters.operation to filters
        put(pack_bbx(operation, permission_type))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
21 62 68 111 117 164 the message
26 73 122 filters
37 84 134 filters.resource_type_filter to filters.resource_name_filter
39 86 136 filters.resource_name_filter
46 95 146 filters.principal_filter
53 102 154 filters.host_filter
60 109 162 filters.operation to filters
93 144 filters.pattern_type_filter to filters.principal_filter
"""
