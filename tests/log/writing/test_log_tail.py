"""What every append does alike: where the end is after a write, when the producers are written down."""

import errno

import pytest

from headrace.errors import StorageExhausted, StorageFailed
from headrace.log.config import LogConfig
from headrace.log.index_layout import AbortedTransaction
from headrace.log.reading.aborted_transactions import read_aborted
from headrace.log.recovery.log_loader import LoadedLog
from headrace.log.segments.segment import Segment
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.producer_snapshot import snapshot_offsets
from headrace.log.state.producer_state import ProducerState
from headrace.log.state.truncation_mark import TruncationMark
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.log_tail import LogTail
from headrace.log.writing.segment_list import SegmentList
from headrace.log.writing.sync_state import SyncState
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.log_fixtures import FailingDisk

CONFIG = LogConfig()


class Rig:
    """The tail of an empty log and what it has."""

    def __init__(self, directory, *, is_begun=False):
        self.disk, self.latch = FailingDisk(), FailureLatch(directory)
        loaded = LoadedLog(Segment(directory, 0, self.disk, FakeClock(), is_new=True), [0], 0, [], False, 0, 0, 0, 0)
        self.segments = SegmentList(directory, loaded, FakeClock(), self.disk, self.latch)
        mark = TruncationMark(directory, self.disk)
        self.epochs, self.producers = LeaderEpochs(directory, self.disk), ProducerState(directory, self.disk)
        self.sync = SyncState(
            directory, self.segments, mark, self.epochs, self.disk, FakeClock(), self.latch, 0, is_begun=is_begun
        )
        self.tail = LogTail(self.segments, self.sync, self.epochs, self.producers, self.latch, 100, 0)


@pytest.fixture
def rig(tmp_path):
    made = Rig(tmp_path)
    yield made
    made.segments.active.close()


def test_the_end_moves_with_the_write_and_not_without_it(rig):
    rig.tail.write([memoryview(b"x" * 30), memoryview(b"y" * 12)], 7)
    assert (rig.segments.end_offset, rig.segments.active.size_bytes, rig.tail.bytes_since_snapshot) == (7, 42, 42)
    rig.disk.fails["pwritev"] = errno.EIO
    with pytest.raises(StorageFailed, match="write of 1 batches"):
        rig.tail.write([memoryview(b"z")], 8)
    assert (rig.segments.end_offset, rig.segments.active.size_bytes) == (7, 42)
    with pytest.raises(StorageFailed):
        rig.latch.check()


def test_an_empty_run_moves_nothing_and_aborted_transactions_are_told_once(rig, tmp_path):
    aborted = [AbortedTransaction(1, 0, 3, 4)]
    rig.tail.write_run(memoryview(b""), 9, aborted)
    assert (rig.segments.end_offset, aborted) == (0, [])
    rig.tail.write_run(memoryview(b"x"), 9, aborted)
    assert rig.segments.end_offset == 9
    assert read_aborted(tmp_path / f"{0:020d}.txnindex") == [AbortedTransaction(1, 0, 3, 4)]


@pytest.mark.parametrize("fails", ["open", "pwritev"])
def test_an_aborted_transaction_is_in_its_index_before_the_marker_is_in_the_log(rig, tmp_path, fails):
    real = rig.disk.open

    def refuse(*_args):
        raise OSError(errno.ENOSPC, "injected")

    setattr(rig.disk, "write_all" if fails == "pwritev" else "open", refuse)
    with pytest.raises(StorageExhausted, match="transaction index"):
        rig.tail.write_run(memoryview(b"x"), 9, [AbortedTransaction(1, 0, 3, 4)])
    rig.disk.open = real
    assert (rig.segments.end_offset, rig.segments.active.size_bytes) == (0, 0)


def test_producers_are_written_down_after_so_many_bytes_and_at_each_roll(rig, tmp_path):
    rig.tail.write([memoryview(b"x" * 99)], 5)
    rig.tail.settle(CONFIG)
    assert snapshot_offsets(tmp_path) == []
    rig.tail.write([memoryview(b"x")], 6)
    rig.tail.settle(CONFIG)
    assert (snapshot_offsets(tmp_path), rig.tail.bytes_since_snapshot) == ([6], 0)
    rig.tail.write([memoryview(b"x" * 50)], 8)
    segment = rig.tail.roll(CONFIG)
    assert (segment.base_offset, rig.segments.active) == (8, segment)
    assert (snapshot_offsets(tmp_path), rig.tail.bytes_since_snapshot) == ([6, 8], 0)


def test_a_segment_that_a_roll_begins_has_its_limits(rig):
    rig.tail.write([memoryview(b"x")], 1)
    segment = rig.tail.roll(LogConfig(segment_bytes=100))
    assert segment.take_batch(1, 0, 60, NOW_MS)
    assert not segment.take_batch(2, 60, 60, NOW_MS)


def test_an_append_flushes_where_the_topic_wants_it(rig):
    rig.tail.write([memoryview(b"x")], 3)
    rig.tail.settle(LogConfig(flush_messages=4))
    assert rig.sync.recovery_point == 0
    rig.tail.settle(LogConfig(flush_messages=3))
    assert rig.sync.recovery_point == 3


@pytest.mark.parametrize("is_begun", [False, True])
def test_an_epoch_that_begins_is_written_at_once_and_synced_with_the_flush(tmp_path, is_begun):
    """A broker that dies leaves thousands of them: what waits for each fsync is a partition without a leader."""
    rig = Rig(tmp_path, is_begun=is_begun)
    synced = []
    rig.disk.fsync = synced.append
    rig.tail.begin_epoch(1, 0)
    rig.tail.begin_epoch(2, 0)
    rig.tail.begin_epoch(2, 0)
    assert (synced, rig.epochs.is_synced) == ([], False)
    assert LeaderEpochs(tmp_path, rig.disk).entries == rig.epochs.entries == [(2, 0)]
    rig.tail.write([memoryview(b"x")], 3)
    rig.sync.flush()
    assert (bool(synced), rig.epochs.is_synced) == (True, True)
    synced.clear()
    rig.tail.write([memoryview(b"x")], 4)
    rig.sync.flush()
    assert not synced, "once"
    rig.segments.active.close()
