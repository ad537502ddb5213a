"""The files of an attempt: an hour each, bounded, whole or not there."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crc32c import crc32c

from headrace.arrow.offset_range import OffsetRange
from headrace.limits import LOAD_OPEN_FILES_MAX
from headrace.load.data_file_writer import DataFileWriter
from headrace.load.data_files import Attempt, found_files
from headrace.load.hour_files import HOUR_US, HourFiles, hour_text

SCHEMA = pa.schema([("offset", pa.int64()), ("timestamp", pa.timestamp("us", tz="UTC")), ("value", pa.binary())])


def batch_of(hours, first=0, size=10):
    return pa.RecordBatch.from_arrays(
        [
            pa.array(range(first, first + len(hours)), pa.int64()),
            pa.array([hour * HOUR_US for hour in hours], pa.timestamp("us", tz="UTC")),
            pa.array([b"x" * size] * len(hours), pa.binary()),
        ],
        schema=SCHEMA,
    )


def files_of(tmp_path, end=1000):
    return HourFiles(tmp_path, OffsetRange("t", 0, 0, end, "", ""), "", Attempt("0123abcd", 1), "snappy")


def test_rows_of_mixed_hours_go_to_a_file_each_in_order(tmp_path):
    files = files_of(tmp_path)
    files.add(batch_of([1, 2, 1, 3]))
    files.add(batch_of([2, 2], first=4))
    files.add(batch_of([]))
    found = files.finish()
    assert [(one.hour, one.rows, one.first_offset, one.last_offset) for one in found] == [
        ("1970-01-01-01", 2, 0, 2),
        ("1970-01-01-02", 3, 1, 5),
        ("1970-01-01-03", 1, 3, 3),
    ]
    for one in found:
        data = (tmp_path / one.path).read_bytes()
        assert (len(data), crc32c(data)) == (one.bytes, one.checksum)
    assert pq.read_table(tmp_path / found[1].path, partitioning=None)["offset"].to_pylist() == [1, 4, 5]


def test_more_hours_than_files_may_be_open_make_further_files(tmp_path):
    files = files_of(tmp_path)
    hours = [*range(LOAD_OPEN_FILES_MAX + 5), 0, 1]
    for number, hour in enumerate(hours):
        files.add(batch_of([hour], first=number))
    found = files.finish()
    assert sorted(one.first_offset for one in found) == [*range(len(hours))]
    assert len({one.path for one in found}) == len(found) == len(hours)
    assert len([one for one in found if one.hour == "1970-01-01-00"]) == 2


def test_what_waits_is_written_when_it_is_large(tmp_path):
    files = files_of(tmp_path)
    for number in range(6):
        files.add(batch_of([5] * 4, first=4 * number, size=1 << 20))
    [one] = files.finish()
    assert pq.read_metadata(tmp_path / one.path).num_row_groups == 2


def test_an_attempt_that_is_discarded_leaves_nothing(tmp_path):
    files = files_of(tmp_path)
    for hour in range(LOAD_OPEN_FILES_MAX + 2):
        files.add(batch_of([hour], first=hour))
    assert found_files(tmp_path)
    files.discard()
    assert found_files(tmp_path) == []


def test_a_file_has_its_name_only_when_it_is_whole(tmp_path):
    writer = DataFileWriter(tmp_path / "a" / "x.parquet", SCHEMA, "none", 0)
    writer.add(batch_of([0, 0]))
    assert [path.name for path in (tmp_path / "a").iterdir()] == [".x.parquet.tmp"]
    writer.finish()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["x.parquet"]


@pytest.mark.parametrize(
    ("hour", "text"),
    [
        (0, "1970-01-01-00"),
        (-1, "1969-12-31-23"),
        (-17_259_888, "0001-01-01-00"),
        (-17_259_889, "0000-12-31-23"),
        (70_389_527, "9999-12-31-23"),
        (70_389_528, "10000-01-01-00"),
        (2_562_047_788, "294247-01-10-04"),
    ],
)
def test_every_time_has_an_hour(hour, text):
    assert hour_text(hour) == text
