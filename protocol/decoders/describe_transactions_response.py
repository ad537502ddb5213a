"""Decoders of DescribeTransactionsResponse, v0.

Made by `make codec` from protocol/schema/65_describe_transactions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from headrace.protocol.varint import read_uvarint

unpack_hB = Struct(">hB").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iqqhB = Struct(">iqqhB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeTransactionsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to transaction_states
    throttle_time_ms, transaction_states_count = unpack_iB(buf, pos)
    # transaction_states
    pos += 5
    if transaction_states_count > 127:
        transaction_states_count, pos = read_uvarint(buf, pos - 1)
    transaction_states_count -= 1
    if transaction_states_count < 0:
        raise Malformed(f"invalid length {transaction_states_count}")
    if transaction_states_count * 28 > end - pos:
        raise Malformed(f"{transaction_states_count} elements announced, {end - pos} bytes remain")
    budget -= transaction_states_count * 588
    if budget < 0:
        raise Malformed(f"{transaction_states_count} more would take more than {DECODED_BYTES_MAX} bytes")
    transaction_states = []
    for _ in range(transaction_states_count):
        # transaction_states.error_code to transaction_states.transactional_id
        error_code, n = unpack_hB(buf, pos)
        # transaction_states.transactional_id
        pos += 3
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
        # transaction_states.transaction_state
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
        transaction_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # transaction_states.transaction_timeout_ms to transaction_states.topics
        transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics_count = unpack_iqqhB(
            buf, pos
        )
        # transaction_states.topics
        pos += 23
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
            # transaction_states.topics.topic
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
            # transaction_states.topics.partitions
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
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # transaction_states.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # transaction_states.topics
            topics.append(new(TopicData, (topic, partitions)))
        # transaction_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # transaction_states
        transaction_states.append(
            new(
                TransactionState,
                (
                    error_code,
                    transactional_id,
                    transaction_state,
                    transaction_timeout_ms,
                    transaction_start_time_ms,
                    producer_id,
                    producer_epoch,
                    topics,
                ),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeTransactionsResponse, (throttle_time_ms, transaction_states))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeTransactionsResponse]]] = {0: decode_v0}
PLACES: Final = """\
26 158 the message
30 throttle_time_ms to transaction_states
32 137 transaction_states
46 transaction_states.error_code to transaction_states.transactional_id
48 transaction_states.transactional_id
62 transaction_states.transaction_state
77 transaction_states.transaction_timeout_ms to transaction_states.topics
81 130 transaction_states.topics
95 transaction_states.topics.topic
110 transaction_states.topics.partitions
125 transaction_states.topics.tags
132 transaction_states.tags
153 tags
"""
