"""A rolled segment, some MiB at a time: whole batches, checked.

Entries of the formats v0 and v1 come as batches of v2: a wrapper as one, messages that are not compressed as one for each run
of them, with their own offsets and timestamps. What compaction writes is therefore v2 throughout.

Runs in: the housekeeper. It reads with `pread`: a file that is cut under it is an error, not a SIGBUS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from headrace.limits import RUN_MESSAGES_MAX
from headrace.log.reading.segment_file import SegmentFile
from headrace.protocol.message_set import ENTRY_BYTES_MIN, Message, read_message, records_of
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    MAGIC_V2,
    Record,
    RecordBatchHeader,
    build_batch,
    compute_crc,
    entry_bytes,
    parse_header,
)

Batch = tuple[RecordBatchHeader, memoryview]

_new = tuple.__new__


def read_chunks(segment: SegmentFile, end: int, chunk_bytes: int) -> Iterator[tuple[list[Batch], int]]:
    """(batches, bytes of the file) up to byte `end`, where a batch ends.

    chunk_bytes   at most, or one batch
    raises        CorruptSegment, CorruptRecord, CompressionError; OSError
    """
    position, wanted = 0, chunk_bytes
    next_offset = segment.base_offset
    while position < end:
        data = os.pread(segment.fd, min(wanted, end - position), position)
        batches, size, needed = _parse(segment, data, position, end)
        if size:
            for header, _batch in batches:
                if header[0] < next_offset:
                    raise segment.corrupt(position)  # an offset twice
                next_offset = header[0] + header[6] + 1
            yield batches, size
            position += size
            wanted = chunk_bytes
        elif needed <= len(data) or needed > end - position or len(data) < min(wanted, end - position):
            raise segment.corrupt(position)  # the file ends before its time
        else:
            wanted = needed


def _parse(segment: SegmentFile, data: bytes, position: int, end: int) -> tuple[list[Batch], int, int]:
    """The batches at the start of `data`, their bytes, and how many bytes the next one needs.

    position   of the data in the segment; nothing in it reaches past `end`
    """
    view = memoryview(data)
    batches: list[Batch] = []
    run: list[Message] = []
    place, needed, total = 0, ENTRY_BYTES_MIN, len(data)
    while total - place >= ENTRY_BYTES_MIN:
        needed = entry_bytes(data, place)
        magic = data[place + MAGIC_POSITION]
        bytes_min = HEADER_BYTES if magic == MAGIC_V2 else ENTRY_BYTES_MIN
        if magic > MAGIC_V2 or needed < bytes_min or needed > end - position - place:
            raise segment.corrupt(position + place)
        if needed > total - place:
            break
        if magic == MAGIC_V2:
            if run:
                batches += _batch_of_run(run)
            batch = view[place : place + needed]
            header = parse_header(data, place)
            if compute_crc(batch) != header.crc:
                raise segment.corrupt(position + place)
            batches.append((header, batch))
        else:
            message, _next = read_message(data[place : place + needed])
            if message.codec or len(run) == RUN_MESSAGES_MAX or (run and run[0].attributes != message.attributes):
                batches += _batch_of_run(run)
            if message.codec:
                batches.append(_upgraded(records_of(message), message))
            else:
                run.append(message)
        place += needed
    batches += _batch_of_run(run)
    return batches, place, needed


def _batch_of_run(run: list[Message]) -> list[Batch]:
    """Messages of one kind, as one batch; empties the run."""
    if not run:
        return []
    records = [record for message in run for record in records_of(message)]
    batch = _upgraded(records, run[0])
    run.clear()
    return [batch]


def _upgraded(records: list[Record], message: Message) -> Batch:
    """Records of v0 or v1 as a batch of v2 with their offsets."""
    base_offset = records[0].offset
    batch = memoryview(
        build_batch(
            [record._replace(offset=record.offset - base_offset) for record in records],
            base_offset=base_offset,
            codec=message.codec,
            attributes=LOG_APPEND_TIME_BIT if message.is_log_append_time else 0,
        )
    )
    return parse_header(batch), batch
