"""Encoders of CreateAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/30_create_acls.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for error_code, error_message in results:
        # results.error_code to results.error_message
        put(pack_h(error_code))
        # results.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
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
    throttle_time_ms, results = msg
    # results
    n = len(results) + 1
    if n < 128:
        # throttle_time_ms to results
        put(pack_iB(throttle_time_ms, n))
    # results
    else:
        # throttle_time_ms to results
        put(pack_i(throttle_time_ms))
        # results
        put(encode_uvarint(n))
    for error_code, error_message in results:
        # results.error_code to results.error_message
        put(pack_h(error_code))
        # results.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
20 38 44 73 the message
25 52 56 throttle_time_ms to results
27 49 54 58 71 results
29 61 results.error_code to results.error_message
31 63 results.error_message
"""
