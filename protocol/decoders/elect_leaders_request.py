"""Decoders of ElectLeadersRequest, v0 to v2.

Made by `make codec` from protocol/schema/43_elect_leaders.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bi = Struct(">bi").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ElectLeadersRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topic_partitions
    (topic_partitions_count,) = unpack_i(buf, pos)
    pos += 4
    if topic_partitions_count < -1:
        raise Malformed(f"length {topic_partitions_count}")
    if topic_partitions_count < 0:
        topic_partitions = None
    else:
        if topic_partitions_count * 6 > end - pos:
            raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= topic_partitions_count * 268
        if budget < 0:
            raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topic_partitions = []
        for _ in range(topic_partitions_count):
            # topic_partitions.topic
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topic_partitions.partitions
            (partitions_count,) = unpack_i(buf, pos)
            pos += 4
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 4 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 52
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # topic_partitions
            topic_partitions.append(new(TopicPartitions, (topic, partitions)))
    # timeout_ms to the end
    (timeout_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ElectLeadersRequest, (0, topic_partitions, timeout_ms))


def decode_v1(buf: memoryview) -> ElectLeadersRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # election_type to topic_partitions
    election_type, topic_partitions_count = unpack_bi(buf, pos)
    # topic_partitions
    pos += 5
    if topic_partitions_count < -1:
        raise Malformed(f"length {topic_partitions_count}")
    if topic_partitions_count < 0:
        topic_partitions = None
    else:
        if topic_partitions_count * 6 > end - pos:
            raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= topic_partitions_count * 268
        if budget < 0:
            raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topic_partitions = []
        for _ in range(topic_partitions_count):
            # topic_partitions.topic
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topic_partitions.partitions
            (partitions_count,) = unpack_i(buf, pos)
            pos += 4
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 4 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 52
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # topic_partitions
            topic_partitions.append(new(TopicPartitions, (topic, partitions)))
    # timeout_ms to the end
    (timeout_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ElectLeadersRequest, (election_type, topic_partitions, timeout_ms))


def decode_v2(buf: memoryview) -> ElectLeadersRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # election_type to topic_partitions
    election_type, topic_partitions_count = unpack_bB(buf, pos)
    # topic_partitions
    pos += 2
    if topic_partitions_count > 127:
        topic_partitions_count, pos = read_uvarint(buf, pos - 1)
    topic_partitions_count -= 1
    if topic_partitions_count < 0:
        topic_partitions = None
    else:
        if topic_partitions_count * 3 > end - pos:
            raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= topic_partitions_count * 268
        if budget < 0:
            raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topic_partitions = []
        for _ in range(topic_partitions_count):
            # topic_partitions.topic
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
            topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topic_partitions.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 4 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 52
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # topic_partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_partitions
            topic_partitions.append(new(TopicPartitions, (topic, partitions)))
    # timeout_ms to tags
    timeout_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ElectLeadersRequest, (election_type, topic_partitions, timeout_ms))


DECODERS: Final[dict[int, Callable[[memoryview], ElectLeadersRequest]]] = {0: decode_v0, 1: decode_v1, 2: decode_v2}
PLACES: Final = """\
24 69 74 120 125 189 the message
28 65 80 116 131 181 topic_partitions
43 94 146 topic_partitions.topic
53 104 161 topic_partitions.partitions
67 118 timeout_ms to the end
78 129 election_type to topic_partitions
176 topic_partitions.tags
183 timeout_ms to tags
185 tags
"""
