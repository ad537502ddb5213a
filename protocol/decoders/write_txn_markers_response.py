"""Decoders of WriteTxnMarkersResponse, v0 to v1.

Made by `make codec` from protocol/schema/27_write_txn_markers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_qB = Struct(">qB").unpack_from
unpack_qi = Struct(">qi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> WriteTxnMarkersResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # markers
    (markers_count,) = unpack_i(buf, pos)
    pos += 4
    if markers_count < 0:
        raise Malformed(f"invalid length {markers_count}")
    if markers_count * 12 > end - pos:
        raise Malformed(f"{markers_count} elements announced, {end - pos} bytes remain")
    budget -= markers_count * 236
    if budget < 0:
        raise Malformed(f"{markers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    markers = []
    for _ in range(markers_count):
        # markers.producer_id to markers.topics
        producer_id, topics_count = unpack_qi(buf, pos)
        # markers.topics
        pos += 12
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 6 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # markers.topics.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # markers.topics.partitions
            (partitions_count,) = unpack_i(buf, pos)
            pos += 4
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 6 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 164
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # markers.topics.partitions.partition_index to markers.topics.partitions
                partition_index, error_code = unpack_ih(buf, pos)
                # markers.topics.partitions
                pos += 6
                partitions.append(new(WritableTxnMarkerPartitionResult, (partition_index, error_code)))
            # markers.topics
            topics.append(new(WritableTxnMarkerTopicResult, (name, partitions)))
        # markers
        markers.append(new(WritableTxnMarkerResult, (producer_id, topics)))
    # the message
    return new(WriteTxnMarkersResponse, (markers,))


def decode_v1(buf: memoryview) -> WriteTxnMarkersResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # markers
    markers_count = buf[pos]
    pos += 1
    if markers_count > 127:
        markers_count, pos = read_uvarint(buf, pos - 1)
    markers_count -= 1
    if markers_count < 0:
        raise Malformed(f"invalid length {markers_count}")
    if markers_count * 10 > end - pos:
        raise Malformed(f"{markers_count} elements announced, {end - pos} bytes remain")
    budget -= markers_count * 236
    if budget < 0:
        raise Malformed(f"{markers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    markers = []
    for _ in range(markers_count):
        # markers.producer_id to markers.topics
        producer_id, topics_count = unpack_qB(buf, pos)
        # markers.topics
        pos += 9
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # markers.topics.name
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
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # markers.topics.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 7 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 164
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # markers.topics.partitions.partition_index to markers.topics.partitions.tags
                partition_index, error_code, n = unpack_ihB(buf, pos)
                # markers.topics.partitions.tags
                pos += 7
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # markers.topics.partitions
                partitions.append(new(WritableTxnMarkerPartitionResult, (partition_index, error_code)))
            # markers.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # markers.topics
            topics.append(new(WritableTxnMarkerTopicResult, (name, partitions)))
        # markers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # markers
        markers.append(new(WritableTxnMarkerResult, (producer_id, topics)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(WriteTxnMarkersResponse, (markers,))


DECODERS: Final[dict[int, Callable[[memoryview], WriteTxnMarkersResponse]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
30 90 94 186 the message
34 88 98 179 markers
46 113 markers.producer_id to markers.topics
48 86 115 172 markers.topics
59 129 markers.topics.name
69 83 144 165 markers.topics.partitions
81 markers.topics.partitions.partition_index to markers.topics.partitions
159 markers.topics.partitions.partition_index to markers.topics.partitions.tags
161 markers.topics.partitions.tags
167 markers.topics.tags
174 markers.tags
181 tags
"""
