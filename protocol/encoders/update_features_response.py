"""Encoders of UpdateFeaturesResponse, v0 to v1.

Made by `make codec` from protocol/schema/57_update_features.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, results = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\x00")
    else:
        text = error_message.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # results
    n = len(results) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for feature, error_code_2, error_message_2 in results:
        # results.feature
        text = feature.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # results.error_code to results.error_message
        put(pack_h(error_code_2))
        # results.error_message
        if error_message_2 is None:
            put(b"\x00")
        else:
            text = error_message_2.encode()
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


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0}
PLACES: Final = """\
18 54 the message
23 throttle_time_ms to error_message
25 error_message
33 52 results
37 results.feature
42 results.error_code to results.error_message
44 results.error_message
"""
