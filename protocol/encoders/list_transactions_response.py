"""Encoders of ListTransactionsResponse, v0 to v1.

Made by `make codec` from protocol/schema/66_list_transactions.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_q = Struct(">q").pack
pack_qB = Struct(">qB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, unknown_state_filters, transaction_states = msg
    # unknown_state_filters
    n = len(unknown_state_filters) + 1
    if n < 128:
        # throttle_time_ms to unknown_state_filters
        put(pack_ihB(throttle_time_ms, error_code, n))
    # unknown_state_filters
    else:
        # throttle_time_ms to unknown_state_filters
        put(pack_ih(throttle_time_ms, error_code))
        # unknown_state_filters
        put(encode_uvarint(n))
    for one in unknown_state_filters:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # transaction_states
    n = len(transaction_states) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for transactional_id, producer_id, transaction_state in transaction_states:
        # transaction_states.transactional_id
        text = transactional_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # transaction_states.transaction_state
        text = transaction_state.encode()
        n = len(text) + 1
        if n < 128:
            # transaction_states.producer_id to transaction_states.transaction_state
            put(pack_qB(producer_id, n))
        # transaction_states.transaction_state
        else:
            # transaction_states.producer_id to transaction_states.transaction_state
            put(pack_q(producer_id))
            # transaction_states.transaction_state
            put(encode_string_length(n))
        put(text)
        # transaction_states
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0}
PLACES: Final = """\
20 65 the message
25 30 34 unknown_state_filters
28 32 throttle_time_ms to unknown_state_filters
41 63 transaction_states
45 transaction_states.transactional_id
50 56 60 transaction_states.transaction_state
54 58 transaction_states.producer_id to transaction_states.transaction_state
"""
