"""Epochs that the batches tell: found by halves they are those that every header tells, and little is read for them."""

import random

import pytest

from headrace.log.batch_walk import walk
from headrace.log.config import LogConfig
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, path_of
from headrace.log.recovery.epoch_scan import epochs_in
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import CountingDisk, batch

CONFIG = LogConfig(index_interval_bytes=300)


def write(maker, epochs):
    """A segment with a batch of each of these epochs; returns its size."""
    log = maker.open(CONFIG)
    for epoch in epochs:
        log.append_as_leader([batch(size=20)], epoch, NOW_MS)
    size = log.end_position
    log.close()
    return size


def told(maker, end, base=0):
    """By every header."""
    found = []
    with open(path_of(maker.directory, base, LOG_SUFFIX), "rb") as file:
        for step in walk(file.fileno(), 0, end, base, is_checked=False, disk=CountingDisk()):
            if step.leader_epoch > (found[-1][0] if found else -1):
                found.append((step.leader_epoch, step.base_offset))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_is_what_all_headers_tell(maker, seed):
    chance = random.Random(seed)
    epochs, count = [], chance.randint(1, 300)
    while len(epochs) < count:
        epochs += [(epochs[-1] if epochs else 0) + chance.randint(0, 3)] * chance.choice([1, 2, 3, 40, 150])
    end = write(maker, epochs)
    found = epochs_in(maker.directory, 0, end, CountingDisk())
    assert found == told(maker, end)
    assert [epoch for epoch, _offset in found] == sorted(set(epochs))


def test_little_is_read_of_a_long_segment(maker):
    end = write(maker, [1] * 1000 + [4] * 1500 + [5])
    disk = CountingDisk()
    assert epochs_in(maker.directory, 0, end, disk) == [(1, 0), (4, 1000), (5, 2500)]
    assert disk.read_bytes * 20 < end


@pytest.mark.parametrize(
    "index",
    [None, b"", b"\x00" * 80, b"\x00\x00\x00\x09\x00\x00\x00\x07" * 40, b"\x00\x00\x00\x01\x00\x00\x05\x00"],
)
def test_an_index_that_is_not_of_the_segment_changes_nothing(maker, index):
    end = write(maker, [0] * 30 + [2] * 30 + [7])
    path = path_of(maker.directory, 0, INDEX_SUFFIX)
    path.unlink() if index is None else path.write_bytes(index)
    assert epochs_in(maker.directory, 0, end, CountingDisk()) == [(0, 0), (2, 30), (7, 60)]


def test_entries_of_old_formats_have_no_epoch(maker):
    end = write(maker, [3] * 40)
    path = path_of(maker.directory, 0, LOG_SUFFIX)
    old = b"".join(build_message_set([Record(0, 0, None, b"v")], magic) for magic in (0, 1))
    path.write_bytes(old + path.read_bytes()[:end])
    (found,) = epochs_in(maker.directory, 0, len(old) + end, CountingDisk()) or [None]
    assert found is None or found[0] == 3


def test_an_empty_segment_tells_none(maker):
    maker.open(CONFIG).close()
    assert epochs_in(maker.directory, 0, 0, CountingDisk()) == []


@pytest.mark.parametrize("how", [{"clean": True}, {}], ids=["closed in order", "killed"])
@pytest.mark.parametrize("is_last", [False, True])
def test_an_empty_epoch_before_records_of_an_earlier_one_is_found_when_the_log_is_opened(maker, caplog, how, is_last):
    """As a follower of an earlier version left it. The latest one stays known, at the end: its log has led in it."""
    log = maker.open(CONFIG)
    for epoch in (0, 1, 1, 1, 1) if is_last else (0, 1, 1, 1, 1, 3):
        log.append_as_leader([batch(size=20)], epoch, NOW_MS)
    true = log.epochs.entries
    log.epochs.replace([(0, 0), (1, 1), (2, 3), *true[2:]])
    log.close()
    log = maker.open(CONFIG, **how)
    assert log.epochs.entries == ([*true, (2, 5)] if is_last else true)
    assert log.epochs.written(log.log_end_offset) == (1 if is_last else 3)
    assert "leader epochs rebuilt" in caplog.text
    log.close()
    caplog.clear()
    maker.open(CONFIG, clean=True).close()
    assert "rebuilt" not in caplog.text


def test_an_epoch_of_which_the_cleaner_left_no_record_stays(maker, caplog):
    log = maker.open(CONFIG)
    one = [batch(size=20) for _ in range(3)]
    for place, (offset, epoch) in enumerate([(0, 1), (9, 4), (10, 4)]):
        one[place][0:8] = offset.to_bytes(8, "big")
        one[place][12:16] = epoch.to_bytes(4, "big")
    log.append_as_follower(memoryview(b"".join(one)), NOW_MS)
    log.epochs.replace([(1, 0), (2, 3), (3, 6), (4, 9)])
    log.close()
    assert maker.open(CONFIG, clean=True).epochs.entries == [(1, 0), (2, 3), (3, 6), (4, 9)]
    assert "rebuilt" not in caplog.text
