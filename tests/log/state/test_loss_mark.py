"""The file that says that a log was cut when it was opened: it is there before anything goes, and until the loss was told."""

import errno

import pytest

from headrace.errors import StorageFailed
from headrace.log.config import LogConfig
from headrace.log.state.loss_mark import LOSS_FILE, LossMark
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import FailingDisk, LogMaker, batch

CONFIG = LogConfig(segment_bytes=2_000)


@pytest.fixture
def maker(tmp_path):
    return LogMaker(tmp_path)


def written(maker):
    """A log of several segments, and the end of its last batch."""
    log = maker.open(CONFIG)
    for _ in range(40):
        log.append_as_leader([batch()], 0, NOW_MS)
    log.abandon()
    return log.end_segment, log.end_position


def damage(maker, segment):
    """The machine lost a page."""
    path = maker.directory / f"{segment:020d}.log"
    data = bytearray(path.read_bytes())
    data[-50:] = bytes(50)
    path.write_bytes(data)


@pytest.mark.parametrize("is_last", [True, False])
def test_a_log_that_was_cut_says_so_at_each_opening_until_that_was_told(maker, is_last):
    last, _position = written(maker)
    damage(maker, last if is_last else 0)
    ends = set()
    for _ in range(3):
        log = maker.open(CONFIG)
        assert log.was_cut
        ends.add(log.log_end_offset)
        log.abandon()
    assert len(ends) == 1
    log.forget_loss()
    assert not (maker.directory / LOSS_FILE).exists()
    assert not maker.open(CONFIG).was_cut


def test_it_is_durable_before_anything_is_cut(maker, monkeypatch):
    last, position = written(maker)
    damage(maker, last)
    calls = []
    for name in ("sync_directory", "truncate"):
        real = getattr(maker.disk, name)
        monkeypatch.setattr(maker.disk, name, lambda *given, real=real, name=name: (calls.append(name), real(*given)))
    maker.open(CONFIG)
    assert calls[calls.index("sync_directory") :][:2] == ["sync_directory", "truncate"]
    assert (maker.directory / f"{last:020d}.log").stat().st_size < position


def test_what_a_killed_owner_had_not_published_is_no_loss(maker):
    last, position = written(maker)
    with (maker.directory / f"{last:020d}.log").open("ab") as file:
        file.write(bytes(30))
    assert maker.open(CONFIG, trusted=(last, position)).was_cut
    assert not (maker.directory / LOSS_FILE).exists()


def test_a_truncation_is_no_loss(maker):
    written(maker)
    log = maker.open(CONFIG)
    log.truncate_to(15)
    assert not (maker.directory / LOSS_FILE).exists()
    assert not maker.open(CONFIG).was_cut


class RefusingDisk(FailingDisk):
    def __init__(self, error):
        super().__init__()
        self._error = error

    def open(self, path, flags):
        if path.name == LOSS_FILE:
            raise OSError(self._error, "injected")
        return super().open(path, flags)


def test_without_room_the_log_is_opened_all_the_same(maker, caplog):
    last, _position = written(maker)
    damage(maker, last)
    maker.disk = RefusingDisk(errno.ENOSPC)
    assert maker.open(CONFIG).was_cut
    assert "a possible loss could not be recorded on disk" in caplog.text


def test_where_the_disk_refuses_nothing_is_cut(maker):
    last, position = written(maker)
    damage(maker, last)
    maker.disk = RefusingDisk(errno.EIO)
    with pytest.raises(StorageFailed):
        maker.open(CONFIG)
    assert (maker.directory / f"{last:020d}.log").stat().st_size == position


@pytest.mark.parametrize("has_lost", [True, False])
def test_a_copy_that_takes_a_logs_place_says_what_that_says(tmp_path, has_lost):
    log, copy = (LogMaker(tmp_path / name).open() for name in ("log", "copy"))
    (log if has_lost else copy).note_loss()
    copy.take_over(log)
    assert LossMark(copy.directory, FailingDisk()).is_set == has_lost
