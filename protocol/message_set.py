"""Message sets, the message formats v0 and v1: layout, checks, reading, building.

    0    offset i64                 of the message; of a compressed set's last one
    8    size i32                   bytes after this field
    12   crc u32                    CRC-32 of everything after it
    16   magic i8                   0 or 1
    17   attributes i8              codec bits 0-2 | log append time 3 (v1)
    18   timestamp i64              v1 alone
         key size i32, key          a size of -1 is null
         value size i32, value

A set is such entries one after the other. A compressed set is one message, the wrapper: its key is null, its value
is the compressed bytes of a set, whose messages are not compressed again. v0: inner offsets are absolute. v1: they
count from 0 and only the wrapper tells where the set lies: its offset is that of the last inner message. A wrapper's
timestamp is the largest of the set, or, with the append time bit, the time of all of them.
LZ4 frames inside v0 carry a header checksum that is wrong (`lz4_checksum.py`).

Entries of v2 have the first two fields and the magic at the same places, so that one walk serves a log of all three.

Source: Kafka `LegacyRecord`, `AbstractLegacyRecordBatch`; KIP-31, KIP-32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from isal.isal_zlib import crc32  # 4 times as fast as zlib's over a message of 100 bytes, 10 times over large ones

from headrace.ids import NO_TIMESTAMP_MS
from headrace.limits import DECOMPRESSED_BYTES_MAX, OPENED_BYTES_MAX, OPENED_RECORDS_MAX
from headrace.protocol.compression import Codec, compress, decompress
from headrace.protocol.lz4_checksum import with_old_checksum, with_right_checksum
from headrace.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    CorruptRecord,
    Record,
    RecordBatchHeader,
    entry_bytes,
    iterate_records,
    parse_header,
)

MAGIC_V0: Final = 0
MAGIC_V1: Final = 1
ATTRIBUTES_POSITION: Final = 17
ENTRY_BYTES_MIN: Final = 26  # v0, without key and value

Buffer = bytes | bytearray | memoryview

_HEADER: Final = Struct(">qiIbb")
_TIMESTAMP: Final = Struct(">q")
_SIZE: Final = Struct(">i")
_PREFIX: Final = Struct(">qiI")
_BODY_V0: Final = Struct(">bbi")  # as far as the key
_BODY_V1: Final = Struct(">bbqi")
_MESSAGE_V0: Final = Struct(">qiIbbi")  # as far as the key
_MESSAGE_V1: Final = Struct(">qiIbbqi")
_KEY_POSITIONS: Final = (18, 26)  # by magic
_NULL_SIZE: Final = -1

assert _HEADER.size == _KEY_POSITIONS[MAGIC_V0]
assert _KEY_POSITIONS[MAGIC_V0] + 2 * _SIZE.size == ENTRY_BYTES_MIN < HEADER_BYTES

_new: Final = tuple.__new__


class InvalidMessageSet(CorruptRecord):
    """Messages that are each valid, in a set that is not."""


class TooManyRecords(CorruptRecord):
    """A set with more records than are read at once (`limits.OPENED_RECORDS_MAX`)."""


class Message(NamedTuple):
    """One entry of v0 or v1, checked; a wrapper's value is still compressed."""

    offset: int
    magic: int
    attributes: int
    timestamp_ms: int  # -1 in v0
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.magic > MAGIC_V0 and bool(self.attributes & LOG_APPEND_TIME_BIT)


class Entry(NamedTuple):
    """One entry of v0 or v1 by its lengths alone."""

    size: int
    last_offset: int
    timestamp_ms: int
    crc: int
    attributes: int
    magic: int


def peek_entry(data: Buffer, position: int, end: int) -> Entry | None:
    """The v0 or v1 entry at a position; None where its lengths don't fit together or pass `end`. No checksum."""
    if end - position < ENTRY_BYTES_MIN:
        return None
    offset, size, crc, magic, attributes = _HEADER.unpack_from(data, position)
    entry_end = position + size + LOG_OVERHEAD_BYTES
    if not MAGIC_V0 <= magic <= MAGIC_V1 or entry_end > end:
        return None
    place = position + _KEY_POSITIONS[magic]
    for _ in range(2):  # key and value
        if place + _SIZE.size > entry_end:
            return None
        length = _SIZE.unpack_from(data, place)[0]
        if length < _NULL_SIZE:
            return None
        place += _SIZE.size + max(length, 0)
    if place != entry_end:
        return None
    timestamp_ms = _TIMESTAMP.unpack_from(data, position + _HEADER.size)[0] if magic else NO_TIMESTAMP_MS
    return _new(Entry, (entry_end - position, offset, timestamp_ms, crc, attributes, magic))


def old_header(data: Buffer, position: int) -> RecordBatchHeader:
    """The header of a v0 or v1 entry in the terms of v2, as far as 26 bytes tell.

    Its base offset is its only one or, of a wrapper, the last one; there is no producer, no leader epoch, and the
    count of records is unknown (-1).
    """
    offset, size, crc, magic, attributes = _HEADER.unpack_from(data, position)
    timestamp_ms = _TIMESTAMP.unpack_from(data, position + _HEADER.size)[0] if magic else NO_TIMESTAMP_MS
    return _new(
        RecordBatchHeader,
        (offset, size, -1, magic, crc, attributes, 0, timestamp_ms, timestamp_ms, -1, -1, -1, -1),
    )


