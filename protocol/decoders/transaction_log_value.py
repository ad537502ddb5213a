"""Decoders of TransactionLogValue, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_qhibB = Struct(">qhibB").unpack_from
unpack_qhibi = Struct(">qhibi").unpack_from
unpack_qq = Struct(">qq").unpack_from
unpack_qqB = Struct(">qqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> TransactionLogValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # producer_id to transaction_partitions
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions_count = (
        unpack_qhibi(buf, pos)
    )
    # transaction_partitions
    pos += 19
    if transaction_partitions_count < -1:
        raise Malformed(f"length {transaction_partitions_count}")
    if transaction_partitions_count < 0:
        transaction_partitions = None
    else:
        if transaction_partitions_count * 6 > end - pos:
            raise Malformed(f"{transaction_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= transaction_partitions_count * 268
        if budget < 0:
            raise Malformed(f"{transaction_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        transaction_partitions = []
        for _ in range(transaction_partitions_count):
            # transaction_partitions.topic
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # transaction_partitions.partition_ids
            (partition_ids_count,) = unpack_i(buf, pos)
            pos += 4
            if partition_ids_count < 0:
                raise Malformed(f"invalid length {partition_ids_count}")
            if partition_ids_count * 4 > end - pos:
                raise Malformed(f"{partition_ids_count} elements announced, {end - pos} bytes remain")
            budget -= partition_ids_count * 52
            if budget < 0:
                raise Malformed(f"{partition_ids_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partition_ids = list(unpack_from(f">{partition_ids_count}i", buf, pos))
            pos += partition_ids_count * 4
            # transaction_partitions
            transaction_partitions.append(new(PartitionsSchema, (topic, partition_ids)))
    # transaction_last_update_timestamp_ms to the end
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = unpack_qq(buf, pos)
    # the message
    pos += 16
    return new(
        TransactionLogValue,
        (
            producer_id,
            producer_epoch,
            transaction_timeout_ms,
            transaction_status,
            transaction_partitions,
            transaction_last_update_timestamp_ms,
            transaction_start_timestamp_ms,
        ),
    )


def decode_v1(buf: memoryview) -> TransactionLogValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # producer_id to transaction_partitions
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions_count = (
        unpack_qhibB(buf, pos)
    )
    # transaction_partitions
    pos += 16
    if transaction_partitions_count > 127:
        transaction_partitions_count, pos = read_uvarint(buf, pos - 1)
    transaction_partitions_count -= 1
    if transaction_partitions_count < 0:
        transaction_partitions = None
    else:
        if transaction_partitions_count * 3 > end - pos:
            raise Malformed(f"{transaction_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= transaction_partitions_count * 268
        if budget < 0:
            raise Malformed(f"{transaction_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        transaction_partitions = []
        for _ in range(transaction_partitions_count):
            # transaction_partitions.topic
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
            topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # transaction_partitions.partition_ids
            partition_ids_count = buf[pos]
            pos += 1
            if partition_ids_count > 127:
                partition_ids_count, pos = read_uvarint(buf, pos - 1)
            partition_ids_count -= 1
            if partition_ids_count < 0:
                raise Malformed(f"invalid length {partition_ids_count}")
            if partition_ids_count * 4 > end - pos:
                raise Malformed(f"{partition_ids_count} elements announced, {end - pos} bytes remain")
            budget -= partition_ids_count * 52
            if budget < 0:
                raise Malformed(f"{partition_ids_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partition_ids = list(unpack_from(f">{partition_ids_count}i", buf, pos))
            pos += partition_ids_count * 4
            # transaction_partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # transaction_partitions
            transaction_partitions.append(new(PartitionsSchema, (topic, partition_ids)))
    # transaction_last_update_timestamp_ms to tags
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, n = unpack_qqB(buf, pos)
    # tags
    pos += 17
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        TransactionLogValue,
        (
            producer_id,
            producer_epoch,
            transaction_timeout_ms,
            transaction_status,
            transaction_partitions,
            transaction_last_update_timestamp_ms,
            transaction_start_timestamp_ms,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], TransactionLogValue]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
25 73 89 155 the message
29 93 producer_id to transaction_partitions
33 69 97 147 transaction_partitions
47 112 transaction_partitions.topic
57 127 transaction_partitions.partition_ids
71 transaction_last_update_timestamp_ms to the end
142 transaction_partitions.tags
149 transaction_last_update_timestamp_ms to tags
151 tags
"""
