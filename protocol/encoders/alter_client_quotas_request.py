"""Encoders of AlterClientQuotasRequest, v0 to v1.

Made by `make codec` from protocol/schema/49_alter_client_quotas.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_B0x = Struct(">?x").pack
pack_dB0 = Struct(">d?").pack
pack_dB0x = Struct(">d?x").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    entries, validate_only = msg
    # entries
    put(pack_i(len(entries)))
    for entity, ops in entries:
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
        # entries.ops
        put(pack_i(len(ops)))
        for key, value, remove in ops:
            # entries.ops.key
            text = key.encode()
            put(pack_h(len(text)))
            put(text)
            # entries.ops.value to entries.ops
            put(pack_dB0(value, remove))
    # validate_only to the end
    put(pack_B0(validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    entries, validate_only = msg
    # entries
    n = len(entries) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for entity, ops in entries:
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
        # entries.ops
        n = len(ops) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for key, value, remove in ops:
            # entries.ops.key
            text = key.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # entries.ops.value to entries.ops
            put(pack_dB0x(value, remove))
        # entries
        put(b"\x00")
    # validate_only to the end
    put(pack_B0x(validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
22 55 61 104 the message
27 66 100 entries
30 70 87 entries.entity
33 74 entries.entity.entity_type
37 79 entries.entity.entity_name
44 89 entries.ops
47 93 entries.ops.key
51 98 entries.ops.value to entries.ops
53 102 validate_only to the end
"""
