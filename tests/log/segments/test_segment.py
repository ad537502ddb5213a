"""When a segment is full, and what it takes account of."""

import os
import sys
from pathlib import Path

import pytest

from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.segments.segment import Segment
from tests.support.fake_clock import NOW_MS

BASE = 1000
CONFIG = LogConfig(segment_bytes=1000, segment_ms=500, index_interval_bytes=100, index_bytes_max=36)


@pytest.fixture
def segment(tmp_path):
    one = Segment(tmp_path, BASE, Disk(), NOW_MS, is_new=True)
    one.set_limits(CONFIG, NOW_MS)
    yield one
    one.close()


def facts(segment):
    return (
        segment.max_timestamp_ms, segment.max_timestamp_offset, segment.first_timestamp_ms, segment.bytes_since_index,
        list(segment._due),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("last_offset", "position", "size", "timestamp_ms", "is_taken"),
    [
        (BASE + 9, 300, 700, NOW_MS, True),
        (BASE + 9, 300, 701, NOW_MS, False),
        (BASE + 9, 300, 10, NOW_MS + 500, True),
        (BASE + 9, 300, 10, NOW_MS + 501, False),
        (BASE + RELATIVE_OFFSET_MAX, 300, 10, NOW_MS, True),
        (BASE + RELATIVE_OFFSET_MAX + 1, 300, 10, NOW_MS, False),
    ],
)
def test_a_segment_is_full_by_size_by_age_and_by_offsets(segment, last_offset, position, size, timestamp_ms, is_taken):
    assert segment.take_batch(BASE, 0, 300, NOW_MS)
    before = facts(segment)
    assert segment.take_batch(last_offset, position, size, timestamp_ms) is is_taken
    assert (facts(segment) == before) is not is_taken  # nothing of a batch that goes elsewhere is kept


@pytest.mark.parametrize(("last_offset", "is_taken"), [(BASE + 5, True), (BASE + RELATIVE_OFFSET_MAX + 1, False)])
def test_an_empty_segment_takes_any_batch_whose_offset_its_indexes_can_express(segment, last_offset, is_taken):
    segment.set_limits(CONFIG, NOW_MS + 10_000)
    assert segment.take_batch(last_offset, 0, 5000, NOW_MS + 10_000) is is_taken


def test_a_segment_is_full_when_an_index_has_no_room_for_another_entry(segment):
    """36 bytes: four entries of one index, of the other three, one of which is for the end."""
    position = 0
    for number in range(50):
        if not segment.take_batch(BASE + number, position, 50, NOW_MS):
            break
        position += 50
        segment.set_limits(CONFIG, NOW_MS)
        if number == 4:  # stored or due makes no difference
            segment.write_index()
            segment.set_limits(CONFIG, NOW_MS)
    assert (segment.offset_index.entries + len(segment._due), position) == (2, 350)
    segment.write_index()
    segment.finish()
    assert (segment.offset_index.entries, segment.time_index.entries) == (2, 1)


def test_a_segment_without_timestamps_ages_by_the_clock(segment):
    assert segment.take_batch(BASE, 0, 10, -1)
    assert segment.take_batch(BASE + 1, 10, 10, -1)
    segment.set_limits(CONFIG, NOW_MS + 500)
    assert segment.take_batch(BASE + 2, 20, 10, -1)
    segment.set_limits(CONFIG, NOW_MS + 501)
    assert not segment.take_batch(BASE + 3, 30, 10, -1)


def test_changed_settings_count_from_the_next_limits_on(segment):
    assert segment.take_batch(BASE, 0, 900, NOW_MS)
    assert not segment.take_batch(BASE + 1, 900, 200, NOW_MS)
    segment.set_limits(LogConfig(segment_bytes=2000), NOW_MS)
    assert segment.take_batch(BASE + 1, 900, 200, NOW_MS)


def test_without_limits_only_the_indexes_bound_a_segment(tmp_path):
    segment = Segment(tmp_path, BASE, Disk(), NOW_MS, is_new=True)
    assert segment.take_batch(BASE, 0, 1 << 40, NOW_MS)
    assert segment.take_batch(BASE + 1, 1 << 40, 1 << 40, 2**62)
    assert not segment.take_batch(BASE + RELATIVE_OFFSET_MAX + 1, 1 << 41, 1, NOW_MS)
    segment.close()


def held_descriptors(directory):
    """Of this process, by name of the file in a directory, how many."""
    found = (os.path.realpath(one) for one in Path("/proc/self/fd").iterdir())
    names = [Path(one).suffix for one in found if Path(one).parent == directory]
    return {suffix: names.count(suffix) for suffix in names}


def test_indexes_hold_no_descriptor_without_entries_and_that_of_their_map_with_them(segment, tmp_path):
    """10,000 logs that rest need 10,000 descriptors, not 30,000: the hard limit is 20,000 here and there."""
    assert held_descriptors(tmp_path) == {".log": 1}
    segment.take_batch(BASE + 1, 0, 500, NOW_MS)
    segment.take_batch(BASE + 2, 500, 50, NOW_MS)
    segment.write_index()
    segment.sync_indexes()
    maps = 0 if sys.version_info >= (3, 13) else 1
    assert held_descriptors(tmp_path) == {".log": 1} | ({".index": maps, ".timeindex": maps} if maps else {})
    segment.finish()
    assert held_descriptors(tmp_path).get(".index", 0) == maps
    segment.close()
    assert held_descriptors(tmp_path) == {}
