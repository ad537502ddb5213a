"""On Spark: tasks by its executors, and one table past and present."""

import pytest
from deltalake import DeltaTable

from headrace.ids import TopicPartition
from headrace.load.audit_report import audit
from headrace.load.delta_target import DeltaTarget
from headrace.load.errors import TopicReplaced
from headrace.load.loader import load
from headrace.protocol.record_batch import Record
from headrace.spark import table
from headrace.spark.decoding import csv, json
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import fill, load_inline, offsets_in
from tests.load.maintained_table import BETWEEN, cells, run_cell
from tests.load.table_writers import Delta, Iceberg
from tests.spark.conftest import spark

__all__ = ["icebergs_threads_end", "spark"]

FLOAT_FILTERS = {
    "`x.y` > 5": [2],
    "not (`x.y` < 5)": [2],
    "`x.y` = double('nan')": [2],
    "`x.y` >= 2.5": [2, 3],
    "`x.y` = 0": [5, 6],
    "`user.id` = 3": [3],
}


def test_executors_write_what_the_driver_commits(spark, log, broker, tmp_path):
    fill(log, count=40)
    fill(log, partition=1, count=3)
    path = tmp_path / "out"
    done = load("clicks", path, bootstrap_servers=broker.address, records_per_task=15, spark=spark, group="")
    assert (done.commits, done.records) == (1, 43)
    assert offsets_in(path) == {("clicks", 0): [*range(40)], ("clicks", 1): [0, 1, 2]}
    assert (audit(path).faults, audit(path).orphans) == ([], [])


def test_a_frame_has_history_and_log_each_record_once(spark, log, broker, tmp_path):
    path = tmp_path / "out"
    fill(log, count=10)
    assert table(spark, "clicks", history=path, bootstrap_servers=broker.address).count() == 10
    load_inline(broker, path)
    fill(log, count=5)
    frame = table(spark, "clicks", history=path, bootstrap_servers=broker.address)
    load_inline(broker, path)
    assert sorted(row.offset for row in frame.collect()) == [*range(15)]
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert frame.where("offset >= 8").groupBy("topic").count().first()["count"] == 7


def test_a_frame_has_what_other_programs_left_of_the_table(spark, log, broker, tmp_path):
    """A file that deltalake rewrote has no column of the partition."""
    path = tmp_path / "table"
    for _ in range(2):
        fill(log, count=10)
        fill(log, "views", count=3)
        load_inline(broker, DeltaTarget(path), "clicks|views")
    DeltaTable(str(path)).delete('"offset" = 2')
    fill(log, count=5)
    for columns in (None, ["offset", "value"]):
        frame = table(spark, "clicks", history=f"delta:{path}", bootstrap_servers=broker.address, columns=columns)
        assert sorted(row.offset for row in frame.collect()) == sorted({*range(25)} - {2})
    frame = table(spark, "clicks", history=f"delta:{path}", bootstrap_servers=broker.address)
    assert {row.topic for row in frame.select("topic").distinct().collect()} == {"clicks"}


def test_a_topic_made_again_is_an_error(spark, log, broker, tmp_path):
    name = fill(log, count=10)
    broker.topic_ids = {"clicks": "ab" * 16}
    load_inline(broker, tmp_path / "out")
    log.cut(name, 0)
    fill(log, count=15, value=b"new %d")
    broker.topic_ids = {"clicks": "cd" * 16}
    with pytest.raises(TopicReplaced, match="deleted and created again"):
        table(spark, "clicks", history=tmp_path / "out", bootstrap_servers=broker.address)


@pytest.mark.parametrize(("bad_times", "wanted"), [("dead", [0, 1]), ("null", [0, 1, 2]), ("nearest", [0, 1, 2])])
def test_a_time_that_no_column_holds_stops_no_query(spark, log, broker, tmp_path, bad_times, wanted):
    """A producer that writes nanoseconds; the load that makes a dead letter of it is yet to come."""
    name = fill(log, count=2)
    given = {"history": tmp_path / "out", "bootstrap_servers": broker.address, "bad_times": bad_times}
    log.append(name, [Record(0, 2**62, b"k", b"v")])
    assert sorted(row.offset for row in table(spark, "clicks", **given).select("offset").collect()) == wanted
    load_inline(broker, tmp_path / "out", bad_times=bad_times)
    log.append(name, [Record(0, 2**62, b"k", b"v")])
    found = table(spark, "clicks", **given).where("partition = 0").selectExpr("offset", "timestamp is null").collect()
    assert sorted(row.offset for row in found) == (wanted if bad_times == "dead" else [*wanted, 3])
    assert {row.offset for row in found if row[1]} == ({2, 3} if bad_times == "null" else set())


def test_decoded_columns_and_dead_letters(spark, log, broker, tmp_path):
    path = tmp_path / "out"
    fill(log, count=3, value=b'{"ms": %d}')
    load_inline(broker, path, decode=json("ms long"))
    fill(log, count=3, value=b'{"ms": %d}')
    fill(log, count=1, value=b"bad %d")
    given = {"history": path, "bootstrap_servers": broker.address, "decode": json("ms int"), "decode_mode": "dead"}
    frame = table(spark, "clicks", columns="ms,offset", **given)
    assert sorted(tuple(row) for row in frame.collect()) == [(number, number) for number in range(6)]
    assert dict(frame.dtypes)["ms"] == "bigint"
    with pytest.raises(ValueError, match="the log does not give them"):
        table(spark, "clicks", history=path, bootstrap_servers=broker.address)


def test_the_same_rows_match_in_the_log_and_in_the_history(spark, log, broker, tmp_path):
    """Floats that readers of Parquet pass over by statistics and dictionaries; names with dots."""
    path, columns = tmp_path / "out", csv("`user.id` int, `x.y` double")
    values = [b"1,1.5", b"2,nan", b"3,2.5", b"4,", b"5,-0.0", b"6,-0.0"]
    given = {"history": path, "bootstrap_servers": broker.address, "decode": columns}
    found = {}
    log.append(TopicPartition("clicks", 0), [(None, b"0,0.5")])
    load_inline(broker, path, decode=columns)
    log.append(TopicPartition("clicks", 0), [(None, value) for value in values])
    for moment in ("log", "history"):
        frame = table(spark, "clicks", **given)
        assert frame.columns[-2:] == ["user.id", "x.y"]
        for where in FLOAT_FILTERS:
            kept = frame.where(where).select("`user.id`").collect()
            found.setdefault(where, {})[moment] = sorted(row[0] for row in kept)
        load_inline(broker, path, decode=columns)
    for where, wanted in FLOAT_FILTERS.items():
        assert found[where] == {"log": wanted, "history": wanted}, where


@pytest.mark.parametrize(
    ("table", "operation", "moment"),
    [
        one
        for one in cells((Delta, Iceberg), moments=(BETWEEN,))
        if one.values[1].name in ("update", "add_column", "rename_there_and_back", "widen")
    ],
)
def test_spark_shows_a_table_that_others_maintain_as_it_is(spark, log, broker, tmp_path, table, operation, moment):
    run_cell(log, broker, table(tmp_path), operation, moment, spark)
