"""Decoders of LeaveGroupResponse, v0 to v5.

Made by `make codec` from protocol/schema/13_leave_group.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihi = Struct(">ihi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> LeaveGroupResponse:
    pos = 0
    # error_code to the end
    (error_code,) = unpack_h(buf, pos)
    # the message
    pos += 2
    return new(LeaveGroupResponse, (0, error_code, ()))


def decode_v1(buf: memoryview) -> LeaveGroupResponse:
    pos = 0
    # throttle_time_ms to the end
    throttle_time_ms, error_code = unpack_ih(buf, pos)
    # the message
    pos += 6
    return new(LeaveGroupResponse, (throttle_time_ms, error_code, ()))


def decode_v3(buf: memoryview) -> LeaveGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to members
    throttle_time_ms, error_code, members_count = unpack_ihi(buf, pos)
    # members
    pos += 10
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 6 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 300
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
        # members.error_code to members
        (error_code_2,) = unpack_h(buf, pos)
        # members
        pos += 2
        members.append(new(MemberResponse, (member_id, group_instance_id, error_code_2)))
    # the message
    return new(LeaveGroupResponse, (throttle_time_ms, error_code, members))


def decode_v4(buf: memoryview) -> LeaveGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to members
    throttle_time_ms, error_code, members_count = unpack_ihB(buf, pos)
    # members
    pos += 7
    if members_count > 127:
        members_count, pos = read_uvarint(buf, pos - 1)
    members_count -= 1
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 5 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 300
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
        # members.error_code to members.tags
        error_code_2, n = unpack_hB(buf, pos)
        # members.tags
        pos += 3
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # members
        members.append(new(MemberResponse, (member_id, group_instance_id, error_code_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(LeaveGroupResponse, (throttle_time_ms, error_code, members))


DECODERS: Final[dict[int, Callable[[memoryview], LeaveGroupResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
    5: decode_v4,
}
PLACES: Final = """\
24 28 33 37 42 87 91 155 the message
26 error_code to the end
35 throttle_time_ms to the end
46 95 throttle_time_ms to members
48 84 97 148 members
59 111 members.member_id
69 126 members.group_instance_id
82 members.error_code to members
142 members.error_code to members.tags
144 members.tags
150 tags
"""
