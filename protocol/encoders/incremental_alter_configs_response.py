"""Encoders of IncrementalAlterConfigsResponse, v0 to v1.

Made by `make codec` from protocol/schema/44_incremental_alter_configs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_bh = Struct(">bh").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, responses = msg
    # throttle_time_ms to responses
    put(pack_ii(throttle_time_ms, len(responses)))
    # responses
    for error_code, error_message, resource_type, resource_name in responses:
        # responses.error_code to responses.error_message
        put(pack_h(error_code))
        # responses.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # responses.resource_name
        text = resource_name.encode()
        # responses.resource_type to responses.resource_name
        put(pack_bh(resource_type, len(text)))
        # responses.resource_name
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
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
    for error_code, error_message, resource_type, resource_name in responses:
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
        # responses.resource_name
        text = resource_name.encode()
        n = len(text) + 1
        if n < 128:
            # responses.resource_type to responses.resource_name
            put(pack_bB(resource_type, n))
        # responses.resource_name
        else:
            # responses.resource_type to responses.resource_name
            put(pack_b(resource_type))
            # responses.resource_name
            put(encode_string_length(n))
        put(text)
        # responses
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
23 47 53 95 the message
28 61 65 throttle_time_ms to responses
30 58 63 67 93 responses
32 70 responses.error_code to responses.error_message
34 72 responses.error_message
41 45 80 86 90 responses.resource_name
43 84 88 responses.resource_type to responses.resource_name
"""
