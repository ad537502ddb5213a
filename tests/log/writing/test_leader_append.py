"""The markers that a leader appends for the coordinator, and what readers learn of them. Clients' batches: `test_partition_log.py`."""

import pytest

from headrace.errors import ErrorCode
from headrace.log.config import LogConfig
from headrace.log.index_layout import AbortedTransaction
from headrace.log.reading.aborted_transactions import find_aborted, read_aborted
from headrace.log.reading.reader import LogReader
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, iterate_batches
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch, facts, fill

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300)


def marker(log, producer_id, *, is_abort, epoch=0, coordinator_epoch=0):
    return log.append_marker(producer_id, epoch, coordinator_epoch, is_abort, 0, NOW_MS)


def data(log, producer_id, sequence, count=1):
    one = batch(count, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, attributes=TRANSACTIONAL_BIT)
    return log.append_as_leader([one], 0, NOW_MS)[0][1]


def test_markers_decide_what_is_stable_and_which_transactions_are_aborted(leader):
    log = leader.open()
    stable = log.producers.last_stable_offset
    assert data(log, 1, 0, 2) == 0
    assert data(log, 2, 0) == 2
    assert stable(3) == 0
    assert marker(log, 1, is_abort=True) == (0, 3)
    assert stable(3) == 0  # the marker is not replicated yet
    assert stable(4) == 2
    assert data(log, 1, 2) == 4
    assert marker(log, 2, is_abort=True) == (0, 5)
    assert stable(6) == 4
    assert marker(log, 1, is_abort=False) == (0, 6)
    assert stable(7) == 7
    assert marker(log, 1, is_abort=True) == (0, 7)  # of a transaction in which nothing was written
    wanted = [AbortedTransaction(1, 0, 3, 2), AbortedTransaction(2, 2, 5, 4)]
    assert read_aborted(leader.directory / f"{0:020d}.txnindex") == wanted
    log.abandon()
    again = leader.open()
    assert read_aborted(leader.directory / f"{0:020d}.txnindex") == wanted
    assert again.producers.last_stable_offset(8) == 8


def test_a_transaction_without_a_producer_is_refused(leader):
    """No marker could end it, and compaction kept all of it."""
    log = leader.open()
    (result,) = log.append_as_leader([batch(1, attributes=TRANSACTIONAL_BIT)], 0, NOW_MS)
    assert result == (ErrorCode.INVALID_RECORD, -1, -1)
    assert log.append_as_leader([batch(1)], 0, NOW_MS)[0][0] == 0


def test_old_coordinators_and_old_producers_are_fenced(leader):
    log = leader.open()
    data(log, 1, 0)
    assert marker(log, 1, is_abort=True, coordinator_epoch=4, epoch=3) == (0, 1)
    assert marker(log, 1, is_abort=True, coordinator_epoch=3, epoch=3) == (ErrorCode.TRANSACTION_COORDINATOR_FENCED, -1)
    assert marker(log, 1, is_abort=True, coordinator_epoch=4, epoch=2) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert log.log_end_offset == 2


def test_readers_learn_of_the_aborted_transactions_in_their_range(leader):
    log = leader.open(LogConfig(segment_bytes=2000, index_interval_bytes=150))
    wanted = {}
    for number in range(40):
        first = data(log, number % 3, number // 3)
        log.append_as_leader([batch()], 0, NOW_MS)
        if number % 2:
            marker(log, number % 3, is_abort=True)
            wanted[first] = number % 3
        else:
            marker(log, number % 3, is_abort=False)
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    assert len(reader.segment_bases()) > 4
    for offset in range(log.log_end_offset):
        found = reader.locate(offset, 700, log.end_segment, log.end_position, True)
        one_segment = [
            h for _p, h, _d in iterate_batches(__import__("os").pread(found.fd, found.length, found.position))
        ]
        told = {
            (one.producer_id, one.first_offset)
            for one in reader.aborted_transactions(offset, found, log.end_segment, log.log_end_offset)
        }
        needed = {
            (header.producer_id, header.base_offset)
            for header in one_segment
            if header.base_offset in wanted and not header.is_control and header.producer_id >= 0
        }
        assert needed <= told
        assert told <= {(producer_id, first) for first, producer_id in wanted.items()}
        assert all(first <= one_segment[-1].last_offset + 8 for _name, first in told)


def aborted_as_told(reader, log, offset):
    """By the list of a row, as a fetch takes it."""
    reader.refresh(log.segments_version)
    found = reader.locate(offset, 1 << 20, log.end_segment, log.end_position, True)
    return [one.first_offset for one in reader.aborted_transactions(offset, found, log.end_segment, log.log_end_offset)]


def test_a_reader_learns_of_the_first_abort_by_the_version_and_opens_no_index_before(leader, monkeypatch):
    log = leader.open()
    reader = LogReader(log.directory)
    data(log, 1, 0)
    marker(log, 1, is_abort=False)
    opened = []

    def noting(path, *how):
        opened.append(path)
        return find_aborted(path, *how)

    monkeypatch.setattr("headrace.log.reading.reader.find_aborted", noting)
    assert not aborted_as_told(reader, log, 0)
    before = log.segments_version
    first = data(log, 1, 1)
    marker(log, 1, is_abort=True)
    assert log.segments_version != before
    assert (aborted_as_told(reader, log, 0), len(opened)) == ([first], 1)
    before = log.segments_version
    second = data(log, 1, 2)
    marker(log, 1, is_abort=True)
    assert log.segments_version == before
    assert aborted_as_told(reader, log, 0) == [first, second]
    log.segments.roll()
    data(log, 1, 3)
    marker(log, 1, is_abort=False)
    opened.clear()
    assert not aborted_as_told(reader, log, log.end_segment)
    assert not opened


@pytest.mark.parametrize("damage", ["gone", "cut", "version", "order"])
def test_a_damaged_transaction_index_of_a_rolled_segment_is_filled_anew(leader, damage):
    log = leader.open(CONFIG)
    fill(log, 100)
    wanted = facts(log)
    log.close()
    path = sorted(leader.directory.glob("*.txnindex"))[1]
    content = path.read_bytes()
    changed = {
        "gone": b"\xff" * len(content),
        "cut": content[:-5] + b"\xff" * 39,
        "version": b"\0\1" + content[2:],
        "order": content + content[-34:],
    }[damage]
    path.write_bytes(changed)
    assert facts(leader.open(CONFIG, clean=True)) == wanted
