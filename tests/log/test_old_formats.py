"""Logs that an older Kafka wrote: v0, v1 and v2 one behind the other, recovered, indexed, read and appended to."""

import os
import random
import struct

import pytest
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from headrace.log.config import LogConfig
from headrace.log.reading.reader import LogReader
from headrace.log.writing.follower_append import OffsetsOutOfOrder
from headrace.protocol.message_set import build_message_set, encode_message, iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import CorruptRecord, Record, build_batch
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=300)
CODECS = (0, 1, 2, 3)


def old_log():
    """Entries as brokers of 0.8 to 0.11 left them, and their records: plain and compressed, four offsets each."""
    entries, records, offset = [], [], 0
    for magic in (0, 1):
        for number in range(12):
            codec = CODECS[number % 4]
            times = [NOW_MS + offset + index if magic else -1 for index in range(4)]
            some = [Record(offset + index, times[index], b"k%d" % number, b"v" * 50) for index in range(4)]
            entries.append((offset, build_message_set(some, magic, codec)))
            records += some
            offset += 4
    for number in range(12):
        some = [Record(index, NOW_MS + offset + index, b"k", b"v" * 50) for index in range(4)]
        entries.append((offset, build_batch(some, base_offset=offset, codec=number % 5, leader_epoch=3)))
        records += [record._replace(offset=offset + record.offset) for record in some]
        offset += 4
    return entries, records


ENTRIES, RECORDS = old_log()


def write_segments(directory, entries=ENTRIES, per_segment=7):
    directory.mkdir(parents=True)
    for first in range(0, len(entries), per_segment):
        some = entries[first : first + per_segment]
        (directory / f"{some[0][0]:020d}.log").write_bytes(b"".join(data for _offset, data in some))


def records_from(reader, offset, log):
    """What a reader of v4 and later gets from an offset on, range by range."""
    found = []
    while offset < log.log_end_offset:
        range_ = reader.locate(offset, 1000, log.end_segment, log.end_position, True)
        data = os.pread(range_.fd, range_.length, range_.position)
        for position, size, _magic in iterate_entries(data):
            found += [one for one in iterate_entry_records(data[position : position + size]) if one.offset >= offset]
        offset = found[-1].offset + 1
    return found


def reader_of(log):
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    return reader


@pytest.mark.parametrize("per_segment", [1, 5, 100])
@pytest.mark.parametrize("is_clean", [False, True])
def test_every_record_of_an_old_log_is_served_from_any_offset(maker, per_segment, is_clean):
    write_segments(maker.directory, per_segment=per_segment)
    log = maker.open(CONFIG, clean=is_clean)
    assert log.log_end_offset == len(RECORDS)
    assert is_clean or log.epochs.latest == 3
    reader = reader_of(log)
    for offset in range(len(RECORDS)):
        assert records_from(reader, offset, log) == RECORDS[offset:]


def test_what_is_appended_is_of_v2_and_lies_behind_the_old_entries(maker):
    write_segments(maker.directory, ENTRIES[:20])
    log = maker.open(CONFIG)
    end = log.log_end_offset
    assert log.append_as_leader([batch(3)], 5, NOW_MS) == [(0, end, -1)]
    log.close()
    log = maker.open(CONFIG, clean=True)
    assert log.log_end_offset == end + 3
    found = records_from(reader_of(log), 0, log)
    assert found[:end] == RECORDS[:end]
    assert [record.offset for record in found[end:]] == [end, end + 1, end + 2]
    log.abandon()
    assert maker.open(CONFIG).log_end_offset == end + 3


def test_times_lead_to_records_of_v1_and_v2_and_never_to_v0(maker):
    write_segments(maker.directory)
    log = maker.open(CONFIG)
    reader = reader_of(log)
    end = (log.end_segment, log.end_position)
    for record in RECORDS:
        if record.timestamp_ms > 0:
            assert reader.first_offset_at(record.timestamp_ms, 0, *end)[:2] == (record.timestamp_ms, record.offset)
    assert reader.first_offset_at(0, 0, *end).offset == 48
    assert reader.max_timestamp(*end)[:2] == (RECORDS[-1].timestamp_ms, RECORDS[-1].offset)


def test_indexes_are_built_once(maker, caplog):
    write_segments(maker.directory, per_segment=4)
    maker.open(CONFIG, clean=True).close()
    assert "index rebuilt" in caplog.text
    caplog.clear()
    maker.open(CONFIG, clean=True).close()
    assert not caplog.text, "segments without times have no entries in their time index, and are sound all the same"


