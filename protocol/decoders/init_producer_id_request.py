"""Decoders of InitProducerIdRequest, v0 to v5.

Made by `make codec` from protocol/schema/22_init_producer_id.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.init_producer_id_request import InitProducerIdRequest
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iqhB = Struct(">iqhB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> InitProducerIdRequest:
    pos = 0
    end = len(buf)
    # transactional_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        transactional_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # transaction_timeout_ms to the end
    (transaction_timeout_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(InitProducerIdRequest, (transactional_id, transaction_timeout_ms, -1, -1))


def decode_v2(buf: memoryview) -> InitProducerIdRequest:
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
        transactional_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # transaction_timeout_ms to tags
    transaction_timeout_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(InitProducerIdRequest, (transactional_id, transaction_timeout_ms, -1, -1))


def decode_v3(buf: memoryview) -> InitProducerIdRequest:
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
        transactional_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # transaction_timeout_ms to tags
    transaction_timeout_ms, producer_id, producer_epoch, n = unpack_iqhB(buf, pos)
    # tags
    pos += 15
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(InitProducerIdRequest, (transactional_id, transaction_timeout_ms, producer_id, producer_epoch))


DECODERS: Final[dict[int, Callable[[memoryview], InitProducerIdRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
    4: decode_v3,
    5: decode_v3,
}
PLACES: Final = """\
23 41 46 72 76 102 the message
26 50 80 transactional_id
39 transaction_timeout_ms to the end
66 96 transaction_timeout_ms to tags
68 98 tags
"""
