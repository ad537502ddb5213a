"""Decoders of DescribeConfigsResponse, v0 to v4.

Made by `make codec` from protocol/schema/32_describe_configs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from headrace.protocol.varint import read_uvarint

unpack_B0B0B0 = Struct(">???").unpack_from
unpack_B0bB0B = Struct(">?b?B").unpack_from
unpack_B0bB0i = Struct(">?b?i").unpack_from
unpack_b = Struct(">b").unpack_from
unpack_bB = Struct(">bB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeConfigsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 11 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 436
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.error_message
        error_code, n = unpack_hh(buf, pos)
        # results.error_message
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
        # results.resource_type to results.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # results.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.configs
        (configs_count,) = unpack_i(buf, pos)
        pos += 4
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 7 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 316
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # results.configs.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # results.configs.value
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # results.configs.read_only to results.configs
            read_only, is_default, is_sensitive = unpack_B0B0B0(buf, pos)
            # results.configs
            pos += 3
            configs.append(
                new(DescribeConfigsResourceResult, (name, value, read_only, is_default, -1, is_sensitive, (), 0, ""))
            )
        # results
        results.append(new(DescribeConfigsResult, (error_code, error_message, resource_type, resource_name, configs)))
    # the message
    return new(DescribeConfigsResponse, (throttle_time_ms, results))


def decode_v1(buf: memoryview) -> DescribeConfigsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 11 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 436
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.error_message
        error_code, n = unpack_hh(buf, pos)
        # results.error_message
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
        # results.resource_type to results.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # results.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.configs
        (configs_count,) = unpack_i(buf, pos)
        pos += 4
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 11 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 436
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # results.configs.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # results.configs.value
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # results.configs.read_only to results.configs.synonyms
            read_only, config_source, is_sensitive, synonyms_count = unpack_B0bB0i(buf, pos)
            # results.configs.synonyms
            pos += 7
            if synonyms_count < 0:
                raise Malformed(f"invalid length {synonyms_count}")
            if synonyms_count * 5 > end - pos:
                raise Malformed(f"{synonyms_count} elements announced, {end - pos} bytes remain")
            budget -= synonyms_count * 300
            if budget < 0:
                raise Malformed(f"{synonyms_count} more would take more than {DECODED_BYTES_MAX} bytes")
            synonyms = []
            for _ in range(synonyms_count):
                # results.configs.synonyms.name
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # results.configs.synonyms.value
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < -1:
                    raise Malformed(f"length {n}")
                if n < 0:
                    value_2 = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    value_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # results.configs.synonyms.source to results.configs.synonyms
                (source,) = unpack_b(buf, pos)
                # results.configs.synonyms
                pos += 1
                synonyms.append(new(DescribeConfigsSynonym, (name_2, value_2, source)))
            # results.configs
            configs.append(
                new(
                    DescribeConfigsResourceResult,
                    (name, value, read_only, False, config_source, is_sensitive, synonyms, 0, ""),
                )
            )
        # results
        results.append(new(DescribeConfigsResult, (error_code, error_message, resource_type, resource_name, configs)))
    # the message
    return new(DescribeConfigsResponse, (throttle_time_ms, results))


def decode_v3(buf: memoryview) -> DescribeConfigsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 11 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 436
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.error_message
        error_code, n = unpack_hh(buf, pos)
        # results.error_message
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
        # results.resource_type to results.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # results.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.configs
        (configs_count,) = unpack_i(buf, pos)
        pos += 4
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 14 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 548
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # results.configs.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # results.configs.value
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # results.configs.read_only to results.configs.synonyms
            read_only, config_source, is_sensitive, synonyms_count = unpack_B0bB0i(buf, pos)
            # results.configs.synonyms
            pos += 7
            if synonyms_count < 0:
                raise Malformed(f"invalid length {synonyms_count}")
            if synonyms_count * 5 > end - pos:
                raise Malformed(f"{synonyms_count} elements announced, {end - pos} bytes remain")
            budget -= synonyms_count * 300
            if budget < 0:
                raise Malformed(f"{synonyms_count} more would take more than {DECODED_BYTES_MAX} bytes")
            synonyms = []
            for _ in range(synonyms_count):
                # results.configs.synonyms.name
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # results.configs.synonyms.value
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < -1:
                    raise Malformed(f"length {n}")
                if n < 0:
                    value_2 = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    value_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # results.configs.synonyms.source to results.configs.synonyms
                (source,) = unpack_b(buf, pos)
                # results.configs.synonyms
                pos += 1
                synonyms.append(new(DescribeConfigsSynonym, (name_2, value_2, source)))
            # results.configs.config_type to results.configs.documentation
            config_type, n = unpack_bh(buf, pos)
            # results.configs.documentation
            pos += 3
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                documentation = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                documentation = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # results.configs
            configs.append(
                new(
                    DescribeConfigsResourceResult,
                    (name, value, read_only, False, config_source, is_sensitive, synonyms, config_type, documentation),
                )
            )
        # results
        results.append(new(DescribeConfigsResult, (error_code, error_message, resource_type, resource_name, configs)))
    # the message
    return new(DescribeConfigsResponse, (throttle_time_ms, results))


def decode_v4(buf: memoryview) -> DescribeConfigsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_iB(buf, pos)
    # results
    pos += 5
    if results_count > 127:
        results_count, pos = read_uvarint(buf, pos - 1)
    results_count -= 1
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 7 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 436
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.error_message
        error_code, n = unpack_hB(buf, pos)
        # results.error_message
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
        # results.resource_type to results.resource_name
        resource_type, n = unpack_bB(buf, pos)
        # results.resource_name
        pos += 2
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
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.configs
        configs_count = buf[pos]
        pos += 1
        if configs_count > 127:
            configs_count, pos = read_uvarint(buf, pos - 1)
        configs_count -= 1
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 9 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 548
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # results.configs.name
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
            # results.configs.value
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
            # results.configs.read_only to results.configs.synonyms
            read_only, config_source, is_sensitive, synonyms_count = unpack_B0bB0B(buf, pos)
            # results.configs.synonyms
            pos += 4
            if synonyms_count > 127:
                synonyms_count, pos = read_uvarint(buf, pos - 1)
            synonyms_count -= 1
            if synonyms_count < 0:
                raise Malformed(f"invalid length {synonyms_count}")
            if synonyms_count * 4 > end - pos:
                raise Malformed(f"{synonyms_count} elements announced, {end - pos} bytes remain")
            budget -= synonyms_count * 300
            if budget < 0:
                raise Malformed(f"{synonyms_count} more would take more than {DECODED_BYTES_MAX} bytes")
            synonyms = []
            for _ in range(synonyms_count):
                # results.configs.synonyms.name
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
                # results.configs.synonyms.value
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    value_2 = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    value_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # results.configs.synonyms.source to results.configs.synonyms.tags
                source, n = unpack_bB(buf, pos)
                # results.configs.synonyms.tags
                pos += 2
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # results.configs.synonyms
                synonyms.append(new(DescribeConfigsSynonym, (name_2, value_2, source)))
            # results.configs.config_type to results.configs.documentation
            config_type, n = unpack_bB(buf, pos)
            # results.configs.documentation
            pos += 2
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                documentation = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                documentation = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # results.configs.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results.configs
            configs.append(
                new(
                    DescribeConfigsResourceResult,
                    (name, value, read_only, False, config_source, is_sensitive, synonyms, config_type, documentation),
                )
            )
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(DescribeConfigsResult, (error_code, error_message, resource_type, resource_name, configs)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeConfigsResponse, (throttle_time_ms, results))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeConfigsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
}
PLACES: Final = """\
36 122 126 253 257 398 402 597 the message
40 130 261 406 throttle_time_ms to results
42 120 132 251 263 396 408 590 results
53 143 274 422 results.error_code to results.error_message
55 145 276 424 results.error_message
67 157 288 439 results.resource_type to results.resource_name
69 159 290 441 results.resource_name
78 115 168 244 299 389 455 578 results.configs
90 180 311 470 results.configs.name
100 190 321 485 results.configs.value
113 results.configs.read_only to results.configs
203 334 501 results.configs.read_only to results.configs.synonyms
205 241 336 372 503 554 results.configs.synonyms
216 347 517 results.configs.synonyms.name
226 357 532 results.configs.synonyms.value
239 370 results.configs.synonyms.source to results.configs.synonyms
375 556 results.configs.config_type to results.configs.documentation
377 558 results.configs.documentation
548 results.configs.synonyms.source to results.configs.synonyms.tags
550 results.configs.synonyms.tags
573 results.configs.tags
585 results.tags
592 tags
"""
