"""Decoders of UpdateMetadataResponse, v0 to v8.

Made by `make codec` from protocol/schema/06_update_metadata.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.update_metadata_response import UpdateMetadataResponse

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> UpdateMetadataResponse:
    pos = 0
    # error_code to the end
    (error_code,) = unpack_h(buf, pos)
    # the message
    pos += 2
    return new(UpdateMetadataResponse, (error_code,))


def decode_v6(buf: memoryview) -> UpdateMetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to tags
    error_code, n = unpack_hB(buf, pos)
    # tags
    pos += 3
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(UpdateMetadataResponse, (error_code,))


DECODERS: Final[dict[int, Callable[[memoryview], UpdateMetadataResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v0,
    4: decode_v0,
    5: decode_v0,
    6: decode_v6,
    7: decode_v6,
    8: decode_v6,
}
PLACES: Final = """\
19 23 28 38 the message
21 error_code to the end
32 error_code to tags
34 tags
"""
