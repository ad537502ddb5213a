"""Records from one message format into another.

    up     what an old producer sent, v0 or v1         one batch of v2; offsets are reassigned
    down   entries of a log, v2 or v1, for old readers v1 or v0; offsets stay, headers and markers go

Up: a set is either plain messages or one wrapper, all of one magic. Down: each entry of a newer format becomes one wrapper
where it was compressed, else one message a record; entries that are old enough are passed as they are. Records before the
one that was asked for are left out if they are alone. zstd has no old form.

Records are repacked by the record kernel where it was built (`record_kernel.py`), else as objects, one by one; both give the same bytes.

Source: Kafka `RecordsUtil.downConvert`, `LogValidator`; KIP-31, KIP-32, KIP-110, KIP-283.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.ids import NO_PRODUCER_ID, NO_TIMESTAMP_MS
from headrace.limits import OPENED_BYTES_MAX, OPENED_RECORD_COST, OPENED_RECORDS_MAX, RECORD_ERRORS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.compression import Codec, decompress
from headrace.protocol.message_set import (
    ATTRIBUTES_POSITION,
    ENTRY_BYTES_MIN,
    MAGIC_V1,
    InvalidMessageSet,
    TooManyRecords,
    base_offset_of,
    build_message_set,
    iterate_entries,
    read_message,
    read_messages,
    records_of,
    unwrap,
    wrap_messages,
)
from headrace.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_SEQUENCE,
    Buffer,
    Record,
    RecordBatchHeader,
    encode_records,
    parse_header,
    read_records,
    seal_batch,
    unpack_base_offset,
)

ANY_OFFSET: Final = -(2**63)

_new: Final = tuple.__new__
_to_old_messages: Final = record_kernel.to_old_messages
_to_records: Final = record_kernel.to_records


class UnsupportedCodec(InvalidMessageSet):
    """A batch of zstd, which v0 and v1 can't carry."""


class ProducedSet(NamedTuple):
    """What an old producer sent: records with offsets from 0, instead of the producer's."""

    magic: int
    codec: int
    records: list[Record]


class UpgradedSet(NamedTuple):
    """The same as records of a batch of v2, not compressed.

    payload_bytes              of their keys and values
    keyless                    indexes of the records with a null key, RECORD_ERRORS_MAX of them at most
    earliest_ms, latest_ms     of the records that have a timestamp, -1 where none has
    base_timestamp, max_timestamp    of the batch
    """

    codec: int
    data: bytes
    record_count: int
    payload_bytes: int
    keyless: list[int]
    earliest_ms: int
    latest_ms: int
    base_timestamp: int
    max_timestamp: int


class Converted(NamedTuple):
    """Old entries.

    next_offset   after the last entry they came from, of which perhaps nothing was left
    first_bytes   how many of `data` the first entry gave
    cost          bytes that came out of entries, and OPENED_RECORD_COST for each record
    """

    data: bytes
    next_offset: int
    first_bytes: int
    cost: int


def open_produced_set(data: Buffer, limit: int = OPENED_BYTES_MAX) -> ProducedSet:
    """The records of a set of v0 or v1 as a producer sends it.

    limit    most bytes that may come out of it
    raises   CorruptRecord, for a message that is not whole; InvalidMessageSet, for no message, several magics, or a
             wrapper that is not alone; TooManyRecords; CompressionError
    """
    messages = read_messages(data)
    if not messages:
        raise InvalidMessageSet("a set without messages")
    first = messages[0]
    if {message.magic for message in messages} != {first.magic}:
        raise InvalidMessageSet(f"a set of magic {first.magic} with messages of another magic")
    if not any(attributes & CODEC_MASK for attributes in {message.attributes for message in messages}):
        records = [
            _new(Record, (index, timestamp_ms, key, value, ()))
            for index, (_offset, _magic, _attributes, timestamp_ms, key, value) in enumerate(messages)
        ]
        return ProducedSet(first.magic, Codec.NONE, records)
    if len(messages) > 1:
        raise InvalidMessageSet(f"{len(messages)} messages in a set with a compressed one, which must be the only one")
    records = [
        _new(Record, (index, timestamp_ms, key, value, ()))
        for index, (_offset, timestamp_ms, key, value, _headers) in enumerate(records_of(first, limit))
    ]
    return ProducedSet(first.magic, first.codec, records)


