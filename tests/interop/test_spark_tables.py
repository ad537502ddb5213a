"""Spark's own Delta and Iceberg as programs that maintain what a load writes: rows of the matrix in tests/load/maintained_table.py.

Delta by path, Iceberg by a catalog in SQLite that pyiceberg and Spark share. One JVM for all cells.
"""

import os
import time

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from headrace.load.audit_report import audit
from headrace.load.errors import BrokenTarget
from headrace.load.history import dataset
from headrace.load.iceberg_target import IcebergTarget
from headrace.load.rewinding import rewind
from tests.interop.spark_sql import SparkSql, SqlFailed
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import fill, load_inline
from tests.load.maintained_table import BETWEEN, FIRST, MERGED, WITHIN, Operation, cells, run_cell, with_value, without
from tests.load.table_writers import AT_REST, FILLED, NOT_MEANWHILE, Delta, Iceberg, both
from tests.support.file_log_fixtures import broker, log

__all__ = ["broker", "icebergs_threads_end", "log"]

pytestmark = pytest.mark.interop

OLD_S = 30 * 86_400
ONCE = (BETWEEN, WITHIN, MERGED)
COLUMNS = "topic string, partition int, offset bigint, timestamp timestamp, timestampType int, key binary, value binary"


@pytest.fixture(scope="session")
def sql(tmp_path_factory):
    made = SparkSql(tmp_path_factory.mktemp("spark-sql"))
    yield made
    made.close()


