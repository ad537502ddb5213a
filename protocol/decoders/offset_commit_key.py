"""Decoders of OffsetCommitKey, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.offset_commit_key import OffsetCommitKey

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetCommitKey:
    pos = 0
    end = len(buf)
    # group
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topic
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # partition to the end
    (partition,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(OffsetCommitKey, (group, topic, partition))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetCommitKey]]] = {0: decode_v0, 1: decode_v0}
PLACES: Final = """\
19 44 the message
22 group
32 topic
42 partition to the end
"""
