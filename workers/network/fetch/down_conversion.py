"""Fetch v0 to v3: what is in the log, as readers of the old message formats take it.

Runs in: a network worker, once a request is to be answered; while it waits only sizes are read. v0 and v1 get
messages of v0, v2 and v3 get v1. The bytes go through this process, so a request converts CONVERTED_BYTES_MAX of the
log, shared by its partitions, at least one batch for each until four times that is reached, or OPENED_BYTES_MAX has come
out of them (`opening_budget.py`). With more the ones after
get nothing this time; the first one to be served rotates with the correlation id, except in v3, whose clients rotate.

    v0 to v2   the answer is cut at the partition's limit: a client that finds no whole message doubles it
    v3         the first message of the first partition with records is whole however large; others keep to their
               limits (KIP-74)

A batch that is within the limit as it lies in the log comes whole, even if conversion makes it larger than that.

Source: Kafka `KafkaApis.maybeConvertFetchedData`, `LazyDownConversionRecords`; KIP-283.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from struct import error as StructError
from typing import Final

from headrace.errors import ErrorCode, HeadraceError
from headrace.limits import CONVERTED_BYTES_MAX, EMPTY_RANGES_MAX, SHARE_BYTES_MIN
from headrace.log.reading.reader import FileRange, LogReader
from headrace.protocol.compression import CompressionError
from headrace.protocol.conversion import UnsupportedCodec, convert_down
from headrace.protocol.message_set import MAGIC_V0, MAGIC_V1, iterate_entries
from headrace.protocol.record_batch import LOG_OVERHEAD_BYTES, CorruptRecord, entry_bytes
from headrace.workers.network.fetch.fetch_answer import PartitionAnswer
from headrace.workers.network.produce.opening_budget import BATCH_COST, OpeningBudget

VERSION_OF_MAGIC_1: Final = 2
VERSION_OF_FIRST_MESSAGE_WHOLE: Final = 3
VERSION_OF_MAGIC_2: Final = 4
OVERDRAFT: Final = 4  # times CONVERTED_BYTES_MAX, where many partitions have large batches

OnUnread = Callable[[Path, Exception], None]  # a partition's directory, why


class OldRange:
    """What one partition has for an old reader: found, not read yet. `len` is its size in the log."""

    __slots__ = ("end_offset", "ends", "found", "limit", "offset", "reader")

    def __init__(self, reader: LogReader, found: FileRange, offset: int, limit: int, ends: tuple[int, int]) -> None:
        self.reader = reader
        self.found = found
        self.offset = offset
        self.limit = limit  # of the converted bytes
        self.ends = ends  # (segment, position) up to which may be read

    def __len__(self) -> int:
        return self.found.length


def find(
    reader: LogReader, version: int, offset: int, limit: int, partitions: int, is_first: bool, ends: tuple[int, int]
) -> OldRange | None:
    """The batches to convert for one of `count` partitions: its share, one batch at least, nothing if v3 forbids it.

    raises   CorruptSegment; OSError
    """
    share = min(max(CONVERTED_BYTES_MAX // max(partitions, 1), SHARE_BYTES_MIN), max(limit, 1))
    found = reader.locate(offset, share, *ends, at_least_one=True)
    if found is None:
        return None
    if version >= VERSION_OF_FIRST_MESSAGE_WHOLE and found.length > limit and not is_first:
        return None
    return OldRange(reader, found, offset, limit, ends)


def answer(
    version: int, correlation_id: int, partitions: list[PartitionAnswer], budget: OpeningBudget, on_unread: OnUnread
) -> None:
    """Where a partition's records are an OldRange they become bytes, or an error.

    on_unread   called where a partition's files could not be read
    """
    ranges = {index: one.records for index, one in enumerate(partitions) if isinstance(one.records, OldRange)}
    waiting = list(ranges)
    is_first_whole = version >= VERSION_OF_FIRST_MESSAGE_WHOLE
    if waiting and not is_first_whole:
        start = correlation_id % len(waiting)
        waiting = waiting[start:] + waiting[:start]
    magic = MAGIC_V0 if version < VERSION_OF_MAGIC_1 else MAGIC_V1
    spent = 0
    for index in waiting:
        wanted = ranges[index]
        records, limit, error = b"", wanted.limit, ErrorCode.NONE
        if spent < OVERDRAFT * CONVERTED_BYTES_MAX and budget.limit:
            spent += len(wanted)
            records, limit, error = _convert(wanted, magic, budget, on_unread)
        if is_first_whole:
            records = _whole_or_within(records, limit, is_first=index == waiting[0])
        else:
            records = records[:limit]
        partitions[index].records = records
        partitions[index].error_code = int(error)


def _convert(wanted: OldRange, magic: int, budget: OpeningBudget, on_unread: OnUnread) -> tuple[bytes, int, ErrorCode]:
    """(converted entries, at least one where there is any beyond the offset, how many bytes may be sent, error)."""
    found: FileRange | None = wanted.found
    limit = wanted.limit
    share = max(wanted.found.length, SHARE_BYTES_MIN)
    offset = wanted.offset
    try:
        for _ in range(EMPTY_RANGES_MAX):
            if found is None:
                break
            entries = os.pread(found.fd, found.length, found.position)
            budget.spend(len(entries) + BATCH_COST, 0)
            converted = convert_down(entries, magic, wanted.offset, limit, budget.limit)
            budget.spend(converted.cost, 0)
            if converted.data or converted.next_offset <= offset:
                if len(entries) >= LOG_OVERHEAD_BYTES and entry_bytes(entries, 0) <= limit:
                    limit = max(limit, converted.first_bytes)
                return converted.data, limit, ErrorCode.NONE
            offset = converted.next_offset
            found = wanted.reader.locate(offset, share, *wanted.ends, at_least_one=True)
    except UnsupportedCodec:
        return b"", limit, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    except (
        CorruptRecord,
        CompressionError,
        ArithmeticError,
        ValueError,
        StructError,
    ):  # numbers that no old format has
        budget.spend_in_vain(len(wanted))
        return b"", limit, ErrorCode.CORRUPT_MESSAGE
    except (HeadraceError, OSError) as failure:
        on_unread(wanted.reader.directory, failure)
        return b"", limit, ErrorCode.KAFKA_STORAGE_ERROR
    return b"", limit, ErrorCode.NONE


def _whole_or_within(records: bytes, limit: int, is_first: bool) -> bytes:
    """The records within a limit; above it the first message alone, and only for the first partition with any."""
    if len(records) <= limit:
        return records
    first_bytes = 0
    for _position, size, _magic in iterate_entries(records):
        first_bytes = size
        break
    if first_bytes <= limit:
        return records[:limit]
    return records[:first_bytes] if is_first else b""
