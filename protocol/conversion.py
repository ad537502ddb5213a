"""Records from one message format into another.

    up     what an old producer sent, v0 or v1         one batch of v2; offsets are reassigned
    down   entries of a log, v2 or v1, for old readers v1 or v0; offsets stay, headers and markers go

Up: a set is either plain messages or one wrapper, all of one magic. Down: each entry of a newer format becomes one wrapper
where it was compressed, else one message a record; entries that are old enough are passed as they are. Records before the
one that was asked for are left out if they are alone. zstd has no old form.

Source: Kafka `RecordsUtil.downConvert`, `LogValidator`; KIP-31, KIP-32, KIP-110, KIP-283.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.limits import OPENED_BYTES_MAX, OPENED_RECORD_COST, OPENED_RECORDS_MAX
from headrace.protocol.compression import Codec, decompress
from headrace.protocol.message_set import (
    MAGIC_V1,
    InvalidMessageSet,
    TooManyRecords,
    build_message_set,
    iterate_entries,
    read_message,
    read_messages,
    records_of,
)
from headrace.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    MAGIC_V2,
    Buffer,
    Record,
    build_batch,
    parse_header,
    read_records,
)

_new: Final = tuple.__new__


class UnsupportedCodec(InvalidMessageSet):
    """A batch of zstd, which v0 and v1 can't carry."""


class ProducedSet(NamedTuple):
    """What an old producer sent: records with offsets from 0, instead of the producer's."""

    magic: int
    codec: int
    records: list[Record]


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


def opening_cost(records: Sequence[Record]) -> int:
    """What records that were read cost, beside `OPENED_BYTES_MAX`: bytes, and OPENED_RECORD_COST for each."""
    sizes = [len(key or b"") + len(value or b"") for _offset, _timestamp_ms, key, value, _headers in records]
    return sum(sizes) + OPENED_RECORD_COST * len(records)


def convert_up(records: Sequence[Record], codec: int) -> bytes:
    """One batch of v2 of a set's records, as a producer of today would have sent it."""
    return build_batch(records, codec=codec)


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
            entry_end = int.from_bytes(entry[:8], "big", signed=True) + 1
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
        plain = bytes(decompress(header.codec, entry[HEADER_BYTES:], OPENED_BYTES_MAX))
        records = list(read_records(plain, header))
        cost = len(plain) + OPENED_RECORD_COST * len(records)
        codec, is_append_time = header.codec, header.is_log_append_time
    if not codec:
        records = [record for record in records if record.offset >= first_offset]
    elif not any(record.offset >= first_offset for record in records):
        return b"", cost  # nothing that is wanted; the reader would ask for the same again
    converted = build_message_set(records, magic, codec, is_append_time=is_append_time) if records else b""
    return converted, cost
