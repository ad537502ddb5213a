"""The append: what is taken, what is refused and with which error, when a segment rolls, and what a failing disk does."""

import errno
import os
import shutil

import pytest
from crc32c import crc32c

from headrace.errors import ErrorCode, StorageFailed
from headrace.log.config import LogConfig
from headrace.log.names import LOG_SUFFIX, SUFFIXES, path_of
from headrace.log.segments.stray import put_aside
from headrace.log.state.truncation_mark import TRUNCATION_FILE, TruncationMark, doubt_all
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    compute_crc,
    iterate_batches,
    iterate_records,
    parse_header,
)
from tests.support.fake_clock import NOW_MS
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import FailingDisk, batch


def append(log, *batches):
    return log.append_as_leader(list(batches), 3, NOW_MS)


def damaged(position, data, with_crc=True):
    changed = batch()
    changed[position : position + len(data)] = data
    if with_crc:
        changed[17:21] = crc32c(changed[21:]).to_bytes(4, "big")
    return changed


def read_all(directory):
    found = []
    for path in sorted(directory.glob("*.log")):
        for _position, _header, data in iterate_batches(path.read_bytes()):
            found += list(iterate_records(data))
    return found


def test_offsets_follow_each_other_and_stamps_leave_the_checksum_true(maker):
    log = maker.open()
    assert append(log, batch(3), batch(2), batch()) == [(0, 0, -1), (0, 3, -1), (0, 5, -1)]
    assert log.log_end_offset == 6
    for _position, header, data in iterate_batches((maker.directory / f"{0:020d}.log").read_bytes()):
        assert header.partition_leader_epoch == 3
        assert compute_crc(data) == header.crc


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (batch()[:40], ErrorCode.INVALID_RECORD),
        (damaged(16, b"\x00", with_crc=False), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (damaged(16, b"\x01", with_crc=False), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (damaged(16, b"\x09", with_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (damaged(8, b"\x7f\xff\xff\xff", with_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (damaged(8, b"\xff\xff\xff\xff", with_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (damaged(17, b"\x00\x00\x00\x00", with_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (memoryview(bytearray(bytes(batch()) * 2)), ErrorCode.INVALID_RECORD),
        (damaged(57, b"\x00\x00\x00\x00"), ErrorCode.INVALID_RECORD),
        (damaged(57, b"\x00\x00\x00\x09"), ErrorCode.INVALID_RECORD),
        (damaged(23, b"\x00\x00\x00\x09"), ErrorCode.INVALID_RECORD),
        (batch(attributes=CONTROL_BIT), ErrorCode.INVALID_RECORD),
        (damaged(21, b"\x00\x07"), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (batch(producer_id=5, producer_epoch=0, base_sequence=-1), ErrorCode.INVALID_RECORD),
        (batch(size=2_000_000), ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else "",
)
def test_a_bad_batch_is_refused_alone(maker, bad, error):
    log = maker.open()
    assert append(log, batch(), bad, batch()) == [(0, 0, -1), (int(error), -1, -1), (0, 1, -1)]
    assert [record.offset for record in read_all(maker.directory)] == [0, 1]


def test_a_record_from_the_future_is_refused_where_that_is_bounded(maker):
    log = maker.open(LogConfig(timestamp_after_max_ms=1000))
    results = append(log, batch(timestamp_ms=NOW_MS + 1000), batch(timestamp_ms=NOW_MS + 1001))
    assert [error for error, _offset, _time in results] == [0, ErrorCode.INVALID_TIMESTAMP]


def test_log_append_time_is_stamped_and_the_checksum_made_anew(maker):
    log = maker.open(LogConfig(is_log_append_time=True))
    assert append(log, batch(timestamp_ms=5)) == [(0, 0, NOW_MS)]
    data = (maker.directory / f"{0:020d}.log").read_bytes()
    header = parse_header(data)
    assert header.attributes & LOG_APPEND_TIME_BIT
    assert header.max_timestamp == NOW_MS
    assert header.crc == compute_crc(data)


def idempotent(sequence, count=1, epoch=0):
    return batch(count, producer_id=9, producer_epoch=epoch, base_sequence=sequence)


def test_duplicates_are_answered_with_the_offset_they_had(maker):
    log = maker.open()
    assert append(log, idempotent(0, 2), idempotent(2), idempotent(0, 2), idempotent(2)) == [
        (0, 0, -1),
        (0, 2, -1),
        (0, 0, -1),
        (0, 2, -1),
    ]
    assert log.log_end_offset == 3


@pytest.mark.parametrize(
    ("sequence", "epoch", "error"),
    [
        (7, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (1, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (2, 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (5, 2, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (0, 2, ErrorCode.NONE),
        (3, 1, ErrorCode.NONE),
    ],
)
def test_sequences_and_epochs_are_judged(maker, sequence, epoch, error):
    log = maker.open()
    append(log, idempotent(0, 3, epoch=1))
    assert append(log, idempotent(sequence, 1, epoch))[0][0] == error


def test_sequences_wrap_around(maker):
    log = maker.open()
    last = 2**31 - 2
    log.producers.update(9, 0, last - 1, 0, 0, NOW_MS)
    assert append(log, idempotent(last, 2), idempotent(0))[1] == (0, 2, -1)


def test_only_the_last_five_batches_count_as_duplicates(maker):
    log = maker.open()
    append(log, *(idempotent(number) for number in range(6)))
    assert append(log, idempotent(0))[0][0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, idempotent(1))[0] == (0, 1, -1)


def test_producers_are_known_again_after_a_crash(maker):
    log = maker.open()
    append(log, idempotent(0, 3))
    log.abandon()
    again = maker.open()
    assert append(again, idempotent(0, 3), idempotent(3)) == [(0, 0, -1), (0, 3, -1)]


def test_a_segment_rolls_by_size_and_no_batch_is_split(maker):
    log = maker.open(LogConfig(segment_bytes=1000))
    first_version = log.segments_version
    append(log, *(batch() for _ in range(20)))
    bases = sorted(int(path.stem) for path in maker.directory.glob("*.log"))
    assert bases[0] == 0
    assert len(bases) > 3
    assert all(path.stat().st_size <= 1000 for path in maker.directory.glob("*.log"))
    assert [record.offset for record in read_all(maker.directory)] == list(range(20))
    assert log.segments_version - first_version == len(bases) - 1


def test_a_segment_rolls_by_the_time_of_its_records(maker):
    log = maker.open(LogConfig(segment_ms=1000))
    append(log, batch(timestamp_ms=NOW_MS), batch(timestamp_ms=NOW_MS + 1000), batch(timestamp_ms=NOW_MS + 1001))
    assert log.end_segment == 2


def test_a_full_disk_takes_the_log_out_of_service_and_leaves_whole_batches(maker):
    log = maker.open()
    append(log, batch(), batch())
    size = log.end_position
    maker.disk.fails["pwritev"] = errno.ENOSPC
    with pytest.raises(StorageFailed, match="injected"):
        append(log, batch())
    assert os.path.getsize(maker.directory / f"{0:020d}.log") == size
    maker.disk.fails.clear()
    assert maker.open().log_end_offset == 2


def test_a_failed_fsync_is_no_success(maker):
    log = maker.open(LogConfig(flush_messages=2))
    append(log, batch())
    assert log.recovery_point == 0
    maker.disk.fails["fdatasync"] = errno.EIO
    with pytest.raises(StorageFailed, match="fsync"):
        append(log, batch())
    assert log.recovery_point == 0


def test_flush_messages_and_flush_ms_move_the_recovery_point(maker):
    log = maker.open(LogConfig(flush_messages=3, flush_ms=100))
    append(log, batch(), batch())
    assert log.recovery_point == 0
    append(log, batch())
    assert log.recovery_point == 3
    append(log, batch())
    assert not log.flush_due(NOW_MS + 99)
    assert log.flush_due(NOW_MS + 100)
    assert log.recovery_point == 4


def test_leader_epochs_are_kept_with_their_start(maker):
    log = maker.open()
    log.assign_leader_epoch(1)
    log.append_as_leader([batch(2)], 1, NOW_MS)
    log.append_as_leader([batch()], 4, NOW_MS)  # persisted with the first append, were it not before
    assert log.epochs.entries == [(1, 0), (4, 2)]
    assert log.epochs.end_offset_for(1, 3) == (1, 2)
    assert log.epochs.end_offset_for(3, 3) == (1, 2)
    assert log.epochs.end_offset_for(4, 3) == (4, 3)
    assert maker.open().epochs.entries == [(1, 0), (4, 2)]


class NotingDisk(FailingDisk):
    """Notes what is synced, by name."""

    def __init__(self):
        super().__init__()
        self.synced = []

    def fsync(self, fd):
        self.synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        super().fsync(fd)

    def fdatasync(self, fd):
        self.synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        super().fdatasync(fd)


def test_a_new_log_is_synced_with_its_name_by_its_first_flush_and_not_before(maker):
    maker.disk = NotingDisk()
    log = maker.open(topic_id="00112233445566778899aabbccddeeff")
    log.assign_leader_epoch(3)
    append(log, batch())
    assert maker.disk.synced == []
    log.flush()
    files = {f"{0:020d}.log", "partition.metadata", "leader-epoch-checkpoint"}
    assert set(maker.disk.synced) == files | {maker.directory.name, maker.directory.parent.name}
    assert maker.disk.synced[-1] == maker.directory.name  # the names, when what they name is there
    maker.disk.synced.clear()
    append(log, batch())
    log.flush()
    assert maker.disk.synced == [f"{0:020d}.log"]


def test_epochs_that_a_crash_takes_are_told_again_by_the_batches_after_the_recovery_point(maker):
    """They are synced before the recovery point passes a batch of theirs, so the file never lacks one from before it."""
    log = maker.open()
    file = maker.directory / "leader-epoch-checkpoint"
    log.assign_leader_epoch(3)
    append(log, batch())
    log.flush()
    synced, point = file.read_bytes(), log.recovery_point
    maker.disk = NotingDisk()
    log = reopened(maker, log, point)
    log.assign_leader_epoch(4)
    log.append_as_leader([batch()], 4, NOW_MS)
    log.assign_leader_epoch(5)
    assert maker.disk.synced == []
    log.abandon()
    file.write_bytes(synced)  # what a crash of the machine leaves
    log = maker.open(recovery_point=point)
    assert log.epochs.entries == [(3, 0), (4, 1)], "in epoch 5 nothing was written: no other log has it"
    log.append_as_leader([batch()], 6, NOW_MS)
    log.flush()
    assert "leader-epoch-checkpoint" in maker.disk.synced


def reopened(maker, log, point):
    log.abandon()
    return maker.open(recovery_point=point)


def test_a_new_log_whose_small_files_a_crash_left_empty_opens_with_what_its_batches_say(maker):
    log = maker.open(topic_id="00112233445566778899aabbccddeeff")
    append(log, batch())
    log.abandon()
    for name in ("partition.metadata", "leader-epoch-checkpoint"):
        (maker.directory / name).write_bytes(b"")
    log = maker.open(topic_id="00112233445566778899aabbccddeeff")
    assert (log.log_end_offset, log.epochs.entries) == (1, [(3, 0)])
    assert "topic_id" in (maker.directory / "partition.metadata").read_text()


def test_a_stop_syncs_only_what_nobody_else_synced(maker):
    """The housekeeper has synced the segments that rolled."""
    disk = maker.disk = FaultyDisk()
    log = maker.open(LogConfig(segment_bytes=400))
    for number in range(60):
        log.append_as_leader([batch(producer_id=1, producer_epoch=0, base_sequence=number)], 0, NOW_MS)
    assert len(log.segment_bases) > 20
    assert log.note_synced(log.end_segment, log.segments_version)
    assert log.recovery_point == log.end_segment
    before = len(disk.calls)
    log.close()
    assert sum(call in ("fsync", "fdatasync") for call in disk.calls[before:]) <= 8  # two are those of any new log
    disk.close()
    assert maker.open(clean=True).log_end_offset == 60


def test_what_was_synced_before_a_truncation_says_nothing(maker):
    log = maker.open(LogConfig(segment_bytes=400))
    log.append_as_leader([batch() for _ in range(30)], 0, NOW_MS)
    version, synced = log.segments_version, log.end_segment
    log.truncate_to(5)
    log.append_as_leader([batch() for _ in range(30)], 0, NOW_MS)
    assert not log.note_synced(synced, version)
    assert log.recovery_point <= 5
    mark = maker.directory / TRUNCATION_FILE
    assert mark.exists()
    assert log.note_synced(log.end_segment, log.segments_version)  # since the cut, from the recovery point on
    assert not mark.exists()
    log.flush()
    log.append_as_leader([batch() for _ in range(30)], 0, NOW_MS)
    assert log.note_synced(log.end_segment, log.segments_version)


@pytest.mark.parametrize("is_cut_short", [True, False], ids=["segments lost", "all of it lost"])
def test_a_checkpoint_above_the_end_of_a_log_vouches_for_nothing_that_is_written_later(maker, is_cut_short):
    """The directory was removed by hand, or segments of it: the file says what it said until the housekeeper writes it."""
    config = LogConfig(segment_bytes=2000)
    log = maker.open(config)
    for _ in range(40):
        log.append_as_leader([batch()], 0, NOW_MS)
    log.flush()
    point = log.end_segment
    log.close()
    for base in log.segment_bases[1 if is_cut_short else 0 :]:
        for suffix in SUFFIXES:
            path_of(maker.directory, base, suffix).unlink(missing_ok=True)
    log = maker.open(config, recovery_point=point)
    assert log.recovery_point == log.log_end_offset < point
    for _ in range(60):
        log.append_as_leader([batch()], 0, NOW_MS)
    bases = log.segment_bases
    victim = next(base for base in bases if base > log.recovery_point)
    assert victim < point
    log.abandon()
    with open(path_of(maker.directory, victim, LOG_SUFFIX), "r+b") as file:
        file.seek(400)
        file.write(bytes(600))  # a page that was never written out
    again = maker.open(config, recovery_point=point)
    assert again.was_cut
    assert again.log_end_offset < bases[bases.index(victim) + 1]


def test_a_log_that_is_closed_before_it_has_grown_again_leaves_what_its_checkpoint_says_in_doubt(maker):
    """The stop may be over before the housekeeper's last checkpoint."""
    log = maker.open(LogConfig(segment_bytes=2000))
    for _ in range(60):
        log.append_as_leader([batch()], 0, NOW_MS)
    log.flush()
    point = log.end_segment
    log.truncate_to(20)
    log.close()
    assert TruncationMark(maker.directory, maker.disk).bound(point) <= 20
    log = maker.open(LogConfig(segment_bytes=2000), clean=True)
    assert log.recovery_point == 20
    for _ in range(60):
        log.append_as_leader([batch()], 0, NOW_MS)
    log.close()
    assert not (maker.directory / TRUNCATION_FILE).exists()


def test_what_was_put_aside_counts_as_synced_by_no_checkpoint_once_it_has_its_name_again(maker):
    config = LogConfig(segment_bytes=2000)
    log = maker.open(config)
    for _ in range(40):
        log.append_as_leader([batch()], 0, NOW_MS)
    bases = log.segment_bases
    log.close()
    aside = put_aside(maker.directory, bases, maker.disk, doubt_all)
    shutil.rmtree(maker.directory)
    aside.rename(maker.directory)
    with open(path_of(maker.directory, bases[1], LOG_SUFFIX), "r+b") as file:
        file.seek(400)
        file.write(bytes(600))
    log = maker.open(config, recovery_point=bases[-1], clean=True)
    assert log.was_cut
    assert log.log_end_offset < bases[2]
    log.forget_loss()
    log.close()
    assert not maker.open(config, recovery_point=log.log_end_offset, clean=True).was_cut


@pytest.mark.parametrize("is_first", [True, False])
def test_a_log_without_records_is_closed_without_a_sync(maker, is_first):
    maker.directory.parent.mkdir(exist_ok=True)
    if not is_first:
        maker.open(topic_id="0" * 32).close()
    disk = maker.disk = FaultyDisk()
    log = maker.open(clean=not is_first, topic_id="0" * 32)
    before = len(disk.calls)
    log.close()
    assert not {"fsync", "fdatasync"} & set(disk.calls[before:])
    disk.close()


def test_a_log_that_was_not_written_to_is_closed_again_without_a_sync(maker):
    log = maker.open()
    log.append_as_leader([batch(producer_id=1, producer_epoch=0, base_sequence=0)], 0, NOW_MS)
    log.close()
    disk = maker.disk = FaultyDisk()
    log = maker.open(clean=True)
    before = len(disk.calls)
    log.close()
    assert not {"fsync", "fdatasync"} & set(disk.calls[before:])
    disk.close()
