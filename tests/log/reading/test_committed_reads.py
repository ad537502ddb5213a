"""read_committed across a compaction: at no step of a swap does a reader get an aborted record, or miss a committed one."""

import os

import pytest

from headrace.log.compaction.compaction_plan import Swap
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.names import path_of
from headrace.log.reading.reader import LogReader
from headrace.protocol.record_batch import iterate_batches, iterate_records
from tests.support.compaction_fixtures import compaction_of, in_transaction, keyed, marker, write_segments
from tests.support.log_fixtures import LogMaker

CONFIG = LogConfig(is_compacted=True)


def entry(producer_id, first, last):
    return b"".join(
        [(0).to_bytes(2, "big"), *(number.to_bytes(8, "big") for number in (producer_id, first, last, last + 1))]
    )


def prepared(directory):
    """Aborted records in one segment, their marker and index entry in the next; committed ones beside them."""
    maker = LogMaker(directory)
    maker.disk = Disk()
    write_segments(
        maker.directory,
        [keyed(0, (b"a", b"good")), in_transaction(1, 9, 0, (b"b", b"bad")), in_transaction(2, 8, 0, (b"c", b"good"))],
        [in_transaction(3, 9, 1, (b"d", b"bad")), keyed(4, (b"e", b"good"))],
        [marker(5, 9, is_commit=False), marker(6, 8, is_commit=True)],
        [in_transaction(7, 9, 2, (b"f", b"good")), in_transaction(8, 8, 1, (b"g", b"bad"))],
        [marker(9, 9, is_commit=True), marker(10, 8, is_commit=False), keyed(11, (b"h", b"good"))],
    )
    path_of(maker.directory, 5, ".txnindex").write_bytes(entry(9, 1, 5))
    path_of(maker.directory, 9, ".txnindex").write_bytes(entry(8, 8, 10))
    log = maker.open(CONFIG, clean=True, recovery_point=12)
    log.roll_if_older(2**62)
    return log


def read_committed(reader, log, between=lambda: None):
    """Values as a consumer takes them: from ranges and their lists of aborted transactions."""
    values, position = [], 0
    while position < 12:
        found = reader.locate(position, 1 << 20, log.end_segment, log.end_position, at_least_one=True)
        if found is None:
            return values
        between()
        aborted = reader.aborted_transactions(position, found, log.end_segment, 12)
        waiting, active = sorted(aborted, key=lambda one: one.first_offset), set()
        for _place, header, batch in iterate_batches(os.pread(found.fd, found.length, found.position)):
            while waiting and waiting[0].first_offset <= header.last_offset:
                active.add(waiting.pop(0).producer_id)
            records = list(iterate_records(batch))
            if header.is_control:
                if records and records[0].key[3] == 0:
                    active.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in active):
                values += [record.value for record in records if record.offset >= position]
            position = max(position, header.last_offset + 1)
    return values


GOOD = [b"good"] * 5


class WatchedDisk(Disk):
    def __init__(self, look):
        self.look = look

    def rename(self, source, target):
        super().rename(source, target)
        self.look()

    def link(self, source, target):
        super().link(source, target)
        self.look()

    def unlink(self, path):
        super().unlink(path)
        self.look()


def listed(directory):
    reader = LogReader(directory)
    reader.refresh(1)
    return reader


def test_before_and_after(tmp_path):
    log = prepared(tmp_path)
    assert read_committed(listed(log.directory), log) == GOOD
    swap = next(step for step in compaction_of(log, CONFIG).steps() if isinstance(step, Swap))
    assert log.swap_segments(swap.segments, log.segments_version)
    assert read_committed(listed(log.directory), log) == GOOD


def test_at_every_step_of_a_swap_with_a_new_list_and_an_old_one(tmp_path):
    log = prepared(tmp_path)
    swap = next(step for step in compaction_of(log, CONFIG).steps() if isinstance(step, Swap))
    bases, aborted_in = list(log.segment_bases), frozenset({5, 9})
    looks = []

    def look():
        stale = LogReader(log.directory)
        stale._bases, stale._aborted_in, stale._last_aborted_in, stale._version = bases, aborted_in, 9, 1
        for reader in (listed(log.directory), stale):
            assert read_committed(reader, log) == GOOD
            looks.append(1)

    log.segments._disk = WatchedDisk(look)
    assert log.swap_segments(swap.segments, log.segments_version)
    assert len(looks) > 40


@pytest.mark.parametrize("start", [0, 1])
def test_a_swap_between_the_range_and_its_aborted_transactions(tmp_path, start):
    """The batches are the old ones, by an open descriptor; their index has moved into another file."""
    log = prepared(tmp_path)
    steps = compaction_of(log, CONFIG).steps()
    swap = next(step for step in steps if isinstance(step, Swap))
    reader = listed(log.directory)
    done = []

    def swapping():
        if len(done) == start:
            assert log.swap_segments(swap.segments, log.segments_version)
        done.append(1)

    assert read_committed(reader, log, swapping) == GOOD
