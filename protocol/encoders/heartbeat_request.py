"""Encoders of HeartbeatRequest, v0 to v4.

Made by `make codec` from protocol/schema/12_heartbeat.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id to member_id
    put(pack_ih(generation_id, len(text)))
    # member_id
    put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, group_instance_id = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id to member_id
    put(pack_ih(generation_id, len(text)))
    # member_id
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\xff\xff")
    else:
        text = group_instance_id.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, group_instance_id = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # generation_id to member_id
        put(pack_iB(generation_id, n))
    # member_id
    else:
        # generation_id to member_id
        put(pack_i(generation_id))
        # member_id
        put(encode_string_length(n))
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\x00")
    else:
        text = group_instance_id.encode()
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
}
PLACES: Final = """\
20 35 41 63 69 100 the message
25 46 74 group_id
29 33 50 54 79 85 89 member_id
31 52 83 87 generation_id to member_id
56 92 group_instance_id
"""
