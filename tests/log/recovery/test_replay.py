"""What an opening knows of producers after records were deleted: batches below the log's start count as long as they are there."""

import errno
import os

import pytest

from headrace.log.config import LogConfig
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading import segment_file
from headrace.log.state.producer_snapshot import read_snapshot
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from tests.support.altered import altered
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

OUT_OF_ORDER = 45
CONFIG = LogConfig(segment_bytes=2000)
ENDS = pytest.mark.parametrize("is_machine", [False, True], ids=["worker", "machine"])


def one(sequence, producer_id=5, attributes=0):
    return batch(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, attributes=attributes)


def send(log, sequence, **which):
    return log.append_as_leader([one(sequence, **which)], 0, NOW_MS)[0][:2]


def rolled(maker, first=0):
    """A log with a snapshot at its second segment, and how many batches of a producer are in it."""
    log = maker.open(CONFIG)
    count = first
    while len(log.segment_bases) < 2:
        assert send(log, count)[0] == 0
        count += 1
    for _ in range(3):
        assert send(log, count)[0] == 0
        count += 1
    return log, count


def reopened(maker, log, is_machine, **how):
    trusted = None if is_machine else (log.end_segment, log.end_position)
    log.abandon()
    return maker.open(CONFIG, trusted=trusted, log_start_offset=log.log_start_offset, **how)


@ENDS
def test_a_producer_goes_on_after_its_records_were_deleted(maker, is_machine):
    log, count = rolled(maker)
    log.advance_log_start(log.log_end_offset)
    log = reopened(maker, log, is_machine)
    assert [each.first_sequence for each in log.producers.producers[5].batches][-1] == count - 1
    assert send(log, count - 1) == (0, count - 1)  # a duplicate still is one
    assert send(log, count + 1) == (OUT_OF_ORDER, -1)
    assert send(log, count) == (0, count)


def test_so_it_does_after_a_truncation(maker):
    log, count = rolled(maker)
    log.advance_log_start(log.log_end_offset - 1)
    log.truncate_to(log.log_end_offset - 1)
    assert send(log, count - 1) == (0, count - 1)


@ENDS
def test_a_transaction_that_ended_below_the_start_is_over(maker, is_machine):
    log = maker.open(CONFIG)
    send(log, 0, attributes=TRANSACTIONAL_BIT)
    while len(log.segment_bases) < 2:
        log.append_as_leader([batch()], 0, NOW_MS)
    log.append_marker(5, 0, 0, True, 0, NOW_MS)
    end = log.log_end_offset
    log.advance_log_start(end)
    log = reopened(maker, log, is_machine)
    assert log.producers.producers[5].txn_first_offset == -1
    assert log.producers.last_stable_offset(end) == end


@ENDS
def test_one_that_goes_on_above_the_start_is_open(maker, is_machine):
    log = maker.open(CONFIG)
    send(log, 0, attributes=TRANSACTIONAL_BIT)
    while len(log.segment_bases) < 2:
        log.append_as_leader([batch()], 0, NOW_MS)
    log.advance_log_start(log.log_end_offset)
    send(log, 1, attributes=TRANSACTIONAL_BIT)
    log = reopened(maker, log, is_machine)
    assert log.producers.producers[5].txn_first_offset == 0


def without_last_snapshot(maker):
    """A log whose only snapshot is older than its first segment: batches between the two are gone."""
    log = maker.open(CONFIG)
    send(log, 0, producer_id=6, attributes=TRANSACTIONAL_BIT)
    count = 0
    for _ in range(3):
        for _ in range(3):
            send(log, count)
            count += 1
        log.roll_if_older(2**62)
    log.append_as_leader([batch()], 0, NOW_MS)
    bases = list(log.segment_bases)
    log.advance_log_start(bases[3])
    log.delete_segments(3)
    log.abandon()
    snapshots = sorted(maker.directory.glob("*.snapshot"))
    source = next(path for path in snapshots if int(path.stem) == bases[2])
    for path in snapshots:
        if path != source:
            path.unlink()
    return bases[3], count, read_snapshot(source)[5].batches[-1].last_sequence


def test_where_batches_are_gone_a_later_sequence_is_taken(maker):
    start, count, known = without_last_snapshot(maker)
    log = maker.open(CONFIG, log_start_offset=start)
    assert known < count - 1  # the log had more of it
    assert send(log, known) == (0, known + 1)  # a duplicate of what is still known: producer 6 has offset 0
    end = log.log_end_offset
    assert send(log, count) == (0, end)
    assert send(log, count + 2) == (OUT_OF_ORDER, -1)
    assert send(log, known - 1) == (OUT_OF_ORDER, -1)
    assert send(log, count + 1) == (0, end + 1)


def test_where_batches_are_gone_a_transaction_is_not_kept_open(maker):
    start, _count, _known = without_last_snapshot(maker)
    log = maker.open(CONFIG, log_start_offset=start)
    assert log.producers.last_stable_offset(log.log_end_offset) == log.log_end_offset
    send(log, 1, producer_id=6, attributes=TRANSACTIONAL_BIT)
    assert log.producers.last_stable_offset(log.log_end_offset) == log.log_end_offset - 1


def test_a_snapshot_does_not_vouch_for_what_is_not_known(maker):
    start, count, _known = without_last_snapshot(maker)
    log = maker.open(CONFIG, log_start_offset=start)
    log.close()
    log = maker.open(CONFIG, clean=True, log_start_offset=start)
    assert send(log, count)[0] == 0


def test_where_a_transaction_is_open_neither(maker):
    log = maker.open(CONFIG)
    send(log, 0, attributes=TRANSACTIONAL_BIT)
    log.producers.doubt(log_start_offset=0)
    log.close()
    log = maker.open(CONFIG, clean=True)
    assert log.producers.producers[5].txn_first_offset == 0
    assert send(log, 7, attributes=TRANSACTIONAL_BIT) == (0, 1)


@pytest.mark.parametrize("is_damaged", [True, False], ids=["damaged", "unreadable"])
def test_a_part_below_the_start_that_can_not_be_read_leaves_the_producers_unknown(maker, is_damaged, monkeypatch):
    log, count = rolled(maker)
    while len(log.segment_bases) < 3:
        log.append_as_leader([batch()], 0, NOW_MS)
    bases = list(log.segment_bases)
    log.advance_log_start(bases[2])
    log.abandon()
    for path in maker.directory.glob("*.snapshot"):
        if int(path.stem) != bases[1]:
            path.unlink()
    path = path_of(maker.directory, bases[1], LOG_SUFFIX)
    if is_damaged:
        path.write_bytes(b"\xff" * path.stat().st_size)
    inode = path.stat().st_ino

    def pread(fd, size, position):
        if not is_damaged and os.fstat(fd).st_ino == inode:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return os.pread(fd, size, position)

    monkeypatch.setattr(segment_file, "os", altered(os, pread=pread))
    log = maker.open(CONFIG, recovery_point=bases[2], log_start_offset=bases[2])
    assert send(log, count) == (0, log.log_end_offset - 1)
    assert send(log, count + 2) == (OUT_OF_ORDER, -1)
