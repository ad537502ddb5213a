"""Compaction: what stays of a log, offset by offset; the scenarios of Kafka's LogCleaner."""

import os

import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.log.compaction import batch_cleaner
from headrace.log.compaction.batch_cleaner import empty_batch
from headrace.log.compaction.cleaned_segment import SegmentOverflow
from headrace.log.compaction.compaction_plan import CompactionFailed, Swap
from headrace.log.config import LogConfig
from headrace.log.names import TIME_INDEX_SUFFIX, path_of
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_file import CorruptSegment
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import (
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    CorruptRecord,
    Record,
    build_batch,
    compute_crc,
    iterate_batches,
    parse_header,
)
from tests.support.compaction_fixtures import (
    DELETE_RETENTION_MS,
    batches_of,
    compaction_of,
    expected_records,
    in_transaction,
    keyed,
    marker,
    records_of,
    run,
    write_segments,
)
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker

CONFIG = LogConfig(is_compacted=True, delete_retention_ms=DELETE_RETENTION_MS, index_interval_bytes=200)
LATER_MS = NOW_MS + DELETE_RETENTION_MS


def opened(maker, *segments, config=CONFIG):
    """A log of these segments, and an empty active one."""
    write_segments(maker.directory, *segments)
    log = maker.open(config)
    if log.end_position:
        log.roll_if_older(2**62)
    return log


def values(directory):
    return {record.offset: (record.key, record.value) for record in records_of(directory)}


def test_the_last_value_of_each_key_stays_at_its_offset(maker):
    log = opened(
        maker,
        [keyed(0, (b"a", b"1"), (b"b", b"1"), (b"a", b"2")), keyed(3, (b"c", b"1"))],
        [keyed(4, (b"b", b"2"), (b"d", b"1"))],
    )
    done = run(log, compaction_of(log, CONFIG))
    assert values(maker.directory) == {2: (b"a", b"2"), 3: (b"c", b"1"), 4: (b"b", b"2"), 5: (b"d", b"1")}
    assert done.end_offset == 6
    assert (done.stats.records_read, done.stats.records_kept, done.stats.map_entries) == (6, 4, 4)
    assert log.segment_bases == [0, 6]
    headers = [header for header, _ in batches_of(maker.directory)]
    assert [(one.base_offset, one.last_offset, one.record_count) for one in headers] == [
        (0, 2, 1),
        (3, 3, 1),
        (4, 5, 2),
    ]


def test_records_without_a_key_go(maker):
    log = opened(maker, [keyed(0, (None, b"1"), (b"a", b"1"))])
    run(log, compaction_of(log, CONFIG))
    assert values(maker.directory) == {1: (b"a", b"1")}


def test_tombstones_stay_for_their_time_and_then_the_key_is_gone(maker):
    log = opened(maker, [keyed(0, (b"a", b"1"), (b"b", b"1"))], [keyed(2, (b"a", None)), keyed(3, (b"z", b"1"))])
    run(log, compaction_of(log, CONFIG))
    assert values(maker.directory) == {1: (b"b", b"1"), 2: (b"a", None), 3: (b"z", b"1")}
    (header,) = [header for header, _ in batches_of(maker.directory) if header.base_offset == 2]
    assert header.attributes & DELETE_HORIZON_BIT
    assert header.base_timestamp == LATER_MS
    assert header.max_timestamp == NOW_MS
    assert [record.timestamp_ms for record in records_of(maker.directory)] == [NOW_MS] * 3
    run(log, compaction_of(log, CONFIG, 4, LATER_MS - 1))
    assert 2 in values(maker.directory)
    run(log, compaction_of(log, CONFIG, 4, LATER_MS))
    assert values(maker.directory) == {1: (b"b", b"1"), 3: (b"z", b"1")}


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_is_written_again_and_its_timestamps_stay(maker, codec):
    rows = [Record(index, NOW_MS + 10 * index, b"%d" % (index % 7), b"v" * 50, (("h", b"x"),)) for index in range(20)]
    rows[15] = rows[15]._replace(value=None)
    log = opened(maker, [build_batch(rows, base_offset=0, codec=codec)])
    run(log, compaction_of(log, CONFIG))
    ((header, records),) = batches_of(maker.directory)
    assert records == rows[13:]
    assert header.codec == codec
    assert (header.base_offset, header.last_offset, header.max_timestamp) == (0, 19, NOW_MS + 190)
    data = path_of(maker.directory, 0, ".log").read_bytes()
    assert compute_crc(data) == header.crc


