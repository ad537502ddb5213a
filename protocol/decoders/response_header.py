"""Decoders of ResponseHeader, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.response_header import ResponseHeader

unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ResponseHeader:
    pos = 0
    # correlation_id to the end
    (correlation_id,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ResponseHeader, (correlation_id,))


def decode_v1(buf: memoryview) -> ResponseHeader:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # correlation_id to tags
    correlation_id, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ResponseHeader, (correlation_id,))


DECODERS: Final[dict[int, Callable[[memoryview], ResponseHeader]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
19 23 28 38 the message
21 correlation_id to the end
32 correlation_id to tags
34 tags
"""
