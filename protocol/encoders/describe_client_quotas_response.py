"""Encoders of DescribeClientQuotasResponse, v0 to v1.

Made by `make codec` from protocol/schema/48_describe_client_quotas.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_d = Struct(">d").pack
pack_dx = Struct(">dx").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, entries = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\xff\xff")
    else:
        text = error_message.encode()
        put(pack_h(len(text)))
        put(text)
    # entries
    if entries is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(entries)))
        for entity, values in entries:
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
            # entries.values
            put(pack_i(len(values)))
            for key, value in values:
                # entries.values.key
                text = key.encode()
                put(pack_h(len(text)))
                put(text)
                # entries.values.value to entries.values
                put(pack_d(value))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, entries = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\x00")
    else:
        text = error_message.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # entries
    if entries is None:
        put(b"\x00")
    else:
        n = len(entries) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for entity, values in entries:
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
            # entries.values
            n = len(values) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for key, value in values:
                # entries.values.key
                text = key.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # entries.values.value to entries.values
                put(pack_dx(value))
            # entries
            put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
21 64 70 124 the message
26 75 throttle_time_ms to error_message
28 77 error_message
35 85 122 entries
41 92 109 entries.entity
44 96 entries.entity.entity_type
48 101 entries.entity.entity_name
55 111 entries.values
58 115 entries.values.key
62 120 entries.values.value to entries.values
"""
