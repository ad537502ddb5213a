"""The first record of a time in a batch that comes in pieces. What the kernel finds is compared in `kernel_cases.py`."""

import random

import pytest

from headrace.protocol import record_search
from headrace.protocol.record_batch import HEADER_BYTES, CorruptRecord, Record, build_batch
from headrace.protocol.record_search import HEAD_BYTES, find_record

LEAST = -(2**63)


@pytest.fixture(params=["kernel", "Python"], autouse=True)
def form(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.setattr(record_search, "_find", None)


def records_of(lot, count):
    made = []
    for index in range(count):
        headers = ((("h", b"x" * lot.choice((0, 5, 200)))),) if lot.random() < 0.2 else ()
        value = lot.randbytes(lot.choice((0, 3, 100, 5_000)))
        made.append(Record(index, 1_000 + lot.randrange(10_000), None, value, headers))
    return made


def search(data, records, time, offset, piece_bytes):
    """As the reader does it: pieces one after the other, what was not whole before what follows."""
    position, left, rest = 0, len(records), b""
    for start in range(0, len(data), piece_bytes):
        piece = rest + data[start : start + piece_bytes]
        is_end = start + piece_bytes >= len(data)
        found = find_record(piece, position, left, time, offset, len(records), is_end)
        if found.offset_delta >= 0:
            return found.offset_delta, found.time_delta
        left = found.left
        rest = piece[found.position :]
        position = max(0, found.position - len(piece))
    assert not left
    return None


@pytest.mark.slow
@pytest.mark.parametrize("piece_bytes", [1, 17, HEAD_BYTES, 500, 10**7])
def test_the_first_record_of_a_time_is_found_in_pieces_of_any_size(piece_bytes):
    lot = random.Random(7)
    for _ in range(10):
        records = records_of(lot, 40)
        data = bytes(build_batch(records)[HEADER_BYTES:])
        base = records[0].timestamp_ms
        for _ in range(10):
            time, offset = 1_000 + lot.randrange(10_500), lot.randrange(41)
            wanted = next(
                (
                    (one.offset, one.timestamp_ms - base)
                    for one in records
                    if one.timestamp_ms >= time and one.offset >= offset
                ),
                None,
            )
            assert search(data, records, time - base, offset, piece_bytes) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",  # a negative length
        b"\x02\0",  # shorter than any record
        b"\xff" * 11,
        b"\x0e\0\0\x14\1\1\0",  # an offset after the last one
        b"\x0e\0\0\x01\1\1\0",  # a negative offset
        b"\x7e\0\0\0\1\1\0",  # longer than what is there
        b"\xfe\xff\xff\xff\x7f\0\0\0\1\1\0",  # longer than an int32
        b"\x0c\0" + b"\x80" * 5,
    ],
)
def test_a_record_that_contradicts_itself_is_refused(data):
    with pytest.raises(CorruptRecord):
        find_record(data, 0, 1, LEAST, 0, 5, True)
