"""When a segment is full, and what it takes account of."""

import errno
import os
import sys
from pathlib import Path

import pytest

from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.segments.segment import Segment
from tests.support.fake_clock import NOW_MS, FakeClock

BASE = 1000
MIB = 1 << 20
CONFIG = LogConfig(segment_bytes=1000, segment_ms=500, index_interval_bytes=100, index_bytes_max=36)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def segment(tmp_path, clock):
    one = Segment(tmp_path, BASE, Disk(), clock, is_new=True)
    one.set_limits(CONFIG)
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
    segment.set_limits(CONFIG)
    assert segment.take_batch(last_offset, 0, 5000, NOW_MS + 10_000) is is_taken


def test_a_segment_is_full_when_an_index_has_no_room_for_another_entry(segment):
    """36 bytes: four entries of one index, of the other three, one of which is for the end."""
    position = 0
    for number in range(50):
        if not segment.take_batch(BASE + number, position, 50, NOW_MS):
            break
        position += 50
        segment.set_limits(CONFIG)
        if number == 4:  # stored or due makes no difference
            segment.write_index()
            segment.set_limits(CONFIG)
    assert (segment.offset_index.entries + len(segment._due), position) == (2, 350)
    segment.write_index()
    segment.finish()
    assert (segment.offset_index.entries, segment.time_index.entries) == (2, 1)


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_a_segment_without_timestamps_ages_by_the_clock_that_is_not_set(segment, clock, step_ms):
    clock.step_ms = step_ms
    assert segment.take_batch(BASE, 0, 10, -1)
    assert segment.take_batch(BASE + 1, 10, 10, -1)
    clock.ms += 500
    segment.set_limits(CONFIG)
    assert segment.take_batch(BASE + 2, 20, 10, -1)
    clock.ms += 1
    segment.set_limits(CONFIG)
    assert not segment.take_batch(BASE + 3, 30, 10, -1)


def test_changed_settings_count_from_the_next_limits_on(segment):
    assert segment.take_batch(BASE, 0, 900, NOW_MS)
    assert not segment.take_batch(BASE + 1, 900, 200, NOW_MS)
    segment.set_limits(LogConfig(segment_bytes=2000))
    assert segment.take_batch(BASE + 1, 900, 200, NOW_MS)


def test_without_limits_only_the_indexes_bound_a_segment(tmp_path):
    segment = Segment(tmp_path, BASE, Disk(), FakeClock(), is_new=True)
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


class NotingDisk(Disk):
    """Takes every write and drops it; says what was reserved."""

    def __init__(self, error=0):
        self.error = error
        self.reserved = []

    def pwritev(self, fd, buffers, position):
        return sum(map(len, buffers))

    def reserve(self, fd, position, size):
        self.reserved.append((position, size))
        if self.error:
            raise OSError(self.error, os.strerror(self.error))


def grow(directory, disk, until, segment_bytes=1 << 30, step=1 << 20):
    segment = Segment(directory, BASE, disk, FakeClock(), is_new=True)
    segment.set_limits(LogConfig(segment_bytes=segment_bytes))
    while segment.size_bytes < until:
        segment.write([memoryview(bytes(step))])
    return segment


def test_a_segment_has_blocks_ahead_of_its_end_a_quarter_of_it_and_eight_mib_at_most(tmp_path):
    disk = NotingDisk()
    grow(tmp_path, disk, 256 * MIB).close()
    assert disk.reserved[:3] == [(4 * MIB, MIB), (5 * MIB, 5 * MIB // 4), (7 * MIB, 7 * MIB // 4)]
    ends = [position + size for position, size in disk.reserved]
    assert all(end <= position for end, (position, _size) in zip(ends, disk.reserved[1:], strict=False))
    assert max(size for _position, size in disk.reserved) == 8 * MIB
    assert 256 * MIB <= ends[-1] <= 264 * MIB


def test_nothing_is_reserved_after_what_a_segment_may_hold(tmp_path):
    disk = NotingDisk()
    grow(tmp_path, disk, 6 * MIB, segment_bytes=6 * MIB).close()
    assert sum(disk.reserved[-1]) == 6 * MIB


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EOPNOTSUPP])
def test_where_nothing_can_be_reserved_writes_go_on_without_and_it_is_asked_once(tmp_path, error):
    disk = NotingDisk(error)
    segment = grow(tmp_path, disk, 40 * MIB)
    assert disk.reserved == [(4 * MIB, MIB)]
    segment.truncate(8 * MIB)
    segment.write([memoryview(bytes(MIB))])
    assert disk.reserved[1:] == [(8 * MIB, 2 * MIB)]
    segment.close()


def test_what_is_reserved_does_not_lengthen_the_file_and_goes_back_when_it_is_full(tmp_path):
    segment = grow(tmp_path, Disk(), 9 * MIB)
    status = os.fstat(segment.fd)
    assert status.st_size == segment.size_bytes == 9 * MIB
    is_reserved = status.st_blocks * 512 > status.st_size
    segment.finish()
    after = os.fstat(segment.fd)
    assert (after.st_size, after.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    if is_reserved:  # a file system without it has none
        assert after.st_blocks < status.st_blocks
    segment.close()
