"""Parquet written by the tasks: what Spark reads back is what the log holds."""

import os

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headrace.ids import TopicPartition
from headrace.spark import write_parquet


@pytest.fixture
def clicks(log):
    for partition in range(2):
        log.append(TopicPartition("clicks", partition), [(b"k", b"v%d" % index) for index in range(100)])
    return log


def test_files_named_for_their_ranges_hold_all_records(spark, clicks, broker, tmp_path):
    target = tmp_path / "out"
    rows = write_parquet(spark, "clicks", str(target), bootstrap_servers=broker.address, min_partitions=4)
    assert sorted((row.partition, row.start, row.end, row.rows) for row in rows) == [
        (0, 0, 50, 50),
        (0, 50, 100, 50),
        (1, 0, 50, 50),
        (1, 50, 100, 50),
    ]
    assert sorted(path.name for path in target.iterdir()) == sorted(row.path.rpartition("/")[2] for row in rows)
    assert all(row.bytes == os.path.getsize(row.path) for row in rows)
    frame = spark.read.parquet(str(target))
    assert frame.count() == 200
    assert {(row.partition, row.offset, bytes(row.value)) for row in frame.collect()} == {
        (partition, offset, b"v%d" % offset) for partition in range(2) for offset in range(100)
    }


def test_columns_and_where(spark, clicks, broker, tmp_path):
    rows = write_parquet(
        spark,
        "clicks",
        str(tmp_path),
        bootstrap_servers=broker.address,
        columns=["value", "offset"],
        where=pc.field("offset") < 10,
    )
    assert sum(row.rows for row in rows) == 20
    assert pq.read_table(rows[0].path).column_names == ["value", "offset"]


def test_a_task_that_fails_leaves_no_file(spark, clicks, broker, tmp_path):
    def fails(batch):
        raise RuntimeError("no")

    with pytest.raises(Exception, match="no"):
        write_parquet(spark, "clicks", str(tmp_path), bootstrap_servers=broker.address, where=fails)
    assert not list(tmp_path.glob("*.parquet*")) + list(tmp_path.glob(".*.tmp"))
