"""Decoders of DeleteGroupsResponse, v0 to v2.

Made by `make codec` from protocol/schema/42_delete_groups.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DeleteGroupsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 4 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 212
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.group_id
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.error_code to results
        (error_code,) = unpack_h(buf, pos)
        # results
        pos += 2
        results.append(new(DeletableGroupResult, (group_id, error_code)))
    # the message
    return new(DeleteGroupsResponse, (throttle_time_ms, results))


def decode_v2(buf: memoryview) -> DeleteGroupsResponse:
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
    if results_count * 4 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 212
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.group_id
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
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.error_code to results.tags
        error_code, n = unpack_hB(buf, pos)
        # results.tags
        pos += 3
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(DeletableGroupResult, (group_id, error_code)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DeleteGroupsResponse, (throttle_time_ms, results))


DECODERS: Final[dict[int, Callable[[memoryview], DeleteGroupsResponse]]] = {0: decode_v0, 1: decode_v0, 2: decode_v2}
PLACES: Final = """\
23 55 59 107 the message
27 63 throttle_time_ms to results
29 52 65 100 results
40 79 results.group_id
50 results.error_code to results
94 results.error_code to results.tags
96 results.tags
102 tags
"""
