"""The reading side: every offset is found, ends are respected, times are looked up."""

import os

import pytest

from headrace.log.config import LogConfig
from headrace.log.reading import reader as reader_module
from headrace.log.reading.reader import LogReader
from headrace.protocol.record_batch import iterate_batches, parse_header
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

CONFIG = LogConfig(segment_bytes=3000, index_interval_bytes=300)


@pytest.fixture
def log(maker):
    log = maker.open(CONFIG)
    for number in range(40):
        log.append_as_leader([batch(1 + number % 3, timestamp_ms=NOW_MS + number * 10)], 2, NOW_MS)
    return log


def reader_of(log):
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    return reader


def bytes_of(found):
    return os.pread(found.fd, found.length, found.position)


def test_every_offset_is_found_at_its_batch(log):
    reader = reader_of(log)
    for offset in range(log.log_end_offset):
        header = parse_header(bytes_of(reader.locate(offset, 1 << 20, log.end_segment, log.end_position, True)))
        assert header.base_offset <= offset <= header.last_offset


def test_a_reader_that_follows_the_ranges_sees_every_record_once(log):
    reader = reader_of(log)
    offset = 0
    while offset < log.log_end_offset:
        found = reader.locate(offset, 700, log.end_segment, log.end_position, True, log.log_end_offset)
        for _position, header, _data in iterate_batches(bytes_of(found)):
            assert header.base_offset == offset
            offset = header.last_offset + 1
    assert reader.locate(offset, 700, log.end_segment, log.end_position, True) is None


def test_readers_at_the_end_find_their_places_without_a_search_whichever_was_there_last(maker, monkeypatch):
    """Followers one after the other: each begins where its last range ended, which others have left since."""
    log = maker.open(LogConfig())
    log.append_as_leader([batch()], 2, NOW_MS)
    reader = reader_of(log)

    def read(offset):
        found = reader.locate(offset, 1 << 20, log.end_segment, log.end_position, True, end_offset=log.log_end_offset)
        return [header.base_offset for _position, header, _data in iterate_batches(bytes_of(found))]

    assert read(0) == [0]
    monkeypatch.setattr(reader_module, "_find", lambda *_: pytest.fail("searched"))
    for offset in range(1, 6):
        log.append_as_leader([batch()], 2, NOW_MS)
        assert read(offset) == [offset]
        if offset > 1:
            assert read(offset - 1) == [offset - 1, offset]


def test_nothing_behind_the_end_is_returned(log):
    reader = reader_of(log)
    data = (log.directory / f"{0:020d}.log").read_bytes()
    position, header, _data = list(iterate_batches(data))[3]
    end = header.base_offset
    assert log.position_of(end) == (0, position)
    found = reader.locate(end - 1, 1 << 20, 0, position, True)
    assert found.position + found.length == position
    assert reader.locate(end, 1 << 20, 0, position, True) is None


def test_a_first_batch_above_the_limit_comes_whole_or_not_at_all(log):
    reader = reader_of(log)
    end = (log.end_segment, log.end_position)
    whole = reader.locate(0, 1, *end, at_least_one=True)
    assert whole.length == parse_header(bytes_of(whole)).size_bytes
    assert reader.locate(0, 1, *end, at_least_one=False) is None


def test_times_lead_to_the_first_record_that_late(log):
    reader = reader_of(log)
    end = (log.end_segment, log.end_position)
    bases = []
    for base in reader.segment_bases():
        data = (log.directory / f"{base:020d}.log").read_bytes()
        bases += [(header.max_timestamp, header.base_offset) for _position, header, _data in iterate_batches(data)]
    for timestamp, offset in bases:
        assert reader.first_offset_at(timestamp, 0, *end)[:2] == (timestamp, offset)
        assert reader.first_offset_at(timestamp - 5, 0, *end)[:2] == (timestamp, offset)
    assert reader.first_offset_at(bases[-1][0] + 1, 0, *end) is None
    assert reader.max_timestamp(*end)[:2] == (bases[-1][0], bases[-1][1])


def test_a_range_outlives_its_segments_file(log):
    reader = reader_of(log)
    found = reader.locate(0, 1 << 20, log.end_segment, log.end_position, True)
    wanted = bytes_of(found)
    (log.directory / f"{0:020d}.log").unlink()
    reader.refresh(log.segments_version + 1)
    reader.close()
    assert bytes_of(found) == wanted


@pytest.mark.process
def test_a_writer_in_another_process_is_followed(maker):
    log = maker.open(CONFIG)
    pid = os.fork()
    if not pid:
        try:
            for number in range(200):
                log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    reader = LogReader(maker.directory)
    reader.refresh(1)
    last = reader.segment_bases()[-1]
    size = os.path.getsize(maker.directory / f"{last:020d}.log")
    assert len(reader.segment_bases()) > 5
    for offset in range(200):
        assert parse_header(bytes_of(reader.locate(offset, 1 << 20, last, size, True))).base_offset == offset
