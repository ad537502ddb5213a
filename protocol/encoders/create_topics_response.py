"""Encoders of CreateTopicsResponse, v0 to v7.

Made by `make codec` from protocol/schema/19_create_topics.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16sh = Struct(">16sh").pack
pack_B0bB0x = Struct(">?b?x").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topics = msg
    # topics
    put(pack_i(len(topics)))
    for name, _, error_code, _, _, _, _, _ in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.error_code to topics
        put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topics = msg
    # topics
    put(pack_i(len(topics)))
    for name, _, error_code, error_message, _, _, _, _ in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.error_code to topics.error_message
        put(pack_h(error_code))
        # topics.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics = msg
    # throttle_time_ms to topics
    put(pack_ii(throttle_time_ms, len(topics)))
    # topics
    for name, _, error_code, error_message, _, _, _, _ in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.error_code to topics.error_message
        put(pack_h(error_code))
        # topics.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_iB(throttle_time_ms, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_i(throttle_time_ms))
        # topics
        put(encode_uvarint(n))
    for (
        name,
        _,
        error_code,
        error_message,
        topic_config_error_code,
        num_partitions,
        replication_factor,
        configs,
    ) in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.error_code to topics.error_message
        put(pack_h(error_code))
        # topics.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # topics.num_partitions to topics.configs
        put(pack_ih(num_partitions, replication_factor))
        # topics.configs
        if configs is None:
            put(b"\x00")
        else:
            n = len(configs) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for name_2, value, read_only, config_source, is_sensitive in configs:
                # topics.configs.name
                text = name_2.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # topics.configs.value
                if value is None:
                    put(b"\x00")
                else:
                    text = value.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # topics.configs.read_only to topics.configs
                put(pack_B0bB0x(read_only, config_source, is_sensitive))
        # topics
        if topic_config_error_code == 0:
            put(b"\0")
        else:
            tags = []
            outer = out
            # topics.topic_config_error_code
            if topic_config_error_code != 0:
                out = []
                put = out.append
                put(pack_h(topic_config_error_code))
                tags.append((0, join(out)))
            # topics
            out = outer
            put = out.append
            n = len(tags)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for tag, text in tags:
                put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
                n = len(text)
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_iB(throttle_time_ms, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_i(throttle_time_ms))
        # topics
        put(encode_uvarint(n))
    for (
        name,
        topic_id,
        error_code,
        error_message,
        topic_config_error_code,
        num_partitions,
        replication_factor,
        configs,
    ) in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.topic_id to topics.error_message
        put(pack_16sh(topic_id, error_code))
        # topics.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # topics.num_partitions to topics.configs
        put(pack_ih(num_partitions, replication_factor))
        # topics.configs
        if configs is None:
            put(b"\x00")
        else:
            n = len(configs) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for name_2, value, read_only, config_source, is_sensitive in configs:
                # topics.configs.name
                text = name_2.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # topics.configs.value
                if value is None:
                    put(b"\x00")
                else:
                    text = value.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # topics.configs.read_only to topics.configs
                put(pack_B0bB0x(read_only, config_source, is_sensitive))
        # topics
        if topic_config_error_code == 0:
            put(b"\0")
        else:
            tags = []
            outer = out
            # topics.topic_config_error_code
            if topic_config_error_code != 0:
                out = []
                put = out.append
                put(pack_h(topic_config_error_code))
                tags.append((0, join(out)))
            # topics
            out = outer
            put = out.append
            n = len(tags)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for tag, text in tags:
                put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
                n = len(text)
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
    5: encode_v5,
    6: encode_v5,
    7: encode_v7,
}
PLACES: Final = """\
23 37 43 64 70 92 98 185 192 279 the message
28 48 77 103 108 112 163 175 197 202 206 257 269 topics
31 51 79 124 218 topics.name
35 topics.error_code to topics
55 83 129 topics.error_code to topics.error_message
57 85 131 225 topics.error_message
75 106 110 200 204 throttle_time_ms to topics
139 233 topics.num_partitions to topics.configs
141 235 topics.configs
148 242 topics.configs.name
153 247 topics.configs.value
161 255 topics.configs.read_only to topics.configs
169 263 topics.topic_config_error_code
223 topics.topic_id to topics.error_message
"""
