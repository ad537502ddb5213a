"""Retention: which segments go, that nothing uncommitted does, and that whoever reads meanwhile is not lied to."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError, StorageFailed
from headrace.log.config import LogConfig
from headrace.log.names import path_of
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_facts import segment_facts
from headrace.log.retention import SegmentFacts, expired_segments, load_policy
from headrace.log.segments.segment_deletion import remove_retired
from headrace.protocol.record_batch import iterate_batches
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

SMALL = LogConfig(segment_bytes=1000)


def facts(*sizes_and_ages):
    return [
        SegmentFacts(10 * number, 10 * number + 10, size, NOW_MS - age_ms)
        for number, (size, age_ms) in enumerate(sizes_and_ages)
    ]


@pytest.mark.parametrize(
    ("config", "log_start", "gone"),
    [
        (LogConfig(), 0, []),
        (LogConfig(retention_ms=50), 0, [0, 10]),
        (LogConfig(retention_ms=0), 0, [0, 10, 20, 30]),
        (LogConfig(retention_bytes=250), 0, [0]),
        (LogConfig(retention_bytes=300), 0, [0]),
        (LogConfig(retention_bytes=301), 0, []),
        (LogConfig(retention_bytes=0), 0, [0, 10, 20, 30]),
        (LogConfig(retention_ms=50, retention_bytes=300), 0, [0, 10]),
        (LogConfig(), 20, [0, 10]),
        (LogConfig(), 25, [0, 10]),
        (LogConfig(deletes_segments=False, is_compacted=True, retention_ms=0, retention_bytes=0), 0, []),
        (LogConfig(deletes_segments=False, is_compacted=True), 15, [0]),
    ],
)
def test_kafkas_policy(config, log_start, gone):
    segments = facts((100, 100), (100, 51), (100, 50), (100, 1))
    assert expired_segments(segments, config, log_start, NOW_MS) == gone


def test_an_old_segment_behind_a_young_one_stays():
    assert expired_segments(facts((1, 10), (1, 100)), LogConfig(retention_ms=50), 0, NOW_MS) == []


def test_an_empty_active_segment_never_goes():
    assert expired_segments(facts((1, 100), (0, 100)), LogConfig(retention_ms=50), 0, NOW_MS) == [0]


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=20),
    st.integers(-1, 1000),
    st.integers(-1, 5000),
)
def test_what_goes_is_a_beginning_and_what_stays_keeps_its_size(ages_and_sizes, retention_ms, retention_bytes):
    segments = facts(*ages_and_sizes)
    config = LogConfig(retention_ms=retention_ms, retention_bytes=retention_bytes)
    gone = expired_segments(segments, config, 0, NOW_MS)
    assert gone == [one.base_offset for one in segments[: len(gone)]]
    if retention_ms < 0 <= retention_bytes and gone:
        left = sum(one.size_bytes for one in segments[len(gone) :])
        assert left >= min(retention_bytes, sum(one.size_bytes for one in segments)) or not segments[-1].size_bytes


def test_a_policy_of_ones_own_is_loaded_by_name():
    assert load_policy(None) is expired_segments
    assert load_policy("headrace.log.retention:expired_segments") is expired_segments
    for bad in ("nonsense", "no.such.module:f", "headrace.log.retention:nothing", "headrace.log.retention:POLICY_KEY"):
        with pytest.raises(ConfigError):
            load_policy(bad)


def written(maker, count=20):
    log = maker.open(SMALL)
    for number in range(count):
        log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 3, NOW_MS)
    return log


def test_facts_come_from_the_files_and_the_time_index(maker):
    log = written(maker)
    found = segment_facts(maker.directory, log.log_end_offset)
    assert [one.base_offset for one in found] == log.segment_bases
    assert found[-1].end_offset == log.log_end_offset == 20
    assert sum(one.size_bytes for one in found) == log.size_bytes
    for one in found[:-1]:
        assert one.largest_timestamp_ms == NOW_MS + one.end_offset - 1


def test_records_without_a_time_age_by_the_files_last_write(maker):
    log = maker.open(SMALL)
    for _ in range(10):
        log.append_as_leader([batch(timestamp_ms=-1)], 3, NOW_MS)
    path = maker.directory / f"{0:020d}.log"
    os.utime(path, (1000, 1000))
    assert segment_facts(maker.directory, 10)[0].largest_timestamp_ms == 1_000_000


def test_nothing_at_or_above_the_high_watermark_goes_and_never_the_active_segment(maker):
    log = written(maker)
    bases = log.segment_bases
    everything = set(bases)
    for high_watermark in range(21):
        count = log.count_deletable(everything, high_watermark)
        assert all(end <= high_watermark for end in bases[1 : count + 1])
        assert count == len(bases) - 1 or bases[count + 1] > high_watermark
    assert log.count_deletable(everything, 20) == len(bases) - 1
    assert log.count_deletable({bases[1]}, 20) == 0  # no gap


def delete(log, count):
    log.advance_log_start(log.segment_bases[count])
    log.delete_segments(count)


def test_deletion_moves_the_log_start_and_survives_a_restart(maker):
    log = written(maker)
    size, bases, version = log.size_bytes, list(log.segment_bases), log.segments_version
    delete(log, 2)
    assert log.log_start_offset == bases[2]
    assert log.segments_version > version
    assert log.size_bytes == size - sum(
        (maker.directory / f"{base:020d}.log.deleted").stat().st_size for base in bases[:2]
    )
    assert not list(maker.directory.glob(f"{bases[0]:020d}.*[!d]"))
    log.abandon()
    again = maker.open(SMALL)
    assert (again.log_start_offset, again.segment_bases, again.log_end_offset) == (bases[2], bases[2:], 20)
    assert again.size_bytes == log.size_bytes


def test_a_log_start_offset_within_a_segment_survives_a_restart(maker):
    log = written(maker)
    log.advance_log_start(2)
    log.abandon()
    assert maker.open(SMALL, log_start_offset=2).log_start_offset == 2
    assert not log.advance_log_start(1)
    assert log.log_start_offset == 2


def test_leader_epochs_before_the_log_start_are_forgotten(maker):
    log = maker.open()
    for epoch in (1, 4, 7):
        log.append_as_leader([batch(3)], epoch, NOW_MS)
    log.advance_log_start(4)
    assert log.epochs.entries == [(4, 4), (7, 6)]
    log.advance_log_start(9)
    assert log.epochs.entries == [(7, 9)]
    assert maker.open().epochs.entries == [(7, 9)]


def test_deleted_files_stay_for_their_delay(maker):
    log = written(maker)
    delete(log, 2)
    names = {path.name for path in maker.directory.glob("*.deleted")}
    assert len(names) == 6
    seen = {}
    assert remove_retired(maker.directory, seen, 5000, 1000) == 0
    assert seen.keys() == names
    path_of(maker.directory, 99, ".log.deleted").touch()
    assert remove_retired(maker.directory, seen, 5999, 1000) == 0
    assert remove_retired(maker.directory, seen, 6000, 1000) == 6
    assert seen == {path_of(maker.directory, 99, ".log.deleted").name: 5999}
    path_of(maker.directory, 99, ".log.deleted").unlink()
    assert remove_retired(maker.directory, seen, 9000, 1000) == 0
    assert seen == {}


@pytest.mark.parametrize("renames", range(6))
def test_a_crash_at_any_rename_of_a_deletion_leaves_a_log_without_a_gap(maker, renames):
    class Crash(BaseException):
        pass

    log = written(maker)
    bases = list(log.segment_bases)
    made = []
    rename = maker.disk.rename

    def failing_rename(source, target):
        if len(made) == renames:
            raise Crash
        made.append(source)
        rename(source, target)

    log.advance_log_start(bases[2])
    maker.disk.rename = failing_rename
    with pytest.raises(Crash):
        log.delete_segments(2)
    del maker.disk.rename
    log.abandon()
    again = maker.open(SMALL, log_start_offset=bases[2])
    assert again.log_start_offset == bases[2]
    assert again.segment_bases == [base for base in bases if base in again.segment_bases]
    assert again.segment_bases[-1] == bases[-1]
    assert bases[2] in again.segment_bases
    delete(again, again.segment_bases.index(bases[2]))
    assert again.segment_bases == bases[2:]


def test_a_rename_that_fails_takes_the_log_out_of_service(maker):
    log = written(maker)

    def failing_rename(source, target):
        raise OSError(5, "injected")

    log.advance_log_start(log.segment_bases[1])
    maker.disk.rename = failing_rename
    with pytest.raises(StorageFailed, match="deletion"):
        log.delete_segments(1)
    with pytest.raises(StorageFailed):
        log.append_as_leader([batch()], 3, NOW_MS)


def test_the_active_segment_rolls_when_all_of_it_is_older(maker):
    log = maker.open()
    assert not log.roll_if_older(2**62)  # nothing in it
    log.append_as_leader([batch(2)], 3, NOW_MS)
    assert not log.roll_if_older(NOW_MS)
    assert log.roll_if_older(NOW_MS + 1)
    assert log.segment_bases == [0, 2]
    delete(log, 1)
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    assert log.append_as_leader([batch()], 3, NOW_MS)[0][:2] == (0, 2)
    log.abandon()
    assert maker.open().log_end_offset == 3


def test_a_range_outlives_its_segment(maker):
    log = written(maker)
    reader = LogReader(maker.directory)
    reader.refresh(log.segments_version)
    held = reader.locate(0, 1 << 20, log.end_segment, log.end_position, at_least_one=True)
    before = os.pread(held.fd, held.length, held.position)
    delete(log, 3)
    remove_retired(maker.directory, {}, 0, 0)
    reader.refresh(log.segments_version)
    assert os.pread(held.fd, held.length, held.position) == before


def test_a_reader_with_an_older_list_is_told_what_was_deleted_and_finds_what_was_not(maker):
    log = written(maker)
    reader = LogReader(maker.directory)
    reader.refresh(log.segments_version)
    bases = list(log.segment_bases)
    delete(log, 3)
    with pytest.raises(FileNotFoundError):
        reader.locate(bases[1], 1 << 20, log.end_segment, log.end_position, at_least_one=True)
    found = reader.locate(bases[3], 1 << 20, log.end_segment, log.end_position, at_least_one=True)
    data = os.pread(found.fd, found.length, found.position)
    assert next(iter(iterate_batches(data)))[1].base_offset == bases[3]
    reader = LogReader(maker.directory)
    reader.refresh(log.segments_version)
    assert reader.first_offset_at(0, log.log_start_offset, log.end_segment, log.end_position).offset == bases[3]
