"""Decoders of AddPartitionsToTxnRequest, v0 to v5.

Made by `make codec` from protocol/schema/24_add_partitions_to_txn.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_qhB = Struct(">qhB").unpack_from
unpack_qhB0B = Struct(">qh?B").unpack_from
unpack_qhi = Struct(">qhi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AddPartitionsToTxnRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # v3_and_below_transactional_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    v3_and_below_transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # v3_and_below_producer_id to v3_and_below_topics
    v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics_count = unpack_qhi(buf, pos)
    # v3_and_below_topics
    pos += 14
    if v3_and_below_topics_count < 0:
        raise Malformed(f"invalid length {v3_and_below_topics_count}")
    if v3_and_below_topics_count * 6 > end - pos:
        raise Malformed(f"{v3_and_below_topics_count} elements announced, {end - pos} bytes remain")
    budget -= v3_and_below_topics_count * 268
    if budget < 0:
        raise Malformed(f"{v3_and_below_topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    v3_and_below_topics = []
    for _ in range(v3_and_below_topics_count):
        # v3_and_below_topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # v3_and_below_topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
        # v3_and_below_topics
        v3_and_below_topics.append(new(AddPartitionsToTxnTopic, (name, partitions)))
    # the message
    return new(
        AddPartitionsToTxnRequest,
        ((), v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics),
    )


def decode_v3(buf: memoryview) -> AddPartitionsToTxnRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # v3_and_below_transactional_id
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
    v3_and_below_transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # v3_and_below_producer_id to v3_and_below_topics
    v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics_count = unpack_qhB(buf, pos)
    # v3_and_below_topics
    pos += 11
    if v3_and_below_topics_count > 127:
        v3_and_below_topics_count, pos = read_uvarint(buf, pos - 1)
    v3_and_below_topics_count -= 1
    if v3_and_below_topics_count < 0:
        raise Malformed(f"invalid length {v3_and_below_topics_count}")
    if v3_and_below_topics_count * 3 > end - pos:
        raise Malformed(f"{v3_and_below_topics_count} elements announced, {end - pos} bytes remain")
    budget -= v3_and_below_topics_count * 268
    if budget < 0:
        raise Malformed(f"{v3_and_below_topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    v3_and_below_topics = []
    for _ in range(v3_and_below_topics_count):
        # v3_and_below_topics.name
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
        # v3_and_below_topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
        # v3_and_below_topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # v3_and_below_topics
        v3_and_below_topics.append(new(AddPartitionsToTxnTopic, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        AddPartitionsToTxnRequest,
        ((), v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics),
    )


def decode_v4(buf: memoryview) -> AddPartitionsToTxnRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactions
    transactions_count = buf[pos]
    pos += 1
    if transactions_count > 127:
        transactions_count, pos = read_uvarint(buf, pos - 1)
    transactions_count -= 1
    if transactions_count < 0:
        raise Malformed(f"invalid length {transactions_count}")
    if transactions_count * 14 > end - pos:
        raise Malformed(f"{transactions_count} elements announced, {end - pos} bytes remain")
    budget -= transactions_count * 372
    if budget < 0:
        raise Malformed(f"{transactions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    transactions = []
    for _ in range(transactions_count):
        # transactions.transactional_id
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
        # transactions.producer_id to transactions.topics
        producer_id, producer_epoch, verify_only, topics_count = unpack_qhB0B(buf, pos)
        # transactions.topics
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
            # transactions.topics.name
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
            # transactions.topics.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 4 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 52
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # transactions.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # transactions.topics
            topics.append(new(AddPartitionsToTxnTopic, (name, partitions)))
        # transactions.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # transactions
        transactions.append(
            new(AddPartitionsToTxnTransaction, (transactional_id, producer_id, producer_epoch, verify_only, topics))
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AddPartitionsToTxnRequest, (transactions, "", 0, 0, ()))


DECODERS: Final[dict[int, Callable[[memoryview], AddPartitionsToTxnRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
    5: decode_v4,
}
PLACES: Final = """\
28 79 86 163 170 271 the message
32 90 v3_and_below_transactional_id
42 105 v3_and_below_producer_id to v3_and_below_topics
44 77 107 156 v3_and_below_topics
55 121 v3_and_below_topics.name
65 136 v3_and_below_topics.partitions
151 v3_and_below_topics.tags
158 266 tags
174 262 transactions
189 transactions.transactional_id
204 transactions.producer_id to transactions.topics
206 255 transactions.topics
220 transactions.topics.name
235 transactions.topics.partitions
250 transactions.topics.tags
257 transactions.tags
"""
