"""Offsets where segments begin, by the dates of files: as Kafka's old brokers tell them, and for a bounded cost."""

import os
import random

import pytest

from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading import segment_starts
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_starts import EARLIEST, LATEST, SegmentStarts
from headrace.log.reading.work_share import STAT_COST, WorkShare

NOW_MS = 1_700_000_000_000
MANY = 20_000
CYCLES_MAX = 100_000


def reader_of(directory, dates_ms, gap=10):
    """A log of empty segments, each of so many offsets, with these dates."""
    for number, date_ms in enumerate(dates_ms):
        path = path_of(directory, number * gap, LOG_SUFFIX)
        path.touch()
        os.utime(path, ns=(date_ms * 1_000_000, date_ms * 1_000_000))
    reader = LogReader(directory)
    reader.refresh(1)
    return reader


def by_walking(reader, timestamp_ms, most, end_segment, end_offset, mark, log_start_offset):
    """Kafka's `legacyFetchOffsetsBefore`: from the newest one back to the first that is old enough."""
    bases = [base for base in reader.bases if base <= end_segment]
    dates = [path_of(reader.directory, base, LOG_SUFFIX).stat().st_mtime_ns // 1_000_000 for base in bases]
    offsets = [max(base, log_start_offset) for base in bases]
    if end_offset >= 0:
        offsets.append(end_offset)
        dates.append(NOW_MS)
    if timestamp_ms == EARLIEST:
        offsets = offsets[:1]
    elif timestamp_ms != LATEST:
        while offsets and dates[len(offsets) - 1] > timestamp_ms:
            offsets.pop()
    found = offsets[::-1][: max(0, most)]
    if found and found[0] > mark:
        found = [mark, *(offset for offset in found if offset <= mark)]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_it_finds_what_a_walk_over_all_segments_finds(tmp_path, seed):
    chance = random.Random(seed)
    count = chance.choice((0, 1, 2, 7, 40))
    dates = sorted(chance.randrange(1_000, 5_000) for _ in range(count))
    reader = reader_of(tmp_path, dates)
    for _ in range(60):
        end_segment = 10 * chance.randrange(max(1, count))
        end_offset = chance.choice((-1, end_segment + 7))
        mark = end_segment + chance.randrange(-25, 8)
        given = (
            chance.choice((LATEST, EARLIEST, 0, NOW_MS - 1, NOW_MS, chance.randrange(900, 5_100))),
            chance.choice((-1, 0, 1, 2, 5, 1 << 31)),
        )
        start = chance.randrange(40)
        search = SegmentStarts(*given, end_segment, end_offset, mark, NOW_MS)
        for _ in range(CYCLES_MAX):
            if search.step(reader, start, WorkShare(chance.choice((1, 100_000)))):
                break
        assert search.found == by_walking(reader, *given, end_segment, end_offset, mark, start), (seed, given)


def test_a_time_costs_some_dates_however_many_segments_there_are(tmp_path, monkeypatch):
    """It was a `stat` for each segment, 8 us each, and a request has thousands of rows."""
    looks = []
    reader = reader_of(tmp_path, [])
    reader._bases = list(range(MANY))
    written_ms = SegmentStarts._written_ms

    def counted(search, _reader, index, share):
        looks.append(index)
        share.spend(STAT_COST)
        return index

    monkeypatch.setattr(SegmentStarts, "_written_ms", counted)
    assert callable(written_ms)
    share = WorkShare(1 << 30)
    search = SegmentStarts(MANY // 3, 1, MANY, -1, MANY, NOW_MS)
    assert search.step(reader, 0, share)
    assert search.found == [MANY // 3]
    assert len(looks) <= MANY.bit_length()
    assert (1 << 30) - share.left >= STAT_COST * len(looks), "and they are paid for"


def test_many_offsets_are_gathered_in_slices(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_starts, "OFFSETS_AT_ONCE", 7)
    reader = reader_of(tmp_path, [1_000] * 100)
    search, turns = SegmentStarts(LATEST, 1 << 31, 990, 995, 995, NOW_MS), 1
    while not search.step(reader, 25, WorkShare(1)):
        turns += 1
        if turns == 3:  # retention takes the oldest ones meanwhile
            for base in range(0, 50, 10):
                path_of(tmp_path, base, LOG_SUFFIX).unlink()
            reader.refresh(2)
    assert turns > 10
    assert search.found == [995, *range(990, 49, -10)]


def test_a_segment_that_was_deleted_meanwhile_is_no_failure(tmp_path):
    reader = reader_of(tmp_path, range(1_000, 1_100))
    for base in range(0, 700, 10):
        path_of(tmp_path, base, LOG_SUFFIX).unlink()
    search = SegmentStarts(1_080, 2, 990, 995, 995, NOW_MS)
    assert search.step(reader, 700, WorkShare())
    assert search.found == [800, 790]
