"""Decoders of ConsumerGroupPartitionMetadataKey, v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey

unpack_h = Struct(">h").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v4(buf: memoryview) -> ConsumerGroupPartitionMetadataKey:
    pos = 0
    end = len(buf)
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    return new(ConsumerGroupPartitionMetadataKey, (group_id,))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupPartitionMetadataKey]]] = {4: decode_v4}
PLACES: Final = """\
18 31 the message
21 group_id
"""
