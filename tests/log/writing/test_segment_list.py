"""The list by itself: how it grows and shrinks, what its version says, and what a failing disk does to it."""

import errno
import os
import random

import pytest

from headrace.errors import StorageExhausted, StorageFailed
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.group_file import encode_group
from headrace.log.names import path_of
from headrace.log.recovery.log_loader import LoadedLog
from headrace.log.segments.segment import Segment
from headrace.log.state.compacted_offset import COMPACTED_FILE, begin_compacted, compacted_offset
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.segment_list import SegmentList
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import LogMaker, batch


class RenamingFails(Disk):
    def __init__(self, calls_left):
        self.calls_left = calls_left

    def rename(self, source, target):
        self.calls_left -= 1
        if self.calls_left < 0:
            raise OSError(errno.EIO, "injected")
        super().rename(source, target)


def make(directory, disk=None):
    directory.mkdir(exist_ok=True)
    disk = disk or Disk()
    active = Segment(directory, 0, disk, FakeClock(), is_new=True)
    loaded = LoadedLog(active, [0], 0, [], False, 0, 0, 0, 0)
    return SegmentList(directory, loaded, FakeClock(), disk, FailureLatch(directory))


def grow(segments, count):
    """Segments of ten offsets and as many bytes."""
    for _ in range(count):
        segments.active.write([memoryview(b"x" * 10)])
        segments.end_offset += 10
        segments.roll()


def write_cleaned(directory, base, end_offset=20):
    for suffix, content in ((".log.cleaned", b"abc"), (".index.swap", b""), (".timeindex.swap", b"")):
        path_of(directory, base, suffix).write_bytes(content)
    path_of(directory, base, ".group.swap").write_bytes(encode_group(end_offset))


@pytest.fixture
def segments(tmp_path):
    made = make(tmp_path / "t-0")
    yield made
    made.active.close()


def test_a_roll_begins_at_the_logs_end_and_leaves_what_is_not_synced(segments):
    version = segments.version
    grow(segments, 3)
    assert segments.bases == [0, 10, 20, 30]
    assert segments.active.base_offset == 30
    assert (segments.rolled_bytes, segments.size_bytes) == (30, 30)
    assert segments.unsynced == [0, 10, 20]
    assert segments.has_new_names
    assert segments.version == version + 3
    assert segments.cut_version == version


@pytest.mark.parametrize(
    ("bases", "high_watermark", "count"),
    [
        ({0, 10, 20, 30}, 100, 3),  # never the active one
        ({0, 10, 20}, 25, 2),  # nothing uncommitted
        ({10, 20}, 100, 0),  # no gap
        ({0, 20}, 100, 1),
        (set(), 100, 0),
    ],
)
def test_only_the_oldest_committed_ones_may_be_dropped(segments, bases, high_watermark, count):
    grow(segments, 3)
    assert segments.count_droppable(bases, high_watermark) == count


def test_dropped_segments_leave_the_list_and_its_size(segments, tmp_path):
    grow(segments, 3)
    version = segments.version
    segments.drop(2)
    assert (segments.bases, segments.rolled_bytes, segments.version) == ([20, 30], 10, version + 1)
    assert sorted(path.name for path in (tmp_path / "t-0").glob("*.log")) == [f"{20:020d}.log", f"{30:020d}.log"]
    assert path_of(tmp_path / "t-0", 0, ".log.deleted").exists()


def test_a_disk_that_fails_while_segments_are_dropped_leaves_no_gap(tmp_path):
    segments = make(tmp_path / "t-0", disk := RenamingFails(1_000_000))
    grow(segments, 3)
    disk.calls_left = 4  # the first one's log and indexes are gone, the second one's log is
    with pytest.raises(StorageFailed, match="deletion of segments"):
        segments.drop(3)
    left = sorted(int(path.stem) for path in (tmp_path / "t-0").glob("*.log"))
    assert left == [10, 20, 30][-len(left) :]
    assert segments._latch.reason is not None


@pytest.mark.parametrize(
    "wrong",
    [
        "as of a cut",
        "a size",
        "a base that is none",
        "not neighbours",
        "the active one",
        "no files",
        "for other segments",
    ],
)
def test_a_swap_of_another_list_than_this_does_nothing(segments, tmp_path, wrong):
    grow(segments, 3)
    for base in (0, 5, 20):
        if wrong != "no files":
            write_cleaned(tmp_path / "t-0", base, 30 if wrong == "for other segments" else 20)
    asked, version = [(0, 10), (10, 10)], segments.version
    if wrong == "as of a cut":
        version = segments.cut_version - 1
    elif wrong == "a size":
        asked = [(0, 10), (10, 11)]
    elif wrong == "a base that is none":
        asked = [(5, 10)]
    elif wrong == "not neighbours":
        asked = [(0, 10), (20, 10)]
    elif wrong == "the active one":
        asked = [(20, 10), (30, 0)]
    before = segments.version
    assert not segments.swap(asked, version)
    assert (segments.bases, segments.rolled_bytes, segments.version) == ([0, 10, 20, 30], 30, before)


