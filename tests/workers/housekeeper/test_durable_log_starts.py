"""A segment goes after a checkpoint on disk says that the log begins behind it, and by a date that nobody has just set."""

import errno
import random

import pytest

from headrace.log.names import DELETED_SUFFIX, LOG_SUFFIX, base_of
from headrace.log.state import checkpoints
from headrace.log.state.checkpoints import LOG_START_OFFSET_FILE
from headrace.log.writing import segment_list
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.workers.expiry_clock import AHEAD_MS, ExpiryClock
from headrace.workers.housekeeper import segment_sync
from headrace.workers.housekeeper.worker import Housekeeper
from tests.support.fake_clock import FakeClock
from tests.support.fake_date import FakeDate
from tests.support.fake_seat import view_of
from tests.support.faulty_disk import FaultyDisk
from tests.workers.housekeeper.test_housekeeper_storage import Node

DAY_MS = 86_400_000
CYCLES = 10


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path, view_of(("t", 2, {"retention.bytes": "3000"})))


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_lies_below_a_log_start_counts_as_synced_once_that_is_on_disk(node, monkeypatch, is_on_disk):
    """A power loss would bring the old start back, and segments above it that were never synced."""
    log = node.fill(0)
    synced = []
    monkeypatch.setattr(segment_sync, "sync_segment", lambda _directory, base, _disk: synced.append(base))
    start = log.log_end_offset - 1
    assert start > log.end_segment
    node.delete_records(0, start)
    if is_on_disk:
        node.housekeeper._write_checkpoint(LOG_START_OFFSET_FILE)
    node.housekeeper._sync_rolled_segments()
    node.housekeeper._mailbox.flush()
    node.housekeeper._mailbox.poll(node.seat.readers)
    assert synced == ([] if is_on_disk else log.segment_bases[:-1])
    assert log.recovery_point == (start if is_on_disk else log.end_segment)


def look(node):
    node.housekeeper._retention.run()
    node.housekeeper._mailbox.flush()


def let_go(node):
    look(node)
    for _ in range(CYCLES):
        node.work()


def test_the_log_start_is_on_disk_before_any_file_is_renamed(node, monkeypatch):
    logs = [node.fill(slot) for slot in range(2)]
    bases = [list(log.segment_bases) for log in logs]
    retire = segment_list.retire_segment
    written = []

    def retire_below_the_start(directory, base, disk):
        (log,) = [one for one in logs if one.directory == directory]
        (name,) = [one for one in node.checkpoint(LOG_START_OFFSET_FILE) if str(one) == directory.name]
        assert base < log.log_start_offset <= node.checkpoint(LOG_START_OFFSET_FILE)[name]
        written.append(base)
        retire(directory, base, disk)

    monkeypatch.setattr(segment_list, "retire_segment", retire_below_the_start)
    look(node)
    assert [log.segment_bases for log in logs] == bases, "their log starts have moved, and no file has gone"
    assert all(log.log_start_offset > 0 for log in logs)
    let_go(node)
    assert [log.segment_bases[0] for log in logs] == [log.log_start_offset for log in logs]
    assert len(written) == sum(map(len, bases)) - sum(len(log.segment_bases) for log in logs)


def test_one_write_of_the_checkpoint_is_for_all_logs_that_wait(node, monkeypatch):
    for slot in range(2):
        node.fill(slot)
    let_go(node)
    write = checkpoints.write_lines
    paths = []
    monkeypatch.setattr(
        checkpoints, "write_lines", lambda path, *given, **how: paths.append(path.name) or write(path, *given, **how)
    )
    for slot in range(2):
        node.fill(slot)
    look(node)
    node.work()
    assert paths.count(LOG_START_OFFSET_FILE) == len(
        {one.log.directory.parent for one in node.replicas.by_slot.values()}
    )


