"""Decoders of GroupMetadataValue, v0 to v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ii = Struct(">ii").unpack_from
unpack_iiB = Struct(">iiB").unpack_from
unpack_iii = Struct(">iii").unpack_from
unpack_qB = Struct(">qB").unpack_from
unpack_qi = Struct(">qi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> GroupMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # protocol_type
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation to protocol
    generation, n = unpack_ih(buf, pos)
    # protocol
    pos += 6
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        protocol = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        leader = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # members
    (members_count,) = unpack_i(buf, pos)
    pos += 4
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 18 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 548
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
    members = []
    for _ in range(members_count):
        # members.member_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_host
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.session_timeout to members.subscription
        session_timeout, n = unpack_ii(buf, pos)
        # members.subscription
        pos += 8
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        subscription = bytes(buf[pos:stop])
        pos = stop
        # members.assignment
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(
            new(
                MemberMetadata, (member_id, None, client_id, client_host, -1, session_timeout, subscription, assignment)
            )
        )
    # the message
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, -1, members))


def decode_v1(buf: memoryview) -> GroupMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # protocol_type
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation to protocol
    generation, n = unpack_ih(buf, pos)
    # protocol
    pos += 6
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        protocol = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        leader = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # members
    (members_count,) = unpack_i(buf, pos)
    pos += 4
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 22 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 580
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
    members = []
    for _ in range(members_count):
        # members.member_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_host
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.rebalance_timeout to members.subscription
        rebalance_timeout, session_timeout, n = unpack_iii(buf, pos)
        # members.subscription
        pos += 12
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        subscription = bytes(buf[pos:stop])
        pos = stop
        # members.assignment
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(
            new(
                MemberMetadata,
                (member_id, None, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment),
            )
        )
    # the message
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, -1, members))


def decode_v2(buf: memoryview) -> GroupMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # protocol_type
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation to protocol
    generation, n = unpack_ih(buf, pos)
    # protocol
    pos += 6
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        protocol = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        leader = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # current_state_timestamp to members
    current_state_timestamp, members_count = unpack_qi(buf, pos)
    # members
    pos += 12
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 22 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 580
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
    members = []
    for _ in range(members_count):
        # members.member_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_host
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.rebalance_timeout to members.subscription
        rebalance_timeout, session_timeout, n = unpack_iii(buf, pos)
        # members.subscription
        pos += 12
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        subscription = bytes(buf[pos:stop])
        pos = stop
        # members.assignment
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(
            new(
                MemberMetadata,
                (member_id, None, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment),
            )
        )
    # the message
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, current_state_timestamp, members))


def decode_v3(buf: memoryview) -> GroupMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # protocol_type
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation to protocol
    generation, n = unpack_ih(buf, pos)
    # protocol
    pos += 6
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        protocol = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        leader = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # current_state_timestamp to members
    current_state_timestamp, members_count = unpack_qi(buf, pos)
    # members
    pos += 12
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 24 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 660
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
    members = []
    for _ in range(members_count):
        # members.member_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.group_instance_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            group_instance_id = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            group_instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # members.client_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_host
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.rebalance_timeout to members.subscription
        rebalance_timeout, session_timeout, n = unpack_iii(buf, pos)
        # members.subscription
        pos += 12
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        subscription = bytes(buf[pos:stop])
        pos = stop
        # members.assignment
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(
            new(
                MemberMetadata,
                (
                    member_id,
                    group_instance_id,
                    client_id,
                    client_host,
                    rebalance_timeout,
                    session_timeout,
                    subscription,
                    assignment,
                ),
            )
        )
    # the message
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, current_state_timestamp, members))


def decode_v4(buf: memoryview) -> GroupMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # protocol_type
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation to protocol
    generation, n = unpack_iB(buf, pos)
    # protocol
    pos += 5
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # leader
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        leader = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # current_state_timestamp to members
    current_state_timestamp, members_count = unpack_qB(buf, pos)
    # members
    pos += 9
    if members_count > 127:
        members_count, pos = read_uvarint(buf, pos - 1)
    members_count -= 1
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 15 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 660
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
    members = []
    for _ in range(members_count):
        # members.member_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.group_instance_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            group_instance_id = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            group_instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # members.client_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.client_host
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.rebalance_timeout to members.subscription
        rebalance_timeout, session_timeout, n = unpack_iiB(buf, pos)
        # members.subscription
        pos += 9
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        subscription = bytes(buf[pos:stop])
        pos = stop
        # members.assignment
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # members.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # members
        members.append(
            new(
                MemberMetadata,
                (
                    member_id,
                    group_instance_id,
                    client_id,
                    client_host,
                    rebalance_timeout,
                    session_timeout,
                    subscription,
                    assignment,
                ),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, current_state_timestamp, members))


DECODERS: Final[dict[int, Callable[[memoryview], GroupMetadataValue]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
    4: decode_v4,
}
PLACES: Final = """\
28 138 142 253 257 369 373 507 511 693 the message
32 146 261 377 515 protocol_type
42 156 271 387 530 generation to protocol
44 158 273 389 532 protocol
56 170 285 401 547 leader
69 132 183 246 300 362 416 491 565 672 members
81 195 311 427 579 members.member_id
91 205 321 450 610 members.client_id
101 215 331 460 625 members.client_host
111 members.session_timeout to members.subscription
113 227 343 472 642 members.subscription
122 236 352 481 654 members.assignment
225 341 470 640 members.rebalance_timeout to members.subscription
298 414 563 current_state_timestamp to members
437 594 members.group_instance_id
667 members.tags
688 tags
"""
