"""Decoders of OffsetCommitValue, v0 to v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.offset_commit_value import OffsetCommitValue
from headrace.protocol.varint import read_uvarint

unpack_q = Struct(">q").unpack_from
unpack_qB = Struct(">qB").unpack_from
unpack_qh = Struct(">qh").unpack_from
unpack_qiB = Struct(">qiB").unpack_from
unpack_qih = Struct(">qih").unpack_from
unpack_qq = Struct(">qq").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetCommitValue:
    pos = 0
    end = len(buf)
    # offset to metadata
    offset, n = unpack_qh(buf, pos)
    # metadata
    pos += 10
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # commit_timestamp to the end
    (commit_timestamp,) = unpack_q(buf, pos)
    # the message
    pos += 8
    return new(OffsetCommitValue, (offset, -1, metadata, commit_timestamp, -1))


def decode_v1(buf: memoryview) -> OffsetCommitValue:
    pos = 0
    end = len(buf)
    # offset to metadata
    offset, n = unpack_qh(buf, pos)
    # metadata
    pos += 10
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # commit_timestamp to the end
    commit_timestamp, expire_timestamp = unpack_qq(buf, pos)
    # the message
    pos += 16
    return new(OffsetCommitValue, (offset, -1, metadata, commit_timestamp, expire_timestamp))


def decode_v3(buf: memoryview) -> OffsetCommitValue:
    pos = 0
    end = len(buf)
    # offset to metadata
    offset, leader_epoch, n = unpack_qih(buf, pos)
    # metadata
    pos += 14
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # commit_timestamp to the end
    (commit_timestamp,) = unpack_q(buf, pos)
    # the message
    pos += 8
    return new(OffsetCommitValue, (offset, leader_epoch, metadata, commit_timestamp, -1))


def decode_v4(buf: memoryview) -> OffsetCommitValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # offset to metadata
    offset, leader_epoch, n = unpack_qiB(buf, pos)
    # metadata
    pos += 13
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
    metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # commit_timestamp to tags
    commit_timestamp, n = unpack_qB(buf, pos)
    # tags
    pos += 9
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(OffsetCommitValue, (offset, leader_epoch, metadata, commit_timestamp, -1))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetCommitValue]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
}
PLACES: Final = """\
25 41 46 62 67 83 88 114 the message
28 49 70 92 offset to metadata
30 51 72 94 metadata
39 60 81 commit_timestamp to the end
108 commit_timestamp to tags
110 tags
"""
