"""Decoders of SaslAuthenticateResponse, v0 to v2.

Made by `make codec` from protocol/schema/36_sasl_authenticate.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from headrace.protocol.varint import read_uvarint

unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_q = Struct(">q").unpack_from
unpack_qB = Struct(">qB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> SaslAuthenticateResponse:
    pos = 0
    end = len(buf)
    # error_code to error_message
    error_code, n = unpack_hh(buf, pos)
    # error_message
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # auth_bytes
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    auth_bytes = bytes(buf[pos:stop])
    pos = stop
    # the message
    return new(SaslAuthenticateResponse, (error_code, error_message, auth_bytes, 0))


def decode_v1(buf: memoryview) -> SaslAuthenticateResponse:
    pos = 0
    end = len(buf)
    # error_code to error_message
    error_code, n = unpack_hh(buf, pos)
    # error_message
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # auth_bytes
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    auth_bytes = bytes(buf[pos:stop])
    pos = stop
    # session_lifetime_ms to the end
    (session_lifetime_ms,) = unpack_q(buf, pos)
    # the message
    pos += 8
    return new(SaslAuthenticateResponse, (error_code, error_message, auth_bytes, session_lifetime_ms))


def decode_v2(buf: memoryview) -> SaslAuthenticateResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to error_message
    error_code, n = unpack_hB(buf, pos)
    # error_message
    pos += 3
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # auth_bytes
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    auth_bytes = bytes(buf[pos:stop])
    pos = stop
    # session_lifetime_ms to tags
    session_lifetime_ms, n = unpack_qB(buf, pos)
    # tags
    pos += 9
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(SaslAuthenticateResponse, (error_code, error_message, auth_bytes, session_lifetime_ms))


DECODERS: Final[dict[int, Callable[[memoryview], SaslAuthenticateResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
}
PLACES: Final = """\
24 51 55 84 89 129 the message
27 58 93 error_code to error_message
29 60 95 error_message
41 72 110 auth_bytes
82 session_lifetime_ms to the end
123 session_lifetime_ms to tags
125 tags
"""
