"""How far the log in a directory reaches, compared with what opening it finds."""

import os

import pytest

from headrace.log.config import LogConfig
from headrace.log.recovery.log_reach import LogReach, log_reach
from headrace.log.state.checkpoints import OFFSET_MAX, write_lines
from headrace.log.state.compacted_offset import COMPACTED_FILE, raise_compacted
from headrace.log.state.truncation_mark import TRUNCATION_FILE
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker, batch

CONFIG = LogConfig(segment_bytes=2_000)


@pytest.fixture
def maker(tmp_path):
    return LogMaker(tmp_path)


def written(maker, count=60, epoch=3):
    log = maker.open(CONFIG)
    log.append_as_leader([batch(timestamp_ms=NOW_MS + number) for number in range(count)], epoch, NOW_MS)
    log.flush()
    return log


def segments(maker):
    return sorted(maker.directory.glob("*.log"))


def test_a_whole_log_reaches_to_its_end(maker):
    log = written(maker)
    assert len(segments(maker)) > 3
    assert log_reach(maker.directory) == log_reach(maker.directory, 60) == LogReach(3, 60)
    log.assign_leader_epoch(5)  # and nothing is written in it
    assert log_reach(maker.directory) == log_reach(maker.directory, 60) == LogReach(3, 60)


def test_a_later_leader_epoch_comes_before_a_longer_log():
    assert LogReach(4, 10) > LogReach(3, 90) > LogReach(3, 80) > LogReach(-1, 500) > LogReach(-1, -1)


def test_a_directory_without_segments_reaches_nowhere(tmp_path):
    assert log_reach(tmp_path) == LogReach(-1, -1)


@pytest.mark.parametrize("place", [0, 1, -1])
def test_it_ends_at_the_first_damaged_batch_after_what_was_synced(maker, place):
    written(maker)
    path = segments(maker)[place]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    base = int(path.stem)
    assert log_reach(maker.directory).end_offset == base
    if place == 0:
        assert log_reach(maker.directory, 60).end_offset == 60  # below the recovery point it is not read
        write_lines(maker.directory / TRUNCATION_FILE, ["0 60"], maker.disk)
        assert log_reach(maker.directory, 60).end_offset == 0
    assert maker.open(CONFIG).log_end_offset == base


def test_an_epoch_whose_beginning_was_lost_does_not_count(maker):
    log = written(maker)
    log.append_as_leader([batch()], 8, NOW_MS)
    log.abandon()
    assert log_reach(maker.directory) == LogReach(8, 61)
    os.truncate(segments(maker)[-1], 0)
    reach = log_reach(maker.directory)
    assert reach.end_offset < 60
    assert reach.leader_epoch == 3


def test_a_log_that_the_last_stop_closed_reaches_to_its_end_and_no_further(maker):
    """Its checksums are not compared, as when it is opened."""
    log = written(maker)
    log.close()
    assert log_reach(maker.directory, OFFSET_MAX) == LogReach(3, 60)
    path = segments(maker)[-1]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert log_reach(maker.directory, OFFSET_MAX) == LogReach(3, 60)
    assert maker.open(CONFIG, clean=True).log_end_offset == 60


def test_an_empty_last_segment_is_where_the_log_ends(maker):
    log = written(maker)
    log.close()
    os.truncate(segments(maker)[-1], 0)
    base = int(segments(maker)[-1].stem)
    for synced in (0, base, OFFSET_MAX):
        assert log_reach(maker.directory, synced).end_offset == base


def test_what_follows_a_hole_counts_where_opening_would_keep_it(maker):
    """A power loss took the last batches of a segment whole."""
    written(maker).abandon()
    path = segments(maker)[1]
    (base, *_more), whole = (int(one.stem) for one in segments(maker)[1:]), path.read_bytes()
    os.truncate(path, len(whole) // 2 - len(whole) // 2 % len(batch()))
    kept = base + path.stat().st_size // len(batch())
    assert log_reach(maker.directory, is_sole=True).end_offset == 60
    assert log_reach(maker.directory, is_compacted=True).end_offset == 60
    assert log_reach(maker.directory).end_offset == kept
    raise_compacted(maker.directory, 60, 0, maker.disk)
    assert log_reach(maker.directory).end_offset == 60
    write_lines(maker.directory / COMPACTED_FILE, ["0"], maker.disk)
    assert log_reach(maker.directory, is_compacted=True).end_offset == kept
    assert maker.open(CONFIG).log_end_offset == kept
