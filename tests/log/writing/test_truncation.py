"""The end comes off: what is left is as if the rest had never been, also across crashes."""

import errno
import mmap
import os
import random
import shutil

import pytest

from headrace.errors import StorageExhausted
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.state.compacted_offset import raise_compacted
from headrace.log.state.truncation_mark import TruncationMark
from headrace.protocol.record_batch import iterate_batches
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import CountingDisk, all_bytes, batch, facts, fill

pytestmark = pytest.mark.slow

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300)


@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_truncated_log_is_as_if_the_rest_had_never_been(leader, follower, seed, is_mapped):
    """Compared with a log that got the same bytes up to there and nothing more."""
    chance = random.Random(seed)
    source = leader.open(CONFIG)
    fill(source, 60, seed)
    data = all_bytes(source)
    batches = list(iterate_batches(data))
    at = chance.randrange(1, len(batches))
    position, header, _data = batches[at]
    offset = chance.randint(header.base_offset, header.last_offset)
    reference = follower.open(CONFIG)
    reference.append_as_follower(memoryview(data)[:position], NOW_MS)
    assert source.truncate_to(offset, is_mapped=is_mapped)
    assert not source.truncate_to(offset)
    assert source.log_end_offset == reference.log_end_offset
    assert facts(source) == facts(reference)
    for log in (source, reference):
        log.append_as_follower(memoryview(data)[position:], NOW_MS)
    assert facts(source) == facts(reference)
    source.abandon()
    assert facts(leader.open(CONFIG)) == facts(reference)