def test_a_disk_without_room_for_the_checkpoint_gets_it_by_the_deletion(node, monkeypatch):
    log = node.fill(0)
    write = node.housekeeper._checkpoints.write

    def refuse(log_dir, file_name, offsets):
        if file_name == LOG_START_OFFSET_FILE:
            raise OSError(errno.ENOSPC, "injected")
        write(log_dir, file_name, offsets)

    monkeypatch.setattr(node.housekeeper._checkpoints, "write", refuse)
    let_go(node)
    assert log.segment_bases[0] == log.log_start_offset > 0


def test_where_it_is_refused_for_what_passes_the_files_stay_until_the_next_look(node, monkeypatch):
    log = node.fill(0)
    with monkeypatch.context() as patched:

        def refuse(*_given):
            raise OSError(errno.EMFILE, "injected")

        patched.setattr(node.housekeeper._checkpoints, "write", refuse)
        let_go(node)
        assert log.segment_bases[0] == 0 < log.log_start_offset
    let_go(node)
    assert log.segment_bases[0] == log.log_start_offset


@pytest.mark.parametrize("seed", range(20))
def test_whichever_renames_a_power_loss_takes_nothing_that_was_synced_is_lost(tmp_path, seed):
    chance = random.Random(seed)
    node = Node(tmp_path, view_of(("t", 1, {"retention.bytes": "3000"})))
    log = node.fill(0)
    log.flush()
    end = log.log_end_offset
    disk = FaultyDisk()
    disk.settle_tree(tmp_path)
    log_dir = log.directory.parent
    look(node)
    for _ in range(CYCLES):
        if any(name.name.endswith(LOG_SUFFIX + DELETED_SUFFIX) for name in log.directory.iterdir()):
            break
        node.work()
        if not any(name.name.endswith(DELETED_SUFFIX) for name in log.directory.iterdir()):
            disk.settle(log_dir)  # the checkpoint is synced as it is written
    start = log.log_start_offset
    assert start > 0
    node.kill()
    disk.crash(log.directory, chance)
    disk.close()
    left = sorted(base_of(path.stem) for path in log.directory.glob("*.log"))
    again = node.restart(view_of(("t", 1)))
    opened = again.replicas.by_slot[0].log
    assert (opened.log_start_offset, opened.log_end_offset) == (start, end), left
    assert not list(log_dir.glob("*-stray"))
    again.kill()


def test_a_date_that_is_set_forward_deletes_nothing_at_once(tmp_path, caplog):
    node = Node(tmp_path, view_of(("t", 1, {"retention.ms": str(8 * DAY_MS)})))
    log = node.fill(0)
    node.clock.step_ms = 9 * DAY_MS
    let_go(node)
    assert log.log_start_offset == 0
    assert "the system clock was set forward" in caplog.text
    node.seat.view._followed = EMPTY_VIEW
    node.housekeeper = Housekeeper(
        node.seat, node.clock
    )  # killed, as one that hangs is: its successor believes no more
    let_go(node)
    assert log.log_start_offset == 0
    node.clock.ms += 20 * DAY_MS  # it is believed in the end, at half the pace of time
    node.seat.date.turn_by(node.clock)
    let_go(node)
    assert log.log_start_offset == log.log_end_offset


def test_the_date_that_is_left_counts_once_it_is_set_back():
    clock = FakeClock()
    steady = FakeDate(clock.ms, clock.ms)
    dates = ExpiryClock(clock, steady.steady)
    begun_ms = clock.now_ms()
    clock.step_ms = 9 * DAY_MS
    clock.ms += 10_000
    steady.turn_by(clock)
    assert dates.now_ms() == begun_ms + 15_000, "half as much again"
    clock.step_ms = -AHEAD_MS
    assert dates.now_ms() == clock.now_ms(), "the earlier one counts"
    clock.step_ms = 0
    clock.ms += 100_000
    steady.turn_by(clock)
    assert dates.now_ms() == clock.now_ms()
