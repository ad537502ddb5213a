"""Decoders of DescribeClusterResponse, v0 to v1.

Made by `make codec` from protocol/schema/60_describe_cluster.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeClusterResponse:
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
    # cluster_id
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
    cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # controller_id to brokers
    controller_id, brokers_count = unpack_iB(buf, pos)
    # brokers
    pos += 5
    if brokers_count > 127:
        brokers_count, pos = read_uvarint(buf, pos - 1)
    brokers_count -= 1
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 11 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.broker_id to brokers.host
        broker_id, n = unpack_iB(buf, pos)
        # brokers.host
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
        # brokers.port to brokers.rack
        port, n = unpack_iB(buf, pos)
        # brokers.rack
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # brokers
        brokers.append(new(DescribeClusterBroker, (broker_id, host, port, rack)))
    # cluster_authorized_operations to tags
    cluster_authorized_operations, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        DescribeClusterResponse,
        (
            throttle_time_ms,
            error_code,
            error_message,
            1,
            cluster_id,
            controller_id,
            brokers,
            cluster_authorized_operations,
        ),
    )


def decode_v1(buf: memoryview) -> DescribeClusterResponse:
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
    # endpoint_type to cluster_id
    endpoint_type, n = unpack_bB(buf, pos)
    # cluster_id
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
    cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # controller_id to brokers
    controller_id, brokers_count = unpack_iB(buf, pos)
    # brokers
    pos += 5
    if brokers_count > 127:
        brokers_count, pos = read_uvarint(buf, pos - 1)
    brokers_count -= 1
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 11 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.broker_id to brokers.host
        broker_id, n = unpack_iB(buf, pos)
        # brokers.host
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
        # brokers.port to brokers.rack
        port, n = unpack_iB(buf, pos)
        # brokers.rack
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # brokers
        brokers.append(new(DescribeClusterBroker, (broker_id, host, port, rack)))
    # cluster_authorized_operations to tags
    cluster_authorized_operations, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        DescribeClusterResponse,
        (
            throttle_time_ms,
            error_code,
            error_message,
            endpoint_type,
            cluster_id,
            controller_id,
            brokers,
            cluster_authorized_operations,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], DescribeClusterResponse]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
22 120 136 235 the message
26 140 throttle_time_ms to error_message
28 142 error_message
43 159 cluster_id
58 173 controller_id to brokers
60 112 175 227 brokers
74 189 brokers.broker_id to brokers.host
76 191 brokers.host
90 205 brokers.port to brokers.rack
92 207 brokers.rack
107 222 brokers.tags
114 229 cluster_authorized_operations to tags
116 231 tags
157 endpoint_type to cluster_id
"""
