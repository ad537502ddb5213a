"""Encoders of AlterUserScramCredentialsResponse, v0.

Made by `make codec` from protocol/schema/51_alter_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
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
    for user, error_code, error_message in results:
        # results.user
        text = user.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
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


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 53 the message
24 29 33 51 results
27 31 throttle_time_ms to results
36 results.user
41 results.error_code to results.error_message
43 results.error_message
"""
