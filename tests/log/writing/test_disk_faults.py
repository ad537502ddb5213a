"""A disk that fails at each call in turn, and machines that crash: what was synced is kept, what is left is a prefix."""

import errno
import random
import subprocess

import pytest

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.reading.reader import LogReader
from headrace.log.state.checkpoints import read_offset_checkpoint, write_offset_checkpoint
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, iterate_batches, iterate_records
from tests.support import descriptors
from tests.support.fake_clock import NOW_MS
from tests.support.faulty_disk import CALLS, NAMING, FaultyDisk
from tests.support.log_fixtures import LogMaker, batch

pytestmark = pytest.mark.slow

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300, flush_messages=7)


def one_batch(number, producer_id=5, first=0):
    return batch(
        timestamp_ms=NOW_MS + number,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=number - first,
        size=50 + number % 90,
    )


def work(maker, disk, count=40, is_mapped=False):
    """Write until something fails; returns the number of batches that were acknowledged."""
    maker.disk = disk
    acknowledged = 0
    try:
        log = maker.open(CONFIG)
        for number in range(count):
            log.append_as_leader([one_batch(number)], number // 15, NOW_MS)
            acknowledged += 1
        log.flush()
        log.truncate_to(33, is_mapped=is_mapped)
        for number in range(33, count):
            log.append_as_follower(stamped(number), NOW_MS)
        log.close()
    except StorageFailed:
        return min(acknowledged, 33), True
    return count, False


def stamped(number):
    one = one_batch(number)
    one[0:8] = number.to_bytes(8, "big")
    one[12:16] = (number // 15).to_bytes(4, "big")
    return one


def offsets_on_disk(log):
    return [header.base_offset for header in headers_on_disk(log)]


def headers_on_disk(log):
    reader = LogReader(log.directory)
    reader.refresh(1)
    headers = []
    for base in reader.segment_bases():
        data = (log.directory / f"{base:020d}.log").read_bytes()
        end = log.end_position if base == log.end_segment else len(data)
        for _position, header, whole in iterate_batches(data[:end]):
            assert len(list(iterate_records(whole))) == header.record_count
            headers.append(header)
    return headers


def calls_of_a_good_run(maker, is_mapped=False):
    disk = FaultyDisk(only=CALLS + NAMING)
    assert work(maker, disk, is_mapped=is_mapped) == (40, False)
    disk.close()
    return len(disk.calls)


def fresh(maker, name):
    maker.directory = maker.directory.parent / name
    return maker


@pytest.mark.parametrize(("error", "is_mapped"), [(errno.EIO, False), (errno.ENOSPC, False), (errno.EIO, True)])
def test_a_failure_of_any_call_takes_the_log_out_of_service_and_keeps_what_was_acknowledged(maker, error, is_mapped):
    total = calls_of_a_good_run(maker, is_mapped)
    assert total > 80
    for fail_at in range(total):
        disk = FaultyDisk(fail_at, error, CALLS + NAMING)
        acknowledged, has_failed = work(fresh(maker, f"t-{fail_at}"), disk, is_mapped=is_mapped)
        assert has_failed or error == errno.ENOSPC, fail_at  # a snapshot that finds no room is done without
        disk.close()
        maker.disk = Disk()
        log = maker.open(CONFIG)
        assert log.log_end_offset >= acknowledged, f"call {fail_at}: {disk.calls[fail_at]}"
        assert offsets_on_disk(log) == list(range(log.log_end_offset)), fail_at
        log.append_as_leader([one_batch(log.log_end_offset)], 9, NOW_MS)
        log.close()


@pytest.mark.parametrize("is_killed", [False, True])
def test_after_a_full_disk_each_batch_is_in_the_log_once_whatever_was_in_flight(maker, is_killed):
    """A producer has three batches in flight. After a failure those behind come first, then all again, from the failed one on."""
    failures = 0
    for fail_at in range(24):
        disk = FaultyDisk(fail_at, errno.ENOSPC, ("pwritev", "fallocate", "rename"))
        fresh(maker, f"t-{fail_at}").disk = disk
        log, stored, has_failed = None, [], False
        while len(stored) < 20:
            in_flight = [len(stored) + number for number in range(3)]
            end = (0, 0) if log is None else (log.end_segment, log.end_position)  # as published
            try:
                log = log or maker.open(CONFIG)
                for number in in_flight:
                    stored.append(accepted(log, number))
            except StorageExhausted:
                has_failed = True
                if log is not None:
                    end = end if is_killed else (log.end_segment, log.end_position)
                    log.abandon()
                log = maker.open(CONFIG, trusted=end)
                is_known = bool(
                    log.producers.producers
                )  # else its owner refuses them (workers/partition/refused_producers.py)
                for number in range(len(stored) + 1, in_flight[-1] + 1) if is_known else ():
                    error, offset, _time = log.append_as_leader([one_batch(number)], 0, NOW_MS)[0]
                    if not error:  # its client takes all before it for stored
                        stored += range(len(stored), number)
                        stored.append(offset)
        failures += has_failed  # a snapshot that finds no room is done without
        assert stored == list(range(len(stored))), f"call {fail_at}: {disk.calls[fail_at]}"
        assert offsets_on_disk(log) == stored, f"call {fail_at}: {disk.calls[fail_at]}"
        assert [header.base_sequence for header in headers_on_disk(log)] == stored, (
            f"call {fail_at}: {disk.calls[fail_at]}"
        )
        log.abandon()
        disk.close()
    assert failures > 12


def accepted(log, number):
    """The offset of a batch that may not be refused."""
    error, offset, _time = log.append_as_leader([one_batch(number)], 0, NOW_MS)[0]
    assert not error, number
    return offset


class StubbornDisk(FaultyDisk):
    """One that grows no index, and cuts nothing back."""

    is_stubborn = False

    def _call(self, name):
        if self.is_stubborn and name in ("fallocate", "truncate"):
            raise OSError(errno.ENOSPC, "injected")


def test_where_a_failed_write_can_not_be_cut_back_the_end_of_the_log_is_one_place_still(maker):
    """Offset and position of the end agree: what was refused is not read as if it lay below the high watermark."""
    maker.disk = disk = StubbornDisk()
    log = maker.open(CONFIG)
    log.append_as_leader([one_batch(0)], 0, NOW_MS)
    end = (log.log_end_offset, log.end_position)
    disk.is_stubborn = True
    with pytest.raises(StorageExhausted):
        log.append_as_leader([one_batch(number) for number in range(1, 6)], 0, NOW_MS)
    assert (log.log_end_offset, log.end_position) == end
    log.abandon()


def test_after_a_failed_fsync_nothing_is_tried_again(maker):
    disk = FaultyDisk(only=("fdatasync",))
    maker.disk = disk
    log = maker.open(LogConfig())
    log.append_as_leader([one_batch(0)], 0, NOW_MS)
    disk.fail_at = len(disk.calls)
    with pytest.raises(StorageFailed):
        log.flush()
    synced = len(disk.calls)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="fsync"):
            log.flush()
        with pytest.raises(StorageFailed, match="fsync"):
            log.append_as_leader([one_batch(1)], 0, NOW_MS)
    with pytest.raises(StorageFailed):
        log.close()
    assert len(disk.calls) == synced
    assert log.recovery_point == 0
    disk.close()


@pytest.mark.parametrize("seed", range(150))
def test_a_crash_of_the_machine_keeps_what_was_synced_and_what_is_left_is_in_order(maker, seed):
    """It may take the end of a segment alone: what follows the hole is kept, as Kafka keeps it."""
    chance = random.Random(seed)
    disk = FaultyDisk()
    maker.disk = disk
    written = synced = point = 0
    before = set()
    for crash in range(3):
        log = maker.open(CONFIG, recovery_point=point)
        assert log.log_end_offset >= synced, f"seed {seed}"
        left = offsets_on_disk(log)
        assert left == sorted(set(left)), f"seed {seed}"
        assert {offset for offset in before if offset < synced} <= set(left) <= before, f"seed {seed}"
        written = log.log_end_offset
        for number in range(written, written + chance.randrange(40)):
            one = one_batch(number, 100 + crash, written)  # another producer: the last one may have lost sequences
            result = log.append_as_leader([one], number // 15, NOW_MS)
            assert result == [(0, number, -1)], f"seed {seed}"
            if chance.random() < 0.05:
                log.flush()
        synced = log.recovery_point
        if chance.random() < 0.3 and log.log_end_offset > 3:
            end = log.log_end_offset - chance.randrange(1, log.log_end_offset)
            log.truncate_to(end, is_mapped=chance.random() < 0.5)
            synced = min(synced, log.log_end_offset)
            for number in range(log.log_end_offset, log.log_end_offset + chance.randrange(20)):
                log.append_as_follower(stamped(number), NOW_MS)
        before = set(offsets_on_disk(log))
        point = chance.choice(
            [0, log.recovery_point, max(point, log.recovery_point)]
        )  # an old checkpoint, or a stale one
        log.abandon()
        disk.crash(maker.directory, chance)
    disk.close()


class NothingUnsynced:
    """The crash that loses all it may."""

    def choice(self, options):
        return options[0]

    def randint(self, low, _high):
        return low


def test_what_was_cut_does_not_come_back_with_the_second_crash(maker):
    size = 512 - len(batch(size=400)) + 400  # batches as large as pages: what lies behind one could follow any other
    for seed in range(40):
        fresh(maker, f"t-{seed}")
        disk = maker.disk = FaultyDisk()
        log = maker.open(LogConfig())
        log.append_as_leader([batch(timestamp_ms=NOW_MS + number, size=size) for number in range(3)], 0, NOW_MS)
        log.abandon()
        path = maker.directory / f"{0:020d}.log"
        data = bytearray(path.read_bytes())
        assert len(data) == 3 * 512
        data[700] ^= 1
        path.write_bytes(data)
        disk.settle(maker.directory)
        log = maker.open(LogConfig())
        assert log.log_end_offset == 1
        log.append_as_leader([batch(timestamp_ms=NOW_MS + 9, size=size)], 0, NOW_MS)
        log.abandon()
        disk.crash(maker.directory, random.Random(seed))
        assert maker.open(LogConfig()).log_end_offset <= 2, f"seed {seed}"
        disk.close()


def test_a_stale_recovery_point_does_not_vouch_for_what_was_written_over_a_truncation(maker):
    disk = maker.disk = FaultyDisk()
    config = LogConfig(segment_bytes=2500)
    log = maker.open(config)
    log.append_as_leader([one_batch(number) for number in range(60)], 0, NOW_MS)
    log.flush()
    checkpoint = log.recovery_point
    assert log.truncate_to(20)
    log.append_as_leader([one_batch(number) for number in range(20, 90)], 1, NOW_MS)
    log.abandon()
    disk.crash(maker.directory, NothingUnsynced())
    log = maker.open(config, recovery_point=checkpoint)
    assert log.log_end_offset == 20
    assert offsets_on_disk(log) == list(range(20))
    disk.close()


def test_the_first_segment_of_a_log_made_on_a_clean_node_is_durable_with_the_first_flush(maker):
    disk = maker.disk = FaultyDisk()
    log = maker.open(LogConfig(), clean=True)
    log.append_as_leader([one_batch(0)], 0, NOW_MS)
    log.flush()
    log.abandon()
    disk.crash(maker.directory, NothingUnsynced())
    assert maker.open(LogConfig()).log_end_offset == 1
    disk.close()


def test_a_transaction_index_has_its_name_on_disk_after_a_clean_stop(tmp_path):
    """Nothing else of this stop syncs the directory: the producer is forgotten, so there is no durable snapshot."""
    maker = LogMaker(tmp_path)
    maker.disk = FaultyDisk()
    log = maker.open()
    log.append_as_leader([batch()], 0, NOW_MS)
    log.flush()
    one = batch(producer_id=1, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    log.append_as_leader([one], 0, NOW_MS)
    log.append_marker(1, 0, 0, True, 0, NOW_MS)
    log.producers.expire(maker.clock.monotonic_ns() // 1_000_000 + 86_400_001)
    assert not log.producers.producers
    log.close()
    assert f"{0:020d}.txnindex" in durable_names(maker.disk, log.directory)
    maker.disk.close()


def test_so_has_one_that_is_made_again_after_a_clean_stop(tmp_path):
    maker = LogMaker(tmp_path)
    maker.disk = FaultyDisk()
    config = LogConfig(segment_bytes=400)
    log = maker.open(config)
    one = batch(producer_id=1, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    log.append_as_leader([one], 0, NOW_MS)
    log.append_marker(1, 0, 0, True, 0, NOW_MS)
    for _ in range(5):
        log.append_as_leader([batch()], 0, NOW_MS)
    end = log.log_end_offset
    log.close()
    name = f"{0:020d}.txnindex"
    (log.directory / name).write_bytes(b"\1" * 34)
    again = maker.open(config, clean=True, recovery_point=end)
    inode = (log.directory / name).stat().st_ino
    assert durable_names(maker.disk, log.directory).get(name) == inode
    assert again.segments.has_new_names
    again.close()
    maker.disk.close()


def durable_names(disk, directory):
    return disk._names[directory.stat().st_ino]


def test_a_log_that_cannot_be_opened_leaves_no_descriptor_behind(maker):
    calls_of_a_good_run(maker)
    before = descriptors.held()
    refused = 0
    for fail_at in range(12):
        disk = maker.disk = FaultyDisk(fail_at)
        try:
            maker.open(CONFIG, log_start_offset=10_000 if fail_at % 2 else 0).abandon()
        except StorageFailed:
            refused += 1
        disk.close()
    assert refused
    assert descriptors.held() == before


@pytest.mark.parametrize("fail_at", range(4))
def test_a_checkpoint_whose_writing_fails_is_the_old_one(tmp_path, fail_at):
    old, new = {TopicPartition("t", 0): 5}, {TopicPartition("t", 0): 9, TopicPartition("t", 1): 3}
    path = tmp_path / "recovery-point-offset-checkpoint"
    write_offset_checkpoint(path, old)
    disk = FaultyDisk(fail_at)
    with pytest.raises(OSError, match="Input/output"):
        write_offset_checkpoint(path, new, disk)
    is_renamed = disk.calls[fail_at] == "fsync" and "rename" in disk.calls
    assert read_offset_checkpoint(path) == (new if is_renamed else old)


@pytest.mark.parametrize("seed", range(40))
def test_a_crash_while_a_checkpoint_is_written_leaves_the_old_or_the_new_one(tmp_path, seed):
    old, new = {TopicPartition("t", 0): 5}, {TopicPartition("t", number): number for number in range(100)}
    path = tmp_path / "recovery-point-offset-checkpoint"
    write_offset_checkpoint(path, old)
    disk = FaultyDisk(seed % 5)
    disk.settle(tmp_path)
    disk.calls.clear()
    try:
        write_offset_checkpoint(path, new, disk)
        acknowledged = True
    except OSError:
        acknowledged = False
    disk.crash(tmp_path, random.Random(seed))
    found = read_offset_checkpoint(path)
    assert found == new if acknowledged else found in (old, new)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB: a disk that is really full."""
    path = tmp_path / "small"
    path.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)], capture_output=True, text=True
    )
    if mount.returncode:
        pytest.skip(f"no file system can be mounted here: {mount.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def fill_up(log):
    """Append until there is no room; returns how many were acknowledged."""
    for acknowledged in range(100_000):
        try:
            log.append_as_leader([batch(size=700)], 0, NOW_MS)
        except StorageExhausted:
            return acknowledged
    raise AssertionError("the disk never filled up")


@pytest.mark.process
def test_a_disk_that_is_really_full_refuses_and_the_log_opens_again_with_all_it_acknowledged(small_disk, tmp_path):
    maker = LogMaker(small_disk)
    maker.disk = Disk()
    config = LogConfig(segment_bytes=100_000, index_interval_bytes=300)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    log = maker.open(config)
    acknowledged = fill_up(log)
    assert acknowledged > 100
    assert offsets_on_disk(log)[:acknowledged] == list(range(acknowledged))  # reads go on
    trusted = (log.end_segment, log.end_position)
    log.abandon()
    ballast.unlink()
    log = maker.open(config, trusted=trusted)
    assert log.log_end_offset == acknowledged
    assert log.append_as_leader([batch(size=700)], 0, NOW_MS) == [(0, acknowledged, -1)]
    log.close()
    assert offsets_on_disk(maker.open(config, clean=True)) == list(range(acknowledged + 1))
