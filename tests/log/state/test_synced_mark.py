"""The file that says that each append was synced before its answer: what a power loss leaves of it is never too much."""

import errno

import pytest

from headrace.errors import StorageFailed
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.state.synced_mark import SYNCED_FILE, SyncedMark
from headrace.log.state.truncation_mark import doubt_all
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import batch

NAME = TopicPartition("t", 0)
SYNCED, PLAIN = LogConfig(flush_before_ack=True), LogConfig()


class Chance:
    """What was not synced is gone, or is there."""

    def __init__(self, is_kept):
        self._index = int(is_kept)

    def choice(self, either):
        return either[self._index]

    def randint(self, least, most):
        return most if self._index else least


@pytest.fixture(params=[False, True], ids=["lost", "kept"])
def chance(request):
    return Chance(request.param)


@pytest.fixture
def disk():
    return FaultyDisk()


def opened(disk, tmp_path, config):
    return PartitionLog.open(
        tmp_path / "t-0", NAME, config, LogCheckpoint(), LogEnvironment(clock=FakeClock(), disk=disk)
    )


def append(log):
    log.append_as_leader([batch()], 0, NOW_MS)
    if log.config.flush_before_ack:
        log.flush_before_answer()


def is_said_after_a_power_loss(disk, tmp_path, log, chance):
    log.abandon()
    disk.crash_tree([tmp_path], chance)
    again = opened(disk, tmp_path, PLAIN)
    again.abandon()
    return again.was_synced


def test_a_log_that_begins_under_the_setting_says_so_from_its_first_flush_on(disk, tmp_path, chance):
    log = opened(disk, tmp_path, SYNCED)
    append(log)
    assert is_said_after_a_power_loss(disk, tmp_path, log, chance)


def test_one_that_gets_the_setting_says_so_once_it_is_flushed_as_a_whole(disk, tmp_path, chance):
    log = opened(disk, tmp_path, PLAIN)
    append(log)
    log.config = SYNCED
    assert not (tmp_path / "t-0" / SYNCED_FILE).exists()
    append(log)
    assert is_said_after_a_power_loss(disk, tmp_path, log, chance)


def test_one_that_gets_it_after_the_power_loss_does_not(disk, tmp_path, chance):
    log = opened(disk, tmp_path, PLAIN)
    append(log)
    log.flush()
    append(log)
    log.abandon()
    disk.crash_tree([tmp_path], chance)
    assert not opened(disk, tmp_path, SYNCED).was_synced
    assert not opened(disk, tmp_path, SYNCED).was_synced, "nor does it by being opened"


@pytest.mark.parametrize("kind", ["as_leader", "as_follower"])
def test_an_append_without_the_setting_takes_it_back_before_anything_is_written(disk, tmp_path, chance, kind):
    log = opened(disk, tmp_path, SYNCED)
    append(log)
    log.config = PLAIN
    if kind == "as_leader":
        append(log)
    else:
        log.append_as_follower(memoryview(bytearray(batch(base_offset=1))), NOW_MS)
    assert not is_said_after_a_power_loss(disk, tmp_path, log, chance)


def test_where_it_cannot_be_removed_nothing_is_appended(disk, tmp_path, monkeypatch):
    log = opened(disk, tmp_path, SYNCED)
    append(log)
    log.config = PLAIN

    def fail(_fd):
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(disk, "fsync", fail)
    with pytest.raises(StorageFailed):
        append(log)
    assert log.log_end_offset == 1


def test_without_room_it_is_made_with_the_next_flush(disk, tmp_path, monkeypatch):
    log = opened(disk, tmp_path, PLAIN)
    log.config = SYNCED

    def fail(_path, _flags):
        raise OSError(errno.ENOSPC, "no")

    append(log)
    SyncedMark(tmp_path / "t-0", disk).remove()
    log._synced.is_set = False
    with monkeypatch.context() as patched:
        patched.setattr(disk, "open", fail)
        append(log)
    assert not log._synced.is_set
    append(log)
    assert log._synced.is_set


def test_a_log_that_was_put_aside_and_has_its_name_back_says_nothing(disk, tmp_path):
    log = opened(disk, tmp_path, SYNCED)
    append(log)
    log.close()
    doubt_all(log.directory, disk)
    for _ in range(2):
        again = opened(disk, tmp_path, PLAIN)
        assert not again.was_synced
        again.abandon()
