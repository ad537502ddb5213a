"""Records as columns: what the walk over lanes finds is what the record reader finds; hashes tell keys apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.log.compaction.record_columns import PADDING_BYTES, hash_keys, walk_lanes
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    CorruptRecord,
    Record,
    build_batch,
    iterate_records,
    parse_header,
)

TIME_MS = 1_700_000_000_000
optional_bytes = st.none() | st.binary(max_size=300)
records = st.lists(
    st.tuples(st.integers(0, 2**40), optional_bytes, optional_bytes, st.integers(0, 2)), min_size=0, max_size=12
)


def make_batch(rows):
    return build_batch(
        [
            Record(index, time, key, value, tuple(("h", b"x") for _ in range(headers)))
            for index, (time, key, value, headers) in enumerate(rows)
        ],
        timestamp_ms=TIME_MS,
    )


def lanes_of(batches):
    bodies = [batch[HEADER_BYTES:] for batch in batches]
    ends = np.cumsum([len(body) for body in bodies])
    data = np.frombuffer(b"".join(bodies) + bytes(PADDING_BYTES), np.uint8)
    counts = np.array([parse_header(batch).record_count for batch in batches], np.int64)
    return data, ends - np.array([len(body) for body in bodies]), ends, counts


def rows_of(data, columns, batches):
    """(lane, offset, timestamp, key, value length) of each record."""
    plain = data.tobytes()
    headers = [parse_header(batch) for batch in batches]
    return [
        (
            lane,
            headers[lane].base_offset + columns.offset_delta[row],
            headers[lane].base_timestamp + columns.timestamp_delta[row],
            None
            if columns.key_length[row] < 0
            else plain[columns.key_start[row] : columns.key_start[row] + columns.key_length[row]],
            columns.value_length[row],
        )
        for row, lane in enumerate(columns.lane.tolist())
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(records, min_size=1, max_size=12))
def test_columns_are_what_the_record_reader_finds(many):
    batches = [make_batch(rows) for rows in many]
    data, *places = lanes_of(batches)
    columns = walk_lanes(data, *places)
    expected = [
        (lane, one.offset, one.timestamp_ms, one.key, -1 if one.value is None else len(one.value))
        for lane, batch in enumerate(batches)
        for one in iterate_records(batch)
    ]
    assert rows_of(data, columns, batches) == expected
    plain = data.tobytes()
    for row in range(len(columns.lane)):
        assert columns.start[row] < columns.body[row] < columns.timestamp_end[row] < columns.end[row]
        assert plain[columns.body[row]] == 0


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_noise_raises_and_never_reads_outside(data):
    batches = [bytearray(make_batch([(TIME_MS, b"key", b"value", 1)] * 3)) for _ in range(3)]
    batch = data.draw(st.sampled_from(batches))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(HEADER_BYTES, len(batch) - 1))] = data.draw(st.integers(0, 255))
    try:
        columns = walk_lanes(*lanes_of(batches))
    except CorruptRecord:
        return
    assert (columns.end <= np.repeat(np.cumsum([len(one) - HEADER_BYTES for one in batches]), 3)).all()


def test_more_records_than_bytes_are_refused_before_memory_is_taken():
    data, starts, ends, _counts = lanes_of([make_batch([(TIME_MS, b"k", b"v", 0)])])
    for count in (2**31 - 1, 2, -1):
        with pytest.raises(CorruptRecord):
            walk_lanes(data, starts, ends, np.array([count]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=40) | st.binary(min_size=250, max_size=270), min_size=1, max_size=40))
def test_equal_keys_and_only_they_have_equal_hashes_wherever_they_lie(keys):
    data = np.frombuffer(b"".join(keys) + bytes(PADDING_BYTES), np.uint8)
    length = np.array([len(key) for key in keys], np.int64)
    first, second = hash_keys(data, np.cumsum(length) - length, length)
    by_hash = {}
    for key, *pair in zip(keys, first.tolist(), second.tolist(), strict=True):
        assert by_hash.setdefault(tuple(pair), key) == key
    assert len(by_hash) == len(set(keys))


def test_hashes_fill_their_bits():
    keys = [b"key-%08d" % number for number in range(50_000)]
    data = np.frombuffer(b"".join(keys) + bytes(PADDING_BYTES), np.uint8)
    length = np.full(len(keys), 12, np.int64)
    for hashes in hash_keys(data, np.arange(len(keys)) * 12, length):
        assert len(set(hashes.tolist())) == len(keys)
        for bit in range(64):
            ones = int(((hashes >> np.uint64(bit)) & np.uint64(1)).sum())
            assert 0.47 < ones / len(keys) < 0.53, bit


@pytest.mark.parametrize("count", [1, 100])
def test_varints_of_more_than_eight_bytes_are_read_too(count):
    batches = [make_batch([(0, b"k", b"v", 0), (2**62, b"far", None, 1), (5, None, b"w", 0)]) for _ in range(count)]
    data, *places = lanes_of(batches)
    rows = rows_of(data, walk_lanes(data, *places), batches)
    assert rows[:3] == [(0, 0, 0, b"k", 1), (0, 1, 2**62, b"far", -1), (0, 2, 5, None, 1)]
    assert len(rows) == 3 * count


def overlong(value):
    """Ten bytes of any zigzag varint."""
    bits = (value << 1) ^ (value >> 63)
    return bytes((bits >> 7 * index & 127) | 128 for index in range(9)) + bytes([bits >> 63 & 1])


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**62, 2**63 - 40, -1 - 2**62, 60, -5])
@pytest.mark.parametrize("field", ["length", "key", "value"])
@pytest.mark.parametrize("count", [1, 100])
def test_overlong_lengths_that_lie_are_refused(count, field, value):
    """Sums with them would pass 64 bits and come back from below."""
    sizes = {"key": b"\x02", "value": b"\x02", field: overlong(value)}
    body = b"\0\0\0" + sizes["key"] + b"k" + sizes["value"] + b"v" + b"\0"
    record = sizes.get("length", bytes([len(body) << 1])) + body
    data = np.frombuffer(record * count + bytes(PADDING_BYTES), np.uint8)
    ends = np.arange(1, count + 1) * len(record)
    with pytest.raises(CorruptRecord):
        walk_lanes(data, ends - len(record), ends, np.ones(count, np.int64))


def test_an_overlong_varint_without_an_end_is_refused():
    record = bytes([14 << 1, 0]) + b"\xff" * 13
    data = np.frombuffer(record + bytes(PADDING_BYTES), np.uint8)
    with pytest.raises(CorruptRecord, match="overlong varint"):
        walk_lanes(data, np.array([0]), np.array([len(record)]), np.array([1]))
