"""The records of an uncompressed batch of v2 against its header: what a leader checks of each such batch it takes.

On the hot path of every produce, and in Python, so it is in two parts:

    whole     of WHOLE_RECORDS_MAX records and fewer: every field of every record, 0.4 us a record
    frames    of more: length, timestamp delta and offset delta of each record, 0.3 us; neighbours of the same length are
              compared column by column, a field of all of them at once: 0.03 us. That the lengths of key, value and
              headers fill a record is not looked at

So for every batch it holds that there are as many records as the header says, one behind the other up to the last byte, with
offset deltas 0, 1, 2 ... and a largest timestamp that is known. What `frames` leaves out can harm a reader of that record
alone. Measured and argued in docs/decisions/019.

Source: Kafka `LogValidator.assignOffsetsNonCompressed`, `DefaultRecord.readFrom`.
"""

from __future__ import annotations

from functools import lru_cache

from headrace.protocol.record_batch import RECORD_BYTES_MIN, CorruptRecord
from headrace.protocol.record_scan import skip_headers
from headrace.protocol.varint import read_zigzag

WHOLE_RECORDS_MAX = 32
RUN_RECORDS_MIN = 8  # columns of fewer cost more than the records by themselves
RUN_RECORDS_MAX = 1_024  # what one that turns out to be none may cost
FRAMES_BEFORE_RUN = 32  # records that are walked before the next run is tried for; each failure doubles it

_BODY_BITS_MIN = 2 * (RECORD_BYTES_MIN - 1)  # zigzag of the shortest length
_DELTA_EDGES = (0, 64, 8_192, 1 << 20)  # the first offset delta that is too large for so many bytes
_RUN_DELTA_BYTES_MAX = len(_DELTA_EDGES) - 1
_RUN_TIME_BYTES_MAX = 2
_HIGH_BIT = 128


def scan_plain(data: bytes, count: int) -> int:
    """Walk the records behind an uncompressed batch's header.

    returns   of their timestamp deltas the one with the largest magnitude, as a zigzag: twice the value or, of a negative
              one, odd
    raises    CorruptRecord, where they are not `count` records with offset deltas from 0 on
    """
    if count * RECORD_BYTES_MIN > len(data):
        raise CorruptRecord(f"{count} records in {len(data)} bytes")
    position = index = most = 0
    try:
        if count <= WHOLE_RECORDS_MAX:
            position, most = _walk_whole(data, count)
            index = count
        frames = FRAMES_BEFORE_RUN
        while index < count:
            run, stride, bits = _measure_run(data, position, index, min(count, index + RUN_RECORDS_MAX))
            if run:
                index += run
                position += run * stride
                frames = FRAMES_BEFORE_RUN
            else:
                stop = min(count, index + frames)
                position, bits = _walk_frames(data, position, index, stop)
                index = stop
                frames *= 2
            most = max(most, bits)
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"a record near byte {position} of {len(data)}: {failure}") from None
    if position != len(data):
        raise CorruptRecord(f"{count} records end at byte {position} of {len(data)}")
    return most


def _walk_whole(data: bytes, count: int) -> tuple[int, int]:
    """(position behind the last record, largest timestamp zigzag). raises CorruptRecord, IndexError, ValueError"""
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


def _walk_frames(data: bytes, position: int, index: int, stop: int) -> tuple[int, int]:
    """The same of the records `index` to `stop`, by their lengths, timestamps and offsets."""
    most = 0
    for wanted in range(index << 1, stop << 1, 2):
        if (bits := data[position]) < 128:
            position += 1
        elif (high := data[position + 1]) < 128:
            bits += (high << 7) - 128
            position += 2
        else:
            bits, position = read_zigzag(data, position)
        if bits & 1 or bits < _BODY_BITS_MIN:
            raise CorruptRecord(f"record {wanted >> 1} of {bits >> 1} bytes at {position}")
        end = position + (bits >> 1)  # beyond the data, where the next record can't be read, nor be the last one
        if (bits := data[position + 1]) < 128:
            position += 2
        elif (high := data[position + 2]) < 128:
            bits += (high << 7) - 128
            position += 3
        else:
            bits, position = read_zigzag(data, position + 1)
        if bits > most:
            most = bits
        if (bits := data[position]) >= 128:
            if (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
            else:
                bits, position = read_zigzag(data, position)
        if bits != wanted:
            raise CorruptRecord(f"record {wanted >> 1} has offset delta {bits >> 1 ^ -(bits & 1)}")
        position = end
    return position, most


def _measure_run(data: bytes, start: int, index: int, count: int) -> tuple[int, int, int]:
    """(how many records from `start` on are of the first one's shape and right, bytes of each, largest timestamp zigzag).

    Nothing is said of the others, nor of the first one where it is 0. raises IndexError, ValueError
    """
    bits, body = read_zigzag(data, start)
    end = body + (bits >> 1)
    stride = end - start
    delta_bytes = next((size for size, edge in enumerate(_DELTA_EDGES) if index < edge), 0)
    if bits & 1 or not delta_bytes or end > len(data) or stride < RECORD_BYTES_MIN:
        return 0, 0, 0
    time_bits, deltas = read_zigzag(data, body + 1)
    run = min(count - index, (len(data) - start) // stride, _DELTA_EDGES[delta_bytes] - index)
    if run < RUN_RECORDS_MIN or deltas - body > _RUN_TIME_BYTES_MAX + 1:
        return 0, 0, 0
    for place in range(start, body):  # the length of each, as far as it stays the same
        column = data[place : place + (run - 1) * stride + 1 : stride]
        if column != column[:1] * run:
            run -= len(column.lstrip(column[:1]))
            if run < RUN_RECORDS_MIN:
                return 0, 0, 0
    reach = (run - 1) * stride + 1
    first = index - _DELTA_EDGES[delta_bytes - 1]
    for wanted in _delta_columns(delta_bytes):
        if data[deltas : deltas + reach : stride] != wanted[first : first + run]:
            return 0, 0, 0
        deltas += 1
    deltas -= delta_bytes
    times = [data[place : place + reach : stride] for place in range(body + 1, deltas)]
    if [column[:1] * run for column in times] != times:
        if not times[-1].isascii() or (len(times) == 2 and min(times[0]) < _HIGH_BIT):
            return 0, 0, 0
        if len(times) == 1:
            time_bits = max(times[0])
        else:
            time_bits = max([(high << 7) + low - _HIGH_BIT for low, high in zip(*times, strict=True)])
    return run, stride, time_bits


@lru_cache(maxsize=_RUN_DELTA_BYTES_MAX)
def _delta_columns(delta_bytes: int) -> tuple[bytes, ...]:
    """The bytes of all offset deltas that take so many, first bytes first; a megabyte each where they take three."""
    zigzags = range(_DELTA_EDGES[delta_bytes - 1] << 1, _DELTA_EDGES[delta_bytes] << 1, 2)
    last = delta_bytes - 1
    return tuple(
        bytes([(bits >> 7 * byte) & 127 | (_HIGH_BIT if byte < last else 0) for bits in zigzags])
        for byte in range(delta_bytes)
    )
