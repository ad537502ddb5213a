"""Encoders of DescribeUserScramCredentialsRequest, v0.

Made by `make codec` from protocol/schema/50_describe_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Callable
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (users,) = msg
    # users
    if users is None:
        put(b"\x00")
    else:
        n = len(users) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (name,) in users:
            # users.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # users
            put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
15 34 the message
20 32 users
27 users.name
"""
