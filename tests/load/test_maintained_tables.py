"""Tables that other programs maintain: what they delete stays deleted, what they rewrite is there once, and the load goes on.

Each operation at each moment is in test_table_matrix.py; here is what a cell of that does not show.
"""

import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import headrace
from headrace.ids import TopicPartition
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.errors import BrokenTarget, LoadFenced, SchemaConflict
from headrace.load.history import dataset
from headrace.load.rewinding import rewind
from headrace.protocol.record_batch import Record
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import fill, load_inline
from tests.load.table_writers import Delta, Iceberg

__all__ = ["icebergs_threads_end"]


def live_offsets(broker, kind):
    table = headrace.table("clicks", history=kind.target(), bootstrap_servers=broker.address).read_all()
    return sorted(table["offset"].to_pylist())


@pytest.mark.parametrize("make", [Delta, Iceberg])
def test_an_update_is_seen(log, broker, tmp_path, make):
    kind = make(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    kind.update()
    table = headrace.table("clicks", history=kind.target(), bootstrap_servers=broker.address).read_all()
    assert table.filter(pc.equal(table["offset"], 3))["value"].to_pylist() == [b"b"]
    assert table["topic"].to_pylist() == ["clicks"] * 10


def test_a_restored_table_is_loaded_again_from_where_it_was(log, broker, tmp_path):
    kind = Delta(tmp_path)
    versions = []
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, kind.target())
        versions.append(kind.table.version())
    kind.table.restore(versions[0])
    assert kind.offsets() == [*range(10)]
    assert live_offsets(broker, kind) == [*range(30)]
    assert load_inline(broker, kind.target()).records == 20
    assert kind.offsets() == [*range(30)]
    kind.table.restore(versions[2])  # what that load wrote is taken back, and what was before is there again
    assert kind.offsets() == [*range(30)]
    fill(log, count=5)
    assert load_inline(broker, kind.target()).records == 5
    assert kind.offsets() == [*range(35)]
    assert (audit(kind.target(), is_deep=True).faults, audit(kind.target()).orphans) == ([], [])


def test_a_table_restored_before_a_merge_has_its_files(log, broker, tmp_path):
    """They are of an earlier version until a VACUUM: no load removes them."""
    kind = Delta(tmp_path)
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, kind.target(), retired_s=0.0)
    version = kind.table.version()
    compact(kind.target(), retired_s=0.0)
    load_inline(broker, kind.target(), grace_s=0.0, retired_s=0.0)
    kind.table.restore(version)
    assert kind.offsets() == [*range(30)]
    assert live_offsets(broker, kind) == [*range(30)]


def test_iceberg_rolled_back_is_loaded_again(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    snapshot = kind.table.current_snapshot().snapshot_id
    fill(log, count=10)
    load_inline(broker, kind.target())
    kind.table.manage_snapshots().rollback_to_snapshot(snapshot).commit()
    assert load_inline(broker, kind.target()).records == 10
    assert kind.offsets() == [*range(20)]
    assert audit(kind.target()).faults == []


def test_a_table_rolled_back_before_the_first_load_is_loaded_from_the_beginning(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    kind.create(pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()),
                           ("timestamp", pa.timestamp("us", "UTC")), ("value", pa.binary())]))  # fmt: skip
    times = pa.array([0], pa.timestamp("us", "UTC"))
    kind.table.append(pa.table({"topic": ["others"], "partition": pa.array([0], pa.int32()), "timestamp": times}))
    snapshot = kind.table.current_snapshot().snapshot_id
    fill(log, count=10)
    load_inline(broker, kind.target())
    kind.table.manage_snapshots().rollback_to_snapshot(snapshot).commit()
    assert load_inline(broker, kind.target()).records == 10
    found = dataset(kind.target()).to_table(columns=["topic", "offset"])
    assert sorted(found.filter(pc.equal(found["topic"], "clicks"))["offset"].to_pylist()) == [*range(10)]
    assert found.num_rows == 11


def test_rows_of_others_are_shown_before_the_first_load(log, broker, tmp_path):
    kind = Delta(tmp_path)
    row = {"topic": ["clicks"], "hour": ["2026-11-27-14"], "partition": pa.array([3], pa.int32()), "offset": [5]}
    write_deltalake(str(kind.path), pa.table(row), partition_by=["topic", "hour"])
    assert dataset(kind.target()).to_table(columns=["topic", "partition", "offset"]).to_pylist() == [
        {"topic": "clicks", "partition": 3, "offset": 5}
    ]
    fill(log, count=2)
    assert load_inline(broker, kind.target()).records == 2
    assert kind.offsets() == [0, 1, 5]
    assert sorted(kind.read()["value"].to_pylist(), key=str) == [None, b"0", b"1"], "the load added its columns"


