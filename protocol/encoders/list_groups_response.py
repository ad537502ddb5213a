"""Encoders of ListGroupsResponse, v0 to v5.

Made by `make codec` from protocol/schema/16_list_groups.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hi = Struct(">hi").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihi = Struct(">ihi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, error_code, groups = msg
    # error_code to groups
    put(pack_hi(error_code, len(groups)))
    # groups
    for group_id, protocol_type, _, _ in groups:
        # groups.group_id
        text = group_id.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, groups = msg
    # throttle_time_ms to groups
    put(pack_ihi(throttle_time_ms, error_code, len(groups)))
    # groups
    for group_id, protocol_type, _, _ in groups:
        # groups.group_id
        text = group_id.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
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
    throttle_time_ms, error_code, groups = msg
    # groups
    n = len(groups) + 1
    if n < 128:
        # throttle_time_ms to groups
        put(pack_ihB(throttle_time_ms, error_code, n))
    # groups
    else:
        # throttle_time_ms to groups
        put(pack_ih(throttle_time_ms, error_code))
        # groups
        put(encode_uvarint(n))
    for group_id, protocol_type, _, _ in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, groups = msg
    # groups
    n = len(groups) + 1
    if n < 128:
        # throttle_time_ms to groups
        put(pack_ihB(throttle_time_ms, error_code, n))
    # groups
    else:
        # throttle_time_ms to groups
        put(pack_ih(throttle_time_ms, error_code))
        # groups
        put(encode_uvarint(n))
    for group_id, protocol_type, group_state, _ in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.group_state
        text = group_state.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups
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
    throttle_time_ms, error_code, groups = msg
    # groups
    n = len(groups) + 1
    if n < 128:
        # throttle_time_ms to groups
        put(pack_ihB(throttle_time_ms, error_code, n))
    # groups
    else:
        # throttle_time_ms to groups
        put(pack_ih(throttle_time_ms, error_code))
        # groups
        put(encode_uvarint(n))
    for group_id, protocol_type, group_state, group_type in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.group_state
        text = group_state.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.group_type
        text = group_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups
        put(b"\x00")
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
    5: encode_v5,
}
PLACES: Final = """\
21 38 44 61 67 96 103 137 144 183 the message
26 error_code to groups
28 51 72 77 81 94 108 113 117 135 149 154 158 181 groups
30 53 84 120 161 groups.group_id
34 57 89 125 166 groups.protocol_type
49 75 79 111 115 152 156 throttle_time_ms to groups
130 171 groups.group_state
176 groups.group_type
"""
