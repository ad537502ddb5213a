"""The records of an uncompressed batch of v2 against its header: what a leader checks of each such batch it takes.

On the hot path of every produce, and where the record kernel was not built in Python, so what is checked depends on the number
of records, in both forms:

    PLAIN_WHOLE_RECORDS_MAX and fewer   every field of every record, 0.4 us a record
    more                          the first FIRST_RECORDS of them so; of the others the length, 0.1 us a record, 0.01 us where
                                  neighbours have the same one and are compared at once

So for every batch it holds that there are as many records as the header says, one after the other up to the last byte. What
is left out, deltas and the lengths of keys and values further back in large batches, can harm a reader of that batch alone,
as what is in a compressed one can. Why: docs/decisions/017; measured: docs/measurements/node.md.

Source: Kafka `LogValidator.assignOffsetsNonCompressed`, `DefaultRecord.readFrom`.
"""

from __future__ import annotations

from typing import Final

from headrace.limits import PLAIN_RUN_RECORDS_MAX, PLAIN_RUN_RECORDS_MIN, PLAIN_WHOLE_RECORDS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.record_batch import RECORD_BYTES_MIN, CorruptRecord
from headrace.protocol.record_scan import skip_headers
from headrace.protocol.varint import read_zigzag

FIRST_RECORDS: Final = 4
LENGTHS_BEFORE_RUN: Final = 32  # records that are walked before the next run is tried for; each failure doubles it

_BODY_BITS_MIN: Final = 2 * (RECORD_BYTES_MIN - 1)  # zigzag of the shortest length

_scan: Final = record_kernel.scan_plain


def scan_plain(data: bytes, count: int) -> int:
    """Walk the records after an uncompressed batch's header.

    returns   the checked timestamp delta with the largest magnitude, as a zigzag: twice the value
              or, of a negative one, odd
    raises    CorruptRecord, where they are not `count` records
    """
    if _scan is not None:
        most: int | None = _scan(data, count, PLAIN_WHOLE_RECORDS_MAX, FIRST_RECORDS)
        if most is not None:
            return most
    return walk_plain(data, count)


def walk_plain(data: bytes, count: int) -> int:
    """The same, in Python."""
    if count * RECORD_BYTES_MIN > len(data):
        raise CorruptRecord(f"{count} records in {len(data)} bytes")
    position = 0
    try:
        if count <= PLAIN_WHOLE_RECORDS_MAX:
            position, most = _walk_whole(data, count)
        else:
            position, most = _walk_whole(data, FIRST_RECORDS)
            position = _walk_lengths(data, position, count - FIRST_RECORDS)
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"a record near byte {position} of {len(data)}: {failure}") from None
    if position != len(data):
        raise CorruptRecord(f"{count} records end at byte {position} of {len(data)}")
    return most


def _walk_lengths(data: bytes, position: int, count: int) -> int:
    """Position after `count` records, or some position that is not the end. raises CorruptRecord, IndexError, ValueError"""
    walk = LENGTHS_BEFORE_RUN
    while count > 0:
        run, size = _measure_run(data, position, min(count, PLAIN_RUN_RECORDS_MAX))
        if run:
            position += run * size
            count -= run
            walk = LENGTHS_BEFORE_RUN
            continue
        for _ in range(min(walk, count)):
            if (bits := data[position]) < 128:
                position += 1 + (bits >> 1)
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2 + (bits >> 1)
            else:
                bits, position = read_zigzag(data, position)
                position += bits >> 1
            if bits & 1 or bits < _BODY_BITS_MIN:
                raise CorruptRecord(f"a record of {bits >> 1 ^ -(bits & 1)} bytes before byte {position}")
        count -= walk
        walk *= 2
    return position


def _measure_run(data: bytes, start: int, most: int) -> tuple[int, int]:
    """(how many records from `start` on have the length of the first one, bytes of each); (0, 0) for too few."""
    bits, body = read_zigzag(data, start)
    size = body - start + (bits >> 1)
    run = min(most, (len(data) - start) // size)
    if bits & 1 or bits < _BODY_BITS_MIN or run < PLAIN_RUN_RECORDS_MIN or data[start + size] != data[start]:
        return 0, 0
    for place in range(start, body):
        column = data[place : place + (run - 1) * size + 1 : size]
        if column != column[:1] * run:
            run -= len(column.lstrip(column[:1]))
            if run < PLAIN_RUN_RECORDS_MIN:
                return 0, 0
    return run, size


def _walk_whole(data: bytes, count: int) -> tuple[int, int]:
    """(position after the last record, largest timestamp zigzag). raises CorruptRecord, IndexError, ValueError"""
    total = len(data)
    position = most = 0
    for index in range(count):
        # Most varints are of one byte or two and are read in place, as in `record_scan.py`.
        if (bits := data[position]) < 128:
            position += 1
        elif (high := data[position + 1]) < 128:
            bits += (high << 7) - 128
            position += 2
        else:
            bits, position = read_zigzag(data, position)
        end = position + (bits >> 1)
        if bits & 1 or end > total:
            raise CorruptRecord(f"record {index} of {bits >> 1 ^ -(bits & 1)} bytes at {position}, {total} in all")
        if (bits := data[position + 1]) < 128:
            position += 2
        elif (high := data[position + 2]) < 128:
            bits += (high << 7) - 128
            position += 3
        else:
            bits, position = read_zigzag(data, position + 1)
        if bits > most:
            most = bits
        if data[position] != index << 1:
            raise CorruptRecord(f"record {index} has another offset delta")
        if (bits := data[position + 1]) < 128:
            position += 2
        elif (high := data[position + 2]) < 128:
            bits += (high << 7) - 128
            position += 3
        else:
            bits, position = read_zigzag(data, position + 1)
        if not bits & 1:
            position += bits >> 1
        if (bits := data[position]) < 128:
            position += 1
        elif (high := data[position + 1]) < 128:
            bits += (high << 7) - 128
            position += 2
        else:
            bits, position = read_zigzag(data, position)
        if not bits & 1:
            position += bits >> 1
        position = position + 1 if not data[position] else skip_headers(data, position, end)
        if position != end:
            raise CorruptRecord(f"record {index} ends at {position}, its length says {end}")
    return position, most
