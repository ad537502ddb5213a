"""Decoders of ConsumerProtocolAssignment, v0 to v3.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerProtocolAssignment:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # assigned_partitions
    (assigned_partitions_count,) = unpack_i(buf, pos)
    pos += 4
    if assigned_partitions_count < 0:
        raise Malformed(f"invalid length {assigned_partitions_count}")
    if assigned_partitions_count * 6 > end - pos:
        raise Malformed(f"{assigned_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= assigned_partitions_count * 268
    if budget < 0:
        raise Malformed(f"{assigned_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    assigned_partitions = []
    for _ in range(assigned_partitions_count):
        # assigned_partitions.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # assigned_partitions.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
        # assigned_partitions
        assigned_partitions.append(new(TopicPartition, (topic, partitions)))
    # user_data
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        user_data = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        user_data = bytes(buf[pos:stop])
        pos = stop
    # the message
    return new(ConsumerProtocolAssignment, (assigned_partitions, user_data))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerProtocolAssignment]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v0,
}
PLACES: Final = """\
20 73 the message
24 58 assigned_partitions
36 assigned_partitions.topic
46 assigned_partitions.partitions
60 user_data
"""
