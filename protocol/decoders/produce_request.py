"""Decoders of ProduceRequest, v0 to v11.

Made by `make codec` from protocol/schema/00_produce.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hiB = Struct(">hiB").unpack_from
unpack_hii = Struct(">hii").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ProduceRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # acks to topic_data
    acks, timeout_ms, topic_data_count = unpack_hii(buf, pos)
    # topic_data
    pos += 10
    if topic_data_count < 0:
        raise Malformed(f"invalid length {topic_data_count}")
    if topic_data_count * 6 > end - pos:
        raise Malformed(f"{topic_data_count} elements announced, {end - pos} bytes remain")
    budget -= topic_data_count * 268
    if budget < 0:
        raise Malformed(f"{topic_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_data = []
    for _ in range(topic_data_count):
        # topic_data.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_data.partition_data
        (partition_data_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_data_count < 0:
            raise Malformed(f"invalid length {partition_data_count}")
        if partition_data_count * 8 > end - pos:
            raise Malformed(f"{partition_data_count} elements announced, {end - pos} bytes remain")
        budget -= partition_data_count * 332
        if budget < 0:
            raise Malformed(f"{partition_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_data = []
        for _ in range(partition_data_count):
            # topic_data.partition_data.index to topic_data.partition_data.records
            index, n = unpack_ii(buf, pos)
            # topic_data.partition_data.records
            pos += 8
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # topic_data.partition_data
            partition_data.append(new(PartitionProduceData, (index, records)))
        # topic_data
        topic_data.append(new(TopicProduceData, (name, partition_data)))
    # the message
    return new(ProduceRequest, (None, acks, timeout_ms, topic_data))


def decode_v3(buf: memoryview) -> ProduceRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactional_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        transactional_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # acks to topic_data
    acks, timeout_ms, topic_data_count = unpack_hii(buf, pos)
    # topic_data
    pos += 10
    if topic_data_count < 0:
        raise Malformed(f"invalid length {topic_data_count}")
    if topic_data_count * 6 > end - pos:
        raise Malformed(f"{topic_data_count} elements announced, {end - pos} bytes remain")
    budget -= topic_data_count * 268
    if budget < 0:
        raise Malformed(f"{topic_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_data = []
    for _ in range(topic_data_count):
        # topic_data.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_data.partition_data
        (partition_data_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_data_count < 0:
            raise Malformed(f"invalid length {partition_data_count}")
        if partition_data_count * 8 > end - pos:
            raise Malformed(f"{partition_data_count} elements announced, {end - pos} bytes remain")
        budget -= partition_data_count * 332
        if budget < 0:
            raise Malformed(f"{partition_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_data = []
        for _ in range(partition_data_count):
            # topic_data.partition_data.index to topic_data.partition_data.records
            index, n = unpack_ii(buf, pos)
            # topic_data.partition_data.records
            pos += 8
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # topic_data.partition_data
            partition_data.append(new(PartitionProduceData, (index, records)))
        # topic_data
        topic_data.append(new(TopicProduceData, (name, partition_data)))
    # the message
    return new(ProduceRequest, (transactional_id, acks, timeout_ms, topic_data))


def decode_v9(buf: memoryview) -> ProduceRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactional_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        transactional_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # acks to topic_data
    acks, timeout_ms, topic_data_count = unpack_hiB(buf, pos)
    # topic_data
    pos += 7
    if topic_data_count > 127:
        topic_data_count, pos = read_uvarint(buf, pos - 1)
    topic_data_count -= 1
    if topic_data_count < 0:
        raise Malformed(f"invalid length {topic_data_count}")
    if topic_data_count * 3 > end - pos:
        raise Malformed(f"{topic_data_count} elements announced, {end - pos} bytes remain")
    budget -= topic_data_count * 268
    if budget < 0:
        raise Malformed(f"{topic_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_data = []
    for _ in range(topic_data_count):
        # topic_data.name
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
        # topic_data.partition_data
        partition_data_count = buf[pos]
        pos += 1
        if partition_data_count > 127:
            partition_data_count, pos = read_uvarint(buf, pos - 1)
        partition_data_count -= 1
        if partition_data_count < 0:
            raise Malformed(f"invalid length {partition_data_count}")
        if partition_data_count * 6 > end - pos:
            raise Malformed(f"{partition_data_count} elements announced, {end - pos} bytes remain")
        budget -= partition_data_count * 332
        if budget < 0:
            raise Malformed(f"{partition_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_data = []
        for _ in range(partition_data_count):
            # topic_data.partition_data.index to topic_data.partition_data.records
            index, n = unpack_iB(buf, pos)
            # topic_data.partition_data.records
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # topic_data.partition_data.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_data.partition_data
            partition_data.append(new(PartitionProduceData, (index, records)))
        # topic_data.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_data
        topic_data.append(new(TopicProduceData, (name, partition_data)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ProduceRequest, (transactional_id, acks, timeout_ms, topic_data))


DECODERS: Final[dict[int, Callable[[memoryview], ProduceRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v3,
    5: decode_v3,
    6: decode_v3,
    7: decode_v3,
    8: decode_v3,
    9: decode_v9,
    10: decode_v9,
    11: decode_v9,
}
PLACES: Final = """\
25 82 86 156 160 260 the message
29 103 180 acks to topic_data
31 80 105 154 182 253 topic_data
42 116 196 topic_data.name
52 78 126 152 211 246 topic_data.partition_data
64 138 226 topic_data.partition_data.index to topic_data.partition_data.records
66 140 228 topic_data.partition_data.records
90 164 transactional_id
241 topic_data.partition_data.tags
248 topic_data.tags
255 tags
"""
