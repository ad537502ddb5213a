"""Decoders of OffsetFetchRequest, v0 to v9.

Made by `make codec` from protocol/schema/09_offset_fetch.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from headrace.protocol.varint import read_uvarint

unpack_B0B = Struct(">?B").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetFetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topics = []
    for _ in range(n):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partition_indexes
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_indexes = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # topics
        topics.append(new(OffsetFetchRequestTopic, (name, partition_indexes)))
    # the message
    return new(OffsetFetchRequest, (group_id, topics, (), False))


def decode_v2(buf: memoryview) -> OffsetFetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        topics = None
    else:
        if n * 6 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 268
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(n):
            # topics.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.partition_indexes
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partition_indexes = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topics
            topics.append(new(OffsetFetchRequestTopic, (name, partition_indexes)))
    # the message
    return new(OffsetFetchRequest, (group_id, topics, (), False))


def decode_v6(buf: memoryview) -> OffsetFetchRequest:
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
        raise Malformed(f"length {n}, which may not be")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        topics = None
    else:
        if n * 3 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 268
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(n):
            # topics.name
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.partition_indexes
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partition_indexes = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics
            topics.append(new(OffsetFetchRequestTopic, (name, partition_indexes)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(OffsetFetchRequest, (group_id, topics, (), False))


def decode_v7(buf: memoryview) -> OffsetFetchRequest:
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
        raise Malformed(f"length {n}, which may not be")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        topics = None
    else:
        if n * 3 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 268
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(n):
            # topics.name
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.partition_indexes
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partition_indexes = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics
            topics.append(new(OffsetFetchRequestTopic, (name, partition_indexes)))
    # require_stable to tags
    require_stable, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(OffsetFetchRequest, (group_id, topics, (), require_stable))


def decode_v8(buf: memoryview) -> OffsetFetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 3 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 284
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups = []
    for _ in range(n):
        # groups.group_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.topics
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            topics = None
        else:
            if n * 3 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 268
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            topics = []
            for _ in range(n):
                # groups.topics.name
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # groups.topics.partition_indexes
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                if n * 4 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 52
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
                partition_indexes = list(unpack_from(f">{n}i", buf, pos))
                pos += n * 4
                # groups.topics.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
                # groups.topics
                topics.append(new(OffsetFetchRequestTopics, (name, partition_indexes)))
        # groups.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # groups
        groups.append(new(OffsetFetchRequestGroup, (group_id, None, -1, topics)))
    # require_stable to tags
    require_stable, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(OffsetFetchRequest, ("", (), groups, require_stable))


def decode_v9(buf: memoryview) -> OffsetFetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 8 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 396
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups = []
    for _ in range(n):
        # groups.group_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.member_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            member_id = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # groups.member_epoch to groups.topics
        member_epoch, n = unpack_iB(buf, pos)
        # groups.topics
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            topics = None
        else:
            if n * 3 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 268
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            topics = []
            for _ in range(n):
                # groups.topics.name
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # groups.topics.partition_indexes
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                if n * 4 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 52
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
                partition_indexes = list(unpack_from(f">{n}i", buf, pos))
                pos += n * 4
                # groups.topics.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
                # groups.topics
                topics.append(new(OffsetFetchRequestTopics, (name, partition_indexes)))
        # groups.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # groups
        groups.append(new(OffsetFetchRequestGroup, (group_id, member_id, member_epoch, topics)))
    # require_stable to tags
    require_stable, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(OffsetFetchRequest, ("", (), groups, require_stable))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetFetchRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
    5: decode_v2,
    6: decode_v6,
    7: decode_v7,
    8: decode_v8,
    9: decode_v9,
}
PLACES: Final = """\
28 78 82 135 139 216 220 298 302 402 406 523 the message
32 86 143 224 group_id
42 76 96 133 158 209 239 290 topics
54 111 174 255 topics.name
64 121 189 270 topics.partition_indexes
204 285 topics.tags
211 294 398 519 tags
292 396 517 require_stable to tags
306 394 410 515 groups
321 425 groups.group_id
336 387 458 508 groups.topics
352 473 groups.topics.name
367 488 groups.topics.partition_indexes
382 503 groups.topics.tags
389 510 groups.tags
440 groups.member_id
456 groups.member_epoch to groups.topics
"""
