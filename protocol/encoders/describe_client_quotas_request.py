"""Encoders of DescribeClientQuotasRequest, v0 to v1.

Made by `make codec` from protocol/schema/48_describe_client_quotas.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_B0x = Struct(">?x").pack
pack_b = Struct(">b").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    components, strict = msg
    # components
    put(pack_i(len(components)))
    for entity_type, match_type, match in components:
        # components.entity_type
        text = entity_type.encode()
        put(pack_h(len(text)))
        put(text)
        # components.match_type to components.match
        put(pack_b(match_type))
        # components.match
        if match is None:
            put(b"\xff\xff")
        else:
            text = match.encode()
            put(pack_h(len(text)))
            put(text)
    # strict to the end
    put(pack_B0(strict))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    components, strict = msg
    # components
    n = len(components) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for entity_type, match_type, match in components:
        # components.entity_type
        text = entity_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # components.match_type to components.match
        put(pack_b(match_type))
        # components.match
        if match is None:
            put(b"\x00")
        else:
            text = match.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # components
        put(b"\x00")
    # strict to the end
    put(pack_B0x(strict))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
21 44 50 78 the message
26 55 74 components
29 59 components.entity_type
33 64 components.match_type to components.match
35 66 components.match
42 76 strict to the end
"""
