"""Decoders of UpdateFeaturesResponse, v0 to v1.

Made by `make codec` from protocol/schema/57_update_features.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse
from headrace.protocol.varint import read_uvarint

unpack_hB = Struct(">hB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> UpdateFeaturesResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # error_message
    pos += 7
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
    # results
    results_count = buf[pos]
    pos += 1
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
        # results.feature
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
        feature = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.error_code to results.error_message
        error_code_2, n = unpack_hB(buf, pos)
        # results.error_message
        pos += 3
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            error_message_2 = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(UpdatableFeatureResult, (feature, error_code_2, error_message_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(UpdateFeaturesResponse, (throttle_time_ms, error_code, error_message, results))


DECODERS: Final[dict[int, Callable[[memoryview], UpdateFeaturesResponse]]] = {0: decode_v0, 1: decode_v0}
PLACES: Final = """\
21 101 the message
25 throttle_time_ms to error_message
27 error_message
42 94 results
57 results.feature
72 results.error_code to results.error_message
74 results.error_message
89 results.tags
96 tags
"""
