"""Encoders of DescribeUserScramCredentialsResponse, v0.

Made by `make codec` from protocol/schema/50_describe_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_bix = Struct(">bix").pack
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
    for user, error_code_2, error_message_2, credential_infos in results:
        # results.user
        text = user.encode()
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
        # results.credential_infos
        n = len(credential_infos) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for mechanism, iterations in credential_infos:
            # results.credential_infos.mechanism to results.credential_infos
            put(pack_bix(mechanism, iterations))
        # results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 61 the message
24 throttle_time_ms to error_message
26 error_message
34 59 results
38 results.user
43 results.error_code to results.error_message
45 results.error_message
53 results.credential_infos
57 results.credential_infos.mechanism to results.credential_infos
"""
