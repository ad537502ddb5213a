"""Decoders of CreatePartitionsResponse, v0 to v3.

Made by `make codec` from protocol/schema/37_create_partitions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreatePartitionsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 6 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 300
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
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
        # results
        results.append(new(CreatePartitionsTopicResult, (name, error_code, error_message)))
    # the message
    return new(CreatePartitionsResponse, (throttle_time_ms, results))


def decode_v2(buf: memoryview) -> CreatePartitionsResponse:
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
    if results_count * 5 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 300
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.name
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
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(CreatePartitionsTopicResult, (name, error_code, error_message)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(CreatePartitionsResponse, (throttle_time_ms, results))


DECODERS: Final[dict[int, Callable[[memoryview], CreatePartitionsResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
24 67 71 135 the message
28 75 throttle_time_ms to results
30 65 77 128 results
41 91 results.name
51 106 results.error_code to results.error_message
53 108 results.error_message
123 results.tags
130 tags
"""
