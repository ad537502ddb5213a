"""The record batch, message format v2: layout, checks, building, reading.

    0    base_offset i64            stamped by the leader
    8    batch_length i32           bytes after this field
    12   partition_leader_epoch i32 stamped by the leader
    16   magic i8 = 2
    17   crc u32                    CRC-32C of everything after it, so the stamps above don't touch it
    21   attributes i16             codec bits 0-2 | log append time 3 | transactional 4 | control 5 |
                                    delete horizon 6, which base_timestamp then is
    23   last_offset_delta i32
    27   base_timestamp i64, 35 max_timestamp i64
    43   producer_id i64, 51 producer_epoch i16, 53 base_sequence i32
    57   record count i32
    61   records, compressed as a whole where a codec is set

    record   length | attributes i8 | timestamp delta | offset delta | key | value | count | headers
    header   key | value
             lengths, deltas and count are zigzag varints; a length of -1 is null

Source: Kafka `DefaultRecordBatch`, `DefaultRecord`; KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from headrace.checksum import crc32c
from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH, NO_PRODUCER_ID
from headrace.limits import DECOMPRESSED_BYTES_MAX, READ_RUN_RECORDS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.compression import compress, decompress
from headrace.protocol.numbers import pack_int, pack_long
from headrace.protocol.varint import encode_varlong, read_varlong

HEADER: Final = Struct(">qiibIhiqqqhii")
_STAMP: Final = Struct(">qii")  # base offset, batch length, leader epoch: bytes 0 to 16
_BASE_OFFSET: Final = Struct(">q")
_LENGTH: Final = Struct(">8xi")
_LAST_DELTA: Final = Struct(">23xI")
_CRC: Final = Struct(">I")
_ATTRIBUTES: Final = Struct(">h")
HEADER_BYTES: Final = 61
LOG_OVERHEAD_BYTES: Final = 12  # base offset and batch length
RECORD_BYTES_MIN: Final = 7  # each field in a byte
LENGTH_POSITION: Final = 8
MAGIC_POSITION: Final = 16
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21  # where what the checksum covers begins
ATTRIBUTES_LOW_POSITION: Final = 22  # of the byte with the bits below
MAX_TIMESTAMP_POSITION: Final = 35
MAGIC_V2: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
SEQUENCE_MASK: Final = 2**31 - 1  # sequences continue with 0 after it
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40
FLAGS: Final = {"transactional": TRANSACTIONAL_BIT, "control": CONTROL_BIT}  # that a dump of a log shows by these names

NO_SEQUENCE: Final = -1

Buffer = bytes | bytearray | memoryview
Header = tuple[str, bytes | None]
HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]  # as of `RecordBatchHeader`

HeaderSpans = tuple[
    int, int, int, int
]  # start and length of a header's key, and of its value; a negative length is null

_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_SMALL: Final = tuple(encode_varlong(value) for value in range(4096))

_list_records: Final = record_kernel.list_records
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor

assert HEADER.size == HEADER_BYTES
assert CRC_POSITION + _CRC.size == ATTRIBUTES_POSITION == ATTRIBUTES_LOW_POSITION - 1


class CorruptRecord(HeadraceError):
    """A batch or record that contradicts itself."""


class RecordBatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Of the whole batch."""
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)


class Record(NamedTuple):
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class RecordSpans(NamedTuple):
    """Where the fields of a record are in the bytes that hold it.

    start                         of its length
    body                          after the length: its attributes
    time_end, offset_end          after each delta
    key_length, value_length      as they are written: whatever is negative is null
    headers                       of their count, after the value
    """

    start: int
    body: int
    time_delta: int
    time_end: int
    offset_delta: int
    offset_end: int
    key_start: int
    key_end: int
    key_length: int
    value_start: int
    value_length: int
    headers: int
    end: int


def parse_header(buffer: Buffer, position: int = 0) -> RecordBatchHeader:
    """The header of the batch at a position; struct.error where the bytes end before it does."""
    return _new(RecordBatchHeader, HEADER.unpack_from(buffer, position))


def producer_of(batch: Buffer) -> tuple[int, int, int]:
    """(producer id, -1: none; epoch; first sequence) of a batch of v2, HEADER_BYTES long at least."""
    fields = unpack_header(batch, 0)
    return fields[9], fields[10], fields[11]


