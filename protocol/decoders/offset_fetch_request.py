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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partition_indexes
        (partition_indexes_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_indexes_count < 0:
            raise Malformed(f"invalid length {partition_indexes_count}")
        if partition_indexes_count * 4 > end - pos:
            raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
        budget -= partition_indexes_count * 52
        if budget < 0:
            raise Malformed(f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
        pos += partition_indexes_count * 4
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < -1:
        raise Malformed(f"length {topics_count}")
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 6 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # topics.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.partition_indexes
            (partition_indexes_count,) = unpack_i(buf, pos)
            pos += 4
            if partition_indexes_count < 0:
                raise Malformed(f"invalid length {partition_indexes_count}")
            if partition_indexes_count * 4 > end - pos:
                raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
            budget -= partition_indexes_count * 52
            if budget < 0:
                raise Malformed(
                    f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
            pos += partition_indexes_count * 4
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # topics.name
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
            # topics.partition_indexes
            partition_indexes_count = buf[pos]
            pos += 1
            if partition_indexes_count > 127:
                partition_indexes_count, pos = read_uvarint(buf, pos - 1)
            partition_indexes_count -= 1
            if partition_indexes_count < 0:
                raise Malformed(f"invalid length {partition_indexes_count}")
            if partition_indexes_count * 4 > end - pos:
                raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
            budget -= partition_indexes_count * 52
            if budget < 0:
                raise Malformed(
                    f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
            pos += partition_indexes_count * 4
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # topics.name
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
            # topics.partition_indexes
            partition_indexes_count = buf[pos]
            pos += 1
            if partition_indexes_count > 127:
                partition_indexes_count, pos = read_uvarint(buf, pos - 1)
            partition_indexes_count -= 1
            if partition_indexes_count < 0:
                raise Malformed(f"invalid length {partition_indexes_count}")
            if partition_indexes_count * 4 > end - pos:
                raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
            budget -= partition_indexes_count * 52
            if budget < 0:
                raise Malformed(
                    f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
            pos += partition_indexes_count * 4
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
    groups_count = buf[pos]
    pos += 1
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 3 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 284
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # groups.topics
        topics_count = buf[pos]
        pos += 1
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            topics = None
        else:
            if topics_count * 3 > end - pos:
                raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
            budget -= topics_count * 268
            if budget < 0:
                raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            topics = []
            for _ in range(topics_count):
                # groups.topics.name
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
                # groups.topics.partition_indexes
                partition_indexes_count = buf[pos]
                pos += 1
                if partition_indexes_count > 127:
                    partition_indexes_count, pos = read_uvarint(buf, pos - 1)
                partition_indexes_count -= 1
                if partition_indexes_count < 0:
                    raise Malformed(f"invalid length {partition_indexes_count}")
                if partition_indexes_count * 4 > end - pos:
                    raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
                budget -= partition_indexes_count * 52
                if budget < 0:
                    raise Malformed(
                        f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                    )
                partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
                pos += partition_indexes_count * 4
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
    groups_count = buf[pos]
    pos += 1
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 8 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 396
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        member_epoch, topics_count = unpack_iB(buf, pos)
        # groups.topics
        pos += 5
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            topics = None
        else:
            if topics_count * 3 > end - pos:
                raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
            budget -= topics_count * 268
            if budget < 0:
                raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            topics = []
            for _ in range(topics_count):
                # groups.topics.name
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
                # groups.topics.partition_indexes
                partition_indexes_count = buf[pos]
                pos += 1
                if partition_indexes_count > 127:
                    partition_indexes_count, pos = read_uvarint(buf, pos - 1)
                partition_indexes_count -= 1
                if partition_indexes_count < 0:
                    raise Malformed(f"invalid length {partition_indexes_count}")
                if partition_indexes_count * 4 > end - pos:
                    raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
                budget -= partition_indexes_count * 52
                if budget < 0:
                    raise Malformed(
                        f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                    )
                partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
                pos += partition_indexes_count * 4
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
28 78 82 137 141 220 224 304 308 410 414 533 the message
32 86 145 228 group_id
42 76 96 135 160 213 243 296 topics
54 111 176 259 topics.name
64 121 191 274 topics.partition_indexes
208 291 topics.tags
215 300 406 529 tags
298 404 527 require_stable to tags
312 402 418 525 groups
327 433 groups.group_id
342 395 466 518 groups.topics
358 481 groups.topics.name
373 496 groups.topics.partition_indexes
390 513 groups.topics.tags
397 520 groups.tags
448 groups.member_id
464 groups.member_epoch to groups.topics
"""
