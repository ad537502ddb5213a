"""Decoders of TxnOffsetCommitRequest, v0 to v4.

Made by `make codec` from protocol/schema/28_txn_offset_commit.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iqh = Struct(">iqh").unpack_from
unpack_iqiB = Struct(">iqiB").unpack_from
unpack_iqih = Struct(">iqih").unpack_from
unpack_qhi = Struct(">qhi").unpack_from
unpack_qhiB = Struct(">qhiB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> TxnOffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactional_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # producer_id to topics
    producer_id, producer_epoch, topics_count = unpack_qhi(buf, pos)
    # topics
    pos += 14
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 14 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 276
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.committed_metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(TxnOffsetCommitRequestPartition, (partition_index, committed_offset, -1, committed_metadata))
            )
        # topics
        topics.append(new(TxnOffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(TxnOffsetCommitRequest, (transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics))


def decode_v2(buf: memoryview) -> TxnOffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactional_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # producer_id to topics
    producer_id, producer_epoch, topics_count = unpack_qhi(buf, pos)
    # topics
    pos += 14
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 308
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqih(buf, pos)
            # topics.partitions.committed_metadata
            pos += 18
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(
                    TxnOffsetCommitRequestPartition,
                    (partition_index, committed_offset, committed_leader_epoch, committed_metadata),
                )
            )
        # topics
        topics.append(new(TxnOffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(TxnOffsetCommitRequest, (transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics))


def decode_v3(buf: memoryview) -> TxnOffsetCommitRequest:
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
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_id
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
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # producer_id to member_id
    producer_id, producer_epoch, generation_id, n = unpack_qhiB(buf, pos)
    # member_id
    pos += 15
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
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_instance_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        group_instance_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # topics
    topics_count = buf[pos]
    pos += 1
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
        # topics.name
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
        # topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 308
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqiB(buf, pos)
            # topics.partitions.committed_metadata
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    TxnOffsetCommitRequestPartition,
                    (partition_index, committed_offset, committed_leader_epoch, committed_metadata),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(TxnOffsetCommitRequestTopic, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        TxnOffsetCommitRequest,
        (transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics),
    )


DECODERS: Final[dict[int, Callable[[memoryview], TxnOffsetCommitRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
    4: decode_v3,
}
PLACES: Final = """\
30 109 113 195 199 351 the message
34 117 203 transactional_id
44 127 218 group_id
54 137 producer_id to topics
56 107 139 193 265 344 topics
67 150 280 topics.name
77 103 160 186 295 332 topics.partitions
89 172 310 topics.partitions.partition_index to topics.partitions.committed_metadata
91 174 312 topics.partitions.committed_metadata
233 producer_id to member_id
235 member_id
249 group_instance_id
327 topics.partitions.tags
339 topics.tags
346 tags
"""
