"""Decoders of FindCoordinatorResponse, v0 to v6.

Made by `make codec` from protocol/schema/10_find_coordinator.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from headrace.protocol.varint import read_uvarint

unpack_hih = Struct(">hih").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihh = Struct(">ihh").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> FindCoordinatorResponse:
    pos = 0
    end = len(buf)
    # error_code to host
    error_code, node_id, n = unpack_hih(buf, pos)
    # host
    pos += 8
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    host = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # port to the end
    (port,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(FindCoordinatorResponse, (0, error_code, "", node_id, host, port, ()))


def decode_v1(buf: memoryview) -> FindCoordinatorResponse:
    pos = 0
    end = len(buf)
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihh(buf, pos)
    # error_message
    pos += 8
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
    # node_id to host
    node_id, n = unpack_ih(buf, pos)
    # host
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    host = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # port to the end
    (port,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(FindCoordinatorResponse, (throttle_time_ms, error_code, error_message, node_id, host, port, ()))


def decode_v3(buf: memoryview) -> FindCoordinatorResponse:
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
    # node_id to host
    node_id, n = unpack_iB(buf, pos)
    # host
    pos += 5
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
    host = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # port to tags
    port, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(FindCoordinatorResponse, (throttle_time_ms, error_code, error_message, node_id, host, port, ()))


def decode_v4(buf: memoryview) -> FindCoordinatorResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to coordinators
    throttle_time_ms, coordinators_count = unpack_iB(buf, pos)
    # coordinators
    pos += 5
    if coordinators_count > 127:
        coordinators_count, pos = read_uvarint(buf, pos - 1)
    coordinators_count -= 1
    if coordinators_count < 0:
        raise Malformed(f"invalid length {coordinators_count}")
    if coordinators_count * 14 > end - pos:
        raise Malformed(f"{coordinators_count} elements announced, {end - pos} bytes remain")
    budget -= coordinators_count * 468
    if budget < 0:
        raise Malformed(f"{coordinators_count} more would take more than {DECODED_BYTES_MAX} bytes")
    coordinators = []
    for _ in range(coordinators_count):
        # coordinators.key
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
        # coordinators.node_id to coordinators.host
        node_id, n = unpack_iB(buf, pos)
        # coordinators.host
        pos += 5
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
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # coordinators.port to coordinators.error_message
        port, error_code, n = unpack_ihB(buf, pos)
        # coordinators.error_message
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
        # coordinators.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # coordinators
        coordinators.append(new(Coordinator, (key, node_id, host, port, error_code, error_message)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(FindCoordinatorResponse, (throttle_time_ms, 0, "", 0, "", 0, coordinators))


DECODERS: Final[dict[int, Callable[[memoryview], FindCoordinatorResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v4,
    5: decode_v4,
    6: decode_v4,
}
PLACES: Final = """\
25 41 46 76 81 124 128 208 the message
28 error_code to host
30 65 104 host
39 74 port to the end
49 85 throttle_time_ms to error_message
51 87 error_message
63 102 node_id to host
118 port to tags
120 203 tags
132 throttle_time_ms to coordinators
134 201 coordinators
148 coordinators.key
163 coordinators.node_id to coordinators.host
165 coordinators.host
179 coordinators.port to coordinators.error_message
181 coordinators.error_message
196 coordinators.tags
"""
