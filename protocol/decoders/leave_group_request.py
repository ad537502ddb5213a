"""Decoders of LeaveGroupRequest, v0 to v5.

Made by `make codec` from protocol/schema/13_leave_group.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> LeaveGroupRequest:
    pos = 0
    end = len(buf)
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
    # the message
    return new(LeaveGroupRequest, (group_id, member_id, ()))


def decode_v3(buf: memoryview) -> LeaveGroupRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # members
    (members_count,) = unpack_i(buf, pos)
    pos += 4
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 4 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 268
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # members
        members.append(new(MemberIdentity, (member_id, group_instance_id, None)))
    # the message
    return new(LeaveGroupRequest, (group_id, "", members))


def decode_v4(buf: memoryview) -> LeaveGroupRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
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
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # members
    members_count = buf[pos]
    pos += 1
    if members_count > 127:
        members_count, pos = read_uvarint(buf, pos - 1)
    members_count -= 1
    if members_count < 0:
        raise Malformed(f"invalid length {members_count}")
    if members_count * 3 > end - pos:
        raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
    budget -= members_count * 268
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # members.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # members
        members.append(new(MemberIdentity, (member_id, group_instance_id, None)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(LeaveGroupRequest, (group_id, "", members))


def decode_v5(buf: memoryview) -> LeaveGroupRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
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
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
    budget -= members_count * 348
    if budget < 0:
        raise Malformed(f"{members_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # members.reason
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            reason = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            reason = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # members.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # members
        members.append(new(MemberIdentity, (member_id, group_instance_id, reason)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(LeaveGroupRequest, (group_id, "", members))


DECODERS: Final[dict[int, Callable[[memoryview], LeaveGroupRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
}
PLACES: Final = """\
21 44 48 99 103 180 184 277 the message
24 52 107 188 group_id
34 member_id
62 97 122 173 203 270 members
74 137 218 members.member_id
84 152 233 members.group_instance_id
168 265 members.tags
175 272 tags
249 members.reason
"""
