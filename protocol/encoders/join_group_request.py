"""Encoders of JoinGroupRequest, v0 to v9.

Made by `make codec` from protocol/schema/11_join_group.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ih = Struct(">ih").pack
pack_ii = Struct(">ii").pack
pack_iiB = Struct(">iiB").pack
pack_iih = Struct(">iih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, session_timeout_ms, _, member_id, _, protocol_type, protocols, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # session_timeout_ms to member_id
    put(pack_ih(session_timeout_ms, len(text)))
    # member_id
    put(text)
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # protocols
    put(pack_i(len(protocols)))
    for name, metadata in protocols:
        # protocols.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # protocols.metadata
        put(pack_i(len(metadata)))
        put(metadata)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, session_timeout_ms, rebalance_timeout_ms, member_id, _, protocol_type, protocols, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # session_timeout_ms to member_id
    put(pack_iih(session_timeout_ms, rebalance_timeout_ms, len(text)))
    # member_id
    put(text)
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # protocols
    put(pack_i(len(protocols)))
    for name, metadata in protocols:
        # protocols.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # protocols.metadata
        put(pack_i(len(metadata)))
        put(metadata)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # session_timeout_ms to member_id
    put(pack_iih(session_timeout_ms, rebalance_timeout_ms, len(text)))
    # member_id
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\xff\xff")
    else:
        text = group_instance_id.encode()
        put(pack_h(len(text)))
        put(text)
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # protocols
    put(pack_i(len(protocols)))
    for name, metadata in protocols:
        # protocols.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # protocols.metadata
        put(pack_i(len(metadata)))
        put(metadata)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, _ = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # session_timeout_ms to member_id
        put(pack_iiB(session_timeout_ms, rebalance_timeout_ms, n))
    # member_id
    else:
        # session_timeout_ms to member_id
        put(pack_ii(session_timeout_ms, rebalance_timeout_ms))
        # member_id
        put(encode_string_length(n))
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\x00")
    else:
        text = group_instance_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # protocol_type
    text = protocol_type.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # protocols
    n = len(protocols) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, metadata in protocols:
        # protocols.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # protocols.metadata
        n = len(metadata) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(metadata)
        # protocols
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        group_id,
        session_timeout_ms,
        rebalance_timeout_ms,
        member_id,
        group_instance_id,
        protocol_type,
        protocols,
        reason,
    ) = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # session_timeout_ms to member_id
        put(pack_iiB(session_timeout_ms, rebalance_timeout_ms, n))
    # member_id
    else:
        # session_timeout_ms to member_id
        put(pack_ii(session_timeout_ms, rebalance_timeout_ms))
        # member_id
        put(encode_string_length(n))
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\x00")
    else:
        text = group_instance_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # protocol_type
    text = protocol_type.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # protocols
    n = len(protocols) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, metadata in protocols:
        # protocols.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # protocols.metadata
        n = len(metadata) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(metadata)
        # protocols
        put(b"\x00")
    # reason
    if reason is None:
        put(b"\x00")
    else:
        text = reason.encode()
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
    3: encode_v1,
    4: encode_v1,
    5: encode_v5,
    6: encode_v6,
    7: encode_v6,
    8: encode_v8,
    9: encode_v8,
}
PLACES: Final = """\
22 51 57 86 92 128 134 185 192 260 the message
27 62 97 139 206 group_id
31 35 66 70 101 105 144 150 154 211 217 221 member_id
33 68 103 148 152 215 219 session_timeout_ms to member_id
37 72 114 165 232 protocol_type
41 76 118 170 183 237 250 protocols
44 79 121 174 241 protocols.name
48 83 125 179 246 protocols.metadata
107 157 224 group_instance_id
252 reason
"""
