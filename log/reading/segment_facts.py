"""What retention and compaction ask of a segment, read from its files: its end, size, and largest timestamp.

Runs in: the housekeeper; the partition worker that owns the log, before it rolls a segment for its age.

Source: Kafka `LogSegment.largestTimestamp`, `readLargestTimestamp`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headrace.log.index_layout import TIME_ENTRY
from headrace.log.names import LOG_SUFFIX, TIME_INDEX_SUFFIX, path_of, segment_bases
from headrace.log.reading.index_reader import TolerantIndexReader
from headrace.log.reading.segment_file import CorruptSegment, SegmentFile
from headrace.log.retention import SegmentFacts
from headrace.protocol.record_batch import HEADER_BYTES, MAGIC_POSITION, MAGIC_V2, parse_header

SEGMENTS_PER_BEAT: Final = 500


def segment_facts(directory: Path, log_end_offset: int, beat: Callable[[], object] | None = None) -> list[SegmentFacts]:
    """The facts of a log that its owner may be changing just now: segments that go meanwhile are left out.

    beat     called after each SEGMENTS_PER_BEAT: a log may have tens of thousands
    raises   OSError
    """
    bases = segment_bases(directory)
    facts = []
    ends = [*bases[1:], max([log_end_offset, *bases[-1:]])]
    for number, (base, end_offset) in enumerate(zip(bases, ends, strict=True), 1):
        if beat is not None and not number % SEGMENTS_PER_BEAT:
            beat()
        try:
            status = os.stat(path_of(directory, base, LOG_SUFFIX))
        except FileNotFoundError:
            continue
        timestamp_ms = largest_timestamp(directory, base)
        if timestamp_ms <= 0 and base == bases[-1]:
            timestamp_ms = first_timestamp(directory, base)  # the active one may have no entry yet
        if timestamp_ms <= 0:
            timestamp_ms = status.st_mtime_ns // 1_000_000
        facts.append(SegmentFacts(base, end_offset, status.st_size, timestamp_ms))
    return facts


def largest_timestamp(directory: Path, base_offset: int) -> int:
    """The last entry of a segment's time index, -1 where it has none."""
    times = TolerantIndexReader(path_of(directory, base_offset, TIME_INDEX_SUFFIX), TIME_ENTRY)
    try:
        last = times.lookup(any)
    finally:
        times.close()
    return last[0] if last is not None else -1


def newest_timestamp(directory: Path, base_offset: int) -> int:
    """Of a rolled segment: its largest timestamp; where its records have none, the time of its last write.

    returns   -1, where the segment is gone: then it may go
    """
    timestamp_ms = largest_timestamp(directory, base_offset)
    if timestamp_ms > 0:
        return timestamp_ms
    try:
        return os.stat(path_of(directory, base_offset, LOG_SUFFIX)).st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return -1


def first_timestamp(directory: Path, base_offset: int) -> int:
    """Of a segment's first batch; -1 where there is none, or it tells none. raises OSError"""
    with open(path_of(directory, base_offset, LOG_SUFFIX), "rb") as file:
        head = file.read(HEADER_BYTES)
    if len(head) < HEADER_BYTES or head[MAGIC_POSITION] != MAGIC_V2:
        return -1
    return parse_header(head).max_timestamp


def ends_without_records(directory: Path, base_offset: int) -> bool:
    """Whether the last batch of a rolled segment has neither records nor a producer: Kafka's cleaner leaves none such.

    raises   OSError
    """
    segment = SegmentFile(directory, base_offset)
    size_bytes = segment.size_bytes()
    is_empty = False
    try:
        for batch in segment.batches(segment.indexed_position(size_bytes), size_bytes):
            is_empty = not batch.header.record_count and batch.header.producer_id < 0
    except CorruptSegment:
        return False  # others report it
    return is_empty
