"""Decoders of ListGroupsResponse, v0 to v5.

Made by `make codec` from protocol/schema/16_list_groups.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hi = Struct(">hi").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihi = Struct(">ihi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to groups
    error_code, groups_count = unpack_hi(buf, pos)
    # groups
    pos += 6
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 4 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 276
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.group_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        # groups
        groups.append(new(ListedGroup, (group_id, protocol_type, "", "")))
    # the message
    return new(ListGroupsResponse, (0, error_code, groups))


def decode_v1(buf: memoryview) -> ListGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, error_code, groups_count = unpack_ihi(buf, pos)
    # groups
    pos += 10
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 4 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 276
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.group_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        # groups
        groups.append(new(ListedGroup, (group_id, protocol_type, "", "")))
    # the message
    return new(ListGroupsResponse, (throttle_time_ms, error_code, groups))


def decode_v3(buf: memoryview) -> ListGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, error_code, groups_count = unpack_ihB(buf, pos)
    # groups
    pos += 7
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 3 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 276
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.group_id
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
        # groups.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # groups
        groups.append(new(ListedGroup, (group_id, protocol_type, "", "")))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ListGroupsResponse, (throttle_time_ms, error_code, groups))


def decode_v4(buf: memoryview) -> ListGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, error_code, groups_count = unpack_ihB(buf, pos)
    # groups
    pos += 7
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 4 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 356
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.group_id
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
        # groups.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # groups
        groups.append(new(ListedGroup, (group_id, protocol_type, group_state, "")))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ListGroupsResponse, (throttle_time_ms, error_code, groups))


def decode_v5(buf: memoryview) -> ListGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, error_code, groups_count = unpack_ihB(buf, pos)
    # groups
    pos += 7
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 5 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 436
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.group_id
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
        # groups.group_type
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
        group_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # groups
        groups.append(new(ListedGroup, (group_id, protocol_type, group_state, group_type)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ListGroupsResponse, (throttle_time_ms, error_code, groups))


DECODERS: Final[dict[int, Callable[[memoryview], ListGroupsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
}
PLACES: Final = """\
23 62 66 105 109 171 175 252 256 348 the message
27 error_code to groups
29 60 72 103 115 164 181 245 262 341 groups
40 83 129 195 276 groups.group_id
50 93 144 210 291 groups.protocol_type
70 113 179 260 throttle_time_ms to groups
159 240 336 groups.tags
166 247 343 tags
225 306 groups.group_state
321 groups.group_type
"""
