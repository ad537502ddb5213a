"""Queries over a table: of one moment, and no more is read of history and log than they need."""

import datetime
import pickle

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

import headrace
from headrace.arrow.errors import DataLoss
from headrace.load import table_scan
from headrace.load.compaction import compact
from headrace.load.delta_target import DeltaTarget
from headrace.load.parquet_target import ParquetTarget
from headrace.load.polars_scan import lazy_frame
from headrace.load.pruning import pruning_of
from headrace.load.scanned_table import ScannedTable
from headrace.load.table_scan import rows_of
from headrace.protocol.record_batch import Record
from headrace.spark.decoding import csv, json
from tests.load import loading
from tests.load.loading import HOUR_MS, fill, load_inline

T0 = loading.T0 - loading.T0 % HOUR_MS
OFFSET, PARTITION, TIME = (pc.field(name) for name in ("offset", "partition", "timestamp"))
US = pa.timestamp("us", "UTC")


@pytest.fixture
def served_by(broker):
    return broker


@pytest.fixture
def clicks(log, served_by, tmp_path):
    """Thirty records of each of two partitions in three loads, and five more in the log; ten to an hour."""
    for _ in range(3):
        for partition in (0, 1):
            fill(log, partition=partition, count=10, step_ms=HOUR_MS // 10)
        load_inline(served_by, tmp_path / "out")
    for partition in (0, 1):
        fill(log, partition=partition, count=5, step_ms=HOUR_MS // 10)
    return headrace.table("clicks", history=tmp_path / "out", bootstrap_servers=served_by.address)


@pytest.fixture(autouse=True)
def at_full_hours(monkeypatch):
    monkeypatch.setattr(loading, "T0", T0)


@pytest.fixture
def read(monkeypatch):
    """What was opened: files of the history, and ranges of the log with their columns."""
    files, ranges = [], []

    def listed(target, snapshot, schema, topic=None):
        files.extend(sorted((one.partition, one.first_offset) for one in snapshot.files.values()))
        return rows_of(target, snapshot, schema, topic)

    real = table_scan.Contents.batches

    def batches(contents, one, *given):
        ranges.append((one.partition, one.start, one.end, contents.names))
        return real(contents, one, *given)

    monkeypatch.setattr(table_scan, "rows_of", listed)
    monkeypatch.setattr(table_scan.Contents, "batches", batches)
    return files, ranges


def counted(clicks, where=""):
    return duckdb.sql(f"select count(*) from clicks {where}").fetchall()[0][0]


def test_duckdb_pushes_filter_and_projection_down_over_history_and_log(clicks, read):
    files, ranges = read
    assert duckdb.sql('select "offset" from clicks where "offset" > 31 and partition = 1').fetchall() == [
        (32,),
        (33,),
        (34,),
    ]
    assert files == []
    assert [one[:3] for one in ranges] == [(1, 32, 35)]
    assert {"key", "value", "headers"}.isdisjoint(ranges[0][3])


def test_a_count_opens_no_file_whose_rows_all_match(clicks, read):
    files, ranges = read
    assert counted(clicks) == 70
    assert counted(clicks, 'where "offset" >= 20') == 30
    assert files == []
    ranges.clear()
    assert counted(clicks, 'where "offset" > 12') == 44
    assert {first // 10 for _partition, first in files} == {1}, "of the others all rows match, or none"
    assert [one[:3] for one in ranges] == [(0, 30, 35), (1, 30, 35)]
    assert clicks.count_rows() == clicks.count_rows(filter=OFFSET >= 0) == 70
    assert clicks.scanner(columns=[]).to_table().num_rows == 70


def test_times_leave_out_hours_and_the_beginning_of_the_log(clicks, read):
    files, ranges = read
    start = pa.scalar((T0 + int(2.9 * HOUR_MS)) * 1000, US)
    found = clicks.to_table(columns=["offset"], filter=start <= TIME)["offset"].to_pylist()
    assert sorted(found) == sorted([29, *range(30, 35)] * 2)
    assert {first // 10 for _partition, first in files} == {2}
    files.clear()
    ranges.clear()
    start = pa.scalar((T0 + int(3.2 * HOUR_MS)) * 1000, US)
    assert clicks.count_rows(filter=start <= TIME) == 6
    assert files == []
    assert [one[:3] for one in ranges] == [(0, 32, 35), (1, 32, 35)]


def test_polars_pushes_down_and_counts_rows_before_it_filters(clicks, read):
    files, ranges = read
    offset = polars.col("offset")
    rows = clicks.lazy().filter((offset > 31) & (polars.col("partition").is_in([1, 7]))).select("offset", "value")
    assert rows.collect().rows() == [(number, b"%d" % number) for number in (32, 33, 34)]
    assert files == []
    assert [one[:3] for one in ranges] == [(1, 32, 35)]
    assert clicks.lazy().head(4).filter(offset > 1).collect()["offset"].to_list() == [2, 3]
    assert clicks.lazy().filter(offset > 1).head(2).collect()["offset"].to_list() == [2, 3]
    assert clicks.lazy().select(polars.len()).collect().item() == lazy_frame(clicks).collect().height == 70
    top = clicks.lazy().filter(offset < 34).sort("offset", descending=True).head(2).collect()
    assert top["offset"].to_list() == [33, 33]
    text = clicks.lazy().filter(polars.col("value").cast(polars.String).str.starts_with("3")).collect()
    assert text.height == 2 * 6


def test_a_snapshot_is_one_moment_for_all_queries(clicks, log, broker, tmp_path):
    with clicks.snapshot() as moment:
        assert (moment.commit, moment.offsets) == (3, {0: 35, 1: 35})
        for _ in range(3):
            fill(log, count=10)
            load_inline(broker, tmp_path / "out")
            compact(tmp_path / "out")
            assert counted(moment) == moment.lazy().select(polars.len()).collect().item() == 70
            assert polars.DataFrame(moment).height == sum(batch.num_rows for batch in moment) == 70
            assert moment.read_all().num_rows == pa.RecordBatchReader.from_stream(moment).read_all().num_rows == 70
        assert duckdb.sql('select count(*) from moment a join moment b using (partition, "offset")').fetchall() == [
            (70,)
        ]
        assert counted(moment.filter(OFFSET < 7)) == 14
        assert counted(clicks) == 100
    with pytest.raises(ValueError, match="the snapshot of clicks is closed"):
        moment.read_all()


class TestOverTheNetwork:
    """Of a log whose files are not here."""

    @pytest.fixture
    def served_by(self, remote_broker):
        return remote_broker

    def test_what_retention_removed_from_a_snapshot_is_missed_not_passed_over(self, log, clicks):
        name, _other = sorted(log.ends)
        with clicks.snapshot() as moment:
            log.starts[name] = 33
            for where in (None, OFFSET == 31, pa.scalar((T0 + int(3.1 * HOUR_MS)) * 1000, US) <= TIME):
                with pytest.raises(DataLoss, match=r"clicks-0: offsets 3\d to 3\d were in the log at this moment"):
                    moment.to_table(filter=where)
            assert moment.to_table(filter=OFFSET > 32).num_rows == 4
            assert moment.to_table(filter=PARTITION == 1).num_rows == 35


def test_files_that_are_gone_are_named_by_a_snapshot_and_read_anew_by_a_table(log, broker, tmp_path):
    path = tmp_path / "out"
    for _ in range(2):
        fill(log, count=5)
        load_inline(broker, path)
    clicks = headrace.table("clicks", history=path, bootstrap_servers=broker.address)
    moment = clicks.snapshot()
    target = ParquetTarget(path)
    before = set(target.read().files)
    scan = clicks.scanner()
    compact(path)
    for one in before:
        (path / one).unlink()
    assert scan.to_table().num_rows == 10, "of a newer commit"
    with pytest.raises(FileNotFoundError, match="a file of commit 2 is gone"):
        moment.to_table()


def test_rows_that_other_programs_wrote_are_filtered_too(log, broker, tmp_path):
    target = DeltaTarget(tmp_path / "table")
    for partition in (0, 1):
        fill(log, partition=partition, count=10)
        fill(log, topic="views", partition=partition, count=3)
    load_inline(broker, target, topics="clicks|views")
    fill(log, count=2)
    DeltaTable(str(tmp_path / "table")).delete("\"offset\" = 7 and topic = 'clicks'")
    clicks = headrace.table("clicks", history=target, bootstrap_servers=broker.address)
    assert counted(clicks) == 20
    assert counted(clicks, "where topic = 'clicks' and \"offset\" > 6") == 6
    assert duckdb.sql("select distinct topic from clicks").fetchall() == [("clicks",)]
    frame = clicks.lazy().filter(polars.col("offset") > 6).select("topic", "offset").collect()
    assert sorted(frame.rows()) == sorted([("clicks", number) for number in (8, 9, 8, 9, 10, 11)])


def test_nan_is_no_row_that_statistics_leave_out(log, broker, tmp_path):
    values = iter([b"5.0,1", b"5.0,1", b"NaN,1", b",1"])
    log.append(fill(log, count=0), [Record(i, T0, b"k", value) for i, value in enumerate(values)])
    load_inline(broker, tmp_path / "out", decode=csv("x double, y int"))
    found = headrace.table(
        "clicks",
        history=tmp_path / "out",
        bootstrap_servers=broker.address,
        decode=csv("x double, y int"),
        columns="offset,x",
    )
    x = pc.field("x")
    everything = found.read_all()
    for where in (x != 5, ~(x <= 5), (x == 5), x.is_nan(), x.is_null(), ~(x > 4) & (OFFSET > 0)):
        expected = everything.filter(where)["offset"].to_pylist()
        assert found.to_table(filter=where)["offset"].to_pylist() == expected
        assert found.count_rows(filter=where) == len(expected)
    for where in ("x > 4", "x <> 5", "x = 'nan'", "x < 6", "x is null"):
        expected = duckdb.sql(f'select "offset" from everything where {where}').fetchall()
        assert duckdb.sql(f'select "offset" from found where {where}').fetchall() == expected


def test_times_that_the_policy_changed_are_not_looked_up_in_the_log(log, broker, tmp_path):
    fill(log, count=2)
    for policy in ("null", "nearest"):
        path = tmp_path / policy
        load_inline(broker, path, bad_times=policy)
    late = 2**63 - 2
    log.append(fill(log, count=1), [Record(0, late, b"k", b"late")])
    for policy, expected in (("null", [3]), ("nearest", [])):
        found = headrace.table("clicks", history=tmp_path / policy, bootstrap_servers=broker.address, bad_times=policy)
        assert found.to_table(filter=TIME.is_null())["offset"].to_pylist() == expected
        last = pa.scalar(2**63 - 2**20, US)
        assert found.to_table(filter=last <= TIME)["offset"].to_pylist() == ([] if expected else [3])


def test_an_undecodable_record_outside_of_the_columns_is_none_of_the_query(log, broker, tmp_path):
    fill(log, count=2, value=b'{"ms": %d}')
    load_inline(broker, tmp_path / "out", decode=json("ms long"))
    fill(log, count=1, value=b"bad %d")
    found = headrace.table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address, decode=json("ms long"))
    assert counted(found) == 3
    assert duckdb.sql('select ms from found where "offset" < 2').fetchall() == [(0,), (1,)]
    with pytest.raises(duckdb.Error, match="clicks-0"):
        duckdb.sql("select max(ms) from found").fetchall()


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (pc.field("nope") > 1, "No match for FieldRef.Name"),
        (OFFSET + 1, "must evaluate to bool, .* it sees topic string"),
        (pc.field("key") > 5, "no kernel"),
    ],
)
def test_a_filter_that_can_not_be_computed_is_refused_at_once(clicks, where, why):
    for use in (clicks.filter, lambda where: clicks.to_table(filter=where)):
        with pytest.raises(ValueError, match=why):
            use(where)


def test_columns_by_number_are_filtered_after_the_read(clicks):
    assert clicks.schema.names[2] == "offset"
    assert clicks.to_table(columns=["value"], filter=pc.field(2) > 33)["value"].to_pylist() == [b"34"] * 2


def test_the_rest_of_a_data_set_reads_the_table_or_fails_by_its_name(clicks):
    assert isinstance(clicks, ScannedTable)
    assert isinstance(clicks, ds.Dataset)
    assert clicks.head(3, columns=["offset"]).to_pydict() == {"offset": [0, 1, 2]}
    assert clicks.sort_by([("offset", "descending")]).head(1)["offset"].to_pylist() == [34]
    assert clicks.take(pa.array([0, 69]), columns=["partition"])["partition"].to_pylist() == [0, 1]
    for use in (clicks.get_fragments, lambda: clicks.replace_schema(pa.schema([])), lambda: pickle.dumps(clicks)):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(FileNotFoundError, match="a table of headrace is read by its method scanner"):
        ds.dataset([clicks]).to_table()
    with pytest.raises(ValueError, match="columns \\['nope'\\]: names of the columns topic"):
        clicks.to_table(columns=["nope"])


def test_hours_before_1970_and_of_no_time_are_read():
    schema = pa.schema([("timestamp", US)])
    pruning = pruning_of(pa.scalar(datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC), US) <= TIME, schema)
    from headrace.load.pruning import _is_earlier

    hours = {"1969-12-31-23": True, "1970-01-01-23": True, "1970-01-02-00": False, "-0001-01-01-00": True, "": False}
    hours |= {"__HIVE_DEFAULT_PARTITION__": False, "+294247-01-10-04": False}
    assert {hour: _is_earlier(pruning.may, hour) for hour in hours} == hours


def test_a_table_without_history_and_one_without_log(log, broker, tmp_path):
    fill(log, count=3)
    found = headrace.table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address)
    assert counted(found) == counted(found, 'where "offset" >= 0') == 3
    load_inline(broker, tmp_path / "out")
    assert counted(found, 'where "offset" > 0') == 2
