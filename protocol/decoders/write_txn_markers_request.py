"""Decoders of WriteTxnMarkersRequest, v0 to v1.

Made by `make codec` from protocol/schema/27_write_txn_markers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_qhB0B = Struct(">qh?B").unpack_from
unpack_qhB0i = Struct(">qh?i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> WriteTxnMarkersRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # markers
    (markers_count,) = unpack_i(buf, pos)
    pos += 4
    if markers_count < 0:
        raise Malformed(f"invalid length {markers_count}")
    if markers_count * 19 > end - pos:
        raise Malformed(f"{markers_count} elements announced, {end - pos} bytes remain")
    budget -= markers_count * 324
    if budget < 0:
        raise Malformed(f"{markers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    markers = []
    for _ in range(markers_count):
        # markers.producer_id to markers.topics
        producer_id, producer_epoch, transaction_result, topics_count = unpack_qhB0i(buf, pos)
        # markers.topics
        pos += 15
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 6 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
            # markers.topics.partition_indexes
            (partition_indexes_count,) = unpack_i(buf, pos)
            pos += 4
            if partition_indexes_count < 0:
                raise Malformed(f"invalid length {partition_indexes_count}")
            if partition_indexes_count * 4 > end - pos:
                raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
            budget -= partition_indexes_count * 52
            if budget < 0:
                raise Malformed(
                    f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
            pos += partition_indexes_count * 4
            # markers.topics
            topics.append(new(WritableTxnMarkerTopic, (name, partition_indexes)))
        # markers.coordinator_epoch to markers
        (coordinator_epoch,) = unpack_i(buf, pos)
        # markers
        pos += 4
        markers.append(
            new(WritableTxnMarker, (producer_id, producer_epoch, transaction_result, topics, coordinator_epoch))
        )
    # the message
    return new(WriteTxnMarkersRequest, (markers,))


def decode_v1(buf: memoryview) -> WriteTxnMarkersRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # markers
    markers_count = buf[pos]
    pos += 1
    if markers_count > 127:
        markers_count, pos = read_uvarint(buf, pos - 1)
    markers_count -= 1
    if markers_count < 0:
        raise Malformed(f"invalid length {markers_count}")
    if markers_count * 17 > end - pos:
        raise Malformed(f"{markers_count} elements announced, {end - pos} bytes remain")
    budget -= markers_count * 324
    if budget < 0:
        raise Malformed(f"{markers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    markers = []
    for _ in range(markers_count):
        # markers.producer_id to markers.topics
        producer_id, producer_epoch, transaction_result, topics_count = unpack_qhB0B(buf, pos)
        # markers.topics
        pos += 12
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
            # markers.topics.partition_indexes
            partition_indexes_count = buf[pos]
            pos += 1
            if partition_indexes_count > 127:
                partition_indexes_count, pos = read_uvarint(buf, pos - 1)
            partition_indexes_count -= 1
            if partition_indexes_count < 0:
                raise Malformed(f"invalid length {partition_indexes_count}")
            if partition_indexes_count * 4 > end - pos:
                raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
            budget -= partition_indexes_count * 52
            if budget < 0:
                raise Malformed(
                    f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
            pos += partition_indexes_count * 4
            # markers.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # markers.topics
            topics.append(new(WritableTxnMarkerTopic, (name, partition_indexes)))
        # markers.coordinator_epoch to markers.tags
        coordinator_epoch, n = unpack_iB(buf, pos)
        # markers.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # markers
        markers.append(
            new(WritableTxnMarker, (producer_id, producer_epoch, transaction_result, topics, coordinator_epoch))
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(WriteTxnMarkersRequest, (markers,))


DECODERS: Final[dict[int, Callable[[memoryview], WriteTxnMarkersRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
28 90 94 183 the message
32 85 98 174 markers
44 113 markers.producer_id to markers.topics
46 81 115 166 markers.topics
57 129 markers.topics.name
67 144 markers.topics.partition_indexes
83 markers.coordinator_epoch to markers
161 markers.topics.tags
168 markers.coordinator_epoch to markers.tags
170 markers.tags
178 tags
"""
