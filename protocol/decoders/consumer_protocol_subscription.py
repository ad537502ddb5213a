"""Decoders of ConsumerProtocolSubscription, v0 to v3.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ih = Struct(">ih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerProtocolSubscription:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 2 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 100
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        topics.append(one)
    # user_data
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        user_data = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        user_data = bytes(buf[pos:stop])
        pos = stop
    # the message
    return new(ConsumerProtocolSubscription, (topics, user_data, (), -1, None))


def decode_v1(buf: memoryview) -> ConsumerProtocolSubscription:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 2 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 100
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        topics.append(one)
    # user_data
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        user_data = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        user_data = bytes(buf[pos:stop])
        pos = stop
    # owned_partitions
    (owned_partitions_count,) = unpack_i(buf, pos)
    pos += 4
    if owned_partitions_count < 0:
        raise Malformed(f"invalid length {owned_partitions_count}")
    if owned_partitions_count * 6 > end - pos:
        raise Malformed(f"{owned_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= owned_partitions_count * 268
    if budget < 0:
        raise Malformed(f"{owned_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    owned_partitions = []
    for _ in range(owned_partitions_count):
        # owned_partitions.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # owned_partitions.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
        # owned_partitions
        owned_partitions.append(new(TopicPartition, (topic, partitions)))
    # the message
    return new(ConsumerProtocolSubscription, (topics, user_data, owned_partitions, -1, None))


def decode_v2(buf: memoryview) -> ConsumerProtocolSubscription:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 2 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 100
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        topics.append(one)
    # user_data
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        user_data = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        user_data = bytes(buf[pos:stop])
        pos = stop
    # owned_partitions
    (owned_partitions_count,) = unpack_i(buf, pos)
    pos += 4
    if owned_partitions_count < 0:
        raise Malformed(f"invalid length {owned_partitions_count}")
    if owned_partitions_count * 6 > end - pos:
        raise Malformed(f"{owned_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= owned_partitions_count * 268
    if budget < 0:
        raise Malformed(f"{owned_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    owned_partitions = []
    for _ in range(owned_partitions_count):
        # owned_partitions.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # owned_partitions.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
        # owned_partitions
        owned_partitions.append(new(TopicPartition, (topic, partitions)))
    # generation_id to the end
    (generation_id,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ConsumerProtocolSubscription, (topics, user_data, owned_partitions, generation_id, None))


def decode_v3(buf: memoryview) -> ConsumerProtocolSubscription:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 2 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 100
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        topics.append(one)
    # user_data
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        user_data = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        user_data = bytes(buf[pos:stop])
        pos = stop
    # owned_partitions
    (owned_partitions_count,) = unpack_i(buf, pos)
    pos += 4
    if owned_partitions_count < 0:
        raise Malformed(f"invalid length {owned_partitions_count}")
    if owned_partitions_count * 6 > end - pos:
        raise Malformed(f"{owned_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= owned_partitions_count * 268
    if budget < 0:
        raise Malformed(f"{owned_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    owned_partitions = []
    for _ in range(owned_partitions_count):
        # owned_partitions.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # owned_partitions.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
        # owned_partitions
        owned_partitions.append(new(TopicPartition, (topic, partitions)))
    # generation_id to rack_id
    generation_id, n = unpack_ih(buf, pos)
    # rack_id
    pos += 6
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        rack_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # the message
    return new(ConsumerProtocolSubscription, (topics, user_data, owned_partitions, generation_id, rack_id))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerProtocolSubscription]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
}
PLACES: Final = """\
21 60 64 139 143 220 225 314 the message
25 68 147 229 topics
47 90 169 251 user_data
103 137 182 216 264 298 owned_partitions
115 194 276 owned_partitions.topic
125 204 286 owned_partitions.partitions
218 generation_id to the end
300 generation_id to rack_id
302 rack_id
"""
