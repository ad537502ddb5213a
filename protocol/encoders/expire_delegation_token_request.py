"""Encoders of ExpireDelegationTokenRequest, v0 to v2.

Made by `make codec` from protocol/schema/40_expire_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_i = Struct(">i").pack
pack_q = Struct(">q").pack
pack_qx = Struct(">qx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    hmac, expiry_time_period_ms = msg
    # hmac
    put(pack_i(len(hmac)))
    put(hmac)
    # expiry_time_period_ms to the end
    put(pack_q(expiry_time_period_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    hmac, expiry_time_period_ms = msg
    # hmac
    n = len(hmac) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(hmac)
    # expiry_time_period_ms to the end
    put(pack_qx(expiry_time_period_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
18 28 34 45 the message
23 39 hmac
26 43 expiry_time_period_ms to the end
"""
