"""Decoders of ConsumerGroupDescribeRequest, v0.

Made by `make codec` from protocol/schema/69_consumer_group_describe.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from headrace.protocol.varint import read_uvarint

unpack_B0B = Struct(">?B").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupDescribeRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_ids
    group_ids_count = buf[pos]
    pos += 1
    if group_ids_count > 127:
        group_ids_count, pos = read_uvarint(buf, pos - 1)
    group_ids_count -= 1
    if group_ids_count < 0:
        raise Malformed(f"invalid length {group_ids_count}")
    if group_ids_count * 1 > end - pos:
        raise Malformed(f"{group_ids_count} elements announced, {end - pos} bytes remain")
    budget -= group_ids_count * 100
    if budget < 0:
        raise Malformed(f"{group_ids_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    group_ids = []
    for _ in range(group_ids_count):
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
        group_ids.append(one)
    # include_authorized_operations to tags
    include_authorized_operations, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ConsumerGroupDescribeRequest, (group_ids, include_authorized_operations))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupDescribeRequest]]] = {0: decode_v0}
PLACES: Final = """\
20 60 the message
24 group_ids
54 include_authorized_operations to tags
56 tags
"""
