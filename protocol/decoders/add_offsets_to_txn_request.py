"""Decoders of AddOffsetsToTxnRequest, v0 to v4.

Made by `make codec` from protocol/schema/25_add_offsets_to_txn.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_qhB = Struct(">qhB").unpack_from
unpack_qhh = Struct(">qhh").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AddOffsetsToTxnRequest:
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
    # producer_id to group_id
    producer_id, producer_epoch, n = unpack_qhh(buf, pos)
    # group_id
    pos += 12
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    return new(AddOffsetsToTxnRequest, (transactional_id, producer_id, producer_epoch, group_id))


def decode_v3(buf: memoryview) -> AddOffsetsToTxnRequest:
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
    # producer_id to group_id
    producer_id, producer_epoch, n = unpack_qhB(buf, pos)
    # group_id
    pos += 11
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
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AddOffsetsToTxnRequest, (transactional_id, producer_id, producer_epoch, group_id))


DECODERS: Final[dict[int, Callable[[memoryview], AddOffsetsToTxnRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v3,
}
PLACES: Final = """\
22 46 50 90 the message
25 54 transactional_id
35 69 producer_id to group_id
37 71 group_id
85 tags
"""
