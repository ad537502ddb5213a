"""Encoders of LeaveGroupRequest, v0 to v5.

Made by `make codec` from protocol/schema/13_leave_group.txt: do not edit.
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
    group_id, member_id, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
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
    group_id, _, members = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # members
    put(pack_i(len(members)))
    for member_id, group_instance_id, _ in members:
        # members.member_id
        text = member_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.group_instance_id
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
    group_id, _, members = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # members
    n = len(members) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id, group_instance_id, _ in members:
        # members.member_id
        text = member_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\x00")
        else:
            text = group_instance_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # members
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, _, members = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # members
    n = len(members) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id, group_instance_id, reason in members:
        # members.member_id
        text = member_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\x00")
        else:
            text = group_instance_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # members.reason
        if reason is None:
            put(b"\x00")
        else:
            text = reason.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # members
        put(b"\x00")
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
18 31 37 60 66 95 102 139 the message
23 42 71 107 group_id
27 member_id
46 76 93 112 137 members
49 80 116 members.member_id
53 85 121 members.group_instance_id
129 members.reason
"""
