"""Decoders of DescribeGroupsResponse, v0 to v5.

Made by `make codec` from protocol/schema/15_describe_groups.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # groups
    (groups_count,) = unpack_i(buf, pos)
    pos += 4
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 14 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 580
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.error_code to groups.group_id
        error_code, n = unpack_hh(buf, pos)
        # groups.group_id
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.group_state
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_data
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_data = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.members
        (members_count,) = unpack_i(buf, pos)
        pos += 4
        if members_count < 0:
            raise Malformed(f"invalid length {members_count}")
        if members_count * 14 > end - pos:
            raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
        budget -= members_count * 500
        if budget < 0:
            raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
        members = []
        for _ in range(members_count):
            # groups.members.member_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.member_metadata
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_metadata = bytes(buf[pos:stop])
            pos = stop
            # groups.members.member_assignment
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_assignment = bytes(buf[pos:stop])
            pos = stop
            # groups.members
            members.append(
                new(DescribedGroupMember, (member_id, None, client_id, client_host, member_metadata, member_assignment))
            )
        # groups
        groups.append(
            new(DescribedGroup, (error_code, group_id, group_state, protocol_type, protocol_data, members, -2147483648))
        )
    # the message
    return new(DescribeGroupsResponse, (0, groups))


def decode_v1(buf: memoryview) -> DescribeGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, groups_count = unpack_ii(buf, pos)
    # groups
    pos += 8
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 14 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 580
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.error_code to groups.group_id
        error_code, n = unpack_hh(buf, pos)
        # groups.group_id
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.group_state
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_data
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_data = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.members
        (members_count,) = unpack_i(buf, pos)
        pos += 4
        if members_count < 0:
            raise Malformed(f"invalid length {members_count}")
        if members_count * 14 > end - pos:
            raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
        budget -= members_count * 500
        if budget < 0:
            raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
        members = []
        for _ in range(members_count):
            # groups.members.member_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.member_metadata
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_metadata = bytes(buf[pos:stop])
            pos = stop
            # groups.members.member_assignment
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_assignment = bytes(buf[pos:stop])
            pos = stop
            # groups.members
            members.append(
                new(DescribedGroupMember, (member_id, None, client_id, client_host, member_metadata, member_assignment))
            )
        # groups
        groups.append(
            new(DescribedGroup, (error_code, group_id, group_state, protocol_type, protocol_data, members, -2147483648))
        )
    # the message
    return new(DescribeGroupsResponse, (throttle_time_ms, groups))


def decode_v3(buf: memoryview) -> DescribeGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, groups_count = unpack_ii(buf, pos)
    # groups
    pos += 8
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 18 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 612
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.error_code to groups.group_id
        error_code, n = unpack_hh(buf, pos)
        # groups.group_id
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.group_state
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_data
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_data = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.members
        (members_count,) = unpack_i(buf, pos)
        pos += 4
        if members_count < 0:
            raise Malformed(f"invalid length {members_count}")
        if members_count * 14 > end - pos:
            raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
        budget -= members_count * 500
        if budget < 0:
            raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
        members = []
        for _ in range(members_count):
            # groups.members.member_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.member_metadata
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_metadata = bytes(buf[pos:stop])
            pos = stop
            # groups.members.member_assignment
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_assignment = bytes(buf[pos:stop])
            pos = stop
            # groups.members
            members.append(
                new(DescribedGroupMember, (member_id, None, client_id, client_host, member_metadata, member_assignment))
            )
        # groups.authorized_operations to groups
        (authorized_operations,) = unpack_i(buf, pos)
        # groups
        pos += 4
        groups.append(
            new(
                DescribedGroup,
                (error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations),
            )
        )
    # the message
    return new(DescribeGroupsResponse, (throttle_time_ms, groups))


def decode_v4(buf: memoryview) -> DescribeGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, groups_count = unpack_ii(buf, pos)
    # groups
    pos += 8
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 18 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 612
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.error_code to groups.group_id
        error_code, n = unpack_hh(buf, pos)
        # groups.group_id
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.group_state
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_data
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_data = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.members
        (members_count,) = unpack_i(buf, pos)
        pos += 4
        if members_count < 0:
            raise Malformed(f"invalid length {members_count}")
        if members_count * 16 > end - pos:
            raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
        budget -= members_count * 580
        if budget < 0:
            raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
        members = []
        for _ in range(members_count):
            # groups.members.member_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.group_instance_id
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
            # groups.members.client_id
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.member_metadata
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_metadata = bytes(buf[pos:stop])
            pos = stop
            # groups.members.member_assignment
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_assignment = bytes(buf[pos:stop])
            pos = stop
            # groups.members
            members.append(
                new(
                    DescribedGroupMember,
                    (member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment),
                )
            )
        # groups.authorized_operations to groups
        (authorized_operations,) = unpack_i(buf, pos)
        # groups
        pos += 4
        groups.append(
            new(
                DescribedGroup,
                (error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations),
            )
        )
    # the message
    return new(DescribeGroupsResponse, (throttle_time_ms, groups))


def decode_v5(buf: memoryview) -> DescribeGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, groups_count = unpack_iB(buf, pos)
    # groups
    pos += 5
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 12 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 612
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.error_code to groups.group_id
        error_code, n = unpack_hB(buf, pos)
        # groups.group_id
        pos += 3
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
        # groups.group_state
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
        group_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.protocol_type
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
        # groups.protocol_data
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
        protocol_data = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.members
        members_count = buf[pos]
        pos += 1
        if members_count > 127:
            members_count, pos = read_uvarint(buf, pos - 1)
        members_count -= 1
        if members_count < 0:
            raise Malformed(f"invalid length {members_count}")
        if members_count * 7 > end - pos:
            raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
        budget -= members_count * 580
        if budget < 0:
            raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
        members = []
        for _ in range(members_count):
            # groups.members.member_id
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
            # groups.members.group_instance_id
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
            # groups.members.client_id
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
            # groups.members.client_host
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
            # groups.members.member_metadata
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
            member_metadata = bytes(buf[pos:stop])
            pos = stop
            # groups.members.member_assignment
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
            member_assignment = bytes(buf[pos:stop])
            pos = stop
            # groups.members.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # groups.members
            members.append(
                new(
                    DescribedGroupMember,
                    (member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment),
                )
            )
        # groups.authorized_operations to groups.tags
        authorized_operations, n = unpack_iB(buf, pos)
        # groups.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # groups
        groups.append(
            new(
                DescribedGroup,
                (error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeGroupsResponse, (throttle_time_ms, groups))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeGroupsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
}
PLACES: Final = """\
29 156 160 288 292 426 430 580 584 797 the message
33 152 166 284 298 418 436 572 590 785 groups
45 177 309 447 604 groups.error_code to groups.group_id
47 179 311 449 606 groups.group_id
56 188 320 458 620 groups.group_state
66 198 330 468 635 groups.protocol_type
76 208 340 478 650 groups.protocol_data
86 148 218 280 350 412 488 563 665 772 groups.members
98 230 362 500 680 groups.members.member_id
108 240 372 523 711 groups.members.client_id
118 250 382 533 726 groups.members.client_host
128 260 392 543 741 groups.members.member_metadata
138 270 402 553 754 groups.members.member_assignment
164 296 434 588 throttle_time_ms to groups
416 570 groups.authorized_operations to groups
510 695 groups.members.group_instance_id
767 groups.members.tags
779 groups.authorized_operations to groups.tags
781 groups.tags
792 tags
"""
