"""Decoders of MetadataRequest, v0 to v12.

Made by `make codec` from protocol/schema/03_metadata.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_B0 = Struct(">?").unpack_from
unpack_B0B0B = Struct(">??B").unpack_from
unpack_B0B0B0 = Struct(">???").unpack_from
unpack_B0B0B0B = Struct(">???B").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 2 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 180
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
        # topics
        topics.append(new(MetadataRequestTopic, (ZERO_UUID, name)))
    # the message
    return new(MetadataRequest, (topics, True, False, False))


def decode_v1(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < -1:
        raise Malformed(f"length {topics_count}")
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 2 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 180
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
            # topics
            topics.append(new(MetadataRequestTopic, (ZERO_UUID, name)))
    # the message
    return new(MetadataRequest, (topics, True, False, False))


def decode_v4(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < -1:
        raise Malformed(f"length {topics_count}")
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 2 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 180
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
            # topics
            topics.append(new(MetadataRequestTopic, (ZERO_UUID, name)))
    # allow_auto_topic_creation to the end
    (allow_auto_topic_creation,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(MetadataRequest, (topics, allow_auto_topic_creation, False, False))


def decode_v8(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < -1:
        raise Malformed(f"length {topics_count}")
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 2 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 180
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
            # topics
            topics.append(new(MetadataRequestTopic, (ZERO_UUID, name)))
    # allow_auto_topic_creation to the end
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = (
        unpack_B0B0B0(buf, pos)
    )
    # the message
    pos += 3
    return new(
        MetadataRequest,
        (topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations),
    )


def decode_v9(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 2 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 180
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
            # topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics
            topics.append(new(MetadataRequestTopic, (ZERO_UUID, name)))
    # allow_auto_topic_creation to tags
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, n = (
        unpack_B0B0B0B(buf, pos)
    )
    # tags
    pos += 4
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        MetadataRequest,
        (topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations),
    )


def decode_v10(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 18 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 244
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # topics.topic_id to topics.name
            topic_id, n = unpack_16sB(buf, pos)
            # topics.name
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                name = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics
            topics.append(new(MetadataRequestTopic, (topic_id, name)))
    # allow_auto_topic_creation to tags
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, n = (
        unpack_B0B0B0B(buf, pos)
    )
    # tags
    pos += 4
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        MetadataRequest,
        (topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations),
    )


def decode_v11(buf: memoryview) -> MetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 18 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 244
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # topics.topic_id to topics.name
            topic_id, n = unpack_16sB(buf, pos)
            # topics.name
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                name = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics
            topics.append(new(MetadataRequestTopic, (topic_id, name)))
    # allow_auto_topic_creation to tags
    allow_auto_topic_creation, include_topic_authorized_operations, n = unpack_B0B0B(buf, pos)
    # tags
    pos += 3
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(MetadataRequest, (topics, allow_auto_topic_creation, False, include_topic_authorized_operations))


DECODERS: Final[dict[int, Callable[[memoryview], MetadataRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v4,
    5: decode_v4,
    6: decode_v4,
    7: decode_v4,
    8: decode_v8,
    9: decode_v9,
    10: decode_v10,
    11: decode_v11,
    12: decode_v11,
}
PLACES: Final = """\
27 55 59 90 94 127 132 167 175 225 232 284 291 341 the message
31 53 63 88 98 123 136 161 179 215 236 274 295 333 topics
43 78 113 151 195 254 313 topics.name
125 163 allow_auto_topic_creation to the end
210 269 328 topics.tags
217 276 335 allow_auto_topic_creation to tags
221 280 337 tags
252 311 topics.topic_id to topics.name
"""
