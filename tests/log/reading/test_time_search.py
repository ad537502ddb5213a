"""A search for a time gives the log's own answer, whatever headers say and however small the slices are."""

import random
import struct

import pytest

from headrace.checksum import crc32c
from headrace.log.config import LogConfig
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.reading.time_search import LatestSearch, TimeSearch
from headrace.log.reading.work_share import HEADER_COST, WorkShare
from headrace.protocol.compression import compress
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import HEADER_BYTES, LOG_APPEND_TIME_BIT, Record, build_batch
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker

SMALL = LogConfig(segment_bytes=4_000, index_interval_bytes=300)
STEPS_MAX = 1_000_000


def lying(batch, largest_ms, body=None, codec=0):
    """A batch with another largest time in its header, and maybe other bytes in it; its checksum is right."""
    batch = bytearray(batch[:HEADER_BYTES] + body) if body is not None else bytearray(batch)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    if body is not None:
        struct.pack_into(">h", batch, 21, codec)
    struct.pack_into(">q", batch, 35, largest_ms)
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return batch


class Oracle:
    """A log, and what is in it by (time, offset)."""

    def __init__(self, directory, seed=0, config=SMALL):
        self.maker = LogMaker(directory)
        self.log = self.maker.open(config)
        self.reader = LogReader(self.maker.directory)
        self.lot = random.Random(seed)
        self.records = []

    @property
    def ends(self):
        return self.log.end_segment, self.log.end_position

    def append(self, batch, times):
        ((error, base, _time),) = self.log.append_as_leader([memoryview(bytearray(batch))], 3, NOW_MS)
        assert not error
        self.records += [(time, base + index) for index, time in enumerate(times)]

    def append_any(self):
        lot = self.lot
        times = [NOW_MS + lot.randrange(100_000) for _ in range(lot.choice((1, 1, 2, 30)))]
        records = [
            Record(index, time, None, lot.randbytes(lot.choice((0, 10, 200)))) for index, time in enumerate(times)
        ]
        codec = lot.randrange(5)
        kind = lot.random()
        if kind < 0.15:
            plain = build_batch(records)
            body = compress(codec, bytes(plain[HEADER_BYTES:])) if codec else bytes(plain[HEADER_BYTES:])
            return self.append(lying(plain, NOW_MS + 10**6, body, codec), times)
        if kind < 0.25:
            garbage = lying(build_batch(records[:1]), NOW_MS + 10**6, compress(1, b"\xff" * 40), 1)
            ((error, _base, _time),) = self.log.append_as_leader([memoryview(garbage)], 3, NOW_MS)
            assert not error
            return None
        if kind < 0.35:
            records = [one._replace(timestamp_ms=times[0]) for one in records]
            times = [times[0]] * len(times)
            return self.append(build_batch(records, attributes=LOG_APPEND_TIME_BIT), times)
        return self.append(build_batch(records, codec=codec), times)

    def first_at(self, time, log_start=0):
        return min(((offset, at) for at, offset in self.records if at >= time and offset >= log_start), default=None)

    def latest(self, log_start=0):
        found = [(at, -offset) for at, offset in self.records if offset >= log_start]
        return (-max(found)[1], max(found)[0]) if found else None


def run(search, oracle, cost, log_start=0, between=None):
    """(offset, time) that a search found in slices of a cost, and how many there were."""
    for count in range(1, STEPS_MAX):
        oracle.reader.refresh(oracle.log.segments_version)
        if search.step(oracle.reader, log_start, WorkShare(cost)):
            found = search.found
            return (None if found is None else (found.offset, found.timestamp_ms)), count
        if between is not None:
            between()
    raise AssertionError("it does not end")


@pytest.fixture
def oracle(tmp_path, request):
    made = Oracle(tmp_path, getattr(request, "param", 0))
    yield made
    made.reader.close()
    made.log.close()


@pytest.mark.slow
@pytest.mark.parametrize("oracle", range(8), indirect=True, ids=lambda seed: f"seed {seed}")
@pytest.mark.parametrize("cost", [1, 3_000, 100_000, 1 << 40])
def test_the_answer_is_that_of_the_records_whatever_headers_say(oracle, cost):
    for _ in range(60):
        oracle.append_any()
    lot = oracle.lot
    for _ in range(12):
        time, log_start = NOW_MS + lot.randrange(-10, 110_000), lot.choice((0, 0, lot.randrange(300)))
        found, count = run(TimeSearch(time, *oracle.ends), oracle, cost, log_start)
        assert found == oracle.first_at(time, log_start)
        assert cost > 3_000 or count > 1
        assert run(LatestSearch(*oracle.ends), oracle, cost, log_start)[0] == oracle.latest(log_start)


