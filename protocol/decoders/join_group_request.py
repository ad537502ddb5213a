"""Decoders of JoinGroupRequest, v0 to v9.

Made by `make codec` from protocol/schema/11_join_group.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_iiB = Struct(">iiB").unpack_from
unpack_iih = Struct(">iih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> JoinGroupRequest:
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
    # session_timeout_ms to member_id
    session_timeout_ms, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
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
    # protocols
    (protocols_count,) = unpack_i(buf, pos)
    pos += 4
    if protocols_count < 0:
        raise Malformed(f"invalid length {protocols_count}")
    if protocols_count * 6 > end - pos:
        raise Malformed(f"{protocols_count} elements announced, {end - pos} bytes remain")
    budget -= protocols_count * 244
    if budget < 0:
        raise Malformed(f"{protocols_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    protocols = []
    for _ in range(protocols_count):
        # protocols.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # protocols.metadata
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        metadata = bytes(buf[pos:stop])
        pos = stop
        # protocols
        protocols.append(new(JoinGroupRequestProtocol, (name, metadata)))
    # the message
    return new(JoinGroupRequest, (group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols, None))


def decode_v1(buf: memoryview) -> JoinGroupRequest:
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
    # session_timeout_ms to member_id
    session_timeout_ms, rebalance_timeout_ms, n = unpack_iih(buf, pos)
    # member_id
    pos += 10
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
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
    # protocols
    (protocols_count,) = unpack_i(buf, pos)
    pos += 4
    if protocols_count < 0:
        raise Malformed(f"invalid length {protocols_count}")
    if protocols_count * 6 > end - pos:
        raise Malformed(f"{protocols_count} elements announced, {end - pos} bytes remain")
    budget -= protocols_count * 244
    if budget < 0:
        raise Malformed(f"{protocols_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    protocols = []
    for _ in range(protocols_count):
        # protocols.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # protocols.metadata
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        metadata = bytes(buf[pos:stop])
        pos = stop
        # protocols
        protocols.append(new(JoinGroupRequestProtocol, (name, metadata)))
    # the message
    return new(
        JoinGroupRequest,
        (group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols, None),
    )


def decode_v5(buf: memoryview) -> JoinGroupRequest:
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
    # session_timeout_ms to member_id
    session_timeout_ms, rebalance_timeout_ms, n = unpack_iih(buf, pos)
    # member_id
    pos += 10
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
    # protocols
    (protocols_count,) = unpack_i(buf, pos)
    pos += 4
    if protocols_count < 0:
        raise Malformed(f"invalid length {protocols_count}")
    if protocols_count * 6 > end - pos:
        raise Malformed(f"{protocols_count} elements announced, {end - pos} bytes remain")
    budget -= protocols_count * 244
    if budget < 0:
        raise Malformed(f"{protocols_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    protocols = []
    for _ in range(protocols_count):
        # protocols.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # protocols.metadata
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        metadata = bytes(buf[pos:stop])
        pos = stop
        # protocols
        protocols.append(new(JoinGroupRequestProtocol, (name, metadata)))
    # the message
    return new(
        JoinGroupRequest,
        (
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            None,
        ),
    )


def decode_v6(buf: memoryview) -> JoinGroupRequest:
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
    # session_timeout_ms to member_id
    session_timeout_ms, rebalance_timeout_ms, n = unpack_iiB(buf, pos)
    # member_id
    pos += 9
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # protocols
    protocols_count = buf[pos]
    pos += 1
    if protocols_count > 127:
        protocols_count, pos = read_uvarint(buf, pos - 1)
    protocols_count -= 1
    if protocols_count < 0:
        raise Malformed(f"invalid length {protocols_count}")
    if protocols_count * 3 > end - pos:
        raise Malformed(f"{protocols_count} elements announced, {end - pos} bytes remain")
    budget -= protocols_count * 244
    if budget < 0:
        raise Malformed(f"{protocols_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    protocols = []
    for _ in range(protocols_count):
        # protocols.name
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
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # protocols.metadata
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
        # protocols.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # protocols
        protocols.append(new(JoinGroupRequestProtocol, (name, metadata)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        JoinGroupRequest,
        (
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            None,
        ),
    )


def decode_v8(buf: memoryview) -> JoinGroupRequest:
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
    # session_timeout_ms to member_id
    session_timeout_ms, rebalance_timeout_ms, n = unpack_iiB(buf, pos)
    # member_id
    pos += 9
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # protocols
    protocols_count = buf[pos]
    pos += 1
    if protocols_count > 127:
        protocols_count, pos = read_uvarint(buf, pos - 1)
    protocols_count -= 1
    if protocols_count < 0:
        raise Malformed(f"invalid length {protocols_count}")
    if protocols_count * 3 > end - pos:
        raise Malformed(f"{protocols_count} elements announced, {end - pos} bytes remain")
    budget -= protocols_count * 244
    if budget < 0:
        raise Malformed(f"{protocols_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    protocols = []
    for _ in range(protocols_count):
        # protocols.name
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
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # protocols.metadata
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
        # protocols.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # protocols
        protocols.append(new(JoinGroupRequestProtocol, (name, metadata)))
    # reason
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
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        JoinGroupRequest,
        (
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            reason,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], JoinGroupRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v1,
    5: decode_v5,
    6: decode_v6,
    7: decode_v6,
    8: decode_v8,
    9: decode_v8,
}
PLACES: Final = """\
24 93 97 166 173 255 271 392 408 545 the message
28 101 177 275 412 group_id
38 111 187 290 427 session_timeout_ms to member_id
40 113 189 292 429 member_id
49 122 211 322 459 protocol_type
59 91 132 164 221 253 337 385 474 522 protocols
71 144 233 352 489 protocols.name
81 154 243 367 504 protocols.metadata
198 306 443 group_instance_id
380 517 protocols.tags
387 540 tags
524 reason
"""
