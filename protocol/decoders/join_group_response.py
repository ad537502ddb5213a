"""Decoders of JoinGroupResponse, v0 to v9.

Made by `make codec` from protocol/schema/11_join_group.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from headrace.protocol.varint import read_uvarint

unpack_B0B = Struct(">?B").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hih = Struct(">hih").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ihiB = Struct(">ihiB").unpack_from
unpack_ihih = Struct(">ihih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> JoinGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to protocol_name
    error_code, generation_id, n = unpack_hih(buf, pos)
    # protocol_name
    pos += 8
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # member_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # members
    (members_count,) = unpack_i(buf, pos)
    pos += 4
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 6 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 252
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
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.metadata
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        metadata = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(new(JoinGroupResponseMember, (member_id_2, None, metadata)))
    # the message
    return new(
        JoinGroupResponse, (0, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    )


def decode_v2(buf: memoryview) -> JoinGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to protocol_name
    throttle_time_ms, error_code, generation_id, n = unpack_ihih(buf, pos)
    # protocol_name
    pos += 12
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # member_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # members
    (members_count,) = unpack_i(buf, pos)
    pos += 4
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 6 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 252
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
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # members.metadata
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        metadata = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(new(JoinGroupResponseMember, (member_id_2, None, metadata)))
    # the message
    return new(
        JoinGroupResponse,
        (throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members),
    )


def decode_v5(buf: memoryview) -> JoinGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to protocol_name
    throttle_time_ms, error_code, generation_id, n = unpack_ihih(buf, pos)
    # protocol_name
    pos += 12
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # leader
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # member_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # members
    (members_count,) = unpack_i(buf, pos)
    pos += 4
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 8 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 332
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
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        # members.metadata
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        metadata = bytes(buf[pos:stop])
        pos = stop
        # members
        members.append(new(JoinGroupResponseMember, (member_id_2, group_instance_id, metadata)))
    # the message
    return new(
        JoinGroupResponse,
        (throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members),
    )


def decode_v6(buf: memoryview) -> JoinGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to protocol_name
    throttle_time_ms, error_code, generation_id, n = unpack_ihiB(buf, pos)
    # protocol_name
    pos += 11
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
    protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # member_id
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
    # members
    members_count = buf[pos]
    pos += 1
    if members_count > 127:
        members_count, pos = read_uvarint(buf, pos - 1)
    members_count -= 1
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 4 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 332
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
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        # members.metadata
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
        metadata = bytes(buf[pos:stop])
        pos = stop
        # members.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # members
        members.append(new(JoinGroupResponseMember, (member_id_2, group_instance_id, metadata)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        JoinGroupResponse,
        (throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members),
    )


def decode_v7(buf: memoryview) -> JoinGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to protocol_type
    throttle_time_ms, error_code, generation_id, n = unpack_ihiB(buf, pos)
    # protocol_type
    pos += 11
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol_type = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # protocol_name
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol_name = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # member_id
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
    # members
    members_count = buf[pos]
    pos += 1
    if members_count > 127:
        members_count, pos = read_uvarint(buf, pos - 1)
    members_count -= 1
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 4 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 332
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
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        # members.metadata
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
        metadata = bytes(buf[pos:stop])
        pos = stop
        # members.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # members
        members.append(new(JoinGroupResponseMember, (member_id_2, group_instance_id, metadata)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        JoinGroupResponse,
        (throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, False, member_id, members),
    )


def decode_v9(buf: memoryview) -> JoinGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to protocol_type
    throttle_time_ms, error_code, generation_id, n = unpack_ihiB(buf, pos)
    # protocol_type
    pos += 11
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol_type = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # protocol_name
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol_name = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    leader = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # skip_assignment to member_id
    skip_assignment, n = unpack_B0B(buf, pos)
    # member_id
    pos += 2
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
    # members
    members_count = buf[pos]
    pos += 1
    if members_count > 127:
        members_count, pos = read_uvarint(buf, pos - 1)
    members_count -= 1
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 4 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 332
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
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        # members.metadata
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
        metadata = bytes(buf[pos:stop])
        pos = stop
        # members.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # members
        members.append(new(JoinGroupResponseMember, (member_id_2, group_instance_id, metadata)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        JoinGroupResponse,
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
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], JoinGroupResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
    5: decode_v5,
    6: decode_v6,
    7: decode_v7,
    8: decode_v7,
    9: decode_v9,
}
PLACES: Final = """\
25 94 100 169 176 258 265 386 393 531 538 677 the message
29 error_code to protocol_name
31 106 182 271 414 559 protocol_name
40 115 191 285 430 575 leader
50 125 201 300 445 592 member_id
60 92 135 167 211 256 315 379 460 524 606 670 members
72 147 223 330 475 621 members.member_id
82 157 246 361 506 652 members.metadata
104 180 269 throttle_time_ms to protocol_name
233 345 490 636 members.group_instance_id
374 519 665 members.tags
381 526 672 tags
397 542 throttle_time_ms to protocol_type
399 544 protocol_type
590 skip_assignment to member_id
"""
