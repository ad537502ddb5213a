"""Spark over compacted segments: batches without records, offsets with holes, segments swapped between two reads."""

import itertools
from dataclasses import replace

import pyarrow as pa
import pytest

from headrace.arrow import local_range
from headrace.arrow import ranges as ranges_module
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.ranges import read_range
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from tests.support.compaction_fixtures import compaction_of, keyed, records_of, run, write_segments
from tests.support.log_fixtures import LogMaker

pytestmark = pytest.mark.slow

CONFIG = LogConfig(is_compacted=True)
COLUMNS = ("key", "offset")


@pytest.fixture
def compactable(tmp_path):
    """Ten segments of thirty records, five keys in each half, producers whose last batch stays empty."""
    maker = LogMaker(tmp_path)
    maker.directory, maker.disk = tmp_path / "clicks-0", Disk()
    segments = []
    for number in range(10):
        rows = [(b"%d" % (index % 5 + 5 * (number // 5)), b"v" * 20) for index in range(30)]
        segments.append([keyed(30 * number, *rows, producer_id=number, producer_epoch=0, base_sequence=0)])
    write_segments(maker.directory, *segments)
    (tmp_path / "meta.properties").write_text("cluster.id=here\nbroker.id=3\n")
    log = maker.open(CONFIG)
    log.roll_if_older(2**62)
    return log


def range_over(log):
    return OffsetRange("clicks", 0, 0, log.log_end_offset, "127.0.0.1:1", "here", ((3, "", str(log.directory.parent)),))


def offsets_of(batches):
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_what_is_left_is_read_from_the_files(compactable):
    run(compactable, compaction_of(compactable, CONFIG))
    left = [record.offset for record in records_of(compactable.directory)]
    assert len(left) == 10
    assert offsets_of(read_range(range_over(compactable), COLUMNS)) == left


def test_a_swap_while_reading_loses_nothing_and_repeats_nothing(compactable, monkeypatch):
    asked = []

    def remote(one, rows):
        asked.append(rows.next_offset)
        rows.next_offset = one.end
        return iter(())

    monkeypatch.setattr(ranges_module, "read_remote", remote)
    reading = read_range(range_over(compactable), COLUMNS, 10)
    found = offsets_of([next(reading)])
    run(compactable, compaction_of(compactable, CONFIG))
    for path in compactable.directory.glob("*.deleted"):
        path.unlink()
    found += offsets_of(reading)
    assert found == sorted(set(found))
    left = [record.offset for record in records_of(compactable.directory)]
    upto = asked[0] if asked else compactable.log_end_offset
    assert {offset for offset in left if offset < upto} <= set(found)


class Stepping(Disk):
    """A disk that calls back before every change of a name."""

    def __init__(self, before):
        super().__init__()
        self._before = before

    def rename(self, *args, **kwargs):
        self._before()
        return super().rename(*args, **kwargs)

    def link(self, *args, **kwargs):
        self._before()
        return super().link(*args, **kwargs)

    def unlink(self, *args, **kwargs):
        self._before()
        return super().unlink(*args, **kwargs)


def keys_read(batches):
    """Key -> the last offset that was read of it; offsets rise, none comes twice."""
    pairs = [
        pair for batch in batches for pair in zip(batch["key"].to_pylist(), batch["offset"].to_pylist(), strict=True)
    ]
    assert [offset for _key, offset in pairs] == sorted({offset for _key, offset in pairs})
    return dict(pairs)


@pytest.fixture
def leader(compactable, monkeypatch):
    """Stands for the leader: it has what the directory has when it is asked; returns the offsets that it was asked for."""
    asked = []

    def remote(one, rows):
        asked.append(rows.next_offset)
        left = [(record.key, record.offset) for record in records_of(compactable.directory)]
        left = sorted({pair for pair in left if rows.next_offset <= pair[1] < one.end}, key=lambda pair: pair[1])
        rows.next_offset = one.end
        columns = [
            pa.array([pair[index] for pair in left], kind) for index, kind in ((0, pa.binary()), (1, pa.int64()))
        ]
        yield from rows.finish()
        rows.finish = lambda: iter(())
        yield pa.RecordBatch.from_arrays(columns, COLUMNS)

    monkeypatch.setattr(ranges_module, "read_remote", remote)
    return asked


def swap_all(log, before):
    """The whole compaction, with `before` called ahead of every rename, link and unlink of the swap."""
    log.segments._disk = Stepping(before)
    run(log, compaction_of(log, CONFIG))


def test_every_key_has_its_latest_value_at_every_step_of_a_swap(compactable, leader):
    latest = {record.key: record.offset for record in records_of(compactable.directory)}
    one = range_over(compactable)
    seen = []
    swap_all(compactable, lambda: seen.append(keys_read(read_range(one, COLUMNS, 10))))
    assert len(seen) > 10
    assert all(found == latest for found in seen)
    assert keys_read(read_range(one, COLUMNS)) == latest


@pytest.mark.parametrize("batches", range(31))
def test_a_reader_that_a_whole_swap_overtakes_has_every_keys_latest_value(compactable, leader, batches):
    latest = {record.key: record.offset for record in records_of(compactable.directory)}
    reading = read_range(range_over(compactable), COLUMNS, 10)
    found = list(itertools.islice(reading, batches))
    swap_all(compactable, lambda: None)
    assert keys_read([*found, *reading]) == latest


@pytest.mark.parametrize("steps", range(0, 40, 3))
@pytest.mark.parametrize("batches", [0, 1, 5, 14])
def test_a_reader_that_goes_on_in_the_middle_of_a_swap_has_every_keys_latest_value(compactable, leader, batches, steps):
    latest = {record.key: record.offset for record in records_of(compactable.directory)}
    reading = read_range(range_over(compactable), COLUMNS, 10)
    found = list(itertools.islice(reading, batches))
    left = itertools.count(-steps)

    def go_on():
        if next(left) == 0:
            found.extend(reading)

    swap_all(compactable, go_on)
    found.extend(reading)
    assert keys_read(found) == latest


@pytest.mark.parametrize("is_still_swapping", [True, False])
def test_a_segment_that_the_listing_missed_in_a_swap_is_not_taken_for_a_gap(
    compactable, leader, monkeypatch, is_still_swapping
):
    """Kafka's own order: between the retirement of the old segments and the rename of the new one there is none under its name."""
    latest = {record.key: record.offset for record in records_of(compactable.directory)}
    path = compactable.directory / f"{120:020d}.log"
    swap = path.with_name(path.name + ".swap")
    path.rename(swap)
    real = local_range.bases_among
    listings = []

    def bases(names, suffix):
        listings.append(names)
        if not is_still_swapping and len(listings) == 1:
            swap.rename(path)  # it went in right after the first listing
        return real(names, suffix)

    monkeypatch.setattr(local_range, "bases_among", bases)
    found = keys_read(read_range(range_over(compactable), COLUMNS, 10))
    assert leader == [120]
    assert is_still_swapping or found == latest


def test_a_gap_that_compaction_left_between_segments_is_no_reason_to_ask_the_leader(compactable, leader):
    (compactable.directory / f"{120:020d}.log").unlink()
    keys_read(read_range(range_over(compactable), COLUMNS))
    assert leader == []


def test_a_value_that_was_replaced_after_the_frozen_end_may_be_gone_below_it_as_in_kafka(compactable, leader):
    """What compaction keeps is the latest value: a scan up to an offset, read while newer ones are written, is no snapshot of keys."""
    frozen = replace(range_over(compactable), end=90)
    assert keys_read(read_range(frozen, COLUMNS)) == {b"%d" % number: 85 + number for number in range(5)}
    run(compactable, compaction_of(compactable, CONFIG))
    assert keys_read(read_range(frozen, COLUMNS)) == {}
    whole = keys_read(read_range(range_over(compactable), COLUMNS))
    assert {key: offset for key, offset in whole.items() if int(key) < 5} == {b"%d" % n: 145 + n for n in range(5)}