def compacted_at_random(maker, chance):
    """A log some of whose segments lack batches: at their end, in their middle, or all of them; returns its batches."""
    log = maker.open(CONFIG)
    for number in range(80):
        log.append_as_leader([batch(chance.randint(1, 4))], number // 20, NOW_MS)
    bases, end = log.segment_bases, log.log_end_offset
    log.abandon()
    for base in bases[:-1]:
        path = path_of(maker.directory, base, LOG_SUFFIX)
        data = path.read_bytes()
        batches = [data[at : at + header.size_bytes] for at, header, _data in iterate_batches(data)]
        first = chance.randrange(len(batches) + 1)
        kept = batches[:first] + chance.choice([[], batches[chance.randint(first, len(batches)) :]])
        path.write_bytes(b"".join(kept))
    raise_compacted(maker.directory, bases[-1], 0, maker.disk)
    return end


@pytest.mark.parametrize("seed", range(6))
def test_a_log_with_holes_ends_at_or_before_where_it_is_cut_and_goes_on_from_there(leader, seed):
    """Compaction removes batches up to a segment's end: the next batch is in the next segment, and above the cut."""
    chance = random.Random(seed)
    end = compacted_at_random(leader, chance)
    offsets = chance.sample(range(1, end), 25)
    original = leader.directory
    for offset in offsets:
        leader.directory = original.with_name(f"cut-{offset}")
        shutil.copytree(original, leader.directory)
        log = leader.open(CONFIG)
        log.flush()
        before = {header.base_offset: header.last_offset for _at, header, _data in iterate_batches(all_bytes(log))}
        assert log.truncate_to(offset)
        kept = {header.base_offset: header.last_offset for _at, header, _data in iterate_batches(all_bytes(log))}
        assert kept == {base: last for base, last in before.items() if last < offset}
        assert max([0, *(last + 1 for last in kept.values())]) <= log.log_end_offset <= offset
        assert all(start <= log.log_end_offset for _epoch, start in log.epochs.entries)
        assert TruncationMark(leader.directory, leader.disk).bound(end) <= log.log_end_offset
        one = batch()
        one[0:8] = offset.to_bytes(8, "big")
        log.append_as_follower(one, NOW_MS)
        log.abandon()
        again = leader.open(CONFIG)
        assert (again.log_end_offset, again.was_cut) == (offset + 1, False)
        again.abandon()


def test_who_has_mapped_what_is_cut_keeps_it(maker):
    """Pages of a file that was cut short are a SIGBUS to whoever has them mapped."""
    log = maker.open(LogConfig(segment_bytes=1_000_000))
    log.append_as_leader([batch(size=9_000, timestamp_ms=NOW_MS) for _ in range(30)], 0, NOW_MS)
    path = maker.directory / f"{0:020d}.log"
    data = path.read_bytes()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert log.truncate_to(7, is_mapped=True)
        assert mapped[:] == data
    assert path.read_bytes() == data[: log.size_bytes]
    assert [header.base_offset for _position, header, _data in iterate_batches(path.read_bytes())] == list(range(7))
    assert log.append_as_leader([batch()], 1, NOW_MS) == [(0, 7, -1)]
    log.close()


def test_what_an_unfinished_truncation_left_is_removed(maker):
    log = maker.open(CONFIG)
    fill(log, 10)
    log.close()
    left = maker.directory / f"{0:020d}.log.cut"
    left.write_bytes(b"half")
    maker.open(CONFIG, clean=True).close()
    assert not left.exists()


def test_reopening_and_then_truncating_leaves_a_log_that_opens_again(maker):
    log = maker.open(CONFIG)
    fill(log)
    for how in ({"clean": True}, {}):
        log.close()
        log = maker.open(CONFIG, **how)
        end = log.log_end_offset
        assert log.truncate_to(end - 20)
        assert log.log_end_offset <= end - 20
        assert log.recovery_point <= log.log_end_offset
    log.close()
    assert maker.open(CONFIG, clean=True).log_end_offset == log.log_end_offset


def test_a_truncation_clears_epochs_and_snapshots_behind_it(maker):
    log = maker.open(CONFIG)
    fill(log)
    assert [epoch for epoch, _start in log.epochs.entries] == [0, 1, 2, 3, 4]
    start = log.epochs.entries[2][1]
    log.truncate_to(start)
    assert [epoch for epoch, _start in log.epochs.entries] == [0, 1]
    assert log.epochs.end_offset_for(1, log.log_end_offset) == (1, start)
    assert log.epochs.end_offset_for(4, log.log_end_offset) == (-1, -1)
    assert all(int(path.stem) <= log.log_end_offset for path in maker.directory.glob("*.snapshot"))
    log.append_as_leader([batch()], 9, NOW_MS)
    assert log.epochs.entries[-1] == (9, start)


def test_a_log_may_begin_anew_behind_its_end(maker):
    log = maker.open(CONFIG)
    fill(log)
    log.restart_at(1000)
    assert (log.log_start_offset, log.log_end_offset, log.end_segment) == (1000, 1000, 1000)
    assert log.epochs.entries == []
    assert not log.producers.producers
    one = batch()
    one[0:8] = (1000).to_bytes(8, "big")
    log.append_as_follower(one, NOW_MS)
    log.abandon()
    again = maker.open(CONFIG, log_start_offset=1000)
    assert (again.log_start_offset, again.log_end_offset) == (1000, 1001)


def test_a_log_that_ends_below_its_start_begins_anew_at_its_start(maker):
    log = maker.open(CONFIG)
    fill(log, 20)
    log.abandon()
    end = log.log_end_offset
    again = maker.open(CONFIG, log_start_offset=end + 50)
    assert (again.log_start_offset, again.log_end_offset, again.size_bytes) == (end + 50, end + 50, 0)
    assert again.append_as_leader([batch()], 7, NOW_MS) == [(0, end + 50, -1)]
    again.close()
    assert [int(path.stem) for path in maker.directory.glob("*.log")] == [end + 50]


def test_what_was_cut_does_not_count_towards_the_next_snapshot(maker):
    log = maker.open(snapshot_interval_bytes=10_000)
    log.append_as_leader([batch(size=9_000)], 0, NOW_MS)
    log.truncate_to(0)
    log.append_as_leader([batch(size=5_000)], 0, NOW_MS)
    assert not list(maker.directory.glob("*.snapshot"))
    log.append_as_leader([batch(size=5_000)], 0, NOW_MS)
    assert [path.stem for path in maker.directory.glob("*.snapshot")] == [f"{2:020d}"]
    log.abandon()


@pytest.mark.parametrize("offset", [3, 7])
def test_an_epoch_that_began_at_the_end_is_forgotten_though_nothing_is_cut(maker, offset):
    """A leader that wrote nothing before another one was elected: the logs of others have no such epoch (KAFKA-7415)."""
    log = maker.open(CONFIG)
    log.append_as_leader([batch(3)], 1, NOW_MS)
    log.assign_leader_epoch(2)
    assert not log.truncate_to(offset)
    assert log.epochs.entries == [(1, 0)]
    log.close()
    assert maker.open(CONFIG, clean=True).epochs.entries == [(1, 0)]


def test_a_segment_that_is_copied_is_read_through_its_disk(maker):
    """Each part is a sign of life: the copy of a segment may take longer than a process may be silent."""
    maker.disk = CountingDisk()
    log = maker.open(LogConfig())
    for _ in range(100):
        log.append_as_leader([batch()], 0, NOW_MS)
    log.flush()
    before, whole = maker.disk.read_bytes, all_bytes(log)
    assert log.truncate_to(90, is_mapped=True)
    assert maker.disk.read_bytes - before >= log.size_bytes
    assert all_bytes(log) == whole[: log.size_bytes]


@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("cut", [1, 3, 140], ids=["the last batch", "some batches", "the last segment and more"])
def test_a_truncation_reads_what_is_near_the_cut_and_not_the_segment(maker, cut, is_mapped):
    """The indexes are cut with the log: entries of what went are no sign of damage. A segment may have 1 GiB."""
    config = LogConfig(segment_bytes=1_000_000, index_interval_bytes=4_096)
    maker.disk = CountingDisk()
    log = maker.open(config)
    for _ in range(200):
        log.append_as_leader([batch(size=8_000)], 0, NOW_MS)
    log.flush()
    assert len(log.segment_bases) == 2
    assert log.truncate_to(100)  # a producers' snapshot is there now
    for _ in range(100):
        log.append_as_leader([batch(size=8_000)], 0, NOW_MS)
    before, entries = maker.disk.read_bytes, log.segments.active.offset_index.entries
    assert log.truncate_to(log.log_end_offset - cut, is_mapped=is_mapped)
    copied = log.segments.active.size_bytes if is_mapped else 0
    assert maker.disk.read_bytes - before <= copied + 200_000
    index = log.segments.active.offset_index
    assert index.entries > 0
    assert index.last()[1] < log.segments.active.size_bytes
    assert cut == 140 or entries - cut - 1 <= index.entries < entries


def test_a_log_that_is_cut_says_that_it_gets_on(maker):
    """Indexes may have to be made again, and producers replayed."""
    told = []
    log = maker.open(CONFIG, progress=told.append)
    fill(log, 60)
    for path in maker.directory.glob("*.timeindex"):
        path.unlink()
    told.clear()
    assert log.truncate_to(log.log_end_offset - 1)
    assert told


def test_one_without_room_for_its_copy_has_done_nothing_and_retention_may_make_some(leader):
    """Committed records go, and readers have the file mapped: what is left of it is copied."""
    log = leader.open(CONFIG)
    fill(log, 60)
    bases, end = list(log.segment_bases), log.log_end_offset
    offset = bases[3] - 1
    log.epochs.save()

    def refuse(fd, buffers, position):
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".cut"):
            raise OSError(errno.ENOSPC, "injected")
        return Disk.pwritev(leader.disk, fd, buffers, position)

    leader.disk.pwritev = refuse
    with pytest.raises(StorageExhausted):
        log.truncate_to(offset, is_mapped=True)
    assert log.log_end_offset == end
    assert not list(log.directory.glob("*.cut"))
    log.advance_log_start(bases[1])
    log.delete_segments(1)
    assert log.segment_bases == bases[1:]
    del leader.disk.pwritev
    log.abandon()
    again = leader.open(CONFIG)
    assert again.truncate_to(offset, is_mapped=True)
    assert again.log_end_offset <= offset
