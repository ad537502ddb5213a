"""Decoders of DeleteTopicsResponse, v0 to v6.

Made by `make codec` from protocol/schema/20_delete_topics.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from headrace.protocol.varint import read_uvarint

unpack_16shB = Struct(">16shB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DeleteTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 4 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 228
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.error_code to responses
        (error_code,) = unpack_h(buf, pos)
        # responses
        pos += 2
        responses.append(new(DeletableTopicResult, (name, ZERO_UUID, error_code, None)))
    # the message
    return new(DeleteTopicsResponse, (0, responses))


def decode_v1(buf: memoryview) -> DeleteTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, responses_count = unpack_ii(buf, pos)
    # responses
    pos += 8
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 4 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 228
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.error_code to responses
        (error_code,) = unpack_h(buf, pos)
        # responses
        pos += 2
        responses.append(new(DeletableTopicResult, (name, ZERO_UUID, error_code, None)))
    # the message
    return new(DeleteTopicsResponse, (throttle_time_ms, responses))


def decode_v4(buf: memoryview) -> DeleteTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, responses_count = unpack_iB(buf, pos)
    # responses
    pos += 5
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 4 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 228
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
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
        # responses.error_code to responses.tags
        error_code, n = unpack_hB(buf, pos)
        # responses.tags
        pos += 3
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(DeletableTopicResult, (name, ZERO_UUID, error_code, None)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DeleteTopicsResponse, (throttle_time_ms, responses))


def decode_v5(buf: memoryview) -> DeleteTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, responses_count = unpack_iB(buf, pos)
    # responses
    pos += 5
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 5 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 308
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
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
        # responses.error_code to responses.error_message
        error_code, n = unpack_hB(buf, pos)
        # responses.error_message
        pos += 3
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(DeletableTopicResult, (name, ZERO_UUID, error_code, error_message)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DeleteTopicsResponse, (throttle_time_ms, responses))


def decode_v6(buf: memoryview) -> DeleteTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, responses_count = unpack_iB(buf, pos)
    # responses
    pos += 5
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 21 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 372
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
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
        # responses.topic_id to responses.error_message
        topic_id, error_code, n = unpack_16shB(buf, pos)
        # responses.error_message
        pos += 19
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(DeletableTopicResult, (name, topic_id, error_code, error_message)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DeleteTopicsResponse, (throttle_time_ms, responses))


DECODERS: Final[dict[int, Callable[[memoryview], DeleteTopicsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v4,
    5: decode_v5,
    6: decode_v6,
}
PLACES: Final = """\
26 57 61 93 97 145 149 213 217 282 the message
30 54 67 90 103 138 155 206 223 275 responses
42 78 117 169 237 responses.name
52 88 responses.error_code to responses
65 101 153 221 throttle_time_ms to responses
132 responses.error_code to responses.tags
134 201 270 responses.tags
140 208 277 tags
184 responses.error_code to responses.error_message
186 255 responses.error_message
253 responses.topic_id to responses.error_message
"""
