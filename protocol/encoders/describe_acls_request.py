"""Encoders of DescribeAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/29_describe_acls.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS

pack_b = Struct(">b").pack
pack_bb = Struct(">bb").pack
pack_bbx = Struct(">bbx").pack
pack_h = Struct(">h").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    resource_type_filter, resource_name_filter, _, principal_filter, host_filter, operation, permission_type = msg
    # resource_type_filter to resource_name_filter
    put(pack_b(resource_type_filter))
    # resource_name_filter
    if resource_name_filter is None:
        put(b"\xff\xff")
    else:
        text = resource_name_filter.encode()
        put(pack_h(len(text)))
        put(text)
    # principal_filter
    if principal_filter is None:
        put(b"\xff\xff")
    else:
        text = principal_filter.encode()
        put(pack_h(len(text)))
        put(text)
    # host_filter
    if host_filter is None:
        put(b"\xff\xff")
    else:
        text = host_filter.encode()
        put(pack_h(len(text)))
        put(text)
    # operation to the end
    put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ) = msg
    # resource_type_filter to resource_name_filter
    put(pack_b(resource_type_filter))
    # resource_name_filter
    if resource_name_filter is None:
        put(b"\xff\xff")
    else:
        text = resource_name_filter.encode()
        put(pack_h(len(text)))
        put(text)
    # pattern_type_filter to principal_filter
    put(pack_b(pattern_type_filter))
    # principal_filter
    if principal_filter is None:
        put(b"\xff\xff")
    else:
        text = principal_filter.encode()
        put(pack_h(len(text)))
        put(text)
    # host_filter
    if host_filter is None:
        put(b"\xff\xff")
    else:
        text = host_filter.encode()
        put(pack_h(len(text)))
        put(text)
    # operation to the end
    put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ) = msg
    # resource_type_filter to resource_name_filter
    put(pack_b(resource_type_filter))
    # resource_name_filter
    if resource_name_filter is None:
        put(b"\x00")
    else:
        text = resource_name_filter.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # pattern_type_filter to principal_filter
    put(pack_b(pattern_type_filter))
    # principal_filter
    if principal_filter is None:
        put(b"\x00")
    else:
        text = principal_filter.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # host_filter
    if host_filter is None:
        put(b"\x00")
    else:
        text = host_filter.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # operation to the end
    put(pack_bbx(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
20 50 56 96 102 145 the message
25 69 115 resource_type_filter to resource_name_filter
27 71 117 resource_name_filter
34 80 127 principal_filter
41 87 135 host_filter
48 94 143 operation to the end
78 125 pattern_type_filter to principal_filter
"""
