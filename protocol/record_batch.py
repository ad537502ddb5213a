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
from headrace.protocol.varint import encode_varlong, read_varlong, read_zigzag

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

_NEAR_MS: Final = 1 << 61
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
    total = len(data)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time_ms = header.max_timestamp if header.is_log_append_time else None
    may_overflow = not -_NEAR_MS < base_timestamp < _NEAR_MS  # so that a small delta may pass 64 bits
    try:
        # Most varints are of one byte or two and are read in place; `bits` as of `read_zigzag`: an odd length is null.
        for _ in range(count):
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            end = position + (bits >> 1)
            if bits & 1 or end > total:
                raise CorruptRecord(f"record of {bits >> 1 ^ -(bits & 1)} bytes at {position}, {total} in all")
            # after the record's attributes, which have no use
            if (bits := data[position + 1]) < 128:
                position += 2
            elif (high := data[position + 2]) < 128:
                bits += (high << 7) - 128
                position += 3
            else:
                bits, position = read_zigzag(data, position + 1)
                may_overflow = may_overflow or bits > _NEAR_MS
            timestamp_ms = base_timestamp + (bits >> 1 ^ -(bits & 1)) if append_time_ms is None else append_time_ms
            if may_overflow:
                timestamp_ms = max(-(2**63), min(timestamp_ms, 2**63 - 1))
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
                if bits & 1 or bits >> 1 > header.last_offset_delta:
                    raise CorruptRecord(f"a record has offset delta {bits >> 1 ^ -(bits & 1)} from {base_offset}")
            offset = base_offset + (bits >> 1 ^ -(bits & 1))
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            key = value = None
            if not bits & 1:
                start, position = position, position + (bits >> 1)
                if position > end:
                    raise CorruptRecord(f"{bits >> 1} bytes announced at {start}, the record ends at {end}")
                key = data[start:position]
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            if not bits & 1:
                start, position = position, position + (bits >> 1)
                if position > end:
                    raise CorruptRecord(f"{bits >> 1} bytes announced at {start}, the record ends at {end}")
                value = data[start:position]
            headers: tuple[Header, ...] = ()
            if data[position]:
                headers, position = _read_headers(data, position, end)
            else:
                position += 1
            if position != end:
                raise CorruptRecord(f"record ends at {position}, its length says {end}")
            yield _new(Record, (offset, timestamp_ms, key, value, headers))
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record at byte {position} of batch {base_offset}: {failure}") from None
    if position != total:
        raise CorruptRecord(f"{total - position} bytes after the last record of batch {base_offset}")


def _read_headers(data: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varlong(data, position)
    if not 0 <= count <= end - position:
        raise CorruptRecord(f"{count} headers announced, too few bytes remain")
    headers = []
    for _ in range(count):
        name, position = _read_bytes(data, position, end)
        content, position = _read_bytes(data, position, end)
        if name is None:
            raise CorruptRecord("a header's key is null")
        headers.append((name.decode("utf-8", "replace"), content))
    return tuple(headers), position


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varlong(data, position)
    if length < 0:
        return None, position
    stop = position + length
    if stop > end:
        raise CorruptRecord(f"{length} bytes announced at {position}, the record ends at {end}")
    return data[position:stop], stop


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