def upgrade_set(data: Buffer, limit: int = OPENED_BYTES_MAX, append_time_ms: int | None = None) -> UpgradedSet:
    """The same, repacked.

    append_time_ms   the timestamp of all, in place of the producer's
    raises           as `open_produced_set`
    """
    upgraded = _upgrade(data, limit, append_time_ms) if _to_records is not None else None
    if upgraded is not None:
        return upgraded
    opened = open_produced_set(data, limit)
    records = opened.records
    if append_time_ms is not None:
        records = [record._replace(timestamp_ms=append_time_ms) for record in records]
    times_ms = [record.timestamp_ms for record in records]
    known_ms = [time_ms for time_ms in times_ms if time_ms != NO_TIMESTAMP_MS] or [NO_TIMESTAMP_MS]
    keyless = [index for index, record in enumerate(records) if record.key is None]
    return UpgradedSet(
        opened.codec,
        encode_records(records, times_ms[0]),
        len(records),
        opening_cost(records) - OPENED_RECORD_COST * len(records),
        keyless[:RECORD_ERRORS_MAX],
        min(known_ms),
        max(known_ms),
        times_ms[0],
        max(times_ms),
    )


def _upgrade(data: Buffer, limit: int, append_time_ms: int | None) -> UpgradedSet | None:
    """By the kernel; None where it refuses. raises as `open_produced_set`"""
    assert _to_records is not None
    if len(data) < ENTRY_BYTES_MIN:
        return None
    magic, codec = data[MAGIC_POSITION], data[ATTRIBUTES_POSITION] & CODEC_MASK
    plain, time_ms = data, append_time_ms
    if codec:
        message, end = read_message(bytes(data))
        if end != len(data):
            return None
        plain = unwrap(message, limit)
        if append_time_ms is None and message.is_log_append_time:
            time_ms = message.timestamp_ms
    found = _to_records(plain, magic, time_ms, OPENED_RECORDS_MAX, RECORD_ERRORS_MAX)
    if found is None:
        return None
    records, count, payload_bytes, keyless, earliest_ms, latest_ms, first_ms, largest_ms, last_offset = found
    if codec:
        base_offset_of(message, last_offset)
    return UpgradedSet(codec, records, count, payload_bytes, keyless, earliest_ms, latest_ms, first_ms, largest_ms)


def opening_cost(records: Sequence[Record]) -> int:
    """What records that were read cost, beside `OPENED_BYTES_MAX`: bytes, and OPENED_RECORD_COST for each."""
    sizes = [len(key or b"") + len(value or b"") for _offset, _timestamp_ms, key, value, _headers in records]
    return sum(sizes) + OPENED_RECORD_COST * len(records)


def convert_up(upgraded: UpgradedSet, codec: int, body: Buffer) -> bytearray:
    """One batch of v2 of a set's records, as a producer of today would have sent it.

    body   the records, compressed by the codec
    """
    header = RecordBatchHeader(
        0,
        0,
        -1,
        MAGIC_V2,
        0,
        codec,
        upgraded.record_count - 1,
        upgraded.base_timestamp,
        upgraded.max_timestamp,
        NO_PRODUCER_ID,
        -1,
        NO_SEQUENCE,
        upgraded.record_count,
    )
    return seal_batch(header, body)


