"""Encoders of SyncGroupResponse, v0 to v5.

Made by `make codec` from protocol/schema/14_sync_group.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_hi = Struct(">hi").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihi = Struct(">ihi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, error_code, _, _, assignment = msg
    # error_code to assignment
    put(pack_hi(error_code, len(assignment)))
    # assignment
    put(assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, _, _, assignment = msg
    # throttle_time_ms to assignment
    put(pack_ihi(throttle_time_ms, error_code, len(assignment)))
    # assignment
    put(assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, _, _, assignment = msg
    # assignment
    n = len(assignment) + 1
    if n < 128:
        # throttle_time_ms to assignment
        put(pack_ihB(throttle_time_ms, error_code, n))
    # assignment
    else:
        # throttle_time_ms to assignment
        put(pack_ih(throttle_time_ms, error_code))
        # assignment
        put(encode_uvarint(n))
    put(assignment)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, protocol_type, protocol_name, assignment = msg
    # throttle_time_ms to protocol_type
    put(pack_ih(throttle_time_ms, error_code))
    # protocol_type
    if protocol_type is None:
        put(b"\x00")
    else:
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # protocol_name
    if protocol_name is None:
        put(b"\x00")
    else:
        text = protocol_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # assignment
    n = len(assignment) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(assignment)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v1,
    4: encode_v4,
    5: encode_v5,
}
PLACES: Final = """\
20 29 35 44 50 67 74 101 the message
25 error_code to assignment
27 42 55 60 64 97 assignment
40 58 62 throttle_time_ms to assignment
79 throttle_time_ms to protocol_type
81 protocol_type
89 protocol_name
"""
