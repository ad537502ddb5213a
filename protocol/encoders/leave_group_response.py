"""Encoders of LeaveGroupResponse, v0 to v5.

Made by `make codec` from protocol/schema/13_leave_group.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hx = Struct(">hx").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihi = Struct(">ihi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, error_code, _ = msg
    # error_code to the end
    put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, _ = msg
    # throttle_time_ms to the end
    put(pack_ih(throttle_time_ms, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, members = msg
    # throttle_time_ms to members
    put(pack_ihi(throttle_time_ms, error_code, len(members)))
    # members
    for member_id, group_instance_id, error_code_2 in members:
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
        # members.error_code to members
        put(pack_h(error_code_2))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, members = msg
    # members
    n = len(members) + 1
    if n < 128:
        # throttle_time_ms to members
        put(pack_ihB(throttle_time_ms, error_code, n))
    # members
    else:
        # throttle_time_ms to members
        put(pack_ih(throttle_time_ms, error_code))
        # members
        put(encode_uvarint(n))
    for member_id, group_instance_id, error_code_2 in members:
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
        # members.error_code to members
        put(pack_hx(error_code_2))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v3,
    4: encode_v4,
    5: encode_v4,
}
PLACES: Final = """\
21 28 34 41 47 69 75 107 the message
26 error_code to the end
39 throttle_time_ms to the end
52 83 87 throttle_time_ms to members
54 80 85 89 members
56 92 members.member_id
60 97 members.group_instance_id
67 105 members.error_code to members
"""