def test_a_swap_puts_the_first_ones_file_in_the_place_of_all(segments, tmp_path):
    grow(segments, 3)
    write_cleaned(tmp_path / "t-0", 0)
    assert segments.swap([(0, 10), (10, 10)], segments.version)
    assert (segments.bases, segments.rolled_bytes) == ([0, 20, 30], 13)
    assert path_of(tmp_path / "t-0", 0, ".log").read_bytes() == b"abc"


class FullAtTheName(Disk):
    def replace_file(self, path, data, *, is_durable=True):
        raise OSError(errno.ENOSPC, "injected")


def test_a_swap_says_before_it_begins_that_holes_below_its_end_are_no_loss(tmp_path):
    renames = []
    disk = RenamingFails(1 << 30)
    disk.rename = lambda source, target: (renames.append(target.name), os.replace(source, target))
    segments = make(tmp_path / "t-0", disk)
    grow(segments, 4)
    write_cleaned(tmp_path / "t-0", 0)
    assert segments.swap([(0, 10), (10, 10)], segments.version)
    assert renames[0] == COMPACTED_FILE
    assert compacted_offset(tmp_path / "t-0") == 40, "before it was known, everything may have been compacted"
    begin_compacted(tmp_path / "t-0", disk)
    write_cleaned(tmp_path / "t-0", 20, 30)
    assert segments.swap([(20, 10)], segments.version)
    assert compacted_offset(tmp_path / "t-0") == 30
    write_cleaned(tmp_path / "t-0", 0)
    assert segments.swap([(0, 3)], segments.version)
    assert compacted_offset(tmp_path / "t-0") == 30, "it never falls"
    segments.active.close()


def test_a_swap_for_whose_note_there_is_no_room_goes_on_without_one(tmp_path):
    segments = make(tmp_path / "t-0")
    grow(segments, 3)
    begin_compacted(tmp_path / "t-0", Disk())
    write_cleaned(tmp_path / "t-0", 0)
    segments._disk = FullAtTheName()
    assert segments.swap([(0, 10), (10, 10)], segments.version)
    assert compacted_offset(tmp_path / "t-0") is None, "0 would call its holes a loss"
    segments.active.close()


def test_a_list_that_is_loaded_again_is_another_to_everyone(segments, tmp_path):
    grow(segments, 3)
    version = segments.version
    segments.active.close()
    active = Segment(tmp_path / "t-0", 10, Disk(), FakeClock())
    segments.adopt(LoadedLog(active, [0, 10], 10, [0], True, 0, 15, 0, 0))
    assert segments.cut_version > version
    assert (segments.bases, segments.end_offset, segments.unsynced) == ([0, 10], 15, [0])


def test_a_roll_that_fails_takes_the_log_out_of_service_and_keeps_the_list(tmp_path):
    class NoRoom(Disk):
        def truncate(self, fd, size):
            raise OSError(errno.ENOSPC, "injected")

    segments = make(tmp_path / "t-0")
    segments.active.offset_index._disk = NoRoom()
    segments.active.offset_index.append(1, 5)
    with pytest.raises(StorageExhausted, match="roll"):
        segments.roll()
    assert segments.bases == [0]
    assert isinstance(segments._latch.reason, StorageExhausted)


def test_no_loss_of_power_takes_the_beginning_of_a_log_and_leaves_the_rest(tmp_path):
    """It would open as a log that begins later, and once it leads all other replicas follow its log start."""
    for seed in range(30):
        maker = LogMaker(tmp_path / f"{seed}")
        disk = maker.disk = FaultyDisk()
        log = maker.open(LogConfig(segment_bytes=1000))
        for number in range(20):
            log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
        assert len(log.segment_bases) > 2
        log.abandon()
        disk.crash(maker.directory, random.Random(seed))
        log = maker.open(LogConfig(segment_bytes=1000))
        assert log.log_start_offset == 0, f"seed {seed}"
        log.close()
        disk.close()


def test_nor_the_oldest_of_those_that_a_deletion_leaves(tmp_path):
    maker = LogMaker(tmp_path)
    disk = maker.disk = FaultyDisk()
    log = maker.open(LogConfig(segment_bytes=1000))
    for number in range(60):
        log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
    bases = log.segment_bases
    syncs = disk.calls.count("fsync")
    log.advance_log_start(bases[2])
    log.delete_segments(2)
    assert disk.calls.count("fsync") == syncs + 1
    log.flush()
    syncs = disk.calls.count("fsync")
    log.advance_log_start(bases[3])
    log.delete_segments(1)
    assert disk.calls.count("fsync") == syncs, "its name was synced by the flush"
    log.close()
    disk.close()
