"""Decoders of DeleteGroupsRequest, v0 to v2.

Made by `make codec` from protocol/schema/42_delete_groups.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.delete_groups_request import DeleteGroupsRequest
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DeleteGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups_names
    (groups_names_count,) = unpack_i(buf, pos)
    pos += 4
    if groups_names_count < 0:
        raise Malformed(f"invalid length {groups_names_count}")
    if groups_names_count * 2 > end - pos:
        raise Malformed(f"{groups_names_count} elements announced, {end - pos} bytes remain")
    budget -= groups_names_count * 100
    if budget < 0:
        raise Malformed(f"{groups_names_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups_names = []
    for _ in range(groups_names_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        groups_names.append(one)
    # the message
    return new(DeleteGroupsRequest, (groups_names,))


def decode_v2(buf: memoryview) -> DeleteGroupsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # groups_names
    groups_names_count = buf[pos]
    pos += 1
    if groups_names_count > 127:
        groups_names_count, pos = read_uvarint(buf, pos - 1)
    groups_names_count -= 1
    if groups_names_count < 0:
        raise Malformed(f"invalid length {groups_names_count}")
    if groups_names_count * 1 > end - pos:
        raise Malformed(f"{groups_names_count} elements announced, {end - pos} bytes remain")
    budget -= groups_names_count * 100
    if budget < 0:
        raise Malformed(f"{groups_names_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    groups_names = []
    for _ in range(groups_names_count):
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
        groups_names.append(one)
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DeleteGroupsRequest, (groups_names,))


DECODERS: Final[dict[int, Callable[[memoryview], DeleteGroupsRequest]]] = {0: decode_v0, 1: decode_v0, 2: decode_v2}
PLACES: Final = """\
21 47 51 90 the message
25 55 groups_names
85 tags
"""
