"""The file of a log's era: written once an era, it outlives a power loss and all that the file of epochs does not."""

import errno

import pytest

from headrace.errors import StorageFailed
from headrace.ids import NO_EPOCH
from headrace.leader_eras import ERA
from headrace.log.state.known_era import ERA_FILE, KnownEra
from tests.support.fake_clock import NOW_MS
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import LogMaker, batch


class WorstChance:
    """What was not synced is gone."""

    def choice(self, either):
        return either[0]

    def randint(self, least, _most):
        return least


class CountingDisk(FaultyDisk):
    writes = 0

    def rename(self, source, target):
        self.writes += target.name == ERA_FILE
        super().rename(source, target)


@pytest.fixture
def maker(tmp_path):
    maker = LogMaker(tmp_path)
    maker.disk = CountingDisk()
    return maker


def test_nothing_is_written_in_the_first_era(maker):
    log = maker.open()
    for epoch in (0, 7, ERA - 1):
        log.note_history(epoch)
    assert not (maker.directory / ERA_FILE).exists()
    assert log.known_epoch == NO_EPOCH, "within an era the epochs of the log say which it knows"
    log.abandon()


def test_it_is_written_once_an_era_and_outlives_a_power_loss(maker):
    log = maker.open()
    log.append_as_leader([batch()], 3, NOW_MS)
    log.flush()
    for epoch in (3, ERA + 1, ERA + 2, ERA, 2 * ERA + 5, 2 * ERA + 6):
        log.note_history(epoch)
    assert maker.disk.writes == 2
    assert log.known_epoch == 2 * ERA + 6
    log.abandon()
    maker.disk.crash_tree([maker.directory.parent], WorstChance())
    log = maker.open()
    assert log.known_epoch == 2 * ERA + 5
    log.abandon()


def test_records_of_that_era_or_of_a_later_one_say_more(maker):
    log = maker.open()
    log.note_history(ERA)
    log.append_as_leader([batch()], ERA + 4, NOW_MS)
    assert log.known_epoch == ERA + 4
    log.append_as_leader([batch()], 2 * ERA, NOW_MS)
    assert log.known_epoch == 2 * ERA
    log.abandon()


@pytest.mark.parametrize("how", ["cut", "restarted", "restarted at the end"])
def test_an_era_in_which_a_leader_wrote_nothing_stays_known_as_its_epoch_goes(maker, how):
    log = maker.open()
    log.append_as_leader([batch()], 3, NOW_MS)
    log.assign_leader_epoch(ERA)
    if how == "cut":
        log.truncate_to(1)
    else:
        log.restart_at(1 if how.endswith("end") else 10)
    assert log.epochs.latest < ERA
    assert log.known_epoch == ERA
    log.abandon()
    assert maker.open().known_epoch == ERA


def test_a_copy_of_the_log_takes_it_over(maker, tmp_path):
    log = maker.open()
    log.note_history(ERA + 3)
    other = LogMaker(tmp_path / "other")
    copy = other.open()
    copy.take_over(log)
    assert copy.known_epoch == ERA + 3
    copy.abandon()
    log.abandon()


@pytest.mark.parametrize("data", [b"0\n1\nera\n", b"0\n2\n1\n2\n", b"0\n1\n99999999999\n", b"7\n", b"\xff\xfe"])
def test_a_file_that_is_none_is_said_and_written_again(tmp_path, caplog, data):
    (tmp_path / ERA_FILE).write_bytes(data)
    era = KnownEra(tmp_path, FaultyDisk())
    assert era.epoch == NO_EPOCH
    assert f"era of leader epochs unknown reason={tmp_path / ERA_FILE}" in caplog.text
    era.note(ERA)
    assert KnownEra(tmp_path, FaultyDisk()).epoch == ERA


class FullDisk(FaultyDisk):
    """It counts what it refuses."""

    is_full = True
    refused = 0

    def _call(self, name):
        if self.is_full and name in self.only:
            self.refused += 1
            raise OSError(errno.ENOSPC, "injected")
        super()._call(name)


def test_without_room_it_is_owed_and_written_once_there_is_some(tmp_path, caplog):
    disk, owing = FullDisk(), set()
    era = KnownEra(tmp_path, disk, owing)
    era.note(ERA)
    refused = disk.refused
    for epoch in (ERA, ERA, ERA + 1):  # of each answer of a leader
        era.note(epoch)
    assert (era.epoch, disk.refused) == (ERA + 1, refused), "known, and not tried for each of them"
    assert owing == {tmp_path / ERA_FILE}
    era.write_owed()
    assert era.is_owed
    assert caplog.text.count(f"era of leader epochs not written, retried later path={tmp_path / ERA_FILE}") == 1
    disk.is_full = False
    era.write_owed()
    assert not owing
    assert KnownEra(tmp_path, FaultyDisk()).epoch == ERA + 1, "under the same leader epoch"


def test_a_later_era_is_tried_at_once(tmp_path):
    disk = FullDisk()
    era = KnownEra(tmp_path, disk)
    era.note(ERA)
    disk.is_full = False
    era.note(2 * ERA)
    assert not era.is_owed
    assert KnownEra(tmp_path, FaultyDisk()).epoch == 2 * ERA


def test_a_log_that_is_closed_owes_nothing(tmp_path):
    owing = set()
    era = KnownEra(tmp_path, FullDisk(), owing)
    era.note(ERA)
    era.abandon()
    assert not owing


def test_a_disk_that_refuses_it_takes_the_log_out(tmp_path):
    maker = LogMaker(tmp_path)
    maker.disk = FaultyDisk()
    log = maker.open()
    maker.disk.fail_at, maker.disk.error = len(maker.disk.calls), errno.EIO
    with pytest.raises(StorageFailed, match="era of leader epochs"):
        log.note_history(ERA)
    log.abandon()
