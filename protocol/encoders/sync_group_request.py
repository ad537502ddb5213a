"""Encoders of SyncGroupRequest, v0 to v5.

Made by `make codec` from protocol/schema/14_sync_group.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, _, _, _, assignments = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id to member_id
    put(pack_ih(generation_id, len(text)))
    # member_id
    put(text)
    # assignments
    put(pack_i(len(assignments)))
    for member_id_2, assignment in assignments:
        # assignments.member_id
        text = member_id_2.encode()
        put(pack_h(len(text)))
        put(text)
        # assignments.assignment
        put(pack_i(len(assignment)))
        put(assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, group_instance_id, _, _, assignments = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id to member_id
    put(pack_ih(generation_id, len(text)))
    # member_id
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\xff\xff")
    else:
        text = group_instance_id.encode()
        put(pack_h(len(text)))
        put(text)
    # assignments
    put(pack_i(len(assignments)))
    for member_id_2, assignment in assignments:
        # assignments.member_id
        text = member_id_2.encode()
        put(pack_h(len(text)))
        put(text)
        # assignments.assignment
        put(pack_i(len(assignment)))
        put(assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, group_instance_id, _, _, assignments = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # generation_id to member_id
        put(pack_iB(generation_id, n))
    # member_id
    else:
        # generation_id to member_id
        put(pack_i(generation_id))
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
    # assignments
    n = len(assignments) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id_2, assignment in assignments:
        # assignments.member_id
        text = member_id_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # assignments.assignment
        n = len(assignment) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(assignment)
        # assignments
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # generation_id to member_id
        put(pack_iB(generation_id, n))
    # member_id
    else:
        # generation_id to member_id
        put(pack_i(generation_id))
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
    # assignments
    n = len(assignments) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for member_id_2, assignment in assignments:
        # assignments.member_id
        text = member_id_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # assignments.assignment
        n = len(assignment) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(assignment)
        # assignments
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v4,
    5: encode_v5,
}
PLACES: Final = """\
20 45 51 83 89 135 142 204 the message
25 56 94 147 group_id
29 33 60 64 99 105 109 152 158 162 member_id
31 62 103 107 156 160 generation_id to member_id
35 73 120 133 189 202 assignments
38 76 124 193 assignments.member_id
42 80 129 198 assignments.assignment
66 112 165 group_instance_id
173 protocol_type
181 protocol_name
"""
