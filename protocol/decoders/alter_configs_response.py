"""Decoders of AlterConfigsResponse, v0 to v2.

Made by `make codec` from protocol/schema/33_alter_configs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterConfigsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, responses_count = unpack_ii(buf, pos)
    # responses
    pos += 8
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 7 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 340
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.error_code to responses.error_message
        error_code, n = unpack_hh(buf, pos)
        # responses.error_message
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
        # responses.resource_type to responses.resource_name
        resource_type, n = unpack_bh(buf, pos)
        # responses.resource_name
        pos += 3
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses
        responses.append(new(AlterConfigsResourceResponse, (error_code, error_message, resource_type, resource_name)))
    # the message
    return new(AlterConfigsResponse, (throttle_time_ms, responses))


def decode_v2(buf: memoryview) -> AlterConfigsResponse:
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
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 340
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
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
        # responses.resource_type to responses.resource_name
        resource_type, n = unpack_bB(buf, pos)
        # responses.resource_name
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
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(AlterConfigsResourceResponse, (error_code, error_message, resource_type, resource_name)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterConfigsResponse, (throttle_time_ms, responses))


DECODERS: Final[dict[int, Callable[[memoryview], AlterConfigsResponse]]] = {0: decode_v0, 1: decode_v0, 2: decode_v2}
PLACES: Final = """\
25 69 73 138 the message
29 77 throttle_time_ms to responses
31 67 79 131 responses
42 93 responses.error_code to responses.error_message
44 95 responses.error_message
56 110 responses.resource_type to responses.resource_name
58 112 responses.resource_name
126 responses.tags
133 tags
"""
