"""Spark over compacted segments: batches without records, offsets with holes, segments swapped between two reads."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "log"))

from compaction_fixtures import compaction_of, keyed, records_of, run, write_segments
from log_fixtures import LogMaker

from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.spark import ranges as ranges_module
from headrace.spark.ranges import OffsetRange, read_range

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
