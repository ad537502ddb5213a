"""Records up to v2 and down to v1 and v0: nothing changes but what the target can't hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.limits import OPENED_RECORD_COST
from headrace.protocol.compression import Codec, compress
from headrace.protocol.conversion import UnsupportedCodec, convert_down, convert_up, open_produced_set, upgrade_set
from headrace.protocol.message_set import InvalidMessageSet, build_message_set, encode_message, read_messages
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    CorruptRecord,
    Record,
    build_batch,
    iterate_records,
    parse_header,
)
from tests.protocol.test_message_set import (
    BODIES,
    NOW_MS,
    OLD_CODECS,
    as_stored,
    kafka_python_s,
    read,
    read_by_kafka_python,
)

ROWS = st.lists(st.tuples(BODIES, BODIES, st.integers(0, 2**40)), min_size=1, max_size=12)
EVERYTHING = 1 << 30


def batch_at(first, records, **how):
    whole = [record._replace(offset=record.offset - first) for record in records]
    return build_batch(whole, base_offset=first, leader_epoch=3, **how)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
@settings(max_examples=20, deadline=None)
@given(rows=ROWS)
def test_what_an_old_producer_sends_becomes_one_batch(magic, codec, rows):
    records = [Record(index, time, key, value) for index, (key, value, time) in enumerate(rows)]
    opened = open_produced_set(memoryview(kafka_python_s(records, magic, codec)))
    assert (opened.magic, opened.codec, opened.records) == (magic, codec, as_stored(records, magic))
    upgraded = upgrade_set(memoryview(kafka_python_s(records, magic, codec)))
    batch = convert_up(upgraded, upgraded.codec, compress(upgraded.codec, upgraded.data))
    header = parse_header(batch)
    assert (header.base_offset, header.last_offset_delta, header.record_count) == (0, len(rows) - 1, len(rows))
    assert header.codec == codec
    assert header.max_timestamp == max(record.timestamp_ms for record in opened.records)
    assert list(iterate_records(batch)) == as_stored(records, magic)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
@settings(max_examples=20, deadline=None)
@given(rows=ROWS, first=st.integers(0, 2**40))
def test_down_keeps_offsets_keys_and_values_and_kafka_python_reads_it(magic, codec, rows, first):
    records = [Record(first + 3 * index, time, key, value) for index, (key, value, time) in enumerate(rows)]
    log = batch_at(first, records, codec=codec)
    converted = convert_down(log, magic, first, EVERYTHING)
    assert read_by_kafka_python(converted.data) == as_stored(records, magic) == read(converted.data)
    assert converted.next_offset == records[-1].offset + 1
    assert {message.codec for message in read_messages(converted.data)} == {codec}
    again = convert_down(converted.data, 0, first, EVERYTHING)
    assert read_by_kafka_python(again.data) == as_stored(records, 0)


def test_headers_go_and_append_time_stays():
    records = [Record(10, 5, b"k", b"v", (("h", b"x"),)), Record(11, 9, b"k", b"w")]
    for codec in OLD_CODECS:
        log = batch_at(10, records, codec=codec, attributes=LOG_APPEND_TIME_BIT)
        converted = convert_down(log, 1, 10, EVERYTHING)
        assert read(converted.data) == [Record(10, 9, b"k", b"v"), Record(11, 9, b"k", b"w")]
        assert all(message.is_log_append_time for message in read_messages(converted.data))


def test_records_before_the_wanted_one_go_where_they_stand_alone():
    records = [Record(number, 5, b"k", b"v") for number in range(4)]
    plain = convert_down(batch_at(0, records), 1, 2, EVERYTHING)
    assert [record.offset for record in read(plain.data)] == [2, 3]
    packed = convert_down(batch_at(0, records, codec=Codec.GZIP), 1, 2, EVERYTHING)
    assert [record.offset for record in read(packed.data)] == [0, 1, 2, 3]


def test_an_entry_whose_wanted_records_were_compacted_away_is_passed_over():
    for codec in (Codec.NONE, Codec.GZIP):
        batch = bytearray(batch_at(0, [Record(0, 5, b"k", b"v")], codec=codec))
        batch[23:27] = (9).to_bytes(4, "big")  # its last offset is kept, its last records are not
        converted = convert_down(bytes(batch), 1, 4, EVERYTHING)
        assert converted[:3] == (b"", 10, 0)
        following = batch_at(10, [Record(10, 5, b"k", b"v")], codec=codec)
        assert [r.offset for r in read(convert_down(bytes(batch) + following, 1, 4, EVERYTHING).data)] == [10]


def test_markers_go_and_what_is_old_enough_is_passed_as_it_is():
    marker = batch_at(3, [Record(3, 5, b"\0\0\0\0", b"")], attributes=CONTROL_BIT)
    old = encode_message(4, 0, -1, b"k", b"v") + encode_message(5, 1, 77, b"k", b"v")
    assert convert_down(marker, 1, 3, EVERYTHING) == (b"", 4, 0, 0)
    assert convert_down(marker + old, 1, 3, EVERYTHING) == (old, 6, len(old) // 2 - 4, 0)
    assert read(convert_down(marker + old, 0, 3, EVERYTHING).data) == [
        Record(4, -1, b"k", b"v"),
        Record(5, -1, b"k", b"v"),
    ]


def test_zstd_has_no_old_form():
    zstd = batch_at(1, [Record(1, 5, b"k", b"v")], codec=Codec.ZSTD)
    with pytest.raises(UnsupportedCodec, match="zstd at offset 1"):
        convert_down(zstd, 1, 0, EVERYTHING)
    before = batch_at(0, [Record(0, 5, b"k", b"v")])
    converted = convert_down(before + zstd, 1, 0, EVERYTHING)
    assert ([record.offset for record in read(converted.data)], converted.next_offset) == ([0], 1)


def test_conversion_ends_with_the_entry_that_reaches_the_size():
    log = b"".join(batch_at(n, [Record(n, 5, b"k", b"v" * 100)]) for n in range(10))
    one = len(convert_down(log, 1, 0, 1).data)
    assert convert_down(log, 1, 0, one * 3).next_offset == 3
    assert convert_down(log, 1, 0, one * 3 + 1).next_offset == 4
    assert convert_down(log[:-1], 1, 0, EVERYTHING).next_offset == 9


def test_conversion_ends_with_the_entry_that_reaches_the_cost():
    log = b"".join(batch_at(n, [Record(n, 5, b"k", b"v" * 99)], codec=Codec.GZIP) for n in range(10))
    one = convert_down(log, 1, 0, 1)
    assert one.cost == 109 + OPENED_RECORD_COST  # 9 bytes of lengths and deltas around key and value
    assert convert_down(log, 1, 0, EVERYTHING, one.cost).next_offset == 1
    assert convert_down(log, 1, 0, EVERYTHING, one.cost + 1).next_offset == 2
    assert convert_down(log, 1, 0, EVERYTHING, 0).next_offset == 1, "one entry in any case"


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_offsets_of_a_producer_are_given_anew(codec):
    records = [Record(40 + 3 * index, NOW_MS, b"k", b"v") for index in range(4)]
    opened = open_produced_set(build_message_set(records, 1, codec))
    assert opened.records == [record._replace(offset=index) for index, record in enumerate(records)]


@pytest.mark.parametrize("sizes", [(63, 64), (64, 63), (8191, 8192), (8192, 8191), (2_000_000, 0)])
@pytest.mark.parametrize("step", [0, 1, 63, 64, 8191, 8192, 2_000_000])
def test_varints_of_every_width_are_read(sizes, step):
    records = [
        Record(index * max(step, 1), 5 + index * step * (-1) ** index, b"k" * sizes[0], b"v" * sizes[1])
        for index in range(3)
    ]
    assert list(iterate_records(build_batch(records))) == records
    assert read(convert_down(build_batch(records), 1, 0, EVERYTHING).data) == records


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "without messages"),
        (encode_message(0, 0, 0, None, b"v") + encode_message(1, 1, 0, None, b"v"), "another magic"),
        (build_message_set([Record(0, 0, None, b"v")], 1, 1) * 2, "must be the only one"),
        (
            encode_message(0, 1, 0, None, b"v") + build_message_set([Record(0, 0, None, b"v")], 1, 1),
            "must be the only one",
        ),
    ],
)
def test_sets_that_no_producer_sends_are_refused(data, reason):
    with pytest.raises(InvalidMessageSet, match=reason):
        open_produced_set(data)


def test_a_cut_message_at_the_end_is_no_message_of_the_producer():
    with pytest.raises(CorruptRecord, match="no message at byte"):
        open_produced_set(encode_message(0, 1, 0, None, b"v") + encode_message(1, 1, 0, None, b"v")[:-1])


def test_times_of_v0_are_none_and_stay_none():
    upgraded = upgrade_set(build_message_set([Record(0, NOW_MS, b"k", b"v")], 0))
    header = parse_header(convert_up(upgraded, 0, upgraded.data))
    assert (header.base_timestamp, header.max_timestamp) == (-1, -1)
