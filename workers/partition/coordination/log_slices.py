"""A log read from its start to its end, a slice at a time, by its own writer.

Runs in: a partition worker, between other work. The end is where the log ends when the reader comes there: what is appended
meanwhile, as markers are, is read too. Entries of the formats v0 and v1, which a Kafka before 0.11 left, come one by one.

Source: Kafka `GroupMetadataManager.doLoadGroupsAndOffsets`, whose `logEndOffset` is asked for before each read.
"""

from __future__ import annotations

import os
from typing import Final

from headrace.log.reading.reader import LogReader
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.message_set import ENTRY_BYTES_MIN, old_header
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    RecordBatchHeader,
    parse_header,
)

SLICE_BYTES: Final = 512 * 1024

Batch = tuple[RecordBatchHeader, memoryview]

assert HEADER_BYTES <= SLICE_BYTES


class LogSlices:
    """Slices of whole batches, up to the log's end.

    faults    what had to be left out since the last look; the caller empties it
    version   of the list of segments: where the log's has moved (it has one more, the cleaner replaced some), start over
    """

    def __init__(self, log: PartitionLog) -> None:
        self.faults: list[str] = []
        self.version = log.segments_version
        self._log = log
        self._start_offset = log.log_start_offset
        self._reader = LogReader(log.directory)
        self._reader.refresh(self.version)
        self._bases = [base for base in self._reader.segment_bases() if base <= log.end_segment]
        self._position = 0

    def read(self) -> list[Batch] | None:
        """The batches of the next slice, None at the end: asked again, what was appended since.

        raises   OSError, where a segment can't be read
        """
        while self._bases:
            base = self._bases[0]
            segment = self._reader.segment(base)
            end = self._log.end_position if len(self._bases) == 1 else segment.size_bytes()
            if end - self._position < ENTRY_BYTES_MIN:
                if len(self._bases) == 1:
                    break
                self._skip(end)
                continue
            data = memoryview(os.pread(segment.fd, min(SLICE_BYTES, end - self._position), self._position))
            before = self._position
            batches = self._split(data, segment.fd, base, end)
            if batches:
                return batches
            if self._position == before and self._bases[:1] == [base]:
                self.faults.append(f"segment {base} ends at byte {before + len(data)}, not at {end}")
                self._skip(end)
        self._reader.close()
        return None

    def _split(self, data: memoryview, fd: int, base: int, end: int) -> list[Batch]:
        batches: list[Batch] = []
        place = 0
        while (left := len(data) - place) >= ENTRY_BYTES_MIN:
            start = self._position + place
            is_old = 0 <= data[place + MAGIC_POSITION] < MAGIC_V2
            if left < HEADER_BYTES and left < end - start and not is_old:
                break  # the next slice has the header whole
            if is_old:
                header = old_header(data, place)
                size = header.size_bytes
            elif left >= HEADER_BYTES:
                header = parse_header(data, place)
                size = header.size_bytes
            else:
                size = 0  # too short for a batch
            bytes_min = ENTRY_BYTES_MIN if is_old else HEADER_BYTES
            if not bytes_min <= size <= end - start or not (is_old or header.magic == MAGIC_V2):
                self.faults.append(f"segment {base} from byte {start} to {end}: no batch there")
                self._skip(end)
                return batches
            if size > left:
                if not place:  # larger than a slice
                    batches.append((header, memoryview(os.pread(fd, size, start))))
                    place = size
                break
            if header.base_offset + header.last_offset_delta >= self._start_offset:
                batches.append((header, data[place : place + size]))
            place += size
        self._position += place
        return batches

    def _skip(self, end: int) -> None:
        """Leave out the rest of a segment; the last one may get more."""
        if len(self._bases) == 1:
            self._position = end
        else:
            del self._bases[0]
            self._position = 0
