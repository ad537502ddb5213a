"""Decoders of ExpireDelegationTokenRequest, v0 to v2.

Made by `make codec` from protocol/schema/40_expire_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.expire_delegation_token_request import ExpireDelegationTokenRequest
from headrace.protocol.varint import read_uvarint

unpack_i = Struct(">i").unpack_from
unpack_q = Struct(">q").unpack_from
unpack_qB = Struct(">qB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ExpireDelegationTokenRequest:
    pos = 0
    end = len(buf)
    # hmac
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    hmac = bytes(buf[pos:stop])
    pos = stop
    # expiry_time_period_ms to the end
    (expiry_time_period_ms,) = unpack_q(buf, pos)
    # the message
    pos += 8
    return new(ExpireDelegationTokenRequest, (hmac, expiry_time_period_ms))


def decode_v2(buf: memoryview) -> ExpireDelegationTokenRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # hmac
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
    hmac = bytes(buf[pos:stop])
    pos = stop
    # expiry_time_period_ms to tags
    expiry_time_period_ms, n = unpack_qB(buf, pos)
    # tags
    pos += 9
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ExpireDelegationTokenRequest, (hmac, expiry_time_period_ms))


DECODERS: Final[dict[int, Callable[[memoryview], ExpireDelegationTokenRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
}
PLACES: Final = """\
21 36 41 64 the message
24 45 hmac
34 expiry_time_period_ms to the end
58 expiry_time_period_ms to tags
60 tags
"""
