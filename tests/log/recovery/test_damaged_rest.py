"""A synced batch that the disk damaged: what follows it is not the torn end of a crash, and is kept."""

import errno
import os
import random

import pytest

from headrace.errors import StorageExhausted, StorageFailed
from headrace.log.batch_walk import walk
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading.reader import LogReader
from tests.support.fake_clock import NOW_MS
from tests.support.faulty_disk import LosingDisk, PowerLoss
from tests.support.log_fixtures import LogMaker, batch

CONFIG = LogConfig(segment_bytes=6000, index_interval_bytes=500)
RECORD = batch()
SIZE = len(RECORD)


def written(maker, count=100, config=CONFIG):
    """A log that was synced to its end, and its bytes by offset."""
    log = maker.open(config)
    for number in range(count):
        log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
    log.flush()
    log.abandon()
    return log, offsets_in(maker.directory)


def offsets_in(directory):
    found = {}
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        with path.open("rb") as file:
            steps = walk(file.fileno(), 0, len(data), int(path.stem), is_checked=True, disk=Disk())
            found |= {step.base_offset: data[step.position : step.position + step.size] for step in steps}
    return found


def damage(maker, log, offset, at=100):
    """A bit of the batch that has an offset."""
    base = max(one for one in log.segment_bases if one <= offset)
    path = path_of(maker.directory, base, LOG_SUFFIX)
    data = bytearray(path.read_bytes())
    data[(offset - base) * SIZE + at] ^= 1
    path.write_bytes(data)


def strays(maker):
    return [path for path in maker.directory.parent.iterdir() if path.name.endswith("-stray")]


def read(log):
    """What clients get."""
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    found = reader.batches_from(0, log.end_segment, log.end_position)
    offsets = [one.header.base_offset for one in found]
    reader.close()
    return offsets


def reopened(maker, log, is_sole, **how):
    return maker.open(CONFIG, **{"recovery_point": log.log_end_offset, "is_sole": is_sole, **how})


def last_segment(log):
    return log.segment_bases[-1]


def test_where_there_are_other_replicas_it_is_put_aside(maker, caplog):
    log, batches = written(maker)
    offset = last_segment(log) + 3
    damage(maker, log, offset)
    log = reopened(maker, log, is_sole=False)
    assert log.log_end_offset == offset
    assert log.was_cut
    (stray,) = strays(maker)
    data = (stray / f"{offset:020d}.log").read_bytes()
    assert data[SIZE:] == b"".join(batches[one] for one in range(offset + 1, 100))
    (line,) = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert str(path_of(maker.directory, last_segment(log), LOG_SUFFIX)) in line
    assert f"offset={offset} " in line
    assert str(stray) in line


@pytest.mark.parametrize("place", ["rolled", "active"])
def test_where_there_is_none_it_stays_in_the_log(maker, place, caplog):
    log, batches = written(maker)
    offset = (log.segment_bases[1] if place == "rolled" else last_segment(log)) + 3
    damage(maker, log, offset)
    how = {"recovery_point": offset + 2} if place == "rolled" else {}  # its segment is scanned then
    before = list(log.segment_bases)
    log = reopened(maker, log, is_sole=True, **how)
    assert log.log_end_offset == 100
    assert offsets_in(maker.directory) == {one: data for one, data in batches.items() if one != offset}
    assert read(log) == [one for one in range(100) if one != offset]
    assert sorted({*before, offset + 1}) == log.segment_bases
    assert log.was_cut
    assert f"offset={offset} " in caplog.text
    (stray,) = strays(maker)
    assert len((stray / f"{offset:020d}.log").read_bytes()) >= SIZE
    ((error, at, _time),) = log.append_as_leader([batch()], 0, NOW_MS)
    assert (error, at) == (0, 100)
    log.close()
    again = maker.open(CONFIG, clean=True)
    assert read(again) == [one for one in range(101) if one != offset]


def test_more_than_one_is_passed_over(maker):
    log, _batches = written(maker)
    first = last_segment(log)
    for one in (first + 1, first + 5):
        damage(maker, log, one)
    log = reopened(maker, log, is_sole=True)
    assert read(log) == [one for one in range(100) if one not in (first + 1, first + 5)]


@pytest.mark.parametrize("at", [9, 16], ids=["length", "magic"])
def test_where_the_next_batch_can_not_be_found_all_of_it_is_put_aside(maker, at):
    log, batches = written(maker)
    offset = last_segment(log) + 3
    damage(maker, log, offset, at)
    log = reopened(maker, log, is_sole=True)
    assert log.log_end_offset == offset
    (stray,) = strays(maker)
    data = (stray / f"{offset:020d}.log").read_bytes()
    assert data[SIZE:] == b"".join(batches[one] for one in range(offset + 1, 100))


def test_a_damaged_last_batch_of_a_rolled_segment_leaves_a_hole(maker):
    log, _batches = written(maker)
    following = log.segment_bases[2]
    for one in (following - 3, following - 2, following - 1):
        damage(maker, log, one, at=9)
    log = reopened(maker, log, is_sole=True, recovery_point=following - 2)
    assert read(log) == [*range(following - 3), *range(following, 100)]