class SparkDelta(Delta):
    """Delta by Spark."""

    def __init__(self, path, sql):
        super().__init__(path)
        self.sql = sql

    def run(self, statement):
        return self.sql.run(statement.format(t=f"delta.`{self.path}`"))

    def read(self):
        """By Spark as well: what delta-rs does not read (deletion vectors), Spark does."""
        return table_of(self.run("SELECT * FROM {t}"))

    def create(self, _schema):
        columns = f"{COLUMNS}, hour string"
        self.run(f"CREATE TABLE {{t}} ({columns}) USING delta PARTITIONED BY (topic, hour)")

    def repeated(self, operation):
        try:
            operation.run(self)
        except SqlFailed as failure:
            if "Concurrent" not in str(failure):
                raise

    def delete(self):
        self.run("DELETE FROM {t} WHERE offset = 7")

    def update(self):
        self.run("UPDATE {t} SET value = X'62' WHERE offset = 3")

    def merge(self):
        self.run(
            "MERGE INTO {t} t USING (SELECT 5L AS at UNION ALL SELECT 6L) s ON s.at = t.offset "
            "WHEN MATCHED AND s.at = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET value = X'62'"
        )

    def optimize(self):
        self.run("OPTIMIZE {t}")

    def z_order(self):
        self.run("OPTIMIZE {t} ZORDER BY (offset)")

    def vacuum(self):
        self.run("OPTIMIZE {t}")
        self.run("VACUUM {t} RETAIN 0 HOURS")

    def vacuum_lite(self):
        self.run("OPTIMIZE {t}")
        self.run("VACUUM {t} LITE RETAIN 0 HOURS")

    def restore(self):
        version = self.table.version()
        self.delete()
        self.run(f"RESTORE TABLE {{t}} TO VERSION AS OF {version}")

    def add_column(self):
        if "note" not in [field.name for field in self.table.schema().fields]:
            self.run("ALTER TABLE {t} ADD COLUMNS (note string)")
        self.run("UPDATE {t} SET note = 'seen' WHERE offset = 3")

    def delete_by_vector(self):
        self.run("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
        self.run("DELETE FROM {t} WHERE offset = 7")
        self.run("UPDATE {t} SET value = X'62' WHERE offset = 3")

    def purge(self):
        self.delete_by_vector()
        self.run("REORG TABLE {t} APPLY (PURGE)")

    def map_columns(self):
        self.run("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")

    def unmap_columns(self):
        self.run("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")

    def constrain(self):
        self.run("ALTER TABLE {t} ADD CONSTRAINT early CHECK (offset < 1000000)")

    def without_constraint(self):
        self.run("ALTER TABLE {t} DROP CONSTRAINT early")

    def track_rows(self):
        self.run("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")

    def feed_changes(self):
        self.run("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
        self.delete()

    OPERATIONS = (
        Operation("delete", delete, without(7)),
        Operation("update", update, with_value("value", b"b", 3)),
        Operation("merge", merge, both(without(5), with_value("value", b"b", 6))),
        Operation("optimize", optimize),
        Operation("z_order", z_order, moments=ONCE),
        Operation("vacuum", vacuum, fences=True),
        Operation("vacuum_lite", vacuum_lite, fences=True, moments=ONCE),
        Operation("restore", restore, fences=True, moments=ONCE),
        Operation("add_column", add_column, with_value("note", "seen", 3), columns=("note",)),
        Operation("deletion_vectors", delete_by_vector, both(without(7), with_value("value", b"b", 3))),
        Operation("purge", purge, both(without(7), with_value("value", b"b", 3)), moments=ONCE),
        Operation(
            "column_mapping", map_columns, refused="columnMapping|column mapping", reads=False, undo=unmap_columns,
            moments=(FIRST, *ONCE),
        ),
        Operation(
            "constraint", constrain, refused="checkConstraints .*DROP CONSTRAINT", undo=without_constraint,
            moments=NOT_MEANWHILE,
        ),
        Operation("change_data_feed", feed_changes, without(7), moments=NOT_MEANWHILE),
    )  # fmt: skip


class SparkIceberg(Iceberg):
    """Iceberg by Spark, copy on write."""

    made = 0

    def __init__(self, path, sql):
        super().__init__(path)
        self.sql = sql
        SparkIceberg.made += 1
        self.name = f"prod{SparkIceberg.made}"
        sql.iceberg_catalog(self.name, f"{path}/catalog.db", f"file://{path}/warehouse")

    @property
    def catalog(self):
        return SqlCatalog(self.name, uri=f"sqlite:///{self.path}/catalog.db", warehouse=f"file://{self.path}/warehouse")

    def target(self, step=lambda name: None):
        return IcebergTarget(self.catalog, "web.clicks", step)

    def create(self, _schema):
        self.catalog.create_namespace_if_not_exists("web")
        self.run(f"CREATE TABLE {{t}} ({COLUMNS}) USING iceberg PARTITIONED BY (topic, hours(timestamp))")

    def run(self, statement):
        return self.sql.run(statement.format(t=f"{self.name}.web.clicks", c=f"{self.name}.system"))

    def read(self):
        return table_of(self.run("SELECT * FROM {t}"))

    def repeated(self, operation):
        try:
            operation.run(self)
        except SqlFailed as failure:
            if "CommitFailed" not in str(failure) and "ValidationException" not in str(failure):
                raise

    def delete(self):
        self.run("DELETE FROM {t} WHERE offset = 7")

    def update(self):
        self.run("UPDATE {t} SET value = X'62' WHERE offset = 3")

    def merge(self):
        self.run(
            "MERGE INTO {t} t USING (SELECT 5L AS at UNION ALL SELECT 6L) s ON s.at = t.offset "
            "WHEN MATCHED AND s.at = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET value = X'62'"
        )

    def call(self, procedure, more=""):
        return self.run(f"CALL {{c}}.{procedure}(table => 'web.clicks'{more})")

    def rewrite_data_files(self):
        self.call("rewrite_data_files", ", options => map('rewrite-all', 'true')")

    def rewrite_manifests(self):
        self.call("rewrite_manifests")

    def expire(self):
        """All but the last snapshot, which is not a load's."""
        self.rewrite_data_files()
        self.call("expire_snapshots", ", older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1")

    def remove_orphans(self):
        """With all files as old as orphans have to be."""
        self.rewrite_data_files()
        long_ago = time.time() - OLD_S
        for folder, _folders, names in os.walk(self.path / "warehouse"):
            for name in names:
                os.utime(f"{folder}/{name}", (long_ago, long_ago))
        self.call("remove_orphan_files")

    def roll_back(self):
        before = self.table.current_snapshot()
        self.delete()
        if before is not None:
            self.call("rollback_to_snapshot", f", snapshot_id => {before.snapshot_id}L")

    def add_column(self):
        if "note" not in self.table.schema().column_names:
            self.run("ALTER TABLE {t} ADD COLUMN note string")
        self.run("UPDATE {t} SET note = 'seen' WHERE offset = 3")

    def rename(self):
        self.run("ALTER TABLE {t} RENAME COLUMN value TO payload")

    def rename_back(self):
        self.run("ALTER TABLE {t} RENAME COLUMN payload TO value")

    def rename_there_and_back(self):
        self.rename()
        self.rewrite_data_files()
        self.rename_back()

    def drop_key(self):
        self.run("ALTER TABLE {t} DROP COLUMN key")

    def add_key(self):
        self.run("ALTER TABLE {t} ADD COLUMN key binary")

    def widen(self):
        self.run("ALTER TABLE {t} ALTER COLUMN partition TYPE bigint")

    def by_day(self):
        self.run("ALTER TABLE {t} REPLACE PARTITION FIELD timestamp_hour WITH days(timestamp)")

    def by_partition(self):
        self.run("ALTER TABLE {t} ADD PARTITION FIELD partition")
        self.rewrite_data_files()

    def by_bucket(self):
        self.run("ALTER TABLE {t} ADD PARTITION FIELD bucket(4, offset)")

    def without_bucket(self):
        self.run("ALTER TABLE {t} DROP PARTITION FIELD bucket(4, offset)")

    def upgrade(self):
        self.run("ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')")

    OPERATIONS = (
        Operation("delete", delete, without(7)),
        Operation("update", update, with_value("value", b"b", 3)),
        Operation("merge", merge, both(without(5), with_value("value", b"b", 6))),
        Operation("rewrite_data_files", rewrite_data_files),
        Operation("rewrite_manifests", rewrite_manifests, moments=FILLED),
        Operation("expire", expire, fences=True),
        Operation("remove_orphan_files", remove_orphans, moments=AT_REST),
        Operation("roll_back", roll_back, fences=True, moments=ONCE),
        Operation("add_column", add_column, with_value("note", "seen", 3), columns=("note",)),
        Operation(
            "rename", rename, refused="column value.* RENAME COLUMN payload TO value", reads=False, undo=rename_back,
            moments=ONCE,
        ),
        Operation("rename_there_and_back", rename_there_and_back, moments=ONCE),
        Operation("drop_column", drop_key, refused="column key.*", undo=add_key, moments=AT_REST),
        Operation("widen", widen, moments=NOT_MEANWHILE),
        Operation("by_day", by_day, moments=ONCE),
        Operation("by_partition", by_partition, moments=ONCE),
        Operation(
            "by_bucket", by_bucket, refused=r"bucket\[4\]\(offset\).*DROP PARTITION FIELD", undo=without_bucket,
            moments=ONCE,
        ),
    )  # fmt: skip


class SparkIcebergOnRead(SparkIceberg):
    """Iceberg by Spark, merge on read: rows are deleted by files of positions."""

    def _on_read(self):
        modes = ", ".join(f"'write.{one}.mode' = 'merge-on-read'" for one in ("delete", "update", "merge"))
        self.run(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({modes})")

    def delete(self):
        self._on_read()
        super().delete()

    def update(self):
        self._on_read()
        super().update()

    def merge(self):
        self._on_read()
        super().merge()

    def rewrite_deletes(self):
        self.delete()
        self.update()
        self.call("rewrite_position_delete_files", ", options => map('rewrite-all', 'true')")

    def rewrite_after_delete(self):
        self.delete()
        self.rewrite_data_files()

    OPERATIONS = (
        Operation("delete", delete, without(7)),
        Operation("update", update, with_value("value", b"b", 3)),
        Operation("merge", merge, both(without(5), with_value("value", b"b", 6))),
        Operation("rewrite_position_delete_files", rewrite_deletes, both(without(7), with_value("value", b"b", 3))),
        Operation("rewrite_data_files", rewrite_after_delete, without(7)),
    )


def table_of(rows):
    """What Spark printed of rows, as the other readers give it."""
    import base64

    columns = {name: [row.get(name) for row in rows] for name in ("offset", "value", "note")}
    values = [None if one is None else base64.b64decode(one) for one in columns["value"]]
    found = {"offset": pa.array(columns["offset"], pa.int64()), "value": pa.array(values, pa.binary())}
    if rows and "note" in rows[0]:
        found["note"] = pa.array(columns["note"], pa.string())
    return pa.table(found)


@pytest.mark.parametrize(("table", "operation", "moment"), cells((SparkDelta, SparkIceberg, SparkIcebergOnRead)))
def test_rows_are_those_of_the_model_and_the_load_goes_on(log, broker, tmp_path, sql, table, operation, moment):
    run_cell(log, broker, table(tmp_path, sql), operation, moment)


def offsets_in(table):
    return sorted(dataset(table.target()).to_table(columns=["offset"])["offset"].to_pylist())


@pytest.mark.parametrize("make", [SparkDelta, SparkIcebergOnRead])
def test_a_table_goes_back_behind_rows_that_are_deleted_in_place(log, broker, tmp_path, sql, make):
    """The file of such rows is one that we wrote: what is left of it stays."""
    table = make(tmp_path, sql)
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, table.target())
    (table.delete_by_vector if make is SparkDelta else table.delete)()
    rewind("clicks", table.target(), 15, bootstrap_servers=broker.address)
    assert offsets_in(table) == sorted({*range(15)} - {7})
    load_inline(broker, table.target())
    assert offsets_in(table) == sorted({*range(30)} - {7})
    assert sorted(table.read()["offset"].to_pylist()) == sorted({*range(30)} - {7})
    assert audit(table.target(), is_deep=True).faults == []


def test_a_table_goes_back_into_a_file_with_deleted_positions(log, broker, tmp_path, sql):
    table = SparkIcebergOnRead(tmp_path, sql)
    fill(log, count=20)
    load_inline(broker, table.target())
    table.delete()
    rewind("clicks", table.target(), 10, bootstrap_servers=broker.address)
    assert offsets_in(table) == sorted({*range(10)} - {7})
    load_inline(broker, table.target())
    assert sorted(table.read()["offset"].to_pylist()) == sorted({*range(20)} - {7})


def test_a_table_does_not_go_back_into_a_file_with_a_deletion_vector(log, broker, tmp_path, sql):
    table = SparkDelta(tmp_path, sql)
    fill(log, count=20)
    load_inline(broker, table.target())
    table.delete_by_vector()
    with pytest.raises(BrokenTarget, match=r"deletion vector.*REORG TABLE"):
        rewind("clicks", table.target(), 10, bootstrap_servers=broker.address)
    assert offsets_in(table) == sorted({*range(20)} - {7})
    assert audit(table.target(), is_deep=True).orphans == []
    table.run("REORG TABLE {t} APPLY (PURGE)")
    rewind("clicks", table.target(), 10, bootstrap_servers=broker.address)
    load_inline(broker, table.target())
    assert sorted(table.read()["offset"].to_pylist()) == sorted({*range(20)} - {7})


def test_a_checkpoint_of_ours_keeps_deletion_vectors(log, broker, tmp_path, sql):
    table = SparkDelta(tmp_path, sql)
    fill(log, count=20)
    load_inline(broker, table.target())
    table.delete_by_vector()
    table.table.create_checkpoint()
    fill(log, count=5)
    load_inline(broker, table.target())
    assert offsets_in(table) == sorted({*range(25)} - {7})
    assert sorted(table.read()["offset"].to_pylist()) == sorted({*range(25)} - {7})
