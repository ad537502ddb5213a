"""How far the log in a directory reaches, compared with what opening it finds."""

import os

import pytest

from headrace.log.config import LogConfig
from headrace.log.recovery.log_reach import LogReach, log_reach
from headrace.log.state.checkpoints import write_lines
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
    log.assign_leader_epoch(5)
    assert log_reach(maker.directory) == LogReach(5, 60)


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
