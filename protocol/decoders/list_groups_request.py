"""Decoders of ListGroupsRequest, v0 to v5.

Made by `make codec` from protocol/schema/16_list_groups.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_groups_request import ListGroupsRequest
from headrace.protocol.varint import read_uvarint

new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListGroupsRequest:
    return new(ListGroupsRequest, ((), ()))


def decode_v3(buf: memoryview) -> ListGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ListGroupsRequest, ((), ()))


def decode_v4(buf: memoryview) -> ListGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # states_filter
    states_filter_count = buf[pos]
    pos += 1
    if states_filter_count > 127:
        states_filter_count, pos = read_uvarint(buf, pos - 1)
    states_filter_count -= 1
    if states_filter_count < 0:
        raise Malformed(f"invalid length {states_filter_count}")
    if states_filter_count * 1 > end - pos:
        raise Malformed(f"{states_filter_count} elements announced, {end - pos} bytes remain")
    budget -= states_filter_count * 100
    if budget < 0:
        raise Malformed(f"{states_filter_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    states_filter = []
    for _ in range(states_filter_count):
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
        states_filter.append(one)
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ListGroupsRequest, (states_filter, ()))


def decode_v5(buf: memoryview) -> ListGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # states_filter
    states_filter_count = buf[pos]
    pos += 1
    if states_filter_count > 127:
        states_filter_count, pos = read_uvarint(buf, pos - 1)
    states_filter_count -= 1
    if states_filter_count < 0:
        raise Malformed(f"invalid length {states_filter_count}")
    if states_filter_count * 1 > end - pos:
        raise Malformed(f"{states_filter_count} elements announced, {end - pos} bytes remain")
    budget -= states_filter_count * 100
    if budget < 0:
        raise Malformed(f"{states_filter_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    states_filter = []
    for _ in range(states_filter_count):
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
        states_filter.append(one)
    # types_filter
    types_filter_count = buf[pos]
    pos += 1
    if types_filter_count > 127:
        types_filter_count, pos = read_uvarint(buf, pos - 1)
    types_filter_count -= 1
    if types_filter_count < 0:
        raise Malformed(f"invalid length {types_filter_count}")
    if types_filter_count * 1 > end - pos:
        raise Malformed(f"{types_filter_count} elements announced, {end - pos} bytes remain")
    budget -= types_filter_count * 100
    if budget < 0:
        raise Malformed(f"{types_filter_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    types_filter = []
    for _ in range(types_filter_count):
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
        types_filter.append(one)
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ListGroupsRequest, (states_filter, types_filter))


DECODERS: Final[dict[int, Callable[[memoryview], ListGroupsRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
}
PLACES: Final = """\
18 22 31 35 74 78 147 the message
26 69 142 tags
39 82 states_filter
112 types_filter
"""
