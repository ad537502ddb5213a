"""Decoders of SyncGroupResponse, v0 to v5.

Made by `make codec` from protocol/schema/14_sync_group.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.sync_group_response import SyncGroupResponse
from headrace.protocol.varint import read_uvarint

unpack_hi = Struct(">hi").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihi = Struct(">ihi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> SyncGroupResponse:
    pos = 0
    end = len(buf)
    # error_code to assignment
    error_code, n = unpack_hi(buf, pos)
    # assignment
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    assignment = bytes(buf[pos:stop])
    pos = stop
    # the message
    return new(SyncGroupResponse, (0, error_code, None, None, assignment))


def decode_v1(buf: memoryview) -> SyncGroupResponse:
    pos = 0
    end = len(buf)
    # throttle_time_ms to assignment
    throttle_time_ms, error_code, n = unpack_ihi(buf, pos)
    # assignment
    pos += 10
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    assignment = bytes(buf[pos:stop])
    pos = stop
    # the message
    return new(SyncGroupResponse, (throttle_time_ms, error_code, None, None, assignment))


def decode_v4(buf: memoryview) -> SyncGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to assignment
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # assignment
    pos += 7
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    assignment = bytes(buf[pos:stop])
    pos = stop
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(SyncGroupResponse, (throttle_time_ms, error_code, None, None, assignment))


def decode_v5(buf: memoryview) -> SyncGroupResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to protocol_type
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # protocol_type
    pos += 7
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol_type = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # protocol_name
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        protocol_name = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        protocol_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # assignment
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    assignment = bytes(buf[pos:stop])
    pos = stop
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(SyncGroupResponse, (throttle_time_ms, error_code, protocol_type, protocol_name, assignment))


DECODERS: Final[dict[int, Callable[[memoryview], SyncGroupResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v4,
    5: decode_v5,
}
PLACES: Final = """\
22 36 40 54 58 81 85 140 the message
25 error_code to assignment
27 45 64 122 assignment
43 62 throttle_time_ms to assignment
76 135 tags
89 throttle_time_ms to protocol_type
91 protocol_type
106 protocol_name
"""
