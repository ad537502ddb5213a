"""Decoders of AddOffsetsToTxnResponse, v0 to v4.

Made by `make codec` from protocol/schema/25_add_offsets_to_txn.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse

unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AddOffsetsToTxnResponse:
    pos = 0
    # throttle_time_ms to the end
    throttle_time_ms, error_code = unpack_ih(buf, pos)
    # the message
    pos += 6
    return new(AddOffsetsToTxnResponse, (throttle_time_ms, error_code))


def decode_v3(buf: memoryview) -> AddOffsetsToTxnResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to tags
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # tags
    pos += 7
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AddOffsetsToTxnResponse, (throttle_time_ms, error_code))


DECODERS: Final[dict[int, Callable[[memoryview], AddOffsetsToTxnResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v3,
}
PLACES: Final = """\
19 23 28 38 the message
21 throttle_time_ms to the end
32 throttle_time_ms to tags
34 tags
"""
