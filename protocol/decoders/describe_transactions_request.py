"""Decoders of DescribeTransactionsRequest, v0.

Made by `make codec` from protocol/schema/65_describe_transactions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from headrace.protocol.varint import read_uvarint

new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeTransactionsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactional_ids
    transactional_ids_count = buf[pos]
    pos += 1
    if transactional_ids_count > 127:
        transactional_ids_count, pos = read_uvarint(buf, pos - 1)
    transactional_ids_count -= 1
    if transactional_ids_count < 0:
        raise Malformed(f"invalid length {transactional_ids_count}")
    if transactional_ids_count * 1 > end - pos:
        raise Malformed(f"{transactional_ids_count} elements announced, {end - pos} bytes remain")
    budget -= transactional_ids_count * 100
    if budget < 0:
        raise Malformed(f"{transactional_ids_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    transactional_ids = []
    for _ in range(transactional_ids_count):
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
        transactional_ids.append(one)
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeTransactionsRequest, (transactional_ids,))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeTransactionsRequest]]] = {0: decode_v0}
PLACES: Final = """\
18 57 the message
22 transactional_ids
52 tags
"""
