"""Encoders of DescribeTransactionsResponse, v0.

Made by `make codec` from protocol/schema/65_describe_transactions.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_iqqh = Struct(">iqqh").pack
pack_iqqhB = Struct(">iqqhB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, transaction_states = msg
    # transaction_states
    n = len(transaction_states) + 1
    if n < 128:
        # throttle_time_ms to transaction_states
        put(pack_iB(throttle_time_ms, n))
    # transaction_states
    else:
        # throttle_time_ms to transaction_states
        put(pack_i(throttle_time_ms))
        # transaction_states
        put(encode_uvarint(n))
    for (
        error_code,
        transactional_id,
        transaction_state,
        transaction_timeout_ms,
        transaction_start_time_ms,
        producer_id,
        producer_epoch,
        topics,
    ) in transaction_states:
        # transaction_states.transactional_id
        text = transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            # transaction_states.error_code to transaction_states.transactional_id
            put(pack_hB(error_code, n))
        # transaction_states.transactional_id
        else:
            # transaction_states.error_code to transaction_states.transactional_id
            put(pack_h(error_code))
            # transaction_states.transactional_id
            put(encode_string_length(n))
        put(text)
        # transaction_states.transaction_state
        text = transaction_state.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # transaction_states.topics
        n = len(topics) + 1
        if n < 128:
            # transaction_states.transaction_timeout_ms to transaction_states.topics
            put(pack_iqqhB(transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, n))
        # transaction_states.topics
        else:
            # transaction_states.transaction_timeout_ms to transaction_states.topics
            put(pack_iqqh(transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch))
            # transaction_states.topics
            put(encode_uvarint(n))
        for topic, partitions in topics:
            # transaction_states.topics.topic
            text = topic.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # transaction_states.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
            # transaction_states.topics
            put(b"\x00")
        # transaction_states
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
22 91 the message
27 32 36 89 transaction_states
30 34 throttle_time_ms to transaction_states
48 54 58 transaction_states.transactional_id
52 56 transaction_states.error_code to transaction_states.transactional_id
61 transaction_states.transaction_state
66 71 75 87 transaction_states.topics
69 73 transaction_states.transaction_timeout_ms to transaction_states.topics
78 transaction_states.topics.topic
83 transaction_states.topics.partitions
"""