def compute_message_crc(data: Buffer, position: int, size: int) -> int:
    """CRC-32 of an entry of v0 or v1, from its magic to its end."""
    return crc32(memoryview(data)[position + MAGIC_POSITION : position + size])


def iterate_entries(data: Buffer) -> Iterator[tuple[int, int, int]]:
    """(position, size, magic) of each whole entry of any format; a cut one at the end is left out.

    raises   CorruptRecord, for a size below an entry's smallest, or an unknown magic
    """
    position = 0
    total = len(data)
    while total - position > MAGIC_POSITION:
        size = entry_bytes(data, position)
        magic = data[position + MAGIC_POSITION]
        if magic > MAGIC_V2 or size < (HEADER_BYTES if magic == MAGIC_V2 else ENTRY_BYTES_MIN):
            raise CorruptRecord(f"no entry at byte {position}: magic {magic}, size {size}")
        if size > total - position:
            return
        yield position, size, magic
        position += size


def iterate_headers(data: Buffer) -> Iterator[tuple[RecordBatchHeader, memoryview]]:
    """(header, whole entry) of each entry of any format, as `iterate_entries`; of v0 and v1 `old_header`'s."""
    view = memoryview(data)
    for position, size, magic in iterate_entries(view):
        header = parse_header(view, position) if magic == MAGIC_V2 else old_header(view, position)
        yield header, view[position : position + size]


def read_message(data: bytes, position: int = 0) -> tuple[Message, int]:
    """One checked entry of v0 or v1, and the position after it.

    raises   CorruptRecord, where it is cut, its lengths disagree or its checksum is wrong
    """
    entry = peek_entry(data, position, len(data))
    if entry is None:
        raise CorruptRecord(f"no message at byte {position} of {len(data)}")
    size, offset, timestamp_ms, crc, attributes, magic = entry
    entry_end = position + size
    computed = crc32(memoryview(data)[position + MAGIC_POSITION : entry_end])
    if computed != crc:
        what = f"message at byte {position}, offset {offset}"
        raise CorruptRecord(f"{what}: checksum mismatch: computed {computed:#010x}, stored {crc:#010x}")
    place = position + _KEY_POSITIONS[magic]
    key_size = _SIZE.unpack_from(data, place)[0]
    place += _SIZE.size
    key = None
    if key_size >= 0:
        key = data[place : place + key_size]
        place += key_size
    has_value = _SIZE.unpack_from(data, place)[0] >= 0
    value = data[place + _SIZE.size : entry_end] if has_value else None
    return _new(Message, (offset, magic, attributes, timestamp_ms, key, value)), entry_end


def read_messages(data: Buffer) -> list[Message]:
    """All entries of a set, each checked, wrappers not opened.

    raises   CorruptRecord, also for a cut one at the end; TooManyRecords
    """
    whole = bytes(data)
    total = len(whole)
    unpack_v0, unpack_v1, size_at = _MESSAGE_V0.unpack_from, _MESSAGE_V1.unpack_from, _SIZE.unpack_from
    messages: list[Message] = []
    append = messages.append
    position = 0
    while position < total:
        if len(messages) == OPENED_RECORDS_MAX:
            raise TooManyRecords(f"more than {OPENED_RECORDS_MAX} messages in a set of {total} bytes")
        if total - position < ENTRY_BYTES_MIN:
            read_message(whole, position)  # which says what is wrong, here and below
        if whole[position + MAGIC_POSITION] == MAGIC_V1 and total - position > _MESSAGE_V1.size:
            offset, size, crc, magic, attributes, timestamp_ms, key_size = unpack_v1(whole, position)
            place = position + _MESSAGE_V1.size
        else:
            offset, size, crc, magic, attributes, key_size = unpack_v0(whole, position)
            timestamp_ms, place = NO_TIMESTAMP_MS, position + _MESSAGE_V0.size
            if magic != MAGIC_V0:
                read_message(whole, position)
        entry_end = position + size + LOG_OVERHEAD_BYTES
        key = value = None
        if key_size >= 0:
            start, place = place, place + key_size
            key = whole[start:place]
        if place + _SIZE.size > entry_end or entry_end > total:
            read_message(whole, position)
        (value_size,) = size_at(whole, place)
        place += _SIZE.size
        if value_size >= 0:
            value = whole[place:entry_end]
            place += value_size
        if (
            place != entry_end
            or key_size < _NULL_SIZE
            or value_size < _NULL_SIZE
            or crc32(whole[position + MAGIC_POSITION : entry_end]) != crc
        ):
            read_message(whole, position)
        append(_new(Message, (offset, magic, attributes, timestamp_ms, key, value)))
        position = entry_end
    return messages


