"""Decoders of SaslAuthenticateRequest, v0 to v2.

Made by `make codec` from protocol/schema/36_sasl_authenticate.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from headrace.protocol.varint import read_uvarint

unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> SaslAuthenticateRequest:
    pos = 0
    end = len(buf)
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
    return new(SaslAuthenticateRequest, (auth_bytes,))


def decode_v2(buf: memoryview) -> SaslAuthenticateRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
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
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(SaslAuthenticateRequest, (auth_bytes,))


DECODERS: Final[dict[int, Callable[[memoryview], SaslAuthenticateRequest]]] = {0: decode_v0, 1: decode_v0, 2: decode_v2}
PLACES: Final = """\
19 32 36 58 the message
22 40 auth_bytes
53 tags
"""
