"""Decoders of ListTransactionsResponse, v0 to v1.

Made by `make codec` from protocol/schema/66_list_transactions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from headrace.protocol.varint import read_uvarint

unpack_ihB = Struct(">ihB").unpack_from
unpack_qB = Struct(">qB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListTransactionsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to unknown_state_filters
    throttle_time_ms, error_code, unknown_state_filters_count = unpack_ihB(buf, pos)
    # unknown_state_filters
    pos += 7
    if unknown_state_filters_count > 127:
        unknown_state_filters_count, pos = read_uvarint(buf, pos - 1)
    unknown_state_filters_count -= 1
    if unknown_state_filters_count < 0:
        raise Malformed(f"invalid length {unknown_state_filters_count}")
    if unknown_state_filters_count * 1 > end - pos:
        raise Malformed(f"{unknown_state_filters_count} elements announced, {end - pos} bytes remain")
    budget -= unknown_state_filters_count * 100
    if budget < 0:
        raise Malformed(f"{unknown_state_filters_count} more would take more than {DECODED_BYTES_MAX} bytes")
    unknown_state_filters = []
    for _ in range(unknown_state_filters_count):
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
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        unknown_state_filters.append(one)
    # transaction_states
    transaction_states_count = buf[pos]
    pos += 1
    if transaction_states_count > 127:
        transaction_states_count, pos = read_uvarint(buf, pos - 1)
    transaction_states_count -= 1
    if transaction_states_count < 0:
        raise Malformed(f"invalid length {transaction_states_count}")
    if transaction_states_count * 11 > end - pos:
        raise Malformed(f"{transaction_states_count} elements announced, {end - pos} bytes remain")
    budget -= transaction_states_count * 316
    if budget < 0:
        raise Malformed(f"{transaction_states_count} more would take more than {DECODED_BYTES_MAX} bytes")
    transaction_states = []
    for _ in range(transaction_states_count):
        # transaction_states.transactional_id
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
        # transaction_states.producer_id to transaction_states.transaction_state
        producer_id, n = unpack_qB(buf, pos)
        # transaction_states.transaction_state
        pos += 9
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
        # transaction_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # transaction_states
        transaction_states.append(new(TransactionState, (transactional_id, producer_id, transaction_state)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ListTransactionsResponse, (throttle_time_ms, error_code, unknown_state_filters, transaction_states))


DECODERS: Final[dict[int, Callable[[memoryview], ListTransactionsResponse]]] = {0: decode_v0, 1: decode_v0}
PLACES: Final = """\
21 114 the message
25 throttle_time_ms to unknown_state_filters
27 unknown_state_filters
56 107 transaction_states
71 transaction_states.transactional_id
86 transaction_states.producer_id to transaction_states.transaction_state
88 transaction_states.transaction_state
102 transaction_states.tags
109 tags
"""
