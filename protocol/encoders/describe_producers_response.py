"""Encoders of DescribeProducersResponse, v0.

Made by `make codec` from protocol/schema/61_describe_producers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_qiiqiqx = Struct(">qiiqiqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_iB(throttle_time_ms, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_i(throttle_time_ms))
        # topics
        put(encode_uvarint(n))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, error_code, error_message, active_producers in partitions:
            # topics.partitions.partition_index to topics.partitions.error_message
            put(pack_ih(partition_index, error_code))
            # topics.partitions.error_message
            if error_message is None:
                put(b"\x00")
            else:
                text = error_message.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics.partitions.active_producers
            n = len(active_producers) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for (
                producer_id,
                producer_epoch,
                last_sequence,
                last_timestamp,
                coordinator_epoch,
                current_txn_start_offset,
            ) in active_producers:
                # topics.partitions.active_producers.producer_id to topics.partitions.active_producers
                put(
                    pack_qiiqiqx(
                        producer_id,
                        producer_epoch,
                        last_sequence,
                        last_timestamp,
                        coordinator_epoch,
                        current_txn_start_offset,
                    )
                )
            # topics.partitions
            put(b"\x00")
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
20 82 the message
25 30 34 80 topics
28 32 throttle_time_ms to topics
37 topics.name
42 78 topics.partitions
46 topics.partitions.partition_index to topics.partitions.error_message
48 topics.partitions.error_message
56 topics.partitions.active_producers
67 topics.partitions.active_producers.producer_id to topics.partitions.active_producers
"""
