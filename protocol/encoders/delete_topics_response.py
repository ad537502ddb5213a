"""Encoders of DeleteTopicsResponse, v0 to v6.

Made by `make codec` from protocol/schema/20_delete_topics.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16sh = Struct(">16sh").pack
pack_h = Struct(">h").pack
pack_hx = Struct(">hx").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, responses = msg
    # responses
    put(pack_i(len(responses)))
    for name, _, error_code, _ in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.error_code to responses
        put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, responses = msg
    # throttle_time_ms to responses
    put(pack_ii(throttle_time_ms, len(responses)))
    # responses
    for name, _, error_code, _ in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.error_code to responses
        put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, responses = msg
    # responses
    n = len(responses) + 1
    if n < 128:
        # throttle_time_ms to responses
        put(pack_iB(throttle_time_ms, n))
    # responses
    else:
        # throttle_time_ms to responses
        put(pack_i(throttle_time_ms))
        # responses
        put(encode_uvarint(n))
    for name, _, error_code, _ in responses:
        # responses.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # responses.error_code to responses
        put(pack_hx(error_code))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, responses = msg
    # responses
    n = len(responses) + 1
    if n < 128:
        # throttle_time_ms to responses
        put(pack_iB(throttle_time_ms, n))
    # responses
    else:
        # throttle_time_ms to responses
        put(pack_i(throttle_time_ms))
        # responses
        put(encode_uvarint(n))
    for name, _, error_code, error_message in responses:
        # responses.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # responses.error_code to responses.error_message
        put(pack_h(error_code))
        # responses.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # responses
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, responses = msg
    # responses
    n = len(responses) + 1
    if n < 128:
        # throttle_time_ms to responses
        put(pack_iB(throttle_time_ms, n))
    # responses
    else:
        # throttle_time_ms to responses
        put(pack_i(throttle_time_ms))
        # responses
        put(encode_uvarint(n))
    for name, topic_id, error_code, error_message in responses:
        # responses.name
        if name is None:
            put(b"\x00")
        else:
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # responses.topic_id to responses.error_message
        put(pack_16sh(topic_id, error_code))
        # responses.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # responses
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
    3: encode_v1,
    4: encode_v4,
    5: encode_v5,
    6: encode_v6,
}
PLACES: Final = """\
22 36 42 57 63 87 94 128 135 172 the message
27 49 68 73 77 99 104 108 126 140 145 149 170 responses
30 51 80 111 152 responses.name
34 55 85 responses.error_code to responses
47 71 75 102 106 143 147 throttle_time_ms to responses
116 responses.error_code to responses.error_message
118 162 responses.error_message
160 responses.topic_id to responses.error_message
"""
