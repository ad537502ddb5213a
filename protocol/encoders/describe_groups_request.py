"""Encoders of DescribeGroupsRequest, v0 to v5.

Made by `make codec` from protocol/schema/15_describe_groups.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_B0x = Struct(">?x").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    groups, _ = msg
    # groups
    put(pack_i(len(groups)))
    for one in groups:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    groups, include_authorized_operations = msg
    # groups
    put(pack_i(len(groups)))
    for one in groups:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # include_authorized_operations to the end
    put(pack_B0(include_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    groups, include_authorized_operations = msg
    # groups
    n = len(groups) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in groups:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # include_authorized_operations to the end
    put(pack_B0x(include_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v3,
    5: encode_v5,
}
PLACES: Final = """\
20 31 37 50 56 71 the message
25 42 61 groups
48 69 include_authorized_operations to the end
"""