def test_log_append_time_stays(maker):
    rows = [(b"a", b"1"), (b"a", b"2"), (b"b", None)]
    log = opened(maker, [keyed(0, *rows, attributes=LOG_APPEND_TIME_BIT)])
    run(log, compaction_of(log, CONFIG))
    ((header, records),) = batches_of(maker.directory)
    assert header.is_log_append_time
    assert [record.timestamp_ms for record in records] == [NOW_MS, NOW_MS]


def test_the_largest_timestamp_is_that_of_what_is_left(maker):
    log = opened(maker, [build_batch([Record(0, NOW_MS + 50, b"a", b"1"), Record(1, NOW_MS + 9, b"a", b"2")])])
    run(log, compaction_of(log, CONFIG))
    assert batches_of(maker.directory)[0][0].max_timestamp == NOW_MS + 9
    reader = LogReader(maker.directory)
    reader.refresh(1)
    assert reader.first_offset_at(0, 0, log.end_segment, log.end_position).timestamp_ms == NOW_MS + 9


def test_only_what_is_cleanable_is_touched(maker):
    log = opened(maker, [keyed(0, (b"a", b"1"))], [keyed(1, (b"a", b"2"))], [keyed(2, (b"a", b"3"))])
    done = run(log, compaction_of(log, CONFIG, uncleanable_offset=2))
    assert values(maker.directory) == {1: (b"a", b"2"), 2: (b"a", b"3")}
    assert done.end_offset == 2
    done = run(log, compaction_of(log, CONFIG, 2))
    assert values(maker.directory) == {2: (b"a", b"3")}
    assert done.end_offset == 3


def test_the_map_is_made_of_the_dirty_part_only(maker):
    log = opened(maker, [keyed(0, (b"a", b"1"), (b"a", b"2"))], [keyed(2, (b"b", b"1"))])
    done = run(log, compaction_of(log, CONFIG, 2))
    assert done.stats.map_entries == 1
    assert set(values(maker.directory)) == {0, 1, 2}  # what was not clean before is not looked for


def test_a_full_map_ends_the_pass_and_the_next_one_goes_on(maker):
    count = 800
    batches = [
        keyed(10 * number, *[(b"%d" % (10 * number + index), b"v") for index in range(10)]) for number in range(count)
    ]
    again = [keyed(10 * count + number, (b"%d" % number, b"w")) for number in range(0, 10 * count, 1000)]
    again = [keyed(10 * count + place, (b"%d" % (1000 * place), b"w")) for place in range(len(again))]
    log = opened(maker, batches, again)
    first_dirty, passes = 0, 0
    while first_dirty < log.log_end_offset:
        compaction = compaction_of(log, CONFIG, first_dirty, map_bytes=0)  # the smallest: 1021 slots
        done = run(log, compaction)
        assert done.stats.map_entries <= 1021 * 0.9
        assert done.end_offset > first_dirty
        first_dirty, passes = done.end_offset, passes + 1
    assert passes > 5
    assert len(values(maker.directory)) == 10 * count
    assert values(maker.directory)[10 * count] == (b"0", b"w")
    assert 0 not in values(maker.directory)


def test_a_dirty_part_of_one_large_batch_fits(maker):
    rows = [(b"%d" % (number % 10), b"v") for number in range(4000)]
    log = opened(maker, [keyed(0, *rows)])
    done = run(log, compaction_of(log, CONFIG))
    assert done.end_offset == 4000
    assert set(values(maker.directory)) == set(range(3990, 4000))


