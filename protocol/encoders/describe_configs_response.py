"""Encoders of DescribeConfigsResponse, v0 to v4.

Made by `make codec` from protocol/schema/32_describe_configs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0B0B0 = Struct(">???").pack
pack_B0bB0 = Struct(">?b?").pack
pack_B0bB0B = Struct(">?b?B").pack
pack_B0bB0i = Struct(">?b?i").pack
pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_bh = Struct(">bh").pack
pack_bx = Struct(">bx").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for error_code, error_message, resource_type, resource_name, configs in results:
        # results.error_code to results.error_message
        put(pack_h(error_code))
        # results.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # results.resource_name
        text = resource_name.encode()
        # results.resource_type to results.resource_name
        put(pack_bh(resource_type, len(text)))
        # results.resource_name
        put(text)
        # results.configs
        put(pack_i(len(configs)))
        for name, value, read_only, is_default, _, is_sensitive, _, _, _ in configs:
            # results.configs.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # results.configs.value
            if value is None:
                put(b"\xff\xff")
            else:
                text = value.encode()
                put(pack_h(len(text)))
                put(text)
            # results.configs.read_only to results.configs
            put(pack_B0B0B0(read_only, is_default, is_sensitive))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for error_code, error_message, resource_type, resource_name, configs in results:
        # results.error_code to results.error_message
        put(pack_h(error_code))
        # results.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # results.resource_name
        text = resource_name.encode()
        # results.resource_type to results.resource_name
        put(pack_bh(resource_type, len(text)))
        # results.resource_name
        put(text)
        # results.configs
        put(pack_i(len(configs)))
        for name, value, read_only, _, config_source, is_sensitive, synonyms, _, _ in configs:
            # results.configs.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # results.configs.value
            if value is None:
                put(b"\xff\xff")
            else:
                text = value.encode()
                put(pack_h(len(text)))
                put(text)
            # results.configs.read_only to results.configs.synonyms
            put(pack_B0bB0i(read_only, config_source, is_sensitive, len(synonyms)))
            # results.configs.synonyms
            for name_2, value_2, source in synonyms:
                # results.configs.synonyms.name
                text = name_2.encode()
                put(pack_h(len(text)))
                put(text)
                # results.configs.synonyms.value
                if value_2 is None:
                    put(b"\xff\xff")
                else:
                    text = value_2.encode()
                    put(pack_h(len(text)))
                    put(text)
                # results.configs.synonyms.source to results.configs.synonyms
                put(pack_b(source))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for error_code, error_message, resource_type, resource_name, configs in results:
        # results.error_code to results.error_message
        put(pack_h(error_code))
        # results.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # results.resource_name
        text = resource_name.encode()
        # results.resource_type to results.resource_name
        put(pack_bh(resource_type, len(text)))
        # results.resource_name
        put(text)
        # results.configs
        put(pack_i(len(configs)))
        for name, value, read_only, _, config_source, is_sensitive, synonyms, config_type, documentation in configs:
            # results.configs.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # results.configs.value
            if value is None:
                put(b"\xff\xff")
            else:
                text = value.encode()
                put(pack_h(len(text)))
                put(text)
            # results.configs.read_only to results.configs.synonyms
            put(pack_B0bB0i(read_only, config_source, is_sensitive, len(synonyms)))
            # results.configs.synonyms
            for name_2, value_2, source in synonyms:
                # results.configs.synonyms.name
                text = name_2.encode()
                put(pack_h(len(text)))
                put(text)
                # results.configs.synonyms.value
                if value_2 is None:
                    put(b"\xff\xff")
                else:
                    text = value_2.encode()
                    put(pack_h(len(text)))
                    put(text)
                # results.configs.synonyms.source to results.configs.synonyms
                put(pack_b(source))
            # results.configs.config_type to results.configs.documentation
            put(pack_b(config_type))
            # results.configs.documentation
            if documentation is None:
                put(b"\xff\xff")
            else:
                text = documentation.encode()
                put(pack_h(len(text)))
                put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # results
    n = len(results) + 1
    if n < 128:
        # throttle_time_ms to results
        put(pack_iB(throttle_time_ms, n))
    # results
    else:
        # throttle_time_ms to results
        put(pack_i(throttle_time_ms))
        # results
        put(encode_uvarint(n))
    for error_code, error_message, resource_type, resource_name, configs in results:
        # results.error_code to results.error_message
        put(pack_h(error_code))
        # results.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # results.resource_name
        text = resource_name.encode()
        n = len(text) + 1
        if n < 128:
            # results.resource_type to results.resource_name
            put(pack_bB(resource_type, n))
        # results.resource_name
        else:
            # results.resource_type to results.resource_name
            put(pack_b(resource_type))
            # results.resource_name
            put(encode_string_length(n))
        put(text)
        # results.configs
        n = len(configs) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, value, read_only, _, config_source, is_sensitive, synonyms, config_type, documentation in configs:
            # results.configs.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # results.configs.value
            if value is None:
                put(b"\x00")
            else:
                text = value.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # results.configs.synonyms
            n = len(synonyms) + 1
            if n < 128:
                # results.configs.read_only to results.configs.synonyms
                put(pack_B0bB0B(read_only, config_source, is_sensitive, n))
            # results.configs.synonyms
            else:
                # results.configs.read_only to results.configs.synonyms
                put(pack_B0bB0(read_only, config_source, is_sensitive))
                # results.configs.synonyms
                put(encode_uvarint(n))
            for name_2, value_2, source in synonyms:
                # results.configs.synonyms.name
                text = name_2.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # results.configs.synonyms.value
                if value_2 is None:
                    put(b"\x00")
                else:
                    text = value_2.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # results.configs.synonyms.source to results.configs.synonyms
                put(pack_bx(source))
            # results.configs.config_type to results.configs.documentation
            put(pack_b(config_type))
            # results.configs.documentation
            if documentation is None:
                put(b"\x00")
            else:
                text = documentation.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # results.configs
            put(b"\x00")
        # results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
28 68 74 129 135 199 205 303 the message
33 79 140 213 217 throttle_time_ms to results
35 81 142 210 215 219 301 results
37 83 144 222 results.error_code to results.error_message
39 85 146 224 results.error_message
46 50 92 96 153 157 232 238 242 results.resource_name
48 94 155 236 240 results.resource_type to results.resource_name
52 98 159 245 299 results.configs
55 101 162 249 results.configs.name
59 105 166 254 results.configs.value
66 results.configs.read_only to results.configs
112 173 265 269 results.configs.read_only to results.configs.synonyms
114 175 262 267 271 results.configs.synonyms
116 177 274 results.configs.synonyms.name
120 181 279 results.configs.synonyms.value
127 188 287 results.configs.synonyms.source to results.configs.synonyms
190 289 results.configs.config_type to results.configs.documentation
192 291 results.configs.documentation
"""