def test_a_load_goes_on_without_a_column_that_was_dropped(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    kind.drop_key()
    fill(log, count=10)
    with pytest.raises(SchemaConflict, match=r"column key: .* no longer has it"):
        load_inline(broker, kind.target())
    load_inline(broker, kind.target(), columns="timestampType,value")
    assert kind.offsets() == [*range(20)]
    assert "key" not in dataset(kind.target()).schema.names
    compact(kind.target())
    assert dataset(kind.target()).to_table()["value"].to_pylist() == [b"%d" % at for at in range(20)]


def test_a_table_without_its_offsets_is_refused(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    kind.drop_offset()
    for use in (lambda: load_inline(broker, kind.target()), lambda: dataset(kind.target())):
        with pytest.raises(BrokenTarget, match="another program dropped the column offset"):
            use()


@pytest.mark.parametrize("make", [Delta, Iceberg])
@pytest.mark.parametrize("cut", [15, 25, 0])
def test_a_table_goes_back_over_files_of_others(log, broker, tmp_path, make, cut):
    kind = make(tmp_path)
    for _ in range(3):
        fill(log, count=10)
        fill(log, partition=1, count=4)
        load_inline(broker, kind.target())
    kind.delete()
    kind.optimize()
    rewind("clicks", kind.target(), cut, bootstrap_servers=broker.address)
    found = dataset(kind.target()).to_table(columns=["partition", "offset"])
    mask = pc.equal(found["partition"], 0)
    assert sorted(found.filter(mask)["offset"].to_pylist()) == sorted({*range(cut)} - {7})
    load_inline(broker, kind.target())
    found = dataset(kind.target()).to_table(columns=["partition", "offset"])
    again = {*range(30)} - ({7} if cut > 7 else set())
    assert sorted(found.filter(pc.equal(found["partition"], 0))["offset"].to_pylist()) == sorted(again)
    second = sorted(found.filter(pc.equal(found["partition"], 1))["offset"].to_pylist())
    assert second in ([*range(12)], sorted({*range(12)} - {7}))
    assert audit(kind.target(), is_deep=True).faults == []


def test_a_file_that_is_lost_is_no_change_of_others(log, broker, tmp_path):
    kind = Delta(tmp_path)
    for _ in range(2):
        fill(log, count=10)
        load_inline(broker, kind.target())
    kind.delete()
    [lost] = kind.path.glob("topic=*/hour=*/clicks-0-10-*.parquet")
    lost.unlink()
    found = audit(kind.target())
    assert any("is missing" in fault for fault in found.faults)


def test_rows_that_others_write_twice_are_a_fault(log, broker, tmp_path):
    kind = Delta(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    rows = kind.table.to_pyarrow_table()
    write_deltalake(str(kind.path), rows.slice(0, 2), mode="append")
    assert [fault for fault in audit(kind.target()).faults if "12 rows of 10 offsets" in fault]


def test_statistics_are_those_of_the_rows_or_none(log, broker, tmp_path):
    kind = Delta(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    actions = pa.table(kind.table.get_add_actions(flatten=True)).to_pylist()
    assert [(one["min.offset"], one["max.offset"], one["num_records"]) for one in actions] == [(0, 9, 10)]
    assert pq.read_metadata(next(kind.path.glob("topic=*/hour=*/*.parquet"))).num_rows == 10
    found = kind.table.to_pyarrow_dataset().to_table(
        filter=pc.field("timestamp") > pa.scalar(0, pa.timestamp("us", "UTC"))
    )
    assert found.num_rows == 10


@pytest.mark.parametrize("time_ms", [-62_135_596_800_000, -30_610_224_000_001, -1, 253_402_300_799_999])
def test_statistics_name_the_years_that_have_fewer_digits(log, broker, tmp_path, time_ms):
    """delta-rs finds no row of a file whose bounds it can't read. The times: the years 1, 999, 1969, 9999."""
    kind = Delta(tmp_path)
    log.append(TopicPartition("clicks", 0), [Record(0, time_ms, b"k", b"v")])
    load_inline(broker, kind.target())
    bound = pa.scalar(time_ms * 1000, pa.timestamp("us", "UTC"))
    assert kind.table.to_pyarrow_dataset().to_table(filter=pc.field("timestamp") <= bound).num_rows == 1


@pytest.mark.parametrize("make", [Delta, Iceberg])
def test_a_delete_between_the_reading_of_a_merge_and_its_commit_fences_the_merge(log, broker, tmp_path, make):
    """A merged copy of a file that the delete rewrote would have its rows a second time, the deleted ones among them."""
    kind = make(tmp_path)
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, kind.target())
    with pytest.raises(LoadFenced):
        compact(kind.target(lambda name: kind.delete() if name == "merged" else None))
    expected = sorted({*range(3 * 10)} - {7})
    assert kind.offsets() == live_offsets(broker, kind) == expected
    compact(kind.target())
    assert kind.offsets() == live_offsets(broker, kind) == expected
    assert audit(kind.target(), is_deep=True).faults == []


def test_times_that_another_program_wrote_in_96_bits_are_read_and_written_again(log, broker, tmp_path):
    """As Spark does: also one after the year 2262, where nanoseconds of 64 bits end."""
    kind = Delta(tmp_path)
    fill(log, count=10)
    load_inline(broker, kind.target())
    rows = kind.read()
    far = pa.array([datetime.datetime(3000, 1, 1, tzinfo=datetime.UTC)] * 10, pa.timestamp("us", "UTC"))
    rows = rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", far)
    write_deltalake(str(kind.path), rows, mode="overwrite")
    [path] = [kind.path / one.path for one in kind.target().read().others]
    pq.write_table(rows.drop_columns(["topic", "hour"]), path, use_deprecated_int96_timestamps=True)
    assert dataset(kind.target()).to_table()["timestamp"].to_pylist() == far.to_pylist()
    rewind("clicks", kind.target(), 5, bootstrap_servers=broker.address)
    [path] = [kind.path / one.path for one in kind.target().read().others]
    assert pq.read_schema(path).field("timestamp").type == far.type
    assert dataset(kind.target()).to_table()["timestamp"].to_pylist() == far.to_pylist()[:5]
