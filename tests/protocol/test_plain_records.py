"""Uncompressed records against their header: every shape of batch passes, and none that lies."""

import random

import pytest

from headrace.limits import PLAIN_RUN_RECORDS_MIN, PLAIN_WHOLE_RECORDS_MAX
from headrace.protocol.plain_records import FIRST_RECORDS, scan_plain
from headrace.protocol.record_batch import HEADER_BYTES, CorruptRecord, Record, build_batch, parse_header
from headrace.protocol.record_scan import scan_records
from headrace.protocol.varint import read_varlong

COUNTS = (1, 2, PLAIN_RUN_RECORDS_MIN, PLAIN_WHOLE_RECORDS_MAX, PLAIN_WHOLE_RECORDS_MAX + 1, 63, 64, 65, 150, 3_000)


def body_of(records):
    batch = build_batch(records)
    return batch[HEADER_BYTES:], parse_header(batch)


def shape(name, count, lot):
    """Records of a kind."""
    for index in range(count):
        size = {"equal": 100, "empty": 0, "large": 3_000}.get(name, lot.randrange(300))
        key = {"keyed": b"k" * 8, "mixed": lot.choice((None, b"", b"abc"))}.get(name)
        value = None if name == "tombstones" else bytes(size)
        step = {"slow": 40, "back": -3, "hours": 3_600_000}.get(name, 0)
        headers = (("h", b"v"), ("n", None)) if name == "headers" else ()
        yield Record(index, 1_700_000_000_000 + step * index, key, value, headers)


SHAPES = ("equal", "empty", "large", "keyed", "mixed", "tombstones", "slow", "back", "hours", "headers", "random")


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("count", COUNTS)
def test_records_that_are_what_their_header_says_pass_and_the_largest_delta_is_known(name, count):
    lot = random.Random(count)
    data, header = body_of(list(shape(name, count, lot)))
    most = scan_plain(data, count)
    if count > PLAIN_WHOLE_RECORDS_MAX:
        return  # of the first ones
    scan = scan_records(data, header)
    furthest = max(
        scan.max_timestamp_ms - header.base_timestamp, scan.min_timestamp_ms - header.base_timestamp, key=abs
    )
    assert most == (2 * furthest if furthest >= 0 else -2 * furthest - 1)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("count", COUNTS)
def test_another_count_is_told(name, count):
    data, _header = body_of(list(shape(name, count, random.Random(1))))
    for wrong in (count + 1, count - 1, count + 1_000, 2**31 - 1):
        if wrong > 0:
            with pytest.raises(CorruptRecord):
                scan_plain(data, wrong)
    for wrong in (data + b"\0", data[:-1], b"\2" + data, data[1:]):
        with pytest.raises(CorruptRecord):
            scan_plain(wrong, count)


@pytest.mark.parametrize("count", [FIRST_RECORDS, PLAIN_WHOLE_RECORDS_MAX, 150])
@pytest.mark.parametrize("wrong", range(FIRST_RECORDS))
def test_another_offset_delta_is_told(count, wrong):
    records = list(shape("equal", count, random.Random(1)))
    wrong = min(wrong, count - 1)
    records[wrong] = records[wrong]._replace(offset=wrong + 1 if wrong < 2 else wrong - 2)
    data, _header = body_of(records)
    with pytest.raises(CorruptRecord):
        scan_plain(data, count)


@pytest.mark.parametrize("place", [0, 3, 4, 5, 26])
@pytest.mark.parametrize("index", [0, 5, PLAIN_WHOLE_RECORDS_MAX - 1])
def test_in_small_batches_every_byte_of_the_framing_is_looked_at(place, index):
    """Length, offset delta, lengths of key and value, count of headers."""
    data, _header = body_of([(None, b"v" * 20)] * PLAIN_WHOLE_RECORDS_MAX)
    changed = bytearray(data)
    changed[27 * index + place] += 1
    with pytest.raises(CorruptRecord):
        scan_plain(bytes(changed), PLAIN_WHOLE_RECORDS_MAX)


@pytest.mark.parametrize("by", [2, 4, 128, 253])
@pytest.mark.parametrize("index", [64, 100, 200, 262, 263])
@pytest.mark.parametrize("size", [20, 300])
def test_in_large_ones_the_length_of_each_is(size, index, by):
    data, header = body_of([(None, b"v" * size)] * 264)
    starts, start = [], 0
    for _ in range(264):
        starts.append(start)
        length, body = read_varlong(data, start)
        start = body + length
    changed = bytearray(data)
    changed[starts[index]] = (changed[starts[index]] + by) % 256
    with pytest.raises(CorruptRecord):
        scan_plain(bytes(changed), header.record_count)


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_are_judged_in_bounded_time(seed):
    lot = random.Random(seed)
    for _ in range(300):
        data, header = body_of(list(shape(lot.choice(SHAPES), lot.choice(COUNTS[:-1]), lot)))
        changed = bytearray(data)
        for _ in range(lot.randrange(1, 5)):
            changed[lot.randrange(len(changed))] = lot.randrange(256)
        try:
            scan_plain(bytes(changed), header.record_count)
        except CorruptRecord:
            continue
