"""Encoders of ListGroupsRequest, v0 to v5.

Made by `make codec` from protocol/schema/16_list_groups.txt: do not edit.
"""

from collections.abc import Callable
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    _, _ = msg
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, _ = msg
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    states_filter, _ = msg
    # states_filter
    n = len(states_filter) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in states_filter:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    states_filter, types_filter = msg
    # states_filter
    n = len(states_filter) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in states_filter:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # types_filter
    n = len(types_filter) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in types_filter:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v4,
    5: encode_v5,
}
PLACES: Final = """\
15 24 35 48 55 76 the message
40 60 states_filter
68 types_filter
"""
