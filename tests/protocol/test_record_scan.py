"""The walk without records finds what the reader finds, and refuses what the header doesn't say."""

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.protocol.compression import Codec, CompressionError
from headrace.protocol.record_batch import CorruptRecord, Record, build_batch, iterate_records, parse_header
from headrace.protocol.record_scan import scan_batch
from tests.support import message_generator as generator

BODIES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=5), BODIES), max_size=3).map(tuple)
RECORDS = st.lists(st.tuples(st.integers(-5, 2**40), BODIES, BODIES, HEADERS), min_size=1, max_size=90)


def scan(batch, **how):
    return scan_batch(batch, parse_header(batch), **how)


@pytest.mark.parametrize("codec", list(Codec))
@settings(max_examples=30, deadline=None)
@given(rows=RECORDS)
def test_keys_and_times_are_those_of_the_records(codec, rows):
    found = scan(build_batch([Record(index, *row) for index, row in enumerate(rows)], codec=codec))
    times = [row[0] for row in rows]
    assert found.keyless == [index for index, row in enumerate(rows) if row[1] is None]
    assert (found.min_timestamp_ms, found.max_timestamp_ms) == (min(times), max(times))


@pytest.mark.parametrize(
    ("position", "letter", "value", "reason"),
    [
        (57, ">i", 3, "record 2: index out of range"),
        (57, ">i", 1, "bytes after the last record"),
        (61, "b", 2, "its length says|index"),
        (64, "b", 2, "record 0 has offset delta 1"),
        (65, "b", 126, "record 0|its length says"),
    ],
)
def test_what_the_header_does_not_say_is_refused(position, letter, value, reason):
    batch = bytearray(build_batch([(b"k", b"v"), (b"k", b"v")]))
    struct.pack_into(letter, batch, position, value)
    with pytest.raises(CorruptRecord, match=reason):
        scan(batch)


def test_gaps_between_offsets_are_refused():
    with pytest.raises(CorruptRecord, match="record 1 has offset delta 2"):
        scan(build_batch([Record(0, 5, None, None), Record(2, 5, None, None)]))


def test_a_bomb_stops_at_the_limit():
    with pytest.raises(CompressionError, match="more than 1048576"):
        scan(build_batch([(b"k", bytes(1 << 22))], codec=Codec.GZIP), limit=1 << 20)


def test_a_damaged_batch_passes_the_walk_only_if_it_can_be_read():
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    whole = build_batch([Record(n, 7, b"key", b"value" * 9, (("h", b"x"),)) for n in range(5)])
    for number in range(3000):
        data = whole[:61] + generator.damaged(whole[61:], chance)
        data = data[:8] + struct.pack(">i", len(data) - 12) + data[12:]
        try:
            scan(data)
        except CorruptRecord:
            continue
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {data.hex()}: {other!r}")
        assert len(list(iterate_records(data))) == 5, f"seed {seed}, number {number}"