@pytest.mark.parametrize("oracle", range(4), indirect=True, ids=lambda seed: f"seed {seed}")
def test_it_goes_on_where_it_was_while_the_log_grows_and_loses_its_beginning(oracle):
    for _ in range(60):
        oracle.append_any()

    def change():
        oracle.append_any()
        if oracle.lot.random() < 0.1:
            bases = [one for one in oracle.reader.segment_bases() if one <= oracle.log.end_segment]
            if len(bases) > 3:
                oracle.log.advance_log_start(bases[1])
                oracle.log.delete_segments(1)

    for _ in range(5):
        time, begin = NOW_MS + oracle.lot.randrange(100_000), oracle.log.log_start_offset
        records, ends = list(oracle.records), oracle.ends
        try:
            found, _count = run(TimeSearch(time, *ends), oracle, 2_000, begin, change)
        except FileNotFoundError:
            continue
        oracle.records, after = records, oracle.records
        assert found in {oracle.first_at(time, start) for start in range(begin, oracle.log.log_start_offset + 1)}
        oracle.records = after


def test_headers_count_so_a_share_passes_few_of_them(tmp_path):
    """68 bytes are a batch: a client may have stored millions of them after one whose header lies."""
    oracle = Oracle(tmp_path, config=LogConfig(segment_bytes=1 << 30))
    one = build_batch([Record(0, NOW_MS, None, b"")])
    oracle.append(lying(one, NOW_MS + 9_000), [NOW_MS])
    for _ in range(3_000):
        oracle.append(one, [NOW_MS])
    for search, wanted in ((TimeSearch(NOW_MS + 5_000, *oracle.ends), None), (LatestSearch(*oracle.ends), (0, NOW_MS))):
        found, count = run(search, oracle, 50_000)
        assert found == wanted
        assert count >= 3_000 * HEADER_COST // 50_000
    oracle.log.close()


@pytest.mark.parametrize("codec", [0, 1, 4])
def test_a_batch_is_searched_in_slices_and_from_its_middle_on(oracle, codec):
    """It keeps its promise, so it is never refused, however many records it has."""
    times = [NOW_MS + index for index in range(9_000)]
    oracle.append(
        build_batch([Record(index, time, None, b"v" * 100) for index, time in enumerate(times)], codec=codec), times
    )
    for time in (NOW_MS, NOW_MS + 7_000, NOW_MS + 8_999):
        found, count = run(TimeSearch(time, *oracle.ends), oracle, 100_000)
        assert found == (time - NOW_MS, time)
        assert time == NOW_MS or count > 3
    assert run(LatestSearch(*oracle.ends), oracle, 100_000)[0] == (8_999, times[-1])


def test_one_liar_does_not_have_the_whole_log_opened_for_the_latest_record(oracle, monkeypatch):
    for index in range(300):
        oracle.append(build_batch([Record(0, NOW_MS + index, None, b"v" * 50)], codec=1), [NOW_MS + index])
    oracle.append(lying(build_batch([Record(0, NOW_MS, None, b"")]), NOW_MS + 10**6), [NOW_MS])
    oracle.append(build_batch([Record(0, NOW_MS + 300, None, b"v")]), [NOW_MS + 300])
    opened = []
    read, read_at = SegmentFile.read, SegmentFile.read_at
    monkeypatch.setattr(SegmentFile, "read", lambda *given: opened.append(1) or read(*given))
    monkeypatch.setattr(SegmentFile, "read_at", lambda *given: opened.append(1) or read_at(*given))
    assert run(LatestSearch(*oracle.ends), oracle, 1 << 40)[0] == oracle.latest()
    assert len(opened) < 30


def test_a_batch_that_can_not_be_opened_is_passed_and_noted(oracle):
    oracle.append(build_batch([Record(0, NOW_MS, None, b"v")]), [NOW_MS])
    garbage = lying(build_batch([Record(0, NOW_MS, None, b"v")]), NOW_MS + 9_000, compress(1, b"\xff" * 40), 1)
    oracle.log.append_as_leader([memoryview(garbage)], 3, NOW_MS)
    oracle.append(build_batch([Record(0, NOW_MS + 5_000, None, b"v")]), [])
    noted = []
    search = TimeSearch(NOW_MS + 4_000, *oracle.ends, lambda *given: noted.append(given))
    assert run(search, oracle, 1 << 40)[0] == (2, NOW_MS + 5_000)
    assert [(path.name, offset) for path, offset, _failure in noted] == [(f"{0:020d}.log", 1)]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_entries_of_the_old_formats_are_searched(oracle, magic, codec):
    records = [Record(index, NOW_MS + index, None, b"v") for index in range(9)]
    data = build_message_set(records, magic, codec)
    path = oracle.maker.directory / f"{0:020d}.log"
    path.write_bytes(data)
    ends = (0, len(data))
    oracle.reader.refresh(99)
    found, _count = run(TimeSearch(NOW_MS + 4, *ends), oracle, 100)
    assert found == (None if not magic else (4, NOW_MS + 4))
