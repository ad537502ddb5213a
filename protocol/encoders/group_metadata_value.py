"""Encoders of GroupMetadataValue, v0 to v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ii = Struct(">ii").pack
pack_iiB = Struct(">iiB").pack
pack_iii = Struct(">iii").pack
pack_q = Struct(">q").pack
pack_qB = Struct(">qB").pack
pack_qi = Struct(">qi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    protocol_type, generation, protocol, leader, _, members = msg
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # generation to protocol
    put(pack_i(generation))
    # protocol
    if protocol is None:
        put(b"\xff\xff")
    else:
        text = protocol.encode()
        put(pack_h(len(text)))
        put(text)
    # leader
    if leader is None:
        put(b"\xff\xff")
    else:
        text = leader.encode()
        put(pack_h(len(text)))
        put(text)
    # members
    put(pack_i(len(members)))
    for member_id, _, client_id, client_host, _, session_timeout, subscription, assignment in members:
        # members.member_id
        text = member_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_id
        text = client_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_host
        text = client_host.encode()
        put(pack_h(len(text)))
        put(text)
        # members.session_timeout to members.subscription
        put(pack_ii(session_timeout, len(subscription)))
        # members.subscription
        put(subscription)
        # members.assignment
        put(pack_i(len(assignment)))
        put(assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    protocol_type, generation, protocol, leader, _, members = msg
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # generation to protocol
    put(pack_i(generation))
    # protocol
    if protocol is None:
        put(b"\xff\xff")
    else:
        text = protocol.encode()
        put(pack_h(len(text)))
        put(text)
    # leader
    if leader is None:
        put(b"\xff\xff")
    else:
        text = leader.encode()
        put(pack_h(len(text)))
        put(text)
    # members
    put(pack_i(len(members)))
    for member_id, _, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment in members:
        # members.member_id
        text = member_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_id
        text = client_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_host
        text = client_host.encode()
        put(pack_h(len(text)))
        put(text)
        # members.rebalance_timeout to members.subscription
        put(pack_iii(rebalance_timeout, session_timeout, len(subscription)))
        # members.subscription
        put(subscription)
        # members.assignment
        put(pack_i(len(assignment)))
        put(assignment)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    protocol_type, generation, protocol, leader, current_state_timestamp, members = msg
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # generation to protocol
    put(pack_i(generation))
    # protocol
    if protocol is None:
        put(b"\xff\xff")
    else:
        text = protocol.encode()
        put(pack_h(len(text)))
        put(text)
    # leader
    if leader is None:
        put(b"\xff\xff")
    else:
        text = leader.encode()
        put(pack_h(len(text)))
        put(text)
    # current_state_timestamp to members
    put(pack_qi(current_state_timestamp, len(members)))
    # members
    for member_id, _, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment in members:
        # members.member_id
        text = member_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_id
        text = client_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_host
        text = client_host.encode()
        put(pack_h(len(text)))
        put(text)
        # members.rebalance_timeout to members.subscription
        put(pack_iii(rebalance_timeout, session_timeout, len(subscription)))
        # members.subscription
        put(subscription)
        # members.assignment
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
    protocol_type, generation, protocol, leader, current_state_timestamp, members = msg
    # protocol_type
    text = protocol_type.encode()
    put(pack_h(len(text)))
    put(text)
    # generation to protocol
    put(pack_i(generation))
    # protocol
    if protocol is None:
        put(b"\xff\xff")
    else:
        text = protocol.encode()
        put(pack_h(len(text)))
        put(text)
    # leader
    if leader is None:
        put(b"\xff\xff")
    else:
        text = leader.encode()
        put(pack_h(len(text)))
        put(text)
    # current_state_timestamp to members
    put(pack_qi(current_state_timestamp, len(members)))
    # members
    for (
        member_id,
        group_instance_id,
        client_id,
        client_host,
        rebalance_timeout,
        session_timeout,
        subscription,
        assignment,
    ) in members:
        # members.member_id
        text = member_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.group_instance_id
        if group_instance_id is None:
            put(b"\xff\xff")
        else:
            text = group_instance_id.encode()
            put(pack_h(len(text)))
            put(text)
        # members.client_id
        text = client_id.encode()
        put(pack_h(len(text)))
        put(text)
        # members.client_host
        text = client_host.encode()
        put(pack_h(len(text)))
        put(text)
        # members.rebalance_timeout to members.subscription
        put(pack_iii(rebalance_timeout, session_timeout, len(subscription)))
        # members.subscription
        put(subscription)
        # members.assignment
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
    protocol_type, generation, protocol, leader, current_state_timestamp, members = msg
    # protocol_type
    text = protocol_type.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # generation to protocol
    put(pack_i(generation))
    # protocol
    if protocol is None:
        put(b"\x00")
    else:
        text = protocol.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # leader
    if leader is None:
        put(b"\x00")
    else:
        text = leader.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # members
    n = len(members) + 1
    if n < 128:
        # current_state_timestamp to members
        put(pack_qB(current_state_timestamp, n))
    # members
    else:
        # current_state_timestamp to members
        put(pack_q(current_state_timestamp))
        # members
        put(encode_uvarint(n))
    for (
        member_id,
        group_instance_id,
        client_id,
        client_host,
        rebalance_timeout,
        session_timeout,
        subscription,
        assignment,
    ) in members:
        # members.member_id
        text = member_id.encode()
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
        # members.client_id
        text = client_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.client_host
        text = client_host.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # members.subscription
        n = len(subscription) + 1
        if n < 128:
            # members.rebalance_timeout to members.subscription
            put(pack_iiB(rebalance_timeout, session_timeout, n))
        # members.subscription
        else:
            # members.rebalance_timeout to members.subscription
            put(pack_ii(rebalance_timeout, session_timeout))
            # members.subscription
            put(encode_uvarint(n))
        put(subscription)
        # members.assignment
        n = len(assignment) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(assignment)
        # members
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v2,
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
24 71 77 124 130 178 184 248 254 344 the message
29 82 135 189 259 protocol_type
33 86 139 193 264 generation to protocol
35 88 141 195 266 protocol
42 95 148 202 274 leader
49 102 157 211 282 287 291 342 members
52 105 159 222 303 members.member_id
56 109 163 233 316 members.client_id
60 113 167 237 321 members.client_host
64 members.session_timeout to members.subscription
66 119 173 243 326 331 335 members.subscription
68 121 175 245 338 members.assignment
117 171 241 329 333 members.rebalance_timeout to members.subscription
155 209 285 289 current_state_timestamp to members
226 308 members.group_instance_id
"""
