"""Decoders of DeleteTopicsRequest, v0 to v6.

Made by `make codec` from protocol/schema/20_delete_topics.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DeleteTopicsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topic_names
    (topic_names_count,) = unpack_i(buf, pos)
    pos += 4
    if topic_names_count < 0:
        raise Malformed(f"invalid length {topic_names_count}")
    if topic_names_count * 2 > end - pos:
        raise Malformed(f"{topic_names_count} elements announced, {end - pos} bytes remain")
    budget -= topic_names_count * 100
    if budget < 0:
        raise Malformed(f"{topic_names_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_names = []
    for _ in range(topic_names_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        topic_names.append(one)
    # timeout_ms to the end
    (timeout_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(DeleteTopicsRequest, ((), topic_names, timeout_ms))


def decode_v4(buf: memoryview) -> DeleteTopicsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topic_names
    topic_names_count = buf[pos]
    pos += 1
    if topic_names_count > 127:
        topic_names_count, pos = read_uvarint(buf, pos - 1)
    topic_names_count -= 1
    if topic_names_count < 0:
        raise Malformed(f"invalid length {topic_names_count}")
    if topic_names_count * 1 > end - pos:
        raise Malformed(f"{topic_names_count} elements announced, {end - pos} bytes remain")
    budget -= topic_names_count * 100
    if budget < 0:
        raise Malformed(f"{topic_names_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_names = []
    for _ in range(topic_names_count):
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
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        topic_names.append(one)
    # timeout_ms to tags
    timeout_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DeleteTopicsRequest, ((), topic_names, timeout_ms))


def decode_v6(buf: memoryview) -> DeleteTopicsRequest:
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
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 18 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 244
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
            name = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # topics.topic_id to topics.tags
        topic_id, n = unpack_16sB(buf, pos)
        # topics.tags
        pos += 17
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(DeleteTopicState, (name, topic_id)))
    # timeout_ms to tags
    timeout_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DeleteTopicsRequest, (topics, (), timeout_ms))


DECODERS: Final[dict[int, Callable[[memoryview], DeleteTopicsRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v0,
    4: decode_v4,
    5: decode_v4,
    6: decode_v6,
}
PLACES: Final = """\
23 51 56 96 100 149 the message
27 60 topic_names
49 timeout_ms to the end
90 143 timeout_ms to tags
92 145 tags
104 141 topics
119 topics.name
135 topics.topic_id to topics.tags
137 topics.tags
"""