def convert_down(
    entries: Buffer, magic: int, first_offset: int, bytes_wanted: int, cost_max: int = OPENED_BYTES_MAX
) -> Converted:
    """Entries of any format as entries of `magic` or older.

    entries        whole ones; a cut one at the end is left out
    first_offset   the offset that was asked for
    bytes_wanted   conversion ends with the entry that reaches this size
    cost_max       conversion ends with the entry that reaches this cost; OPENED_BYTES_MAX may come out of one
    raises         UnsupportedCodec, where the first entry with records is of zstd (after others it ends the
                   conversion); CorruptRecord; CompressionError
    """
    out: list[bytes] = []
    size = cost = 0
    next_offset = first_offset
    view = memoryview(entries)
    for position, entry_bytes, entry_magic in iterate_entries(view):
        entry = view[position : position + entry_bytes]
        if entry_magic == MAGIC_V2:
            header = parse_header(entry)
            entry_end = header.last_offset + 1
            if header.codec == Codec.ZSTD and not header.is_control:
                if out:
                    break
                raise UnsupportedCodec(f"batch of zstd at offset {header.base_offset} for a reader of magic {magic}")
        else:
            entry_end = unpack_base_offset(entry, 0) + 1
        converted, entry_cost = _convert_entry(entry, entry_magic, magic, first_offset)
        cost += entry_cost
        next_offset = max(next_offset, entry_end)
        if converted:
            out.append(converted)
            size += len(converted)
        if size >= bytes_wanted or cost >= cost_max:
            break
    return Converted(out[0] if len(out) == 1 else b"".join(out), next_offset, len(out[0]) if out else 0, cost)


def _convert_entry(entry: memoryview, entry_magic: int, magic: int, first_offset: int) -> tuple[bytes, int]:
    """(one entry, nothing where no record is left of it; its cost)."""
    if entry_magic <= magic:
        return bytes(entry), 0
    if entry_magic == MAGIC_V1:
        message = read_message(bytes(entry))[0]
        records, codec, is_append_time = records_of(message), message.codec, message.is_log_append_time
        cost = opening_cost(records)
    else:
        header = parse_header(entry)
        if header.is_control:
            return b"", 0
        if header.record_count > OPENED_RECORDS_MAX:
            raise TooManyRecords(f"batch at offset {header.base_offset} with {header.record_count} records")
        plain = decompress(header.codec, entry[HEADER_BYTES:], OPENED_BYTES_MAX)
        downgraded = _downgrade(plain, header, magic, first_offset) if _to_old_messages is not None else None
        if downgraded is not None:
            return downgraded, len(plain) + OPENED_RECORD_COST * header.record_count
        plain = bytes(plain)
        records = list(read_records(plain, header))
        cost = len(plain) + OPENED_RECORD_COST * len(records)
        codec, is_append_time = header.codec, header.is_log_append_time
    if not codec:
        records = [record for record in records if record.offset >= first_offset]
    elif not any(record.offset >= first_offset for record in records):
        return b"", cost  # nothing that is wanted; the reader would ask for the same again
    converted = build_message_set(records, magic, codec, is_append_time=is_append_time) if records else b""
    return converted, cost


def _downgrade(plain: Buffer, header: RecordBatchHeader, magic: int, first_offset: int) -> bytes | None:
    """The records of a batch of v2 as one entry, by the kernel; None where it refuses."""
    assert _to_old_messages is not None
    codec, is_append_time = header.codec, header.is_log_append_time
    attributes = LOG_APPEND_TIME_BIT if is_append_time and magic else 0
    found = _to_old_messages(
        plain,
        header.record_count,
        header.last_offset_delta,
        header.base_offset,
        header.base_timestamp,
        header.max_timestamp if is_append_time else None,
        magic,
        attributes,
        ANY_OFFSET if codec else first_offset,
        1 if codec and magic else 0,
    )
    if found is None:
        return None
    messages: bytes = found[0]
    _messages, count, last_offset, largest_offset, latest_ms = found
    if not codec:
        return messages
    if not count or largest_offset < first_offset:
        return b""  # nothing that is wanted
    return wrap_messages(messages, magic, codec, last_offset, latest_ms, attributes)
