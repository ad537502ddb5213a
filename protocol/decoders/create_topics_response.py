"""Decoders of CreateTopicsResponse, v0 to v7.

Made by `make codec` from protocol/schema/19_create_topics.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_16shB = Struct(">16shB").unpack_from
unpack_B0bB0B = Struct(">?b?B").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreateTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 4 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 260
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
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
        # topics.error_code to topics
        (error_code,) = unpack_h(buf, pos)
        # topics
        pos += 2
        topics.append(new(CreatableTopicResult, (name, ZERO_UUID, error_code, "", 0, -1, -1, ())))
    # the message
    return new(CreateTopicsResponse, (0, topics))


def decode_v1(buf: memoryview) -> CreateTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 340
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
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
        # topics.error_code to topics.error_message
        error_code, n = unpack_hh(buf, pos)
        # topics.error_message
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # topics
        topics.append(new(CreatableTopicResult, (name, ZERO_UUID, error_code, error_message, 0, -1, -1, ())))
    # the message
    return new(CreateTopicsResponse, (0, topics))


def decode_v2(buf: memoryview) -> CreateTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 340
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
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
        # topics.error_code to topics.error_message
        error_code, n = unpack_hh(buf, pos)
        # topics.error_message
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # topics
        topics.append(new(CreatableTopicResult, (name, ZERO_UUID, error_code, error_message, 0, -1, -1, ())))
    # the message
    return new(CreateTopicsResponse, (throttle_time_ms, topics))


def decode_v5(buf: memoryview) -> CreateTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 12 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 524
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
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
        # topics.error_code to topics.error_message
        error_code, n = unpack_hB(buf, pos)
        # topics.error_message
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
        # topics.num_partitions to topics.configs
        num_partitions, replication_factor, configs_count = unpack_ihB(buf, pos)
        # topics.configs
        pos += 7
        if configs_count > 127:
            configs_count, pos = read_uvarint(buf, pos - 1)
        configs_count -= 1
        if configs_count < 0:
            configs = None
        else:
            if configs_count * 6 > end - pos:
                raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
            budget -= configs_count * 316
            if budget < 0:
                raise Malformed(f"{configs_count} more would take more than {DECODED_BYTES_MAX} bytes")
            configs = []
            for _ in range(configs_count):
                # topics.configs.name
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
                name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # topics.configs.value
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    value = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # topics.configs.read_only to topics.configs.tags
                read_only, config_source, is_sensitive, n = unpack_B0bB0B(buf, pos)
                # topics.configs.tags
                pos += 4
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # topics.configs
                configs.append(new(CreatableTopicConfigs, (name_2, value, read_only, config_source, is_sensitive)))
        # topics
        topic_config_error_code = 0
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            for _ in range(tag_count):
                tag = buf[pos]
                pos += 1
                if tag > 127:
                    tag, pos = read_uvarint(buf, pos - 1)
                tag_size = buf[pos]
                pos += 1
                if tag_size > 127:
                    tag_size, pos = read_uvarint(buf, pos - 1)
                tag_stop = pos + tag_size
                if tag_stop > end:
                    raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
                if tag == 0:
                    # topics.tags.topic_config_error_code
                    (topic_config_error_code,) = unpack_h(buf, pos)
                    pos += 2
                    if pos != tag_stop:
                        raise Malformed("content and its size disagree")
                # topics.tags
                pos = tag_stop
        # topics
        topics.append(
            new(
                CreatableTopicResult,
                (
                    name,
                    ZERO_UUID,
                    error_code,
                    error_message,
                    topic_config_error_code,
                    num_partitions,
                    replication_factor,
                    configs,
                ),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(CreateTopicsResponse, (throttle_time_ms, topics))


def decode_v7(buf: memoryview) -> CreateTopicsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 28 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 588
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
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
        # topics.topic_id to topics.error_message
        topic_id, error_code, n = unpack_16shB(buf, pos)
        # topics.error_message
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
        # topics.num_partitions to topics.configs
        num_partitions, replication_factor, configs_count = unpack_ihB(buf, pos)
        # topics.configs
        pos += 7
        if configs_count > 127:
            configs_count, pos = read_uvarint(buf, pos - 1)
        configs_count -= 1
        if configs_count < 0:
            configs = None
        else:
            if configs_count * 6 > end - pos:
                raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
            budget -= configs_count * 316
            if budget < 0:
                raise Malformed(f"{configs_count} more would take more than {DECODED_BYTES_MAX} bytes")
            configs = []
            for _ in range(configs_count):
                # topics.configs.name
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
                name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # topics.configs.value
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    value = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # topics.configs.read_only to topics.configs.tags
                read_only, config_source, is_sensitive, n = unpack_B0bB0B(buf, pos)
                # topics.configs.tags
                pos += 4
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # topics.configs
                configs.append(new(CreatableTopicConfigs, (name_2, value, read_only, config_source, is_sensitive)))
        # topics
        topic_config_error_code = 0
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            for _ in range(tag_count):
                tag = buf[pos]
                pos += 1
                if tag > 127:
                    tag, pos = read_uvarint(buf, pos - 1)
                tag_size = buf[pos]
                pos += 1
                if tag_size > 127:
                    tag_size, pos = read_uvarint(buf, pos - 1)
                tag_stop = pos + tag_size
                if tag_stop > end:
                    raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
                if tag == 0:
                    # topics.tags.topic_config_error_code
                    (topic_config_error_code,) = unpack_h(buf, pos)
                    pos += 2
                    if pos != tag_stop:
                        raise Malformed("content and its size disagree")
                # topics.tags
                pos = tag_stop
        # topics
        topics.append(
            new(
                CreatableTopicResult,
                (
                    name,
                    topic_id,
                    error_code,
                    error_message,
                    topic_config_error_code,
                    num_partitions,
                    replication_factor,
                    configs,
                ),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(CreateTopicsResponse, (throttle_time_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], CreateTopicsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
    5: decode_v5,
    6: decode_v5,
    7: decode_v7,
}
PLACES: Final = """\
33 64 68 110 114 157 161 317 321 477 the message
37 61 72 108 120 155 167 269 296 327 429 456 topics
49 84 131 181 341 topics.name
59 topics.error_code to topics
94 141 196 topics.error_code to topics.error_message
96 143 198 358 topics.error_message
118 165 325 throttle_time_ms to topics
213 373 topics.num_partitions to topics.configs
215 267 375 427 topics.configs
230 390 topics.configs.name
245 405 topics.configs.value
261 421 topics.configs.read_only to topics.configs.tags
263 423 topics.configs.tags
271 294 431 454 topics.tags
289 449 topics.tags.topic_config_error_code
312 472 tags
356 topics.topic_id to topics.error_message
"""
