"""Encoders of DescribeDelegationTokenRequest, v0 to v3.

Made by `make codec` from protocol/schema/41_describe_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (owners,) = msg
    # owners
    if owners is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(owners)))
        for principal_type, principal_name in owners:
            # owners.principal_type
            text = principal_type.encode()
            put(pack_h(len(text)))
            put(text)
            # owners.principal_name
            text = principal_name.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (owners,) = msg
    # owners
    if owners is None:
        put(b"\x00")
    else:
        n = len(owners) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for principal_type, principal_name in owners:
            # owners.principal_type
            text = principal_type.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # owners.principal_name
            text = principal_name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # owners
            put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
18 37 43 67 the message
23 48 65 owners
29 55 owners.principal_type
33 60 owners.principal_name
"""
