"""Opening after a crash: whatever lies behind the last whole batch is cut, and nothing before it is lost."""

import os
import random
import re
from dataclasses import replace

import pytest

from headrace.log.batch_walk import walk
from headrace.log.config import LogConfig
from headrace.log.index_layout import AbortedTransaction
from headrace.log.names import LOG_SUFFIX, STRAY_SUFFIX, SUFFIXES, aside_name, path_of
from headrace.log.reading.aborted_transactions import read_aborted
from headrace.log.state.compacted_offset import raise_compacted
from headrace.log.state.producer_snapshot import BadSnapshot, read_snapshot
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=300)


def written(maker, count=30, config=CONFIG):
    """A log as a killed process leaves it: (end offset, segment, position)."""
    log = maker.open(config)
    for number in range(count):
        one = batch(producer_id=7, producer_epoch=0, base_sequence=number, timestamp_ms=NOW_MS + number)
        log.append_as_leader([one], 0, NOW_MS)
    log.abandon()
    return log.log_end_offset, log.end_segment, log.end_position


def active_file(maker):
    return max(maker.directory.glob("*.log"))


def state(log):
    return log.log_end_offset, log.end_segment, log.end_position


@pytest.mark.parametrize("how", [{}, {"trusted": True}, {"recovery_point": 10}], ids=["all", "trusted", "point"])
@pytest.mark.parametrize(
    "tail", [b"", b"\0" * 5000, b"noise" * 1000, bytes(batch())[:70]], ids=["none", "zeros", "noise", "torn"]
)
def test_a_garbage_tail_is_cut_at_the_last_batch(maker, tail, how):
    end = written(maker)
    with open(active_file(maker), "ab") as file:
        file.write(tail)
    if how.get("trusted"):
        how = {"trusted": end[1:]}
    assert state(maker.open(CONFIG, **how)) == end