def is_after(sequence: int, other: int) -> bool:
    """Whether a sequence comes after another of the same producer; they continue with 0 after SEQUENCE_MASK."""
    return 0 < (sequence - other & SEQUENCE_MASK) < 1 << 30


def unpack_header(batch: Buffer, position: int) -> HeaderFields:
    """The fields of `RecordBatchHeader`, in that order; struct.error as there."""
    return HEADER.unpack_from(batch, position)


def unpack_base_offset(entry: Buffer, position: int) -> int:
    """The first field of the entry at a position; v0 and v1 have the offset of their last message there. struct.error as there."""
    return int(_BASE_OFFSET.unpack_from(entry, position)[0])


def unpack_length(entry: Buffer, position: int) -> int:
    """The bytes that an entry of any format announces after LOG_OVERHEAD_BYTES, with a sign. struct.error as there."""
    return int(_LENGTH.unpack_from(entry, position)[0])


def unpack_last_delta(batch: Buffer, position: int) -> int:
    """The last offset delta of the batch at a position, without a sign: a negative one passes every offset. struct.error as there."""
    return int(_LAST_DELTA.unpack_from(batch, position)[0])


def entry_bytes(entry: Buffer, position: int) -> int:
    """The size that an entry of any format announces, which may be negative."""
    return unpack_length(entry, position) + LOG_OVERHEAD_BYTES


def stamp(batch: memoryview, position: int, base_offset: int, batch_length: int, leader_epoch: int) -> None:
    """What a leader writes into a batch: its first three fields, which no checksum covers."""
    _STAMP.pack_into(batch, position, base_offset, batch_length, leader_epoch)


def crc_from(buffer: memoryview, position: int) -> int:
    """CRC-32C of everything from a position on: of a batch from ATTRIBUTES_POSITION."""
    return int(crc32c(buffer[position:]))


def store_attributes(batch: memoryview, attributes: int) -> None:
    """The attributes of one batch. The checksum covers them: `store_crc` comes after it, as after the next two."""
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, attributes)


def store_max_timestamp(batch: memoryview, timestamp_ms: int) -> None:
    """The largest timestamp of one batch."""
    pack_long(batch, MAX_TIMESTAMP_POSITION, timestamp_ms)


def store_header(batch: bytearray | memoryview, header: HeaderFields) -> None:
    """All fields of one batch's header."""
    HEADER.pack_into(batch, 0, *header)


def store_crc(batch: bytearray | memoryview) -> None:
    """The checksum of one whole batch into its header."""
    _CRC.pack_into(batch, CRC_POSITION, compute_crc(batch))


def compute_crc(batch: Buffer) -> int:
    """CRC-32C of one whole batch, from its attributes to its end."""
    return crc_from(memoryview(batch), ATTRIBUTES_POSITION)


def iterate_batches(buffer: Buffer) -> Iterator[tuple[int, RecordBatchHeader, memoryview]]:
    """(position, header, whole batch) of each whole batch; a partial one at the end is left out, as Fetch may cut it.

    raises   CorruptRecord, for a length below a batch's header or another magic
    """
    view = memoryview(buffer)
    position = 0
    while len(view) - position >= HEADER_BYTES:
        header = parse_header(view, position)
        if header.magic != MAGIC_V2 or header.size_bytes < HEADER_BYTES:
            raise CorruptRecord(f"no batch at byte {position}: magic {header.magic}, length {header.batch_length}")
        if header.size_bytes > len(view) - position:
            return
        yield position, header, view[position : position + header.size_bytes]
        position += header.size_bytes


def whole_entries(data: Buffer) -> tuple[int, int, int]:
    """(bytes of whole entries of any format, offset after the last of them, its leader epoch; -1: not known) of fetched bytes."""
    position, next_offset, epoch, total = 0, -1, NO_EPOCH, len(data)
    while total - position > MAGIC_POSITION:
        base_offset, length, leader_epoch = _STAMP.unpack_from(data, position)
        size = length + LOG_OVERHEAD_BYTES
        if size <= LOG_OVERHEAD_BYTES or size > total - position:
            break
        next_offset = base_offset + 1
        if size >= HEADER_BYTES and data[position + MAGIC_POSITION] >= MAGIC_V2:  # an old one has its last offset there
            next_offset += unpack_last_delta(data, position)
            epoch = leader_epoch
        position += size
    return position, next_offset, epoch


