"""Decoders of ListTransactionsRequest, v0 to v1.

Made by `make codec` from protocol/schema/66_list_transactions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_transactions_request import ListTransactionsRequest
from headrace.protocol.varint import read_uvarint

unpack_qB = Struct(">qB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListTransactionsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # state_filters
    state_filters_count = buf[pos]
    pos += 1
    if state_filters_count > 127:
        state_filters_count, pos = read_uvarint(buf, pos - 1)
    state_filters_count -= 1
    if state_filters_count < 0:
        raise Malformed(f"invalid length {state_filters_count}")
    if state_filters_count * 1 > end - pos:
        raise Malformed(f"{state_filters_count} elements announced, {end - pos} bytes remain")
    budget -= state_filters_count * 100
    if budget < 0:
        raise Malformed(f"{state_filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    state_filters = []
    for _ in range(state_filters_count):
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
        state_filters.append(one)
    # producer_id_filters
    producer_id_filters_count = buf[pos]
    pos += 1
    if producer_id_filters_count > 127:
        producer_id_filters_count, pos = read_uvarint(buf, pos - 1)
    producer_id_filters_count -= 1
    if producer_id_filters_count < 0:
        raise Malformed(f"invalid length {producer_id_filters_count}")
    if producer_id_filters_count * 8 > end - pos:
        raise Malformed(f"{producer_id_filters_count} elements announced, {end - pos} bytes remain")
    budget -= producer_id_filters_count * 68
    if budget < 0:
        raise Malformed(f"{producer_id_filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    producer_id_filters = list(unpack_from(f">{producer_id_filters_count}q", buf, pos))
    pos += producer_id_filters_count * 8
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ListTransactionsRequest, (state_filters, producer_id_filters, -1))


def decode_v1(buf: memoryview) -> ListTransactionsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # state_filters
    state_filters_count = buf[pos]
    pos += 1
    if state_filters_count > 127:
        state_filters_count, pos = read_uvarint(buf, pos - 1)
    state_filters_count -= 1
    if state_filters_count < 0:
        raise Malformed(f"invalid length {state_filters_count}")
    if state_filters_count * 1 > end - pos:
        raise Malformed(f"{state_filters_count} elements announced, {end - pos} bytes remain")
    budget -= state_filters_count * 100
    if budget < 0:
        raise Malformed(f"{state_filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    state_filters = []
    for _ in range(state_filters_count):
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
        state_filters.append(one)
    # producer_id_filters
    producer_id_filters_count = buf[pos]
    pos += 1
    if producer_id_filters_count > 127:
        producer_id_filters_count, pos = read_uvarint(buf, pos - 1)
    producer_id_filters_count -= 1
    if producer_id_filters_count < 0:
        raise Malformed(f"invalid length {producer_id_filters_count}")
    if producer_id_filters_count * 8 > end - pos:
        raise Malformed(f"{producer_id_filters_count} elements announced, {end - pos} bytes remain")
    budget -= producer_id_filters_count * 68
    if budget < 0:
        raise Malformed(f"{producer_id_filters_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    producer_id_filters = list(unpack_from(f">{producer_id_filters_count}q", buf, pos))
    pos += producer_id_filters_count * 8
    # duration_filter to tags
    duration_filter, n = unpack_qB(buf, pos)
    # tags
    pos += 9
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ListTransactionsRequest, (state_filters, producer_id_filters, duration_filter))


DECODERS: Final[dict[int, Callable[[memoryview], ListTransactionsRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
20 74 78 133 the message
24 82 state_filters
54 112 producer_id_filters
69 129 tags
127 duration_filter to tags
"""