@pytest.mark.parametrize("how", ["killed", "power", "clean"])
def test_an_index_entry_whose_marker_was_never_written_is_cut(maker, how):
    """Markers are indexed before they are written."""
    log = maker.open()
    one = batch(producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    log.append_as_leader([one], 0, NOW_MS)
    log.append_marker(7, 0, 0, True, 0, NOW_MS)
    end = state(log)
    index = log.segments.active.transaction_index
    index.append(AbortedTransaction(8, 2, 2, 3))
    assert len(read_aborted(index.path)) == 2
    log.close() if how == "clean" else log.abandon()
    again = maker.open(clean=how == "clean", trusted=end[1:] if how == "killed" else None)
    assert state(again) == end
    assert [one.producer_id for one in read_aborted(index.path)] == [7]
    again.append_marker(8, 0, 0, True, 0, NOW_MS)
    assert [one.producer_id for one in read_aborted(index.path)] == [7], "nothing of it was written"


def test_a_tail_torn_at_every_byte_of_the_last_batch_is_cut(maker):
    written(maker, 5, LogConfig())
    path = active_file(maker)
    whole = path.read_bytes()
    one = len(whole) // 5
    for size in range(4 * one, 5 * one):
        path.write_bytes(whole[:size])
        log = maker.open()
        assert state(log) == (4, 0, 4 * one), size
        log.abandon()


def test_a_flipped_bit_ends_the_log_before_its_batch(maker):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    written(maker, 10, LogConfig())
    path = active_file(maker)
    whole = path.read_bytes()
    one = len(whole) // 10
    for _ in range(50):
        place = chance.randrange(16, len(whole))
        if place % one < 16:
            continue  # base offset, length and leader epoch are not under the checksum
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        log = maker.open()
        assert log.log_end_offset == place // one, f"seed {seed} byte {place}"
        log.abandon()


def aside(maker):
    """Names and sizes of the segments that were put aside."""
    places = list(maker.directory.parent.glob("*-stray"))
    assert all(re.fullmatch(maker.directory.name + r"\.[0-9a-f]{32}-stray", place.name) for place in places)
    return {path.name: path.stat().st_size for place in places for path in place.glob("*.log")}


def sizes(maker):
    return {path.name: path.stat().st_size for path in sorted(maker.directory.glob("*.log"))}


def test_segments_behind_a_broken_one_are_put_aside(maker, caplog):
    written(maker)
    before = sizes(maker)
    first = min(maker.directory.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    first.write_bytes(data)
    log = maker.open(CONFIG)
    assert log.end_segment == 0
    assert len(list(maker.directory.glob("*.log"))) == 1
    del before[first.name]
    assert aside(maker) == before
    assert "ERROR" in caplog.text


def test_a_log_start_above_the_end_costs_no_record(maker, caplog):
    """A checkpoint is a text file: it may be an older topic's, or somebody's mistake."""
    written(maker)
    before = sizes(maker)
    log = maker.open(CONFIG, log_start_offset=10_000)
    assert (log.log_start_offset, log.log_end_offset, log.segment_bases) == (10_000, 10_000, [10_000])
    assert aside(maker) == before
    assert "ERROR" in caplog.text


COMPACTED = replace(CONFIG, is_compacted=True)


def holed(maker, config, how):
    """A log whose segment 1 ends with its fourth batch, is damaged, or is not there: (first missing offset, base of the next segment)."""
    written(maker, 100, config)
    bases = sorted(int(path.stem) for path in maker.directory.glob("*.log"))
    assert len(bases) > 3
    path = path_of(maker.directory, bases[1], LOG_SUFFIX)
    if how == "not there":
        for suffix in SUFFIXES:
            path_of(maker.directory, bases[1], suffix).unlink(missing_ok=True)
        return bases[1], bases[2]
    if how == "damaged":
        path.write_bytes(b"noise" * 100)
        return bases[1], bases[2]
    with open(path, "rb") as file:
        fourth = list(walk(file.fileno(), 0, os.path.getsize(path), bases[1], False, maker.disk))[3]
    os.truncate(path, fourth.position + fourth.size)  # what was written back when the file ended there
    return fourth.last_offset + 1, bases[2]


@pytest.mark.parametrize("how", ["ends early", "not there"])
@pytest.mark.parametrize(
    ("made", "opened", "compacted", "is_lost"),
    [
        (CONFIG, CONFIG, None, True),
        (CONFIG, COMPACTED, None, False),  # an older version may have compacted it
        (COMPACTED, COMPACTED, None, True),
        (COMPACTED, CONFIG, None, True),
        (COMPACTED, COMPACTED, -1, True),
        (COMPACTED, COMPACTED, 0, False),
        (COMPACTED, CONFIG, 0, False),  # the policy was changed since
        (CONFIG, CONFIG, 5, False),
    ],
)
def test_a_hole_between_segments_is_a_loss_unless_compaction_can_have_made_it(
    maker, caplog, how, made, opened, compacted, is_lost
):
    first_missing, following = holed(maker, made, how)
    if compacted is not None:
        raise_compacted(maker.directory, following + compacted, 0, maker.disk)
    log = maker.open(opened)
    assert log.was_cut == is_lost
    if is_lost:
        assert log.log_end_offset == first_missing
        assert int(min(aside(maker)).split(".")[0]) == following
        assert f"first_missing_offset={first_missing} last_missing_offset={following - 1}" in caplog.text
    else:
        assert log.log_end_offset == 100
        assert aside(maker) == {}
        assert "missing" not in caplog.text


def test_a_hole_between_segments_is_no_reason_to_give_up_what_follows(maker):
    """Where compaction left it, and the policy was changed since."""
    _first, following = holed(maker, COMPACTED, "not there")
    raise_compacted(maker.directory, following, 0, maker.disk)
    log = maker.open(CONFIG)
    assert (log.log_end_offset, aside(maker)) == (100, {})


@pytest.mark.parametrize("how", ["ends early", "not there", "damaged"])
@pytest.mark.parametrize("is_sole", [False, True])
def test_what_lies_below_the_log_start_says_nothing_of_what_follows(maker, caplog, how, is_sole):
    """DeleteRecords dropped the first segments, and the machine lost one rename and not the other."""
    _first_missing, following = holed(maker, CONFIG, how)
    log = maker.open(CONFIG, log_start_offset=following, is_sole=is_sole)
    assert (log.log_start_offset, log.log_end_offset, log.was_cut) == (following, 100, False)
    assert aside(maker) == {}
    assert "ERROR" not in caplog.text
    log.delete_segments(sum(base < following for base in log.segment_bases))
    assert log.segment_bases[0] == following


def test_a_log_that_has_no_other_replica_keeps_what_follows_a_hole_and_says_what_is_missing(maker, caplog):
    first_missing, following = holed(maker, CONFIG, "ends early")
    log = maker.open(CONFIG, is_sole=True)
    assert (log.log_end_offset, log.was_cut, aside(maker)) == (100, False, {})
    assert (
        f"acknowledged records may be lost, there is no other replica directory={maker.directory}"
        f" first_missing_offset={first_missing} last_missing_offset={following - 1}" in caplog.text
    )


def test_a_followers_segment_begins_where_its_log_ends_whatever_the_leader_compacted(maker):
    log = maker.open(COMPACTED)
    for number in range(60):
        one = batch()
        one[0:8] = (number * 10).to_bytes(8, "big")
        log.append_as_follower(one, NOW_MS)
    assert len(log.segment_bases) > 1
    assert all(base % 10 == 1 for base in log.segment_bases[1:])
    log.abandon()
    again = maker.open(COMPACTED)
    assert (again.log_end_offset, again.was_cut) == (591, False)


def test_a_long_name_put_aside_is_one_that_file_systems_take():
    assert len(aside_name("t" * 249 + "-12", STRAY_SUFFIX)) == 255
    assert re.fullmatch(r"t+-12\.[0-9a-f]{32}-stray", aside_name("t" * 249 + "-12", STRAY_SUFFIX))


def test_below_the_recovery_point_nothing_is_read_again(maker):
    end = written(maker)
    first = min(maker.directory.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    first.write_bytes(data)
    assert state(maker.open(CONFIG, recovery_point=end[1])) == end


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 64, b"\x01" * 7], ids=["missing", "empty", "bogus", "odd"])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_missing_or_bogus_index_is_rebuilt(maker, suffix, content):
    end = written(maker)
    path = active_file(maker).with_suffix(suffix)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    log = maker.open(CONFIG)
    assert state(log) == end
    for offset in range(end[1], end[0]):
        segment, position = log.position_of(offset)
        data = (maker.directory / f"{segment:020d}.log").read_bytes()
        assert int.from_bytes(data[position : position + 8], "big") == offset


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_corrupt_snapshot_is_removed_and_the_state_rebuilt(maker, damage):
    end = written(maker)
    for path in maker.directory.glob("*.snapshot"):
        data = path.read_bytes()
        path.write_bytes({"cut": data[:-3], "flip": data[:-1] + bytes([data[-1] ^ 1]), "empty": b""}[damage])
        with pytest.raises(BadSnapshot):
            read_snapshot(path)
    log = maker.open(CONFIG)
    known = log.producers.producers[7]
    assert known.batches[-1].last_sequence == end[0] - 1


def test_a_clean_stop_leaves_nothing_to_recover(maker):
    end = written(maker)
    log = maker.open(CONFIG)
    log.close()
    again = maker.open(CONFIG, clean=True)
    assert state(again) == end
    assert again.recovery_point == end[0]
    assert all(os.path.getsize(path) % 8 == 0 for path in maker.directory.glob("*.index"))


def test_reopening_again_and_again_changes_nothing(maker):
    end = written(maker)
    for clean in (False, True, False, True):
        log = maker.open(CONFIG, clean=clean)
        assert state(log) == end
        log.close()


@pytest.mark.parametrize("sizes", [(1500,), (250, 1500)], ids=["one", "two"])
def test_a_rolled_segment_whose_batches_begin_within_the_interval_needs_no_index_entry(maker, caplog, sizes):
    config = LogConfig(segment_bytes=1700, index_interval_bytes=300)
    log = maker.open(config)
    for size in (*sizes, *sizes, 100):
        log.append_as_leader([batch(size=size - 61)], 0, NOW_MS)
    log.close()
    first, *_ = sorted(maker.directory.glob("*.index"))
    assert first.stat().st_size == 0, "what this test is about"
    maker.open(config, clean=True).close()
    assert "index rebuilt" not in caplog.text


def test_a_rolled_segment_that_lacks_an_index_entry_gets_it(maker, caplog):
    config = LogConfig(segment_bytes=1700, index_interval_bytes=300)
    log = maker.open(config)
    for _ in range(20):
        log.append_as_leader([batch(size=139)], 0, NOW_MS)
    log.close()
    first, *_ = sorted(maker.directory.glob("*.index"))
    entries = first.read_bytes()
    assert entries
    first.write_bytes(b"")
    maker.open(config, clean=True).close()
    assert "index rebuilt" in caplog.text
    assert first.read_bytes() == entries


@pytest.mark.parametrize("is_clean", [True, False], ids=["closed", "killed"])
def test_an_active_segment_that_lost_its_index_gets_it_back(maker, is_clean):
    """Each look-up would walk its headers from the first byte on."""
    log = maker.open(LogConfig())
    for number in range(200):
        log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
    entries, end = log.segments.active.offset_index.entries, (log.end_segment, log.end_position)
    assert entries
    log.close() if is_clean else log.abandon()
    for path in maker.directory.glob("*index"):
        path.unlink()
    again = maker.open(LogConfig(), clean=True) if is_clean else maker.open(LogConfig(), trusted=end)
    assert again.segments.active.offset_index.entries == entries
    assert again.log_end_offset == 200
