"""Encoders of SaslHandshakeResponse, v0 to v1.

Made by `make codec` from protocol/schema/17_sasl_handshake.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_hi = Struct(">hi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, mechanisms = msg
    # error_code to mechanisms
    put(pack_hi(error_code, len(mechanisms)))
    # mechanisms
    for one in mechanisms:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0}
PLACES: Final = """\
15 27 the message
20 error_code to mechanisms
22 mechanisms
"""
