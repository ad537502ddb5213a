"""Tables that other programs maintain: what they delete stays deleted, what they rewrite is there once, and the load goes on.

Each operation runs at each moment, and the table's rows are compared with those of a model that knows nothing of files.

Holds: load/delta_actions.py, load/live_files.py, load/table_rows.py, load/others_rows.py, load/delta_history.py
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, GreaterThan

import headrace
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.delta_target import DeltaTarget
from headrace.load.errors import LoadFenced
from headrace.load.history import dataset
from headrace.load.iceberg_target import IcebergTarget
from headrace.load.rewinding import rewind
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import fill, load_inline

__all__ = ["icebergs_threads_end"]

MOMENTS = ("between loads", "within a commit", "after merging")
ROUNDS, EACH = 4, 10


class Delta:
    """A table in Delta's format, as delta-rs sees and changes it."""

    def __init__(self, path):
        self.path = path / "table"

    def target(self, step=lambda name: None):
        return DeltaTarget(self.path, step)

    @property
    def table(self):
        return DeltaTable(str(self.path))

    def offsets(self):
        return sorted(self.table.to_pyarrow_table(columns=["offset"])["offset"].to_pylist())

    def delete(self):
        self.table.delete('"offset" = 7')

    def update(self):
        self.table.update(updates={"value": "X'62'"}, predicate='"offset" = 3')

    def merge(self):
        source = pa.table({"offset": pa.array([5], pa.int64())})
        merging = self.table.merge(source, "s.offset = t.offset", source_alias="s", target_alias="t")
        merging.when_matched_delete().execute()

    def optimize(self):
        self.table.optimize.compact()

    def z_order(self):
        self.table.optimize.z_order(["offset"])

    def vacuum(self):
        self.table.optimize.compact()
        self.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)

    def checkpoint(self):
        self.table.delete('"offset" = 7')
        self.table.create_checkpoint()


class Iceberg:
    """The same by pyiceberg."""

    def __init__(self, path):
        self.catalog = SqlCatalog("prod", uri=f"sqlite:///{path}/catalog.db", warehouse=f"file://{path}/warehouse")

    def target(self, step=lambda name: None):
        return IcebergTarget(self.catalog, "web.clicks", step)

    @property
    def table(self):
        return self.catalog.load_table("web.clicks")

    def offsets(self):
        return sorted(self.table.scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist())

    def delete(self):
        self.table.delete(EqualTo("offset", 7))

    def update(self):
        row = self.table.scan(row_filter=EqualTo("offset", 3)).to_arrow()
        row = row.set_column(
            row.schema.get_field_index("value"), "value", pa.array([b"b"], row.schema.field("value").type)
        )
        self.table.overwrite(row, overwrite_filter=EqualTo("offset", 3))

    def merge(self):
        self.table.delete(EqualTo("offset", 5))

    def optimize(self):
        rows = self.table.scan(row_filter=GreaterThan("offset", -1)).to_arrow()
        self.table.overwrite(rows.sort_by("offset"))


GONE = {"delete": {7}, "checkpoint": {7}, "merge": {5}}
CELLS = [(Delta, one) for one in ("delete", "update", "merge", "optimize", "z_order", "vacuum", "checkpoint")] + [
    (Iceberg, one) for one in ("delete", "update", "merge", "optimize")
]


def live_offsets(broker, kind):
    table = headrace.table("clicks", history=kind.target(), bootstrap_servers=broker.address).read_all()
    return sorted(table["offset"].to_pylist())


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("make", "operation"), CELLS, ids=lambda one: getattr(one, "__name__", one))
def test_rows_are_those_of_the_table_and_the_load_goes_on(log, broker, tmp_path, make, operation, moment):
    kind = make(tmp_path)
    done = []

    def change(name="table commit made"):
        if name == "table commit made" and not done:
            done.append(name)
            getattr(kind, operation)()

    for number in range(ROUNDS):
        fill(log, count=EACH)
        is_now = number == 2
        if is_now and moment == "between loads":
            change()
        if is_now and moment == "after merging":
            compact(kind.target())
            change()
        step = change if is_now and moment == "within a commit" else lambda name: None
        try:
            load_inline(broker, kind.target(step))
        except LoadFenced:
            assert operation == "vacuum", "of files that no commit names yet, with no time to live"
            load_inline(broker, kind.target())
    assert done
    expected = sorted({*range(ROUNDS * EACH)} - GONE.get(operation, set()))
    assert kind.offsets() == expected
    assert sorted(dataset(kind.target()).to_table(columns=["offset"])["offset"].to_pylist()) == expected
    assert live_offsets(broker, kind) == expected
    compact(kind.target())
    assert kind.offsets() == expected
    assert live_offsets(broker, kind) == expected
    fill(log, count=3)  # not loaded: the log has them
    assert live_offsets(broker, kind) == [*expected, 40, 41, 42]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])
    said = [(one.loaded, one.present) for one in found.changes]
    assert said == [(40, len(expected))] or (not said and len(expected) == 40), "one file is not optimized"
    assert load_inline(broker, kind.target()).records == 3
    assert kind.offsets() == [*expected, 40, 41, 42]


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


@pytest.mark.parametrize("make", [Delta, Iceberg])
def test_a_delete_between_the_reading_of_a_merge_and_its_commit_fences_the_merge(log, broker, tmp_path, make):
    """A merged copy of a file that the delete rewrote would have its rows a second time, the deleted ones among them."""
    kind = make(tmp_path)
    for _ in range(3):
        fill(log, count=EACH)
        load_inline(broker, kind.target())
    with pytest.raises(LoadFenced):
        compact(kind.target(lambda name: kind.delete() if name == "merged" else None))
    expected = sorted({*range(3 * EACH)} - {7})
    assert kind.offsets() == live_offsets(broker, kind) == expected
    compact(kind.target())
    assert kind.offsets() == live_offsets(broker, kind) == expected
    assert audit(kind.target(), is_deep=True).faults == []