def test_a_batch_above_the_map_is_reported(maker):
    log = opened(maker, [keyed(0, *[(b"%d" % number, b"v") for number in range(2000)])])
    with pytest.raises(CompactionFailed, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        run(log, compaction_of(log, CONFIG, map_bytes=0))


def test_aborted_transactions_go_and_supersede_nothing(maker):
    log = opened(
        maker,
        [keyed(0, (b"a", b"1"), (b"b", b"1"))],
        [in_transaction(2, 9, 0, (b"a", b"aborted")), in_transaction(3, 8, 0, (b"b", b"2"))],
        [marker(4, 9, is_commit=False), marker(5, 8, is_commit=True)],
    )
    run(log, compaction_of(log, CONFIG))
    assert values(maker.directory) == {0: (b"a", b"1"), 3: (b"b", b"2")}


def test_an_outcome_behind_the_cleanable_part_counts(maker):
    log = opened(
        maker,
        [keyed(0, (b"a", b"1"))],
        [in_transaction(1, 9, 0, (b"a", b"aborted"))],
        [keyed(2, (b"x", b"1")), marker(3, 9, is_commit=False)],
    )
    run(log, compaction_of(log, CONFIG, uncleanable_offset=2))
    assert values(maker.directory) == {0: (b"a", b"1"), 2: (b"x", b"1")}


def test_a_transaction_without_an_outcome_ends_the_pass(maker):
    log = opened(
        maker,
        [keyed(0, (b"a", b"1"), (b"b", b"1"))],
        [in_transaction(2, 9, 0, (b"a", b"open")), keyed(3, (b"b", b"2"))],
    )
    done = run(log, compaction_of(log, CONFIG))
    assert set(values(maker.directory)) == {0, 1, 2, 3}
    assert done.end_offset == 2


def controls(directory):
    return {header.base_offset: header for header, records in batches_of(directory) if header.is_control and records}


def test_a_transaction_without_a_producer_is_compacted_like_any_batch(maker):
    """No marker ends it: a pass ended there for ever, though all may read it."""
    segments = [[in_transaction(number, -1, -1, (b"a", b"%d" % number))] for number in range(3)]
    log = opened(maker, *segments, [keyed(3, (b"b", b"1"))])
    run(log, compaction_of(log, CONFIG, 0, NOW_MS, log.end_segment))
    assert values(maker.directory) == {2: (b"a", b"2"), 3: (b"b", b"1")}
    log.abandon()


def test_a_marker_stays_until_its_transaction_is_gone_and_then_for_its_time(maker):
    log = opened(
        maker,
        [in_transaction(0, 9, 0, (b"a", b"1")), marker(1, 9, is_commit=True)],
        [in_transaction(2, 9, 1, (b"a", b"2")), marker(3, 9, is_commit=True)],
        [in_transaction(4, 9, 2, (b"x", b"1")), marker(5, 9, is_commit=True)],
    )
    run(log, compaction_of(log, CONFIG))
    assert controls(maker.directory).keys() == {1, 3, 5}  # the batches at 0 and 2 were there when their markers came
    run(log, compaction_of(log, CONFIG, 6, NOW_MS + 1))
    assert controls(maker.directory).keys() == {1, 3, 5}
    assert controls(maker.directory)[1].base_timestamp == LATER_MS + 1
    assert not controls(maker.directory)[5].attributes & DELETE_HORIZON_BIT
    run(log, compaction_of(log, CONFIG, 6, LATER_MS + 1))
    assert controls(maker.directory).keys() == {3, 5}
    assert values(maker.directory) == {2: (b"a", b"2"), 4: (b"x", b"1")}


def test_abort_markers_are_kept_with_an_empty_batch_as_the_last_of_their_producer(maker):
    log = opened(maker, [in_transaction(0, 9, 0, (b"a", b"1")), marker(1, 9, is_commit=False), keyed(2, (b"x", b"1"))])
    for now_ms in (NOW_MS, NOW_MS + 1, LATER_MS + 1):
        run(log, compaction_of(log, CONFIG, 0, now_ms))
        header, records = batches_of(maker.directory)[0]
        assert (header.base_offset, header.producer_id, header.base_sequence, records) == (0, 9, 0, [])
    # The empty batch counts as one of the transaction: the marker stays as long as it does.
    assert controls(maker.directory).keys() == {1}


def test_the_epoch_of_a_producer_without_data_stays_in_an_empty_marker(maker):
    log = opened(
        maker, [in_transaction(0, 9, 0, (b"a", b"1")), marker(1, 9, is_commit=False, epoch=3), keyed(2, (b"x", b"1"))]
    )
    for now_ms in (NOW_MS, NOW_MS + 1, LATER_MS + 1):
        run(log, compaction_of(log, CONFIG, 0, now_ms))
    (emptied,) = [header for header, _ in batches_of(maker.directory) if header.is_control]
    assert (emptied.base_offset, emptied.producer_epoch, emptied.record_count) == (1, 3, 0)


def test_the_last_sequence_of_each_producer_stays(maker):
    def batch(offset, sequence, producer_id):
        return keyed(offset, (b"a", b"%d" % offset), producer_id=producer_id, producer_epoch=0, base_sequence=sequence)

    log = opened(maker, [batch(0, 0, 7), batch(1, 1, 7), batch(2, 0, 8), batch(3, 1, 8)], [keyed(4, (b"a", b"4"))])
    run(log, compaction_of(log, CONFIG))
    found = [
        (header.producer_id, header.base_sequence, len(records)) for header, records in batches_of(maker.directory)
    ]
    assert found == [(7, 1, 0), (8, 1, 0), (-1, -1, 1)]
    log.abandon()
    again = maker.open(CONFIG)
    assert {pid: one.batches[-1].last_sequence for pid, one in again.producers.producers.items()} == {7: 1, 8: 1}


def test_producers_that_have_expired_leave_nothing(maker):
    log = opened(
        maker, [keyed(0, (b"a", b"0"), producer_id=7, producer_epoch=0, base_sequence=0)], [keyed(1, (b"a", b"1"))]
    )
    os.utime(path_of(maker.directory, 0, ".log"), ns=((NOW_MS - 5000) * 1_000_000,) * 2)
    run(log, compaction_of(log, CONFIG, producer_expiration_ms=1000))
    assert [header.producer_id for header, _ in batches_of(maker.directory)] == [-1]


def test_segments_are_grouped_up_to_the_size_of_one(maker):
    batches = [keyed(number, (b"%d" % number, b"v" * 100)) for number in range(40)]
    size = len(batches[0])
    config = LogConfig(segment_bytes=4 * size + 10, is_compacted=True)
    log = opened(maker, *([batch] for batch in batches), config=config)
    run(log, compaction_of(log, config))
    assert log.segment_bases == [*range(0, 40, 4), 40]
    assert len(values(maker.directory)) == 40


def test_a_group_never_spans_more_offsets_than_an_index_holds(maker):
    far = 2**31 - 1
    log = opened(maker, [keyed(0, (b"a", b"1"))], [keyed(far - 1, (b"b", b"1"))], [keyed(far + 1, (b"c", b"1"))])
    run(log, compaction_of(log, CONFIG))
    assert log.segment_bases[:2] == [0, far + 1]
    assert set(values(maker.directory)) == {0, far - 1, far + 1}


def test_an_overflow_within_a_segment_is_reported(maker):
    log = opened(maker, [keyed(0, (b"a", b"1"))], [keyed(1, (b"b", b"1"))])
    path_of(maker.directory, 1, ".log").write_bytes(keyed(2**32, (b"b", b"1")))
    with pytest.raises(SegmentOverflow):
        run(log, compaction_of(log, CONFIG))


def test_nothing_stays_at_the_end_of_a_group_that_is_superseded(maker):
    log = opened(maker, [keyed(0, (b"a", b"1"))], [keyed(1, (b"a", b"2"))], [keyed(2, (b"a", b"3"))])
    config = LogConfig(is_compacted=True, segment_bytes=2 * len(keyed(0, (b"a", b"1"))))
    run(log, compaction_of(log, config))
    assert log.segment_bases == [0, 2, 3]
    found = [(header.base_offset, header.last_offset, len(records)) for header, records in batches_of(maker.directory)]
    assert found == [(2, 2, 1)]
    assert path_of(maker.directory, 0, ".log").stat().st_size == 0
    assert [log.position_of(offset) for offset in range(4)] == [(2, 0), (2, 0), (2, 0), (3, 0)]
    log.abandon()
    log = opened(maker)
    assert (log.segment_bases, log.log_start_offset, log.log_end_offset) == ([0, 2, 3], 0, 3)
    run(log, compaction_of(log, config, 3))
    assert log.segment_bases == [0, 3]
    assert [header.base_offset for header, _ in batches_of(maker.directory)] == [2]
    version = log.segments_version
    run(log, compaction_of(log, config, 3))
    assert log.segments_version == version  # nothing to change: nothing is swapped


def test_empty_batches_that_older_versions_left_go_with_the_next_pass(maker):
    _header, end_of_a_group = empty_batch(parse_header(keyed(2, (b"b", b"1"), (b"b", b"2"))))
    log = opened(maker, [keyed(0, (b"a", b"1"), (b"c", b"1")), bytes(end_of_a_group)], [keyed(4, (b"d", b"1"))])
    run(log, compaction_of(log, CONFIG, 5))
    assert [(header.base_offset, len(records)) for header, records in batches_of(maker.directory)] == [(0, 2), (4, 1)]


@pytest.mark.parametrize("damage", [b"\xff", b"\x00"], ids=["ones", "zeros"])
def test_a_broken_batch_is_reported_and_nothing_changes(maker, damage):
    log = opened(maker, [keyed(0, (b"a", b"1"))], [keyed(1, (b"a", b"2"), (b"b", b"1"))])
    path = path_of(maker.directory, 1, ".log")
    whole = path.read_bytes()
    for place in (16, 17, 30, len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(CorruptSegment, match=r"00001\.log.*byte 0"):
            run(log, compaction_of(log, CONFIG))
    path.write_bytes(whole)
    assert set(values(maker.directory)) == {0, 1, 2}


@pytest.mark.parametrize("size", [1, 25, 26, 60, 61, 70])
def test_a_torn_end_is_reported(maker, size):
    log = opened(maker, [keyed(0, (b"a", b"1"))])
    path = path_of(maker.directory, 0, ".log")
    whole = path.read_bytes()
    for tail in (whole[:size], bytes(size)):
        path.write_bytes(whole + tail)
        with pytest.raises((CorruptSegment, CorruptRecord)):
            run(log, compaction_of(log, CONFIG))


def test_records_that_contradict_their_batch_are_reported(maker):
    log = opened(maker, [keyed(0, (b"a", b"1"))])
    path = path_of(maker.directory, 0, ".log")
    data = bytearray(path.read_bytes())
    data[57:61] = (9).to_bytes(4, "big")
    data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    path.write_bytes(data)
    with pytest.raises(CorruptRecord):
        run(log, compaction_of(log, CONFIG))


def test_a_batch_of_too_many_records_is_reported(maker, monkeypatch):
    monkeypatch.setattr(batch_cleaner, "COMPACTED_RECORDS_MAX", 2)
    log = opened(maker, [keyed(0, (b"a", b"1"), (b"b", b"1"))])
    run(log, compaction_of(log, CONFIG))
    log = opened(maker, [keyed(0, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"))])
    with pytest.raises(CorruptRecord, match="offset 0 with 3 records"):
        run(log, compaction_of(log, CONFIG))


def test_transactions_index_entries_stay_with_their_marker(maker):
    def entry(producer_id, first, last):
        return b"".join(
            [(0).to_bytes(2, "big"), *(number.to_bytes(8, "big") for number in (producer_id, first, last, last + 1))]
        )

    log = opened(
        maker,
        [in_transaction(0, 9, 0, (b"a", b"1")), marker(1, 9, is_commit=False)],
        [in_transaction(2, 8, 0, (b"a", b"1")), marker(3, 8, is_commit=False)],
        [in_transaction(4, 8, 1, (b"b", b"1")), marker(5, 8, is_commit=True)],
        [in_transaction(6, 9, 1, (b"c", b"1")), marker(7, 9, is_commit=True)],
    )
    path_of(maker.directory, 0, ".txnindex").write_bytes(entry(9, 0, 1))
    path_of(maker.directory, 2, ".txnindex").write_bytes(entry(8, 2, 3))
    run(log, compaction_of(log, CONFIG))
    index = path_of(maker.directory, 0, ".txnindex")
    assert index.read_bytes() == entry(9, 0, 1) + entry(8, 2, 3)
    run(log, compaction_of(log, CONFIG, 8, NOW_MS + 1))
    run(log, compaction_of(log, CONFIG, 8, LATER_MS + 1))
    assert index.read_bytes() == b""
    assert not list(maker.directory.glob("*.cleaned"))


def test_indexes_of_a_compacted_segment_are_complete(maker):
    batches = [
        keyed(2 * number, (b"%d" % (number % 50), b"v" * 100), (b"x", b""), timestamp_ms=NOW_MS + number)
        for number in range(100)
    ]
    log = opened(maker, batches[:50], batches[50:])
    run(log, compaction_of(log, CONFIG))
    size = path_of(maker.directory, 0, ".index").stat().st_size
    assert size > 10 * 8
    reader = LogReader(maker.directory)
    reader.refresh(log.segments_version)
    for offset in range(200):
        found = reader.locate(offset, 1, log.end_segment, log.end_position, at_least_one=True)
        data = os.pread(found.fd, found.length, found.position)
        header = next(iter(iterate_batches(data)))[1]
        assert header.last_offset >= offset
        assert header.base_offset == max(100, offset - offset % 2)
    entries = path_of(maker.directory, 0, TIME_INDEX_SUFFIX).read_bytes()
    assert int.from_bytes(entries[-12:-4], "big") == NOW_MS + 99


def test_reading_goes_on_across_a_compaction(maker):
    """A range taken before stays as it is; the same reader finds the new batches, with or without a new list."""
    log = opened(maker, [keyed(0, (b"a", b"1"), (b"b", b"1"))], [keyed(2, (b"a", b"2"))], [keyed(3, (b"b", b"2"))])
    reader = LogReader(maker.directory)
    reader.refresh(log.segments_version)
    held = reader.locate(0, 1 << 20, log.end_segment, log.end_position, at_least_one=True)
    before = os.pread(held.fd, held.length, held.position)
    run(log, compaction_of(log, CONFIG))
    assert os.pread(held.fd, held.length, held.position) == before
    found = reader.locate(2, 1 << 20, log.end_segment, log.end_position, at_least_one=True)  # by the old list
    assert next(iter(iterate_batches(os.pread(found.fd, found.length, found.position))))[1].base_offset == 2
    reader.refresh(log.segments_version)
    found = reader.locate(0, 1 << 20, log.end_segment, log.end_position, at_least_one=True)
    assert next(iter(iterate_batches(os.pread(found.fd, found.length, found.position))))[1].base_offset == 2


row = st.tuples(st.sampled_from([b"a", b"b", b"c", b"long" * 80, None]), st.sampled_from([b"v", b"w" * 90, None]))
kind = st.sampled_from(["plain", "plain", "plain", "idempotent", "txn-7", "txn-8", "end-7", "end-8"])


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(
        st.tuples(kind, st.lists(row, min_size=1, max_size=5), st.integers(0, 4), st.booleans()), max_size=25
    ),
    cuts=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    nows=st.lists(st.integers(0, 2 * DELETE_RETENTION_MS), min_size=1, max_size=3),
    chunk_bytes=st.sampled_from([100, 500, 1 << 20]),
)
def test_what_is_left_is_what_a_slow_account_says(tmp_path_factory, batches, cuts, nows, chunk_bytes):
    maker = LogMaker(tmp_path_factory.mktemp("log"))
    offset, sequences, raw, open_ = 0, {5: 0, 7: 0, 8: 0}, [], {7: False, 8: False}
    for name, rows, codec, is_commit in [*batches, ("end-7", [], 0, True), ("end-8", [], 0, True)]:
        word, _, number = name.partition("-")
        if word == "end":
            if open_[int(number)]:
                raw.append(marker(offset, int(number), is_commit))
                offset += 1
                open_[int(number)] = False
            continue
        if word == "txn":
            raw.append(in_transaction(offset, int(number), sequences[int(number)], *rows, codec=codec))
            sequences[int(number)] += len(rows)
            open_[int(number)] = True
        elif word == "idempotent":
            raw.append(keyed(offset, *rows, codec=codec, producer_id=5, producer_epoch=0, base_sequence=sequences[5]))
            sequences[5] += len(rows)
        else:
            raw.append(keyed(offset, *rows, codec=codec))
        offset += len(rows)
    segments, place = [], 0
    while place < len(raw):
        size = cuts[len(segments) % len(cuts)]
        segments.append(raw[place : place + size])
        place += size
    log = opened(maker, *segments)
    dirty, now_ms = 0, NOW_MS
    before_last = {
        header.producer_id: header.last_offset for header, _ in batches_of(maker.directory) if not header.is_control
    }
    for later_ms in nows:
        before = batches_of(maker.directory)
        now_ms += later_ms
        done = run(log, compaction_of(log, CONFIG, dirty, now_ms, chunk_bytes=chunk_bytes))
        assert records_of(maker.directory) == expected_records(before, dirty, done.end_offset, now_ms)
        dirty = done.end_offset
        for header, _records in batches_of(maker.directory):
            original = next(one for one in raw if int.from_bytes(one[:8], "big") == header.base_offset)
            assert original[23:27] == header.last_offset_delta.to_bytes(4, "big", signed=True)
            assert original[43:57] == header[9].to_bytes(8, "big", signed=True) + header[10].to_bytes(
                2, "big", signed=True
            ) + header[11].to_bytes(4, "big", signed=True)
    left = {header.last_offset for header, _ in batches_of(maker.directory)}
    assert {last for producer, last in before_last.items() if producer >= 0} <= left
    log.abandon()
    assert maker.open(CONFIG, recovery_point=0).log_end_offset == offset


def test_steps_tell_what_they_moved_and_can_be_dropped(maker):
    log = opened(maker, [keyed(number, (b"%d" % number, b"v" * 100)) for number in range(200)])
    size = log.size_bytes
    compaction = compaction_of(log, CONFIG)
    moved = sum(step for step in compaction.steps() if not isinstance(step, Swap))
    assert 3 * size <= moved <= 4 * size  # headers, keys, batches; and what is written
    steps = compaction_of(log, CONFIG).steps()
    for _ in range(3):
        next(steps)
    steps.close()
    assert len(values(maker.directory)) == 200


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", range(4))
def test_old_formats_come_out_as_batches_of_today(maker, magic, codec):
    records = [
        Record(offset, NOW_MS + offset if magic else -1, b"%d" % (offset % 4), b"v%d" % offset) for offset in range(10)
    ]
    first = build_message_set(records[:6], magic, codec)
    second = build_message_set(records[6:], magic, codec)
    maker.directory.mkdir()
    path_of(maker.directory, 0, ".log").write_bytes(first + second)
    path_of(maker.directory, 10, ".log").write_bytes(keyed(10, (b"1", b"new"), (b"2", None)))
    log = maker.open(CONFIG)
    log.roll_if_older(2**62)
    run(log, compaction_of(log, CONFIG, chunk_bytes=60))
    left = records_of(maker.directory)
    assert [(one.offset, one.key, one.value) for one in left] == [
        (7, b"3", b"v7"), (8, b"0", b"v8"), (10, b"1", b"new"), (11, b"2", None)
    ]  # fmt: skip
    assert [one.timestamp_ms for one in left[:2]] == ([NOW_MS + 7, NOW_MS + 8] if magic else [-1, -1])
    assert {header.magic for header, _ in batches_of(maker.directory)} == {2}
    log.abandon()
    assert maker.open(CONFIG).log_end_offset == 12
