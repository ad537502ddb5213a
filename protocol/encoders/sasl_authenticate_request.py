"""Encoders of SaslAuthenticateRequest, v0 to v2.

Made by `make codec` from protocol/schema/36_sasl_authenticate.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (auth_bytes,) = msg
    # auth_bytes
    put(pack_i(len(auth_bytes)))
    put(auth_bytes)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (auth_bytes,) = msg
    # auth_bytes
    n = len(auth_bytes) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(auth_bytes)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
16 24 30 39 the message
21 35 auth_bytes
"""