@pytest.mark.parametrize("magic", [0, 1])
def test_a_tail_torn_at_every_byte_of_the_last_message_is_cut(maker, magic):
    parts = [encode_message(offset, magic, NOW_MS, b"k", b"v" * 20) for offset in range(3)]
    maker.directory.mkdir()
    path = maker.directory / f"{0:020d}.log"
    for size in range(len(parts[2])):
        path.write_bytes(parts[0] + parts[1] + parts[2][:size])
        log = maker.open()
        assert (log.log_end_offset, log.end_position) == (2, len(parts[0] + parts[1]))
        log.abandon()


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\1" * 300, b"noise" * 1000], ids=["zeros", "ones", "noise"])
def test_a_garbage_tail_behind_old_messages_is_cut(maker, tail):
    parts = [data for _offset, data in ENTRIES[:10]]
    maker.directory.mkdir()
    (maker.directory / f"{0:020d}.log").write_bytes(b"".join(parts) + tail)
    for is_clean in (False, True):
        log = maker.open(clean=is_clean)
        assert (log.log_end_offset, log.end_position) == (40, len(b"".join(parts)))
        log.abandon()


def test_a_flipped_bit_ends_an_old_log_before_its_entry(maker):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    maker.directory.mkdir()
    path = maker.directory / f"{0:020d}.log"
    whole = b"".join(data for _offset, data in ENTRIES[:24])
    starts = [position for position, _size, _magic in iterate_entries(whole)]
    for _ in range(80):
        place = chance.randrange(len(whole))
        start = max(one for one in starts if one <= place)
        if place - start < 8:
            continue  # offsets are not under the checksum
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        log = maker.open()
        assert log.end_position == start, f"seed {seed} byte {place}"
        log.abandon()


def test_offsets_of_old_entries_have_to_grow(maker):
    parts = [encode_message(offset, 1, NOW_MS, b"k", b"v") for offset in (0, 1, 1)]
    maker.directory.mkdir()
    (maker.directory / f"{0:020d}.log").write_bytes(b"".join(parts))
    assert maker.open().log_end_offset == 2


@pytest.mark.parametrize("step", [26, 60, 200, 1_000, 100_000])
def test_a_follower_takes_a_leaders_old_entries_whole_whatever_is_cut(maker, step):
    data = b"".join(entry for _offset, entry in ENTRIES)
    log = maker.open(CONFIG)
    position, wanted = 0, step
    while position < len(data):
        taken = log.append_as_follower(memoryview(data)[position : position + wanted], NOW_MS)
        position += taken
        wanted = step if taken else 2 * wanted
    assert log.log_end_offset == len(RECORDS)
    assert records_from(reader_of(log), 0, log) == RECORDS
    log.close()
    log = maker.open(CONFIG)
    assert log.log_end_offset == len(RECORDS)
    assert records_from(reader_of(log), 0, log) == RECORDS
    assert len(reader_of(log).segment_bases()) > 1


def test_an_old_log_is_cut_at_the_entry_that_holds_an_offset(maker):
    write_segments(maker.directory)
    starts = [offset for offset, _entry in ENTRIES]
    log = maker.open(CONFIG)
    for offset in range(len(RECORDS) - 1, 0, -3):
        if not log.truncate_to(offset):
            assert offset == log.log_end_offset
            continue
        record = next(entry for entry in reversed(ENTRIES) if entry[0] <= offset)
        is_alone = record[1][16] < 2 and not record[1][17] & 7
        assert log.log_end_offset == (offset if is_alone else record[0])
        assert log.log_end_offset in starts or is_alone
        assert log._mark.bound(1 << 40) <= log.log_end_offset, "nothing behind the cut counts as synced"
        if log.log_end_offset:
            assert records_from(reader_of(log), 0, log) == RECORDS[: log.log_end_offset]
    log.abandon()
    assert maker.open(CONFIG).log_end_offset == log.log_end_offset


def test_a_follower_refuses_an_old_entry_that_is_damaged_or_comes_again(maker):
    good, next_one = encode_message(0, 1, NOW_MS, b"k", b"v"), encode_message(1, 0, -1, b"k", b"v")
    log = maker.open()
    with pytest.raises(CorruptRecord, match="no entry at byte 36"):
        log.append_as_follower(memoryview(good + next_one[:-1] + b"x"), NOW_MS)
    assert log.log_end_offset == 1
    with pytest.raises(OffsetsOutOfOrder):
        log.append_as_follower(memoryview(good), NOW_MS)
    assert log.append_as_follower(memoryview(next_one), NOW_MS) == len(next_one)
    assert log.log_end_offset == 2


def test_an_old_wrapper_of_kafka_python_s_is_found_by_each_of_its_offsets(maker):
    builder = LegacyRecordBatchBuilder(1, 1, batch_size=1 << 20)
    for offset in range(5):
        builder.append(offset, NOW_MS + offset, b"k", b"v")
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, 104)
    maker.directory.mkdir()
    (maker.directory / f"{100:020d}.log").write_bytes(data)
    log = maker.open()
    assert (log.log_start_offset, log.log_end_offset) == (100, 105)
    reader = reader_of(log)
    for offset in range(100, 105):
        assert [record.offset for record in records_from(reader, offset, log)] == list(range(offset, 105))
    assert log.position_of(103) == (100, 0)
