"""Encoders of DescribeGroupsResponse, v0 to v5.

Made by `make codec` from protocol/schema/15_describe_groups.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hh = Struct(">hh").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, groups = msg
    # groups
    put(pack_i(len(groups)))
    for error_code, group_id, group_state, protocol_type, protocol_data, members, _ in groups:
        # groups.group_id
        text = group_id.encode()
        # groups.error_code to groups.group_id
        put(pack_hh(error_code, len(text)))
        # groups.group_id
        put(text)
        # groups.group_state
        text = group_state.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_data
        text = protocol_data.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.members
        put(pack_i(len(members)))
        for member_id, _, client_id, client_host, member_metadata, member_assignment in members:
            # groups.members.member_id
            text = member_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_id
            text = client_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_host
            text = client_host.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.member_metadata
            put(pack_i(len(member_metadata)))
            put(member_metadata)
            # groups.members.member_assignment
            put(pack_i(len(member_assignment)))
            put(member_assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, groups = msg
    # throttle_time_ms to groups
    put(pack_ii(throttle_time_ms, len(groups)))
    # groups
    for error_code, group_id, group_state, protocol_type, protocol_data, members, _ in groups:
        # groups.group_id
        text = group_id.encode()
        # groups.error_code to groups.group_id
        put(pack_hh(error_code, len(text)))
        # groups.group_id
        put(text)
        # groups.group_state
        text = group_state.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_data
        text = protocol_data.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.members
        put(pack_i(len(members)))
        for member_id, _, client_id, client_host, member_metadata, member_assignment in members:
            # groups.members.member_id
            text = member_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_id
            text = client_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_host
            text = client_host.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.member_metadata
            put(pack_i(len(member_metadata)))
            put(member_metadata)
            # groups.members.member_assignment
            put(pack_i(len(member_assignment)))
            put(member_assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, groups = msg
    # throttle_time_ms to groups
    put(pack_ii(throttle_time_ms, len(groups)))
    # groups
    for error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations in groups:
        # groups.group_id
        text = group_id.encode()
        # groups.error_code to groups.group_id
        put(pack_hh(error_code, len(text)))
        # groups.group_id
        put(text)
        # groups.group_state
        text = group_state.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_data
        text = protocol_data.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.members
        put(pack_i(len(members)))
        for member_id, _, client_id, client_host, member_metadata, member_assignment in members:
            # groups.members.member_id
            text = member_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_id
            text = client_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_host
            text = client_host.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.member_metadata
            put(pack_i(len(member_metadata)))
            put(member_metadata)
            # groups.members.member_assignment
            put(pack_i(len(member_assignment)))
            put(member_assignment)
        # groups.authorized_operations to groups
        put(pack_i(authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, groups = msg
    # throttle_time_ms to groups
    put(pack_ii(throttle_time_ms, len(groups)))
    # groups
    for error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations in groups:
        # groups.group_id
        text = group_id.encode()
        # groups.error_code to groups.group_id
        put(pack_hh(error_code, len(text)))
        # groups.group_id
        put(text)
        # groups.group_state
        text = group_state.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.protocol_data
        text = protocol_data.encode()
        put(pack_h(len(text)))
        put(text)
        # groups.members
        put(pack_i(len(members)))
        for member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment in members:
            # groups.members.member_id
            text = member_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.group_instance_id
            if group_instance_id is None:
                put(b"\xff\xff")
            else:
                text = group_instance_id.encode()
                put(pack_h(len(text)))
                put(text)
            # groups.members.client_id
            text = client_id.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.client_host
            text = client_host.encode()
            put(pack_h(len(text)))
            put(text)
            # groups.members.member_metadata
            put(pack_i(len(member_metadata)))
            put(member_metadata)
            # groups.members.member_assignment
            put(pack_i(len(member_assignment)))
            put(member_assignment)
        # groups.authorized_operations to groups
        put(pack_i(authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, groups = msg
    # groups
    n = len(groups) + 1
    if n < 128:
        # throttle_time_ms to groups
        put(pack_iB(throttle_time_ms, n))
    # groups
    else:
        # throttle_time_ms to groups
        put(pack_i(throttle_time_ms))
        # groups
        put(encode_uvarint(n))
    for error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        if n < 128:
            # groups.error_code to groups.group_id
            put(pack_hB(error_code, n))
        # groups.group_id
        else:
            # groups.error_code to groups.group_id
            put(pack_h(error_code))
            # groups.group_id
            put(encode_string_length(n))
        put(text)
        # groups.group_state
        text = group_state.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.protocol_type
        text = protocol_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.protocol_data
        text = protocol_data.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.members
        n = len(members) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment in members:
            # groups.members.member_id
            text = member_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # groups.members.group_instance_id
            if group_instance_id is None:
                put(b"\x00")
            else:
                text = group_instance_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # groups.members.client_id
            text = client_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # groups.members.client_host
            text = client_host.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # groups.members.member_metadata
            n = len(member_metadata) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(member_metadata)
            # groups.members.member_assignment
            n = len(member_assignment) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(member_assignment)
            # groups.members
            put(b"\x00")
        # groups.authorized_operations to groups
        put(pack_ix(authorized_operations))
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
    5: encode_v5,
}
PLACES: Final = """\
23 70 76 124 130 180 186 243 249 333 the message
28 83 137 193 254 259 263 groups
31 35 85 89 139 143 195 199 266 272 276 groups.group_id
33 87 141 197 270 274 groups.error_code to groups.group_id
37 91 145 201 279 groups.group_state
41 95 149 205 284 groups.protocol_type
45 99 153 209 289 groups.protocol_data
49 103 157 213 294 329 groups.members
52 106 160 216 298 groups.members.member_id
56 110 164 227 311 groups.members.client_id
60 114 168 231 316 groups.members.client_host
64 118 172 235 321 groups.members.member_metadata
67 121 175 238 325 groups.members.member_assignment
81 135 191 257 261 throttle_time_ms to groups
178 241 331 groups.authorized_operations to groups
220 303 groups.members.group_instance_id
"""
