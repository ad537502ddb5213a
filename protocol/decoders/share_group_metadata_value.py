"""Decoders of ShareGroupMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue

unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ShareGroupMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # epoch to tags
    epoch, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ShareGroupMetadataValue, (epoch,))


DECODERS: Final[dict[int, Callable[[memoryview], ShareGroupMetadataValue]]] = {0: decode_v0}
PLACES: Final = """\
18 28 the message
22 epoch to tags
24 tags
"""
