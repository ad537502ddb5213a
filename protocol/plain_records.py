"""The records of an uncompressed batch of v2 against its header: what a leader checks of each such batch it takes.

On the hot path of every produce, and where the record kernel was not built in Python, so what is checked depends on the number
of records, in both forms:

    PLAIN_WHOLE_RECORDS_MAX and fewer   every field of every record, 1 us a record
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
from headrace.protocol.record_batch import RECORD_BYTES_MIN, CorruptRecord, walk_headers, walk_spans
from headrace.protocol.varint import read_varlong

FIRST_RECORDS: Final = 4
LENGTHS_BEFORE_RUN: Final = 32  # records that are walked before the next run is tried for; each failure doubles it

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
            length, position = read_varlong(data, position)
            position += length
            if length < RECORD_BYTES_MIN - 1:
                raise CorruptRecord(f"a record of {length} bytes before byte {position}")
        count -= walk
        walk *= 2
    return position


def _measure_run(data: bytes, start: int, most: int) -> tuple[int, int]:
    """(how many records from `start` on have the length of the first one, bytes of each); (0, 0) for too few."""
    length, body = read_varlong(data, start)
    size = body - start + length
    if length < RECORD_BYTES_MIN - 1:
        return 0, 0
    run = min(most, (len(data) - start) // size)
    if run < PLAIN_RUN_RECORDS_MIN or data[start + size] != data[start]:
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
    position = most = 0
    for index, spans in enumerate(walk_spans(data, 0, count, is_numbered=True)):
        if data[spans.time_end] != index << 1:  # a single byte
            raise CorruptRecord(f"record {index} has another offset delta")
        walk_headers(data, spans.headers, spans.end, index)
        bits = spans.time_delta << 1 ^ spans.time_delta >> 63
        if bits > most:
            most = bits
        position = spans.end
    return position, most