def iterate_records(batch: Buffer, limit: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of one whole batch, each made when it is asked for.

    raises   CorruptRecord or CompressionError, where they are not what the header says
    """
    view = memoryview(batch)
    if len(view) < HEADER_BYTES:
        raise CorruptRecord(f"batch of {len(view)} bytes")
    header = parse_header(view)
    if not HEADER_BYTES <= header.size_bytes <= len(view):
        raise CorruptRecord(f"batch of {len(view)} bytes that announces {header.size_bytes}")
    yield from read_records(bytes(decompress(header.codec, view[HEADER_BYTES : header.size_bytes], limit)), header)


def read_records(data: bytes, header: RecordBatchHeader) -> Iterator[Record]:
    """The same over records that are decompressed already; timestamps that pass 64 bits become the last that fits.

    raises   CorruptRecord
    """
    position, left = 0, header.record_count
    if _list_records is not None:
        append_time_ms = header.max_timestamp if header.is_log_append_time else None
        while left > 0:
            count = min(left, READ_RUN_RECORDS_MAX)
            found = _list_records(
                Record, data, position, count, header.last_offset_delta, header.base_offset, header.base_timestamp,
                append_time_ms,
            )  # fmt: skip
            if found is None:
                break
            records, position = found
            yield from records
            left -= count
    yield from walk_records(data, header, position, left)


def walk_records(data: bytes, header: RecordBatchHeader, position: int, count: int) -> Iterator[Record]:
    """The last `count` records of a batch, from a position on, in Python."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time_ms = header.max_timestamp if header.is_log_append_time else None
    try:
        for spans in walk_spans(data, position, count):
            offset_delta = spans.offset_delta
            if not 0 <= offset_delta <= header.last_offset_delta and spans.offset_end - spans.time_end > 2:
                raise CorruptRecord(f"a record has offset delta {offset_delta} from {base_offset}")
            timestamp_ms = base_timestamp + spans.time_delta if append_time_ms is None else append_time_ms
            if not _INT64_MIN <= timestamp_ms <= _INT64_MAX:
                timestamp_ms = max(_INT64_MIN, min(timestamp_ms, _INT64_MAX))
            key = data[spans.key_start : spans.key_end] if spans.key_length >= 0 else None
            value = data[spans.value_start : spans.headers] if spans.value_length >= 0 else None
            found = walk_headers(data, spans.headers, spans.end)
            headers = tuple([_header_of(data, *one) for one in found]) if found else ()
            position = spans.end
            yield _new(Record, (base_offset + offset_delta, timestamp_ms, key, value, headers))
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record at byte {position} of batch {base_offset}: {failure}") from None
    if position != len(data):
        raise CorruptRecord(f"{len(data) - position} bytes after the last record of batch {base_offset}")


def _header_of(data: bytes, key_start: int, key_length: int, value_start: int, value_length: int) -> Header:
    name = data[key_start : key_start + key_length].decode("utf-8", "replace")
    return name, data[value_start : value_start + value_length] if value_length >= 0 else None


def walk_spans(data: bytes, position: int, count: int, *, is_numbered: bool = False) -> Iterator[RecordSpans]:
    """Where the next `count` records from a position on are. All readers in Python use it, and `kernel/record.h` is compared with it.

    It checks that keys and values end within their record. Headers and the end of the record are for `walk_headers`, offsets for
    the caller.

    is_numbered   what is raised names the record by its number, the first one 0
    raises        CorruptRecord; IndexError or ValueError, where a varint has no end, or more than 64 bits
    """
    total = len(data)
    for number in range(count):
        index = number if is_numbered else None
        length, body = read_varlong(data, position)
        end = body + length
        if length < 0 or end > total:
            raise CorruptRecord(f"{_record(index)} of {length} bytes at {body}, {total} in all")
        time_delta, time_end = read_varlong(data, body + 1)
        offset_delta, offset_end = read_varlong(data, time_end)
        key_length, key_start = read_varlong(data, offset_end)
        key_end = key_start + key_length if key_length >= 0 else key_start
        if key_end > end and key_length >= 0:
            raise _overrun(index, key_length, key_start, end)
        value_length, value_start = read_varlong(data, key_end)
        headers = value_start + value_length if value_length >= 0 else value_start
        if headers > end and value_length >= 0:
            raise _overrun(index, value_length, value_start, end)
        yield _new(
            RecordSpans,
            (
                position, body, time_delta, time_end, offset_delta, offset_end,
                key_start, key_end, key_length, value_start, value_length, headers, end,
            ),
        )  # fmt: skip
        position = end


def walk_headers(data: bytes, position: int, end: int, index: int | None = None) -> list[HeaderSpans]:
    """The headers of a record, from their count on. The record has to end with them.

    index    number of the record, for what is raised
    raises   as `walk_spans`
    """
    found: list[HeaderSpans] = []
    if not data[position] and position + 1 == end:
        return found
    count, position = read_varlong(data, position)
    if not 0 <= count <= max(end - position, 0):
        raise CorruptRecord(f"{count} headers announced, too few bytes remain")
    for _ in range(count):
        key_length, key_start = read_varlong(data, position)
        if key_length < 0:
            raise CorruptRecord("a header's key is null")
        if key_length > end - key_start:
            raise _overrun(index, key_length, key_start, end)
        value_length, value_start = read_varlong(data, key_start + key_length)
        position = value_start + value_length if value_length >= 0 else value_start
        if position > end and value_length >= 0:
            raise _overrun(index, value_length, value_start, end)
        found.append((key_start, key_length, value_start, value_length))
    if position != end:
        raise CorruptRecord(f"{_record(index)} ends at {position}, its length says {end}")
    return found


def _record(index: int | None) -> str:
    return "record" if index is None else f"record {index}"


def _overrun(index: int | None, length: int, start: int, end: int) -> CorruptRecord:
    if index is None:
        return CorruptRecord(f"{length} bytes announced at {start}, the record ends at {end}")
    return CorruptRecord(f"record {index} ends at {start + length}, its length says {end}")


def build_batch(
    records: Iterable[Record | tuple[bytes | None, bytes | None]],
    *,
    base_offset: int = 0,
    timestamp_ms: int = 0,
    codec: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = -1,
    attributes: int = 0,
) -> bytes:
    """One batch.

    records      (key, value) pairs at `timestamp_ms`, or whole Records, whose `offset` is relative to `base_offset`
    attributes   further bits: LOG_APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT
    """
    whole = [
        one if isinstance(one, Record) else Record(index, timestamp_ms, one[0], one[1])
        for index, one in enumerate(records)
    ]
    times_ms = [record.timestamp_ms for record in whole] or [timestamp_ms]
    base_timestamp, max_timestamp = times_ms[0], max(times_ms)
    last_delta = whole[-1].offset if whole else 0
    plain = encode_records(whole, base_timestamp)
    header = RecordBatchHeader(
        base_offset,
        0,
        leader_epoch,
        MAGIC_V2,
        0,
        attributes | codec,
        last_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(whole),
    )
    return bytes(seal_batch(header, compress(codec, plain)))


def seal_batch(header: HeaderFields, body: Buffer) -> bytearray:
    """The batch of a header and what comes after it; its length and its checksum are written here."""
    batch = bytearray(HEADER.pack(*header))
    batch += body
    pack_int(batch, LENGTH_POSITION, len(batch) - LOG_OVERHEAD_BYTES)
    store_crc(batch)
    return batch


def encode_records(records: Sequence[Record], base_timestamp: int) -> bytes:
    """What comes after a batch's header. Most numbers are small, so their varints come out of a table."""
    small, small_max = _SMALL, len(_SMALL)
    out: list[bytes] = []
    append = out.append
    for offset, timestamp_ms, key, value, headers in records:
        delta_ms = timestamp_ms - base_timestamp
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        body = b"".join(
            (
                b"\0",
                small[delta_ms] if 0 <= delta_ms < small_max else encode_varlong(delta_ms),
                small[offset] if 0 <= offset < small_max else encode_varlong(offset),
                small[key_size] if 0 <= key_size < small_max else encode_varlong(key_size),
                key or b"",
                small[value_size] if 0 <= value_size < small_max else encode_varlong(value_size),
                value or b"",
                _encode_headers(headers) if headers else b"\0",
            )
        )
        size = len(body)
        append(small[size] if size < small_max else encode_varlong(size))
        append(body)
    return b"".join(out)


def _encode_headers(headers: tuple[Header, ...]) -> bytes:
    out = [encode_varlong(len(headers))]
    for name, content in headers:
        encoded = name.encode()
        out += (encode_varlong(len(encoded)), encoded)
        out += (encode_varlong(-1),) if content is None else (encode_varlong(len(content)), content)
    return b"".join(out)
