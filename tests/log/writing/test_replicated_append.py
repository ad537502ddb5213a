"""What a log takes besides a client's batches: a leader's as they stand, markers; and truncation, also across crashes.

Holds: log/writing/truncation.py, log/segments/transaction_index.py, log/reading/aborted_transactions.py
"""

import random

import pytest

from headrace.errors import ErrorCode, StorageFailed
from headrace.log.config import LogConfig
from headrace.log.index_layout import AbortedTransaction
from headrace.log.reading.aborted_transactions import read_aborted
from headrace.log.reading.reader import LogReader
from headrace.log.writing.replicated_append import OffsetsOutOfOrder
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, CorruptRecord, Record, iterate_batches
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker, batch

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300)


@pytest.fixture
def leader(tmp_path):
    return LogMaker(tmp_path / "leader")


@pytest.fixture
def follower(tmp_path):
    return LogMaker(tmp_path / "follower")


def fill(log, count=60, seed=1):
    """Batches of plain, idempotent and transactional producers, and markers, in several epochs."""
    chance = random.Random(seed)
    sequences = {}
    for number in range(count):
        epoch = 5 * number // count
        producer_id = chance.randrange(5)
        if producer_id < 2 and chance.random() < 0.4:
            log.append_marker(producer_id, 0, 0, chance.random() < 0.6, epoch, NOW_MS)
            continue
        sequence = sequences.get(producer_id, 0)
        kind = {"attributes": TRANSACTIONAL_BIT} if producer_id < 2 else {}
        if producer_id < 4:
            kind |= {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        sequences[producer_id] = sequence + 2
        ((error, _offset, _time),) = log.append_as_leader(
            [batch(2, timestamp_ms=NOW_MS + number, **kind)], epoch, NOW_MS
        )
        assert error == 0


def all_bytes(log):
    paths = sorted(log.directory.glob("*.log"))
    return b"".join(path.read_bytes() for path in paths)


def facts(log):
    producers = {
        name: (producer.epoch, producer.txn_first_offset, producer.batches[-1][:4] if producer.batches else None)
        for name, producer in log.producers.producers.items()
    }
    aborted = [one for path in sorted(log.directory.glob("*.txnindex")) for one in read_aborted(path)]
    return (
        all_bytes(log), log.epochs.entries, producers, aborted, log.producers.last_stable_offset(log.log_end_offset),
        log.log_end_offset,
    )  # fmt: skip


def test_a_follower_that_takes_its_leaders_bytes_is_the_same_log(leader, follower):
    source = leader.open(CONFIG)
    fill(source)
    data = all_bytes(source)
    for chunk in (100, 700, 5000, len(data)):
        follower.directory = follower.directory.parent / f"t-{chunk}"
        target = follower.open(CONFIG)
        position = 0
        size = chunk
        while position < len(data):
            taken = target.append_as_follower(memoryview(data)[position : position + size], NOW_MS)
            size = size * 2 if not taken else chunk  # a batch that is larger than what was fetched
            position += taken
        assert facts(target) == facts(source)
        target.close()
        assert facts(follower.open(CONFIG, clean=True)) == facts(source)


def test_offsets_are_kept_and_may_leave_gaps(follower):
    log = follower.open(CONFIG)
    batches = [batch() for _ in range(3)]
    for one, offset in zip(batches, (5, 9, 3_000_000_000), strict=True):
        one[0:8] = offset.to_bytes(8, "big")
    log.append_as_follower(memoryview(b"".join(batches)), NOW_MS)
    assert log.log_end_offset == 3_000_000_001
    assert log.end_segment == 3_000_000_000
    reader = LogReader(log.directory)
    reader.refresh(1)
    found = [header.base_offset for _p, header, _d in iterate_batches(all_bytes(log))]
    assert found == [5, 9, 3_000_000_000]
    log.abandon()
    assert follower.open(CONFIG, trusted=(log.end_segment, log.end_position)).log_end_offset == 3_000_000_001


def test_a_batch_that_begins_before_the_end_is_refused_and_those_before_it_are_kept(follower):
    log = follower.open(CONFIG)
    first, second = batch(), batch()
    with pytest.raises(OffsetsOutOfOrder, match="offset 0, the log ends at 1"):
        log.append_as_follower(memoryview(bytes(first) + bytes(second)), NOW_MS)
    assert log.log_end_offset == 1


@pytest.mark.parametrize("place", [16, 8, 20, 80])
def test_a_damaged_batch_of_the_leader_is_refused(follower, place):
    log = follower.open(CONFIG)
    data = bytearray(bytes(batch()))
    second = bytearray(bytes(batch()))
    second[0:8] = (1).to_bytes(8, "big")
    second[place] ^= 0x81
    try:
        taken = log.append_as_follower(memoryview(data + second), NOW_MS)
        assert taken == len(data)  # a length that says more than there is: cut short, as fetches are
    except CorruptRecord:
        pass
    assert log.log_end_offset == 1
    assert all_bytes(log) == data


@pytest.mark.parametrize("magic", [0, 1])
def test_entries_of_the_old_formats_are_taken_as_they_are(follower, magic):
    log = follower.open(CONFIG)
    records = [Record(offset, NOW_MS if magic else -1, b"k", b"v" * 50, ()) for offset in range(60)]
    data = build_message_set(records, magic)
    taken = log.append_as_follower(memoryview(data)[:-5], NOW_MS)
    assert log.append_as_follower(memoryview(data)[taken:], NOW_MS) == len(data) - taken
    assert log.log_end_offset == 60
    assert all_bytes(log) == data
    assert len(list(log.directory.glob("*.log"))) > 1
    bad = bytearray(build_message_set([Record(60, -1, None, b"v", ())], magic))
    bad[-1] ^= 1
    with pytest.raises(CorruptRecord):
        log.append_as_follower(memoryview(bad), NOW_MS)
    log.abandon()
    assert follower.open(CONFIG).log_end_offset == 60


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


@pytest.mark.parametrize("seed", range(8))
def test_a_truncated_log_is_as_if_the_rest_had_never_been(leader, follower, seed):
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
    assert source.truncate_to(offset)
    assert not source.truncate_to(offset)
    assert source.log_end_offset == reference.log_end_offset
    assert facts(source) == facts(reference)
    for log in (source, reference):
        log.append_as_follower(memoryview(data)[position:], NOW_MS)
    assert facts(source) == facts(reference)
    source.abandon()
    assert facts(leader.open(CONFIG)) == facts(reference)


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


def test_a_log_that_failed_takes_nothing_more(maker):
    log = maker.open(CONFIG)
    fill(log, 5)
    maker.disk.fails["pwritev"] = 5
    with pytest.raises(StorageFailed):
        log.append_as_leader([batch()], 9, NOW_MS)
    maker.disk.fails.clear()
    for attempt in (
        lambda: log.append_as_follower(batch(), NOW_MS),
        lambda: log.append_marker(1, 0, 0, True, 9, NOW_MS),
        lambda: log.truncate_to(1),
        lambda: log.restart_at(1),
    ):
        with pytest.raises(StorageFailed):
            attempt()
