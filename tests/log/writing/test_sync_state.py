"""What a flush syncs and in which order, when one is due, and whose word counts."""

import errno
from types import SimpleNamespace

import pytest

from headrace.errors import StorageFailed
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.truncation_mark import TruncationMark
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.sync_state import SyncState
from tests.log.writing.test_segment_list import grow, make
from tests.support.fake_clock import NOW_MS, FakeClock


class NotingDisk:
    """Real calls are of no interest here: what is asked is noted, and fails where it is told to."""

    def __init__(self, inner):
        self.inner = inner
        self.calls = []
        self.fails = set()
        self.refused = {}

    def __getattr__(self, name):
        def call(*arguments, **options):
            if name in self.refused:
                raise OSError(self.refused[name], "injected")
            if name in ("fsync", "fdatasync", "sync_directory"):
                self.calls.append(name)
                if name in self.fails:
                    raise OSError(errno.EIO, "injected")
            return getattr(self.inner, name)(*arguments, **options)

        return call


@pytest.fixture
def rig(tmp_path):
    segments = make(tmp_path / "t-0")
    segments._disk = disk = NotingDisk(segments._disk)
    segments.active._disk = disk
    mark = TruncationMark(tmp_path / "t-0", disk)
    latch = FailureLatch(tmp_path)
    epochs, clock = LeaderEpochs(tmp_path / "t-0", disk), FakeClock()
    state = SyncState(tmp_path / "t-0", segments, mark, epochs, disk, clock, latch, 0, is_begun=False)
    yield SimpleNamespace(state=state, segments=segments, disk=disk, mark=mark, latch=latch, epochs=epochs, clock=clock)
    segments.active.close()


def test_a_flush_syncs_rolled_segments_then_the_active_one_then_the_names(rig):
    grow(rig.segments, 2)
    rig.state.flush()
    assert rig.disk.calls == ["fdatasync"] * 7 + ["sync_directory"]  # three files for each rolled one
    assert rig.state.recovery_point == 20
    assert rig.segments.unsynced == []
    rig.disk.calls.clear()
    rig.state.flush()
    assert rig.disk.calls == []  # nothing came since


def test_a_rolled_segment_that_was_deleted_meanwhile_is_no_failure(rig):
    grow(rig.segments, 2)
    rig.segments.drop(1)
    rig.state.flush()
    assert rig.state.recovery_point == 20


@pytest.mark.parametrize("failing", ["fdatasync", "sync_directory"])
def test_a_sync_that_failed_is_not_tried_again(rig, failing):
    grow(rig.segments, 1)
    rig.disk.fails.add(failing)
    with pytest.raises(StorageFailed, match="fsync"):
        rig.state.flush()
    rig.disk.fails.clear()
    rig.disk.calls.clear()
    with pytest.raises(StorageFailed, match="fsync"):
        rig.state.flush()
    assert rig.disk.calls == []
    assert rig.state.recovery_point == 0
    assert rig.segments.unsynced == [0]


def test_a_flush_is_due_by_records_and_by_the_time_of_the_first_one(rig):
    assert not rig.state.flush_due(NOW_MS + 1000, 100)  # nothing was written
    rig.segments.end_offset = 5
    rig.state.note_append(6)
    assert rig.state.recovery_point == 0
    rig.clock.ms += 50
    rig.clock.step_ms = -3_600_000  # the date does not matter
    rig.state.note_append(6)
    assert not rig.state.flush_due(NOW_MS + 99, 100)
    assert not rig.state.flush_due(NOW_MS + 200, None)
    assert rig.state.flush_due(NOW_MS + 100, 100)
    rig.segments.end_offset = 11
    rig.clock.ms += 150
    rig.state.note_append(6)
    assert rig.state.recovery_point == 11
    assert not rig.state.flush_due(NOW_MS + 1000, 100)


def test_the_word_of_another_process_counts_as_far_as_it_can_know(rig):
    grow(rig.segments, 3)
    version = rig.segments.version
    assert not rig.state.note_synced(10, rig.segments.cut_version - 1)  # of the log before a cut
    assert not rig.state.note_synced(31, version)  # above the end
    assert rig.state.note_synced(20, version)
    assert (rig.state.recovery_point, rig.segments.unsynced) == (20, [20])
    assert not rig.state.note_synced(10, version)  # no news
    rig.mark.write(20, 30)
    grow(rig.segments, 1)
    assert rig.state.note_synced(25, version)
    assert rig.mark.distrusted_until == 30  # a checkpoint may say so still
    assert rig.state.note_synced(30, version)
    assert rig.mark.distrusted_until == -1


def test_a_truncation_is_doubted_until_all_that_was_written_over_it_is_synced(rig):
    rig.segments.end_offset = 20
    rig.mark.write(10, 30)
    rig.state.flush()
    assert rig.mark.distrusted_until == 30
    rig.segments.end_offset = 30
    rig.state.flush()
    assert rig.mark.distrusted_until == -1


def test_a_log_that_is_out_of_service_learns_nothing(rig):
    grow(rig.segments, 2)
    with pytest.raises(StorageFailed):
        rig.latch.fail("write", OSError(errno.EIO, "injected"))
    assert not rig.state.note_synced(10, rig.segments.version)
    with pytest.raises(StorageFailed, match="write"):
        rig.state.flush()


@pytest.mark.parametrize("synced_by", ["flush", "the housekeeper"])
def test_the_recovery_point_passes_no_batch_of_an_epoch_that_is_not_synced(rig, synced_by):
    """Recovery learns the epochs of the batches after the recovery point, and of no others."""
    grow(rig.segments, 2)
    version = rig.segments.version
    for fails in (True, False):
        rig.epochs.assign(1 if fails else 2, 0, is_durable=False)
        rig.disk.fails = {"fsync"} if fails else set()
        rig.disk.calls.clear()
        if fails:
            with pytest.raises(StorageFailed):
                move(rig, synced_by, version)
            assert rig.state.recovery_point == 0
            rig.latch.reason = None
    move(rig, synced_by, version)
    assert rig.state.recovery_point > 0
    assert rig.epochs.is_synced
    at = rig.disk.calls.index("fsync")
    assert "sync_directory" in rig.disk.calls[at:], "the file's name as well"


def move(rig, synced_by, version):
    if synced_by == "flush":
        rig.state.flush()
    else:
        rig.state.note_synced(20, version)


@pytest.mark.parametrize("how", ["flush", "note_synced"])
@pytest.mark.parametrize(("error", "kind"), [(errno.ENOSPC, None), (errno.EIO, StorageFailed)])
def test_epochs_that_no_room_was_for_are_written_before_anything_is_synced(rig, how, error, kind):
    """Within a sync a lack of room is final: a disk that is being freed would go offline."""
    grow(rig.segments, 2)
    rig.epochs.assign(3, 0)
    rig.epochs.truncate_from_start(5)
    rig.disk.refused["replace_file"] = error
    failed = None
    try:
        rig.state.flush() if how == "flush" else rig.state.note_synced(10, rig.segments.version)
    except StorageFailed as failure:
        failed = type(failure)
    assert failed is kind
    if kind is None:
        assert rig.state.recovery_point == (20 if how == "flush" else 10)
        assert rig.epochs.is_behind  # the file tells more than it should, and is synced: it is no worse
        rig.disk.refused.clear()
        grow(rig.segments, 1)
        rig.state.flush()
        assert not rig.epochs.is_behind
        assert rig.epochs.is_synced
    else:
        assert rig.disk.calls.count("fdatasync") == 0
