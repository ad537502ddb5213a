"""Decoders of SyncGroupRequest, v0 to v5.

Made by `make codec` from protocol/schema/14_sync_group.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> SyncGroupRequest:
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
    # generation_id to member_id
    generation_id, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # assignments
    (assignments_count,) = unpack_i(buf, pos)
    pos += 4
    if assignments_count < 0:
        raise Malformed(f"invalid length {assignments_count}")
    if assignments_count * 6 > end - pos:
        raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
    budget -= assignments_count * 244
    if budget < 0:
        raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    assignments = []
    for _ in range(assignments_count):
        # assignments.member_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # assignments.assignment
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # assignments
        assignments.append(new(SyncGroupRequestAssignment, (member_id_2, assignment)))
    # the message
    return new(SyncGroupRequest, (group_id, generation_id, member_id, None, None, None, assignments))


def decode_v3(buf: memoryview) -> SyncGroupRequest:
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
    # generation_id to member_id
    generation_id, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_instance_id
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
    # assignments
    (assignments_count,) = unpack_i(buf, pos)
    pos += 4
    if assignments_count < 0:
        raise Malformed(f"invalid length {assignments_count}")
    if assignments_count * 6 > end - pos:
        raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
    budget -= assignments_count * 244
    if budget < 0:
        raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    assignments = []
    for _ in range(assignments_count):
        # assignments.member_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # assignments.assignment
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignment = bytes(buf[pos:stop])
        pos = stop
        # assignments
        assignments.append(new(SyncGroupRequestAssignment, (member_id_2, assignment)))
    # the message
    return new(SyncGroupRequest, (group_id, generation_id, member_id, group_instance_id, None, None, assignments))


def decode_v4(buf: memoryview) -> SyncGroupRequest:
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
    # generation_id to member_id
    generation_id, n = unpack_iB(buf, pos)
    # member_id
    pos += 5
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
    # group_instance_id
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
    # assignments
    assignments_count = buf[pos]
    pos += 1
    if assignments_count > 127:
        assignments_count, pos = read_uvarint(buf, pos - 1)
    assignments_count -= 1
    if assignments_count < 0:
        raise Malformed(f"invalid length {assignments_count}")
    if assignments_count * 3 > end - pos:
        raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
    budget -= assignments_count * 244
    if budget < 0:
        raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    assignments = []
    for _ in range(assignments_count):
        # assignments.member_id
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
        # assignments.assignment
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
        # assignments.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # assignments
        assignments.append(new(SyncGroupRequestAssignment, (member_id_2, assignment)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(SyncGroupRequest, (group_id, generation_id, member_id, group_instance_id, None, None, assignments))


def decode_v5(buf: memoryview) -> SyncGroupRequest:
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
    # generation_id to member_id
    generation_id, n = unpack_iB(buf, pos)
    # member_id
    pos += 5
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
    # group_instance_id
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
    # protocol_type
    n = buf[pos]
    pos += 1
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
    # assignments
    assignments_count = buf[pos]
    pos += 1
    if assignments_count > 127:
        assignments_count, pos = read_uvarint(buf, pos - 1)
    assignments_count -= 1
    if assignments_count < 0:
        raise Malformed(f"invalid length {assignments_count}")
    if assignments_count * 3 > end - pos:
        raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
    budget -= assignments_count * 244
    if budget < 0:
        raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    assignments = []
    for _ in range(assignments_count):
        # assignments.member_id
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
        # assignments.assignment
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
        # assignments.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # assignments
        assignments.append(new(SyncGroupRequestAssignment, (member_id_2, assignment)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        SyncGroupRequest,
        (group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments),
    )


DECODERS: Final[dict[int, Callable[[memoryview], SyncGroupRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
}
PLACES: Final = """\
23 82 86 158 162 268 272 410 the message
27 90 166 276 group_id
37 100 181 291 generation_id to member_id
39 102 183 293 member_id
48 80 124 156 213 261 355 403 assignments
60 136 228 370 assignments.member_id
70 146 243 385 assignments.assignment
111 197 307 group_instance_id
256 398 assignments.tags
263 405 tags
323 protocol_type
339 protocol_name
"""
