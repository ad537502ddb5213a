"""Encoders of DeleteGroupsRequest, v0 to v2.

Made by `make codec` from protocol/schema/42_delete_groups.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (groups_names,) = msg
    # groups_names
    put(pack_i(len(groups_names)))
    for one in groups_names:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (groups_names,) = msg
    # groups_names
    n = len(groups_names) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in groups_names:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
18 29 35 48 the message
23 40 groups_names
"""
