"""Encoders of JoinGroupResponse, v0 to v9.

Made by `make codec` from protocol/schema/11_join_group.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_B0B = Struct(">?B").pack
pack_h = Struct(">h").pack
pack_hih = Struct(">hih").pack
pack_i = Struct(">i").pack
pack_ihi = Struct(">ihi").pack
pack_ihiB = Struct(">ihiB").pack
pack_ihih = Struct(">ihih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, error_code, generation_id, _, protocol_name, leader, _, member_id, members = msg
    # protocol_name
    text = protocol_name.encode()
    # error_code to protocol_name
    put(pack_hih(error_code, generation_id, len(text)))
    # protocol_name
    put(text)
    # leader
    text = leader.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    put(pack_h(len(text)))
    put(text)
    # members
    put(pack_i(len(members)))
    for member_id_2, _, metadata in members:
        # members.member_id
        text = member_id_2.encode()
        put(pack_h(len(text)))
        put(text)
        # members.metadata
        put(pack_i(len(metadata)))
        put(metadata)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, generation_id, _, protocol_name, leader, _, member_id, members = msg
    # protocol_name
    text = protocol_name.encode()
    # throttle_time_ms to protocol_name
    put(pack_ihih(throttle_time_ms, error_code, generation_id, len(text)))
    # protocol_name
    put(text)
    # leader
    text = leader.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    put(pack_h(len(text)))
    put(text)
    # members
    put(pack_i(len(members)))
    for member_id_2, _, metadata in members:
        # members.member_id
        text = member_id_2.encode()
        put(pack_h(len(text)))
        put(text)
        # members.metadata
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
    throttle_time_ms, error_code, generation_id, _, protocol_name, leader, _, member_id, members = msg
    # protocol_name
    text = protocol_name.encode()
    # throttle_time_ms to protocol_name
    put(pack_ihih(throttle_time_ms, error_code, generation_id, len(text)))
    # protocol_name
    put(text)
    # leader
    text = leader.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    put(pack_h(len(text)))
    put(text)
    # members
    put(pack_i(len(members)))
    for member_id_2, group_instance_id, metadata in members:
        # members.member_id
        text = member_id_2.encode()
        put(pack_h(len(text)))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\xff\xff")
        else:
            text = group_instance_id.encode()
            put(pack_h(len(text)))
            put(text)
        # members.metadata
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
    throttle_time_ms, error_code, generation_id, _, protocol_name, leader, _, member_id, members = msg
    # protocol_name
    text = protocol_name.encode()
    n = len(text) + 1
    if n < 128:
        # throttle_time_ms to protocol_name
        put(pack_ihiB(throttle_time_ms, error_code, generation_id, n))
    # protocol_name
    else:
        # throttle_time_ms to protocol_name
        put(pack_ihi(throttle_time_ms, error_code, generation_id))
        # protocol_name
        put(encode_string_length(n))
    put(text)
    # leader
    text = leader.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # members
    n = len(members) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id_2, group_instance_id, metadata in members:
        # members.member_id
        text = member_id_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\x00")
        else:
            text = group_instance_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # members.metadata
        n = len(metadata) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(metadata)
        # members
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, _, member_id, members = msg
    # throttle_time_ms to protocol_type
    put(pack_ihi(throttle_time_ms, error_code, generation_id))
    # protocol_type
    if protocol_type is None:
        put(b"\x00")
    else:
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # protocol_name
    if protocol_name is None:
        put(b"\x00")
    else:
        text = protocol_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # leader
    text = leader.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # members
    n = len(members) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id_2, group_instance_id, metadata in members:
        # members.member_id
        text = member_id_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\x00")
        else:
            text = group_instance_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # members.metadata
        n = len(metadata) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(metadata)
        # members
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        throttle_time_ms,
        error_code,
        generation_id,
        protocol_type,
        protocol_name,
        leader,
        skip_assignment,
        member_id,
        members,
    ) = msg
    # throttle_time_ms to protocol_type
    put(pack_ihi(throttle_time_ms, error_code, generation_id))
    # protocol_type
    if protocol_type is None:
        put(b"\x00")
    else:
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # protocol_name
    if protocol_name is None:
        put(b"\x00")
    else:
        text = protocol_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # leader
    text = leader.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # skip_assignment to member_id
        put(pack_B0B(skip_assignment, n))
    # member_id
    else:
        # skip_assignment to member_id
        put(pack_B0(skip_assignment))
        # member_id
        put(encode_string_length(n))
    put(text)
    # members
    n = len(members) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id_2, group_instance_id, metadata in members:
        # members.member_id
        text = member_id_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\x00")
        else:
            text = group_instance_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # members.metadata
        n = len(metadata) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(metadata)
        # members
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
    5: encode_v5,
    6: encode_v6,
    7: encode_v7,
    8: encode_v7,
    9: encode_v9,
}
PLACES: Final = """\
24 53 59 88 94 130 136 187 194 250 257 331 the message
29 33 64 68 99 103 141 147 151 209 282 protocol_name
31 error_code to protocol_name
35 70 105 154 217 290 leader
39 74 109 159 222 295 301 305 member_id
43 78 113 164 185 227 248 308 329 members
46 81 116 168 231 312 members.member_id
50 85 127 181 244 325 members.metadata
66 101 145 149 throttle_time_ms to protocol_name
120 173 236 317 members.group_instance_id
199 272 throttle_time_ms to protocol_type
201 274 protocol_type
299 303 skip_assignment to member_id
"""
