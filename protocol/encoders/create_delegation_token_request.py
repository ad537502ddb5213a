"""Encoders of CreateDelegationTokenRequest, v0 to v3.

Made by `make codec` from protocol/schema/38_create_delegation_token.txt: do not edit.
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
    _, _, renewers, max_lifetime_ms = msg
    # renewers
    put(pack_i(len(renewers)))
    for principal_type, principal_name in renewers:
        # renewers.principal_type
        text = principal_type.encode()
        put(pack_h(len(text)))
        put(text)
        # renewers.principal_name
        text = principal_name.encode()
        put(pack_h(len(text)))
        put(text)
    # max_lifetime_ms to the end
    put(pack_q(max_lifetime_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, _, renewers, max_lifetime_ms = msg
    # renewers
    n = len(renewers) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for principal_type, principal_name in renewers:
        # renewers.principal_type
        text = principal_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # renewers.principal_name
        text = principal_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # renewers
        put(b"\x00")
    # max_lifetime_ms to the end
    put(pack_qx(max_lifetime_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    owner_principal_type, owner_principal_name, renewers, max_lifetime_ms = msg
    # owner_principal_type
    if owner_principal_type is None:
        put(b"\x00")
    else:
        text = owner_principal_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # owner_principal_name
    if owner_principal_name is None:
        put(b"\x00")
    else:
        text = owner_principal_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # renewers
    n = len(renewers) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for principal_type, principal_name in renewers:
        # renewers.principal_type
        text = principal_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # renewers.principal_name
        text = principal_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # renewers
        put(b"\x00")
    # max_lifetime_ms to the end
    put(pack_qx(max_lifetime_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v3}
PLACES: Final = """\
20 38 44 67 73 112 the message
25 49 63 94 108 renewers
28 53 98 renewers.principal_type
32 58 103 renewers.principal_name
36 65 110 max_lifetime_ms to the end
78 owner_principal_type
86 owner_principal_name
"""