def test_damage_before_later_segments_is_no_torn_end_whatever_the_recovery_point_says(maker):
    """It lags, or could not be read. A torn end is in the last segment that was written."""
    log, batches = written(maker)
    damage(maker, log, 3)
    log = reopened(maker, log, is_sole=True, recovery_point=0)
    assert read(log) == [one for one in range(100) if one != 3]
    (stray,) = strays(maker)
    assert batches[4] in (stray / f"{3:020d}.log").read_bytes()


def test_where_no_later_segment_has_a_batch_it_is_the_torn_end(maker):
    log, _batches = written(maker)
    last = last_segment(log)
    for one in log.segment_bases[2:]:
        path_of(maker.directory, one, LOG_SUFFIX).write_bytes(b"")
    following = log.segment_bases[2]
    damage(maker, log, following - 1)
    log = reopened(maker, log, is_sole=True, recovery_point=0)
    assert log.log_end_offset == following - 1 < last
    assert not any(list(stray.glob(f"{following - 1:020d}.log")) for stray in strays(maker))


def test_what_an_owner_of_this_boot_had_published_counts_as_whole_too(maker):
    log, batches = written(maker)
    damage(maker, log, 98, at=9)  # the length, after the last index entry
    log = reopened(maker, log, is_sole=False, recovery_point=0, trusted=(log.end_segment, log.end_position))
    assert log.log_end_offset == 98
    (stray,) = strays(maker)
    assert (stray / f"{98:020d}.log").read_bytes()[SIZE:] == batches[99]


def test_the_torn_end_of_a_crash_is_cut_as_ever(maker):
    log, _batches = written(maker)
    offset = last_segment(log) + 3
    damage(maker, log, offset)
    log = reopened(maker, log, is_sole=True, recovery_point=offset)
    assert log.log_end_offset == offset
    assert not strays(maker)


def test_nothing_is_cut_where_there_is_no_room_to_keep_it(maker):
    log, _batches = written(maker)
    offset = last_segment(log) + 3
    damage(maker, log, offset)
    path = path_of(maker.directory, last_segment(log), LOG_SUFFIX)
    before = path.read_bytes()
    maker.disk.fails["pwritev"] = errno.ENOSPC
    with pytest.raises(StorageFailed):
        reopened(maker, log, is_sole=True)
    assert path.read_bytes() == before
    assert not strays(maker), "it is tried again each second"
    maker.disk.fails.clear()
    log = reopened(maker, log, is_sole=True)
    assert read(log) == [one for one in range(100) if one != offset]


def test_nothing_is_copied_where_there_is_no_room_for_all_of_it(maker, monkeypatch):
    """Each try would take the room of all other logs, and give it back at its end."""
    log, _batches = written(maker)
    offset = last_segment(log) + 3
    damage(maker, log, offset)
    rest = path_of(maker.directory, last_segment(log), LOG_SUFFIX).stat().st_size - 3 * SIZE
    monkeypatch.setattr(maker.disk, "free_bytes", lambda _directory: 2 * rest - SIZE - 1)
    written_to = []
    write = maker.disk.pwritev

    def noted(fd, buffers, position):
        written_to.append(os.readlink(f"/proc/self/fd/{fd}"))
        return write(fd, buffers, position)

    monkeypatch.setattr(maker.disk, "pwritev", noted)
    with pytest.raises(StorageExhausted, match="no space to keep"):
        reopened(maker, log, is_sole=True)
    assert not [path for path in written_to if "-stray" in path or path.endswith(".cut")]
    assert not strays(maker)
    monkeypatch.setattr(maker.disk, "free_bytes", lambda _directory: 2 * rest - SIZE)
    assert read(reopened(maker, log, is_sole=True)) == [one for one in range(100) if one != offset]


@pytest.mark.slow
@pytest.mark.parametrize("is_power_lost", [False, True], ids=["killed", "without power"])
@pytest.mark.parametrize("is_sole", [True, False], ids=["sole", "not sole"])
def test_a_crash_meanwhile_loses_no_whole_batch_and_makes_none_twice(tmp_path, is_sole, is_power_lost):
    calls = 0
    has_ended = False
    while not has_ended:
        maker = LogMaker(tmp_path / str(calls))
        log, batches = written(maker)
        offset = last_segment(log) + 3
        damage(maker, log, offset)
        maker.disk = disk = LosingDisk(calls)
        disk.settle(maker.directory)
        disk.settle(maker.directory.parent)
        try:
            reopened(maker, log, is_sole).abandon()
        except PowerLoss:
            pass
        has_ended = not disk.is_off
        calls += 1
        if is_power_lost:
            disk.crash_tree([maker.directory.parent], random.Random(calls))
        maker.disk = Disk()
        log = reopened(maker, log, is_sole)
        offsets = read(log)
        assert offsets == sorted(set(offsets))
        kept = set(offsets)
        for stray in strays(maker):
            for path in stray.glob("*.log"):
                data = path.read_bytes()
                kept |= {one for one, batch_bytes in batches.items() if batch_bytes in data}
        assert kept >= batches.keys() - {offset}, calls
        log.abandon()
    assert calls > 8
