"""Encoders of FindCoordinatorRequest, v0 to v6.

Made by `make codec` from protocol/schema/10_find_coordinator.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_bx = Struct(">bx").pack
pack_h = Struct(">h").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    key, _, _ = msg
    # key
    text = key.encode()
    put(pack_h(len(text)))
    put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    key, key_type, _ = msg
    # key
    text = key.encode()
    put(pack_h(len(text)))
    put(text)
    # key_type to the end
    put(pack_b(key_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    key, key_type, _ = msg
    # key
    text = key.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # key_type to the end
    put(pack_bx(key_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, key_type, coordinator_keys = msg
    # coordinator_keys
    n = len(coordinator_keys) + 1
    if n < 128:
        # key_type to coordinator_keys
        put(pack_bB(key_type, n))
    # coordinator_keys
    else:
        # key_type to coordinator_keys
        put(pack_b(key_type))
        # coordinator_keys
        put(encode_uvarint(n))
    for one in coordinator_keys:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v3,
    4: encode_v4,
    5: encode_v4,
    6: encode_v4,
}
PLACES: Final = """\
20 29 35 46 52 64 70 91 the message
25 40 57 key
44 62 key_type to the end
75 80 84 coordinator_keys
78 82 key_type to coordinator_keys
"""
