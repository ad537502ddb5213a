"""Encoders of SaslAuthenticateResponse, v0 to v2.

Made by `make codec` from protocol/schema/36_sasl_authenticate.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_q = Struct(">q").pack
pack_qx = Struct(">qx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, error_message, auth_bytes, _ = msg
    # error_code to error_message
    put(pack_h(error_code))
    # error_message
    if error_message is None:
        put(b"\xff\xff")
    else:
        text = error_message.encode()
        put(pack_h(len(text)))
        put(text)
    # auth_bytes
    put(pack_i(len(auth_bytes)))
    put(auth_bytes)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, error_message, auth_bytes, session_lifetime_ms = msg
    # error_code to error_message
    put(pack_h(error_code))
    # error_message
    if error_message is None:
        put(b"\xff\xff")
    else:
        text = error_message.encode()
        put(pack_h(len(text)))
        put(text)
    # auth_bytes
    put(pack_i(len(auth_bytes)))
    put(auth_bytes)
    # session_lifetime_ms to the end
    put(pack_q(session_lifetime_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, error_message, auth_bytes, session_lifetime_ms = msg
    # error_code to error_message
    put(pack_h(error_code))
    # error_message
    if error_message is None:
        put(b"\x00")
    else:
        text = error_message.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # auth_bytes
    n = len(auth_bytes) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(auth_bytes)
    # session_lifetime_ms to the end
    put(pack_qx(session_lifetime_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2}
PLACES: Final = """\
20 37 43 62 68 89 the message
25 48 73 error_code to error_message
27 50 75 error_message
34 57 83 auth_bytes
60 87 session_lifetime_ms to the end
"""
