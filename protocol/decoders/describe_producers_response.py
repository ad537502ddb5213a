"""Decoders of DescribeProducersResponse, v0.

Made by `make codec` from protocol/schema/61_describe_producers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_iB = Struct(">iB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_qiiqiqB = Struct(">qiiqiqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeProducersResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
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
        if partitions_count * 9 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 348
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.error_message
            partition_index, error_code, n = unpack_ihB(buf, pos)
            # topics.partitions.error_message
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
            # topics.partitions.active_producers
            active_producers_count = buf[pos]
            pos += 1
            if active_producers_count > 127:
                active_producers_count, pos = read_uvarint(buf, pos - 1)
            active_producers_count -= 1
            if active_producers_count < 0:
                raise Malformed(f"invalid length {active_producers_count}")
            if active_producers_count * 37 > end - pos:
                raise Malformed(f"{active_producers_count} elements announced, {end - pos} bytes remain")
            budget -= active_producers_count * 372
            if budget < 0:
                raise Malformed(f"{active_producers_count} more would take more than {DECODED_BYTES_MAX} bytes")
            active_producers = []
            for _ in range(active_producers_count):
                # topics.partitions.active_producers.producer_id to topics.partitions.active_producers.tags
                (
                    producer_id,
                    producer_epoch,
                    last_sequence,
                    last_timestamp,
                    coordinator_epoch,
                    current_txn_start_offset,
                    n,
                ) = unpack_qiiqiqB(buf, pos)
                # topics.partitions.active_producers.tags
                pos += 37
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # topics.partitions.active_producers
                active_producers.append(
                    new(
                        ProducerState,
                        (
                            producer_id,
                            producer_epoch,
                            last_sequence,
                            last_timestamp,
                            coordinator_epoch,
                            current_txn_start_offset,
                        ),
                    )
                )
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(new(PartitionResponse, (partition_index, error_code, error_message, active_producers)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(TopicResponse, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeProducersResponse, (throttle_time_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeProducersResponse]]] = {0: decode_v0}
PLACES: Final = """\
27 156 the message
31 throttle_time_ms to topics
33 149 topics
47 topics.name
62 142 topics.partitions
77 topics.partitions.partition_index to topics.partitions.error_message
79 topics.partitions.error_message
94 123 topics.partitions.active_producers
109 topics.partitions.active_producers.producer_id to topics.partitions.active_producers.tags
119 topics.partitions.active_producers.tags
137 topics.partitions.tags
144 topics.tags
151 tags
"""
