"""Decoders of EndTxnRequest, v0 to v4.

Made by `make codec` from protocol/schema/26_end_txn.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.end_txn_request import EndTxnRequest
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_qhB0 = Struct(">qh?").unpack_from
unpack_qhB0B = Struct(">qh?B").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> EndTxnRequest:
    pos = 0
    end = len(buf)
    # transactional_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # producer_id to the end
    producer_id, producer_epoch, committed = unpack_qhB0(buf, pos)
    # the message
    pos += 11
    return new(EndTxnRequest, (transactional_id, producer_id, producer_epoch, committed))


def decode_v3(buf: memoryview) -> EndTxnRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # transactional_id
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
    # producer_id to tags
    producer_id, producer_epoch, committed, n = unpack_qhB0B(buf, pos)
    # tags
    pos += 12
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(EndTxnRequest, (transactional_id, producer_id, producer_epoch, committed))


DECODERS: Final[dict[int, Callable[[memoryview], EndTxnRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v3,
}
PLACES: Final = """\
22 37 42 67 the message
25 46 transactional_id
35 producer_id to the end
61 producer_id to tags
63 tags
"""