def records_of(message: Message, limit: int = OPENED_BYTES_MAX) -> list[Record]:
    """The records of one entry: itself, or what it wraps, with absolute offsets.

    limit    most bytes that may come out of a wrapper
    raises   CorruptRecord, for a truncated inner message; InvalidMessageSet, for an invalid set;
             TooManyRecords; CompressionError
    source   Kafka `AbstractLegacyRecordBatch.DeepRecordsIterator`
    """
    if not message.codec:
        return [_new(Record, (message.offset, message.timestamp_ms, message.key, message.value, ()))]
    inner = read_messages(unwrap(message, limit))
    if not inner:
        raise InvalidMessageSet(f"compressed set at offset {message.offset} without messages")
    base_offset = base_offset_of(message, inner[-1].offset)
    is_append_time = message.is_log_append_time
    records = []
    for offset, magic, attributes, timestamp_ms, key, value in inner:
        if magic != message.magic:
            raise InvalidMessageSet(f"message of magic {magic} in a compressed set of magic {message.magic}")
        if attributes & CODEC_MASK:
            raise InvalidMessageSet(f"compressed message in the compressed set at offset {message.offset}")
        time_ms = message.timestamp_ms if is_append_time else timestamp_ms
        records.append(_new(Record, (base_offset + offset, time_ms, key, value, ())))
    return records


def iterate_entry_records(entry: Buffer, limit: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of one whole entry of any format; raises CorruptRecord or CompressionError."""
    if len(entry) > MAGIC_POSITION and entry[MAGIC_POSITION] < MAGIC_V2:
        return iter(records_of(read_message(bytes(entry))[0], limit))
    return iterate_records(entry, limit)


def encode_message(
    offset: int, magic: int, timestamp_ms: int, key: bytes | None, value: bytes | None, attributes: int = 0
) -> bytes:
    """One entry; v0 leaves the timestamp out."""
    return _encode_messages([_new(Record, (offset, timestamp_ms, key, value, ()))], 0, magic, attributes)


def build_message_set(records: Sequence[Record], magic: int, codec: int = 0, *, is_append_time: bool = False) -> bytes:
    """Records as v0 or v1, one entry each, or as one wrapper where a codec is set. Headers are left out.

    records          at least one, with absolute offsets
    is_append_time   marks the timestamps of v1 as the leader's
    """
    assert records
    assert MAGIC_V0 <= magic <= MAGIC_V1
    assert codec <= Codec.LZ4
    bit = LOG_APPEND_TIME_BIT if is_append_time and magic else 0
    if not codec:
        return _encode_messages(records, 0, magic, bit)
    inner = _encode_messages(records, records[0].offset if magic else 0, magic, bit)
    return wrap_messages(inner, magic, codec, records[-1].offset, max(one.timestamp_ms for one in records), bit)


def wrap_messages(inner: bytes, magic: int, codec: int, last_offset: int, latest_ms: int, attributes: int) -> bytes:
    """A set as one compressed message, whose offset is that of the last one within."""
    value = compress(codec, inner)
    if codec == Codec.LZ4 and magic == MAGIC_V0:
        value = with_old_checksum(value)
    return encode_message(last_offset, magic, latest_ms, None, value, codec | attributes)


def _encode_messages(records: Sequence[Record], base_offset: int, magic: int, attributes: int) -> bytes:
    """One entry a record, with offsets relative to a base."""
    pack_v0, pack_v1, pack_size, pack_prefix = _BODY_V0.pack, _BODY_V1.pack, _SIZE.pack, _PREFIX.pack
    out: list[bytes] = []
    append = out.append
    for offset, timestamp_ms, key, value, _headers in records:
        key_size = _NULL_SIZE if key is None else len(key)
        value_size = _NULL_SIZE if value is None else len(value)
        body = b"".join(
            (
                pack_v1(magic, attributes, timestamp_ms, key_size) if magic else pack_v0(magic, attributes, key_size),
                key or b"",
                pack_size(value_size),
                value or b"",
            )
        )
        append(pack_prefix(offset - base_offset, len(body) + _SIZE.size, crc32(body)))
        append(body)
    return b"".join(out)


def unwrap(message: Message, limit: int) -> Buffer:
    """The set that a compressed message holds. raises InvalidMessageSet, CompressionError"""
    if message.value is None:
        raise InvalidMessageSet(f"compressed set at offset {message.offset} with a null value")
    if message.codec > Codec.LZ4:
        raise InvalidMessageSet(f"codec {message.codec} in a message of magic {message.magic}")
    value = message.value
    if message.codec == Codec.LZ4 and message.magic == MAGIC_V0:
        value = with_right_checksum(value)
    return decompress(message.codec, value, limit)


def base_offset_of(wrapper: Message, last_inner_offset: int) -> int:
    """What inner offsets are relative to. A wrapper's offset of 0 is that of producers that leave it to the leader.

    raises   InvalidMessageSet
    """
    if wrapper.magic == MAGIC_V0 or not wrapper.offset:
        return 0
    if wrapper.offset < last_inner_offset:
        raise InvalidMessageSet(
            f"compressed set of magic 1 at offset {wrapper.offset}, its last message has {last_inner_offset}"
        )
    return wrapper.offset - last_inner_offset
