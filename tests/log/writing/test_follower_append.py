"""What a follower takes: its leader's bytes as they stand, whole batches only, offsets that grow."""

import os

import pytest

from headrace.log.config import LogConfig
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.reading.reader import LogReader
from headrace.log.state.compacted_offset import compacted_offset
from headrace.log.writing.follower_append import OffsetsOutOfOrder
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import CorruptRecord, Record, iterate_batches
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import all_bytes, batch, facts, fill

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300)


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
    assert log.end_segment == 3_000_000_000 - RELATIVE_OFFSET_MAX
    assert compacted_offset(log.directory) == log.end_segment, "no loss"
    reader = LogReader(log.directory)
    reader.refresh(1)
    found = [header.base_offset for _p, header, _d in iterate_batches(all_bytes(log))]
    assert found == [5, 9, 3_000_000_000]
    log.abandon()
    assert follower.open(CONFIG, trusted=(log.end_segment, log.end_position)).log_end_offset == 3_000_000_001


@pytest.mark.parametrize("slices", [1, 4])
def test_an_empty_epoch_goes_where_an_earlier_one_goes_on(leader, follower, slices):
    """It was assigned to this log, which led in it and wrote nothing. The next leader has a tail of the epoch before."""
    source, log = leader.open(CONFIG), follower.open(CONFIG)
    source.append_as_leader([batch() for _ in range(20)], 1, NOW_MS)
    first = len(all_bytes(source))
    log.append_as_follower(memoryview(all_bytes(source)), NOW_MS)
    log.assign_leader_epoch(2)
    source.append_as_leader([batch() for _ in range(12)], 1, NOW_MS)
    source.append_as_leader([batch()], 3, NOW_MS)
    rest = memoryview(all_bytes(source)[first:])
    if slices == 1:
        log.append_as_follower(rest, NOW_MS)
    else:
        size = len(rest) // 13
        for position in range(0, len(rest), size):
            log.append_as_follower(rest[position : position + size], NOW_MS)
    assert log.epochs.entries == source.epochs.entries == [(1, 0), (3, 32)]
    log.abandon()
    assert follower.open(CONFIG).epochs.entries == [(1, 0), (3, 32)]


def test_an_empty_epoch_stays_while_nothing_of_an_earlier_one_comes(leader, follower):
    source, log = leader.open(CONFIG), follower.open(CONFIG)
    source.append_as_leader([batch()], 1, NOW_MS)
    log.append_as_follower(memoryview(all_bytes(source)), NOW_MS)
    first = len(all_bytes(source))
    log.assign_leader_epoch(2)
    log.append_as_follower(memoryview(b""), NOW_MS)
    assert log.epochs.entries == [(1, 0), (2, 1)]
    source.append_as_leader([batch()], 2, NOW_MS)
    log.append_as_follower(memoryview(all_bytes(source)[first:]), NOW_MS)
    assert log.epochs.entries == [(1, 0), (2, 1)]
    assert log.epochs.written(log.log_end_offset) == 2


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


def with_header(data, offset, epoch=0):
    data[0:8] = offset.to_bytes(8, "big")
    data[12:16] = epoch.to_bytes(4, "big")
    return data


def test_no_index_entry_is_stored_before_its_batch(follower):
    """An epoch that begins in the middle writes what came before it: the entry of its own batch is not due yet."""
    log = follower.open(LogConfig(index_interval_bytes=1))
    records = b"".join(bytes(with_header(batch(), offset, epoch=offset // 3)) for offset in range(12))
    segment = log.segments.active
    stored = []
    write_index = type(segment).write_index

    class Watched(type(segment)):
        __slots__ = ()

        def write_index(self):
            write_index(self)
            last = self.offset_index.last()
            stored.append(last is None or last[1] < self.size_bytes == os.fstat(self.fd).st_size)

    segment.__class__ = Watched
    log.append_as_follower(memoryview(records), NOW_MS)
    segment.__class__ = Watched.__base__
    assert stored == [True] * 4
    assert log.epochs.entries == [(0, 0), (1, 3), (2, 6), (3, 9)]


def test_an_old_entry_far_after_the_last_one_goes_into_a_segment_that_can_index_it(follower):
    log = follower.open(LogConfig(index_interval_bytes=1))
    far = 5_000_000_000
    records = [Record(offset, NOW_MS, b"k", b"v" * 50, ()) for offset in (0, 1, far, far + 1, far + 2)]
    data = build_message_set(records, 1)
    assert log.append_as_follower(memoryview(data), NOW_MS) == len(data)
    assert log.segment_bases == [0, far - (2**31 - 1), far + 1]
    assert log.log_end_offset == far + 3
    log.abandon()
    assert follower.open().log_end_offset == far + 3


def test_an_old_entry_after_newer_batches_makes_the_epochs_unknown(follower):
    """The latest epoch would be taken to end where the log does, and a follower of ours told so."""
    log = follower.open(CONFIG)
    log.append_as_follower(memoryview(b"".join(with_header(batch(), offset, epoch=3) for offset in range(3))), NOW_MS)
    assert log.epochs.entries == [(3, 0)]
    log.append_as_follower(memoryview(build_message_set([Record(3, NOW_MS, None, b"old", ())], 1)), NOW_MS)
    assert log.epochs.entries == []
    log.append_as_follower(memoryview(with_header(batch(), 4, epoch=3)), NOW_MS)
    assert log.epochs.entries == [(3, 4)]
    log.close()
    assert follower.open(CONFIG, clean=True).epochs.entries == [(3, 4)]
