"""Encoders of AlterClientQuotasResponse, v0 to v1.

Made by `make codec` from protocol/schema/49_alter_client_quotas.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, entries = msg
    # throttle_time_ms to entries
    put(pack_ii(throttle_time_ms, len(entries)))
    # entries
    for error_code, error_message, entity in entries:
        # entries.error_code to entries.error_message
        put(pack_h(error_code))
        # entries.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # entries.entity
        put(pack_i(len(entity)))
        for entity_type, entity_name in entity:
            # entries.entity.entity_type
            text = entity_type.encode()
            put(pack_h(len(text)))
            put(text)
            # entries.entity.entity_name
            if entity_name is None:
                put(b"\xff\xff")
            else:
                text = entity_name.encode()
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
    throttle_time_ms, entries = msg
    # entries
    n = len(entries) + 1
    if n < 128:
        # throttle_time_ms to entries
        put(pack_iB(throttle_time_ms, n))
    # entries
    else:
        # throttle_time_ms to entries
        put(pack_i(throttle_time_ms))
        # entries
        put(encode_uvarint(n))
    for error_code, error_message, entity in entries:
        # entries.error_code to entries.error_message
        put(pack_h(error_code))
        # entries.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # entries.entity
        n = len(entity) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for entity_type, entity_name in entity:
            # entries.entity.entity_type
            text = entity_type.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # entries.entity.entity_name
            if entity_name is None:
                put(b"\x00")
            else:
                text = entity_name.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # entries.entity
            put(b"\x00")
        # entries
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
20 52 58 106 the message
25 66 70 throttle_time_ms to entries
27 63 68 72 104 entries
29 75 entries.error_code to entries.error_message
31 77 entries.error_message
38 85 102 entries.entity
41 89 entries.entity.entity_type
45 94 entries.entity.entity_name
"""
