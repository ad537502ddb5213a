"""Segments that an older Kafka left: a range reads v0, v1 and v2 alike, from files and over the network."""

import numpy as np
import pytest

from headrace.arrow.errors import CorruptRange
from headrace.protocol import old_run
from headrace.protocol.message_set import build_message_set, encode_message
from headrace.protocol.old_run import read_run
from headrace.protocol.record_batch import CorruptRecord, Record, iterate_records
from tests.arrow.range_reading import NAME, compared, expected, range_of, rows_of

NOW_MS = 1_700_000_000_000


@pytest.fixture
def old_log(log):
    """Plain and compressed entries of v0 and v1, one roll in between, batches of v2 behind; the last entry is a tail of v0."""
    log.create(*NAME)

    def append(magic, codec, count):
        first = log.ends[NAME]
        records = [Record(first + n, NOW_MS + n, b"k" * n or None, b"v" * n) for n in range(count)]
        log.append_bytes(NAME, build_message_set(records, magic, codec, is_append_time=first % 2 == 1))
        log.ends[NAME] += count

    for magic in (0, 1):
        for codec in (0, 1, 2, 3, 0):
            append(magic, codec, 5)
        log.roll(NAME)
    log.append(NAME, [(b"k", b"v")] * 7, timestamp_ms=NOW_MS)
    append(1, 2, 3)
    log.append(NAME, [(b"k", b"v")] * 2, codec=3, timestamp_ms=NOW_MS)
    log.append_bytes(NAME, encode_message(log.ends[NAME], 0, -1, None, b""))
    log.ends[NAME] += 1
    return log


@pytest.mark.slow
def test_every_range_of_an_old_log_is_what_the_plain_reader_gives(old_log, broker, remote_broker):
    last = old_log.ends[NAME]
    assert last == 63
    for start in range(0, last, 3):
        for end in (start + 1, start + 8, last):
            if end <= last:
                wanted = expected(old_log, start, end)
                assert len(wanted) == end - start
                assert compared(rows_of(range_of(broker, start, end))) == wanted
                assert compared(rows_of(range_of(broker, start, end), rows_per_batch=4)) == wanted
                assert compared(rows_of(range_of(remote_broker, start, end))) == wanted


def test_runs_are_bounded_and_end_where_append_time_begins(old_log, monkeypatch):
    data = np.frombuffer(b"".join(encode_message(n, 1, NOW_MS, None, b"v" * 20) for n in range(10)), np.uint8)
    assert read_run(data, 0, len(data), 4).last_offset == 3
    monkeypatch.setattr(old_run, "OLD_RUN_BYTES_MAX", 100)
    run = read_run(data, 0, len(data), 99)
    assert (run.last_offset, run.end) == (1, 108)
    assert [record.offset for record in iterate_records(run.batch)] == [0, 1]


def test_damaged_old_entries_are_refused_by_file_and_position(log, broker):
    log.create(*NAME)
    log.append_bytes(
        NAME, encode_message(0, 1, NOW_MS, b"k", b"v") + encode_message(1, 1, NOW_MS, b"k", b"v")[:-1] + b"x"
    )
    log.ends[NAME] = 2
    with pytest.raises(CorruptRange, match=r"0\.log: the entry at byte 0: .*checksum mismatch"):
        rows_of(range_of(broker))
    with pytest.raises(CorruptRecord, match="no entry of a known format"):
        read_run(bytes(100), 0, 100, 5)
