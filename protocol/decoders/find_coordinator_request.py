"""Decoders of FindCoordinatorRequest, v0 to v6.

Made by `make codec` from protocol/schema/10_find_coordinator.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from headrace.protocol.varint import read_uvarint

unpack_b = Struct(">b").unpack_from
unpack_bB = Struct(">bB").unpack_from
unpack_h = Struct(">h").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> FindCoordinatorRequest:
    pos = 0
    end = len(buf)
    # key
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    key = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    return new(FindCoordinatorRequest, (key, 0, ()))


def decode_v1(buf: memoryview) -> FindCoordinatorRequest:
    pos = 0
    end = len(buf)
    # key
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    key = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # key_type to the end
    (key_type,) = unpack_b(buf, pos)
    # the message
    pos += 1
    return new(FindCoordinatorRequest, (key, key_type, ()))


def decode_v3(buf: memoryview) -> FindCoordinatorRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # key
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
    key = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # key_type to tags
    key_type, n = unpack_bB(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(FindCoordinatorRequest, (key, key_type, ()))


def decode_v4(buf: memoryview) -> FindCoordinatorRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # key_type to coordinator_keys
    key_type, coordinator_keys_count = unpack_bB(buf, pos)
    # coordinator_keys
    pos += 2
    if coordinator_keys_count > 127:
        coordinator_keys_count, pos = read_uvarint(buf, pos - 1)
    coordinator_keys_count -= 1
    if coordinator_keys_count < 0:
        raise Malformed(f"invalid length {coordinator_keys_count}")
    if coordinator_keys_count * 1 > end - pos:
        raise Malformed(f"{coordinator_keys_count} elements announced, {end - pos} bytes remain")
    budget -= coordinator_keys_count * 100
    if budget < 0:
        raise Malformed(f"{coordinator_keys_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    coordinator_keys = []
    for _ in range(coordinator_keys_count):
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
        coordinator_keys.append(one)
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(FindCoordinatorRequest, ("", key_type, coordinator_keys))


DECODERS: Final[dict[int, Callable[[memoryview], FindCoordinatorRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
    5: decode_v4,
    6: decode_v4,
}
PLACES: Final = """\
22 35 39 54 59 84 88 128 the message
25 42 63 key
52 key_type to the end
78 key_type to tags
80 123 tags
92 key_type to coordinator_keys
94 coordinator_keys
"""
