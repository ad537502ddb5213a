"""The messages of Kafka 0.7, which have neither key nor offset: layout, checks, reading, building.

    0    length i32       bytes after this field
    4    magic i8         0 or 1
    5    attributes i8    magic 1 alone: codec bits 0-1 (0 none, 1 gzip, 2 snappy)
         crc u32          CRC-32 of the payload
         payload

A message's offset is the byte where it begins, counted over all segments of its partition. A compressed set is one message
whose payload, decompressed, is such messages one after the other; they may be compressed again.

Source: Kafka 0.7 `Message`, `ByteBufferMessageSet`, `CompressionUtils`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from headrace.limits import NESTING_07_MAX, PAYLOADS_07_MAX
from headrace.protocol.compression import Codec, CompressionError, compress, decompress
from headrace.protocol.record_batch import CorruptRecord

LENGTH_BYTES: Final = 4
HEADER_BYTES: Final = (5, 6)  # by magic: after the length, before the payload
CODEC_MASK_07: Final = 0x03

_LENGTH: Final = Struct(">i")
_HEADERS: Final = (Struct(">bI"), Struct(">bbI"))

Buffer = bytes | bytearray | memoryview


class Message07(NamedTuple):
    """One message; `payload` is compressed where it has a codec."""

    size: int  # with its length field
    magic: int
    codec: int
    crc: int
    is_valid: bool
    payload: memoryview


class CutMessage(CorruptRecord):
    """A message that reaches beyond the end of its bytes."""


def message_size(data: Buffer, position: int, end: int) -> int:
    """Of the message that begins at a position, with its length field; only the first six bytes are read.

    raises   CutMessage, where it reaches beyond `end`; CorruptRecord, where no message begins there
    """
    left = end - position
    if left < LENGTH_BYTES:
        raise CutMessage(f"{left} bytes are too short for a length")
    length = int(_LENGTH.unpack_from(data, position)[0])
    if length < HEADER_BYTES[0]:
        raise CorruptRecord(f"invalid message length {length}")
    if length > left - LENGTH_BYTES:
        raise CutMessage(f"a message of {length} bytes is truncated, {left - LENGTH_BYTES} bytes are left")
    magic = data[position + LENGTH_BYTES]
    if magic >= len(HEADER_BYTES):
        raise CorruptRecord(f"magic {magic} is not a format of Kafka 0.7")
    if length < HEADER_BYTES[magic]:
        raise CorruptRecord(f"a message of {length} bytes is too small for magic {magic}")
    return length + LENGTH_BYTES


def read_message_07(data: Buffer, position: int, end: int) -> Message07:
    """The message at a position; its checksum is compared, and told in `is_valid`. raises as `message_size`"""
    size = message_size(data, position, end)
    place = position + LENGTH_BYTES
    magic = data[place]
    attributes = 0
    if magic:
        _magic, attributes, crc = _HEADERS[1].unpack_from(data, place)
    else:
        _magic, crc = _HEADERS[0].unpack_from(data, place)
    payload = memoryview(data)[place + HEADER_BYTES[magic] : position + size]
    return Message07(size, magic, attributes & CODEC_MASK_07, crc, crc32(payload) == crc, payload)


def payloads_of(message: Message07, limit: int, damaged: Callable[[int, str], None]) -> list[bytes | None]:
    """What a message carries: itself, or what is in its compressed set, in order.

    limit      most bytes that may come out of all its sets together
    damaged    is told the place in the list, and what is wrong there; a damaged message is None in the list, and what follows a
               place where no message begins is left out
    raises     CompressionError, for a payload that doesn't decompress; CorruptRecord, for sets in sets beyond NESTING_07_MAX
    """
    if not message.codec:
        return [bytes(message.payload)]
    found: list[bytes | None] = []
    _unpack(message, limit, 1, found, damaged)
    return found


def build_message_07(payload: Buffer, magic: int = 1, codec: int = 0) -> bytes:
    """One message, with its length. A codec marks the payload; `build_set_07` makes one."""
    assert magic or not codec
    crc = crc32(payload)
    head = _HEADERS[1].pack(magic, codec, crc) if magic else _HEADERS[0].pack(magic, crc)
    return _LENGTH.pack(len(head) + len(payload)) + head + bytes(payload)


def build_set_07(payloads: Iterable[bytes], codec: int, magic: int = 1) -> bytes:
    """Payloads as one compressed message."""
    return build_message_07(compress(codec, b"".join(build_message_07(one, magic) for one in payloads)), 1, codec)


def _unpack(
    message: Message07, limit: int, depth: int, found: list[bytes | None], damaged: Callable[[int, str], None]
) -> int:
    """Add what is in a compressed message; returns how much of the limit is left."""
    if depth > NESTING_07_MAX:
        raise CorruptRecord(f"more than {NESTING_07_MAX} nested compressed sets")
    if message.codec > Codec.SNAPPY:
        raise CompressionError(f"codec {message.codec} is not a codec of Kafka 0.7")
    data = memoryview(decompress(message.codec, message.payload, limit))
    limit -= len(data)
    position = 0
    while position < len(data):
        if len(found) >= PAYLOADS_07_MAX:
            raise CorruptRecord(f"more than {PAYLOADS_07_MAX} messages in one compressed set")
        try:
            inner = read_message_07(data, position, len(data))
        except CorruptRecord as failure:
            damaged(len(found), f"byte {position} of the set: {failure}; {len(data) - position} bytes are lost")
            break
        position += inner.size
        if not inner.is_valid:
            damaged(len(found), "checksum mismatch")
            found.append(None)
        elif inner.codec:
            limit = _unpack(inner, limit, depth + 1, found, damaged)
        else:
            found.append(bytes(inner.payload))
    return limit
