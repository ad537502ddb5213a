"""Programs in Python that maintain tables: delta-rs, pyiceberg, and Polars over both; rows of the matrix in `maintained_table.py`."""

import polars
import pyarrow as pa
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.exceptions import CommitFailedError
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.expressions import EqualTo, GreaterThan
from pyiceberg.types import BinaryType, LongType, StringType

from headrace.load.delta_target import DeltaTarget
from headrace.load.iceberg_target import IcebergTarget
from tests.load.maintained_table import BETWEEN, FIRST, MERGED, MOMENTS, WITHIN, Operation, same, with_value, without

AT_REST = (BETWEEN, MERGED)
NOT_MEANWHILE = (FIRST, BETWEEN, WITHIN, MERGED)
FILLED = tuple(moment for moment in MOMENTS if moment != FIRST)


def both(*models):
    """One after the other."""

    def found(rows):
        for model in models:
            rows = model(rows)
        return rows

    return found


class Delta:
    """A table in Delta's format, as delta-rs sees and changes it."""

    def __init__(self, path):
        self.path = path / "table"

    def target(self, step=lambda name: None):
        return DeltaTarget(self.path, step)

    def create(self, schema):
        """As the owner would, before the first load."""
        schema = schema.append(pa.field("hour", pa.string()))
        DeltaTable.create(str(self.path), schema, partition_by=["topic", "hour"])

    @property
    def table(self):
        return DeltaTable(str(self.path))

    def read(self):
        return self.table.to_pyarrow_table()

    def offsets(self):
        return sorted(self.table.to_pyarrow_table(columns=["offset"])["offset"].to_pylist())

    def repeated(self, operation):
        """The operation, unless a load came in between."""
        try:
            operation.run(self)
        except CommitFailedError:
            pass

    def delete(self):
        self.table.delete('"offset" = 7')

    def delete_all(self):
        self.table.delete()

    def update(self):
        self.table.update(updates={"value": "X'62'"}, predicate='"offset" = 3')

    def merge(self):
        source = pa.table({"offset": pa.array([5, 6], pa.int64()), "value": pa.array([None, b"b"], pa.binary())})
        merging = self.table.merge(source, "s.offset = t.offset", source_alias="s", target_alias="t")
        merging.when_matched_delete("s.value is null").when_matched_update({"value": "s.value"}).execute()

    def optimize(self):
        self.table.optimize.compact()

    def z_order(self):
        self.table.optimize.z_order(["offset"])

    def vacuum(self):
        self.table.optimize.compact()
        self.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)

    def checkpoint(self):
        self.delete()
        self.table.create_checkpoint()

    def restore(self):
        """What was just deleted is there again."""
        version = self.table.version()
        self.delete()
        self.table.restore(version)

    def add_column(self):
        if "note" not in [field.name for field in self.table.schema().fields]:
            self.table.alter.add_columns([Field("note", "string")])
        self.table.update(updates={"note": "'seen'"}, predicate='"offset" = 3')

    def append_with_column(self):
        rows = self.table.to_pyarrow_table().filter(pa.compute.field("offset") == 4)
        self.table.delete('"offset" = 4')
        rows = rows.drop_columns([name for name in ("note",) if name in rows.column_names])
        rows = rows.append_column("note", pa.array(["merged"] * rows.num_rows, pa.string()))
        write_deltalake(str(self.path), rows, mode="append", schema_mode="merge")

    def constrain(self):
        self.table.alter.add_constraint({"early": '"offset" < 1000000'})

    def without_constraint(self):
        self.table.alter.drop_constraint("early")

    def constrain_and_not(self):
        self.constrain()
        self.without_constraint()

    OPERATIONS = (
        Operation("delete", delete, without(7)),
        Operation("delete_all", delete_all, lambda rows: {}, moments=AT_REST),
        Operation("update", update, with_value("value", b"b", 3)),
        Operation("merge", merge, both(without(5), with_value("value", b"b", 6))),
        Operation("optimize", optimize),
        Operation("z_order", z_order, moments=FILLED),
        Operation("vacuum", vacuum, fences=True),
        Operation("checkpoint", checkpoint, without(7)),
        Operation("restore", restore, fences=True, moments=(BETWEEN, WITHIN, MERGED)),
        Operation("add_column", add_column, with_value("note", "seen", 3), columns=("note",)),
        Operation(
            "append_with_column", append_with_column, with_value("note", "merged", 4), columns=("note",), moments=AT_REST
        ),
        Operation(
            "constraint", constrain, refused="checkConstraints .*DROP CONSTRAINT", undo=without_constraint,
            moments=NOT_MEANWHILE,
        ),
        Operation("constraint_dropped", constrain_and_not, moments=NOT_MEANWHILE),
    )  # fmt: skip


class Iceberg:
    """The same by pyiceberg."""

    def __init__(self, path):
        self.path = path

    @property
    def catalog(self):
        return SqlCatalog("prod", uri=f"sqlite:///{self.path}/catalog.db", warehouse=f"file://{self.path}/warehouse")

    def target(self, step=lambda name: None):
        return IcebergTarget(self.catalog, "web.clicks", step)

    def create(self, schema):
        self.target().prepare(schema)

    @property
    def table(self):
        return self.catalog.load_table("web.clicks")

    def read(self):
        return self.table.scan().to_arrow()

    def offsets(self):
        return sorted(self.table.scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist())

    def repeated(self, operation):
        try:
            operation.run(self)
        except (CommitFailedException, ValidationException):  # a load came in between
            pass

    def _rewrite(self, offset, column, value, kind):
        """An update, as pyiceberg has none."""
        rows = self.table.scan(row_filter=EqualTo("offset", offset)).to_arrow()
        if rows.num_rows:
            at = rows.schema.get_field_index(column)
            rows = rows.set_column(at, pa.field(column, kind), pa.array([value], kind))
            self.table.overwrite(rows, overwrite_filter=EqualTo("offset", offset))

    def delete(self):
        self.table.delete(EqualTo("offset", 7))

    def update(self):
        self._rewrite(3, "value", b"b", pa.large_binary())

    def optimize(self):
        rows = self.table.scan(row_filter=GreaterThan("offset", -1)).to_arrow()
        self.table.overwrite(rows.sort_by("offset"))

    def expire(self):
        """All but the last snapshot, which is not a load's."""
        self.delete()
        table = self.table
        ids = [one.snapshot_id for one in table.snapshots() if one != table.current_snapshot()]
        if ids:
            table.maintenance.expire_snapshots().by_ids(ids).commit()

    def roll_back(self):
        """What was just deleted is there again."""
        table = self.table
        before = table.current_snapshot()
        self.delete()
        if before is not None and self.table.current_snapshot() != before:
            self.table.manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()

    def add_column(self):
        if "note" not in self.table.schema().column_names:
            with self.table.update_schema() as update:
                update.add_column("note", StringType())
        self._rewrite(3, "note", "seen", pa.large_string())

    def rename(self):
        with self.table.update_schema() as update:
            update.rename_column("value", "payload")

    def rename_back(self):
        with self.table.update_schema() as update:
            update.rename_column("payload", "value")

    def rename_there_and_back(self):
        """With rows written meanwhile, in a file that has the other name."""
        self.rename()
        self._rewrite(3, "payload", b"b", pa.large_binary())
        self.rename_back()

    def drop_key(self):
        with self.table.update_schema() as update:
            update.delete_column("key")

    def add_key(self):
        with self.table.update_schema() as update:
            update.add_column("key", BinaryType())

    def drop_offset(self):
        with self.table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column("offset")

    def widen(self):
        with self.table.update_schema() as update:
            update.update_column("partition", LongType())

    def by_partition(self):
        with self.table.update_spec() as update:
            update.add_identity("partition")

    def by_bucket(self):
        from pyiceberg.transforms import BucketTransform

        with self.table.update_spec() as update:
            update.add_field("offset", BucketTransform(4), "some")

    def without_bucket(self):
        with self.table.update_spec() as update:
            update.remove_field("some")

    OPERATIONS = (
        Operation("delete", delete, without(7)),
        Operation("update", update, with_value("value", b"b", 3)),
        Operation("optimize", optimize),
        Operation("expire", expire, without(7), fences=True),
        Operation("roll_back", roll_back, fences=True, moments=NOT_MEANWHILE),
        Operation("add_column", add_column, with_value("note", "seen", 3), columns=("note",)),
        Operation(
            "rename", rename, refused="column value.* RENAME COLUMN payload TO value", reads=False, undo=rename_back,
            moments=(BETWEEN, WITHIN, MERGED),
        ),
        Operation(
            "rename_there_and_back", rename_there_and_back, with_value("value", b"b", 3), moments=NOT_MEANWHILE
        ),
        Operation("drop_column", drop_key, refused="column key.*", undo=add_key, moments=(BETWEEN, MERGED)),
        Operation("widen", widen, moments=NOT_MEANWHILE),
        Operation("partition_spec", by_partition, moments=NOT_MEANWHILE),
        Operation(
            "partition_by_bucket", by_bucket, refused=r"bucket\[4\]\(offset\).*DROP PARTITION FIELD some",
            undo=without_bucket, moments=NOT_MEANWHILE,
        ),
    )  # fmt: skip


class PolarsDelta(Delta):
    """Delta by Polars."""

    def append_rewritten(self):
        rows = polars.read_delta(str(self.path)).filter(polars.col("offset") == 3)
        self.table.delete('"offset" = 3')
        rows.with_columns(value=polars.lit(b"b")).write_delta(str(self.path), mode="append")

    def merge_deleting(self):
        source = polars.DataFrame({"offset": [5]}, schema={"offset": polars.Int64})
        merging = source.write_delta(
            str(self.path),
            mode="merge",
            delta_merge_options={"predicate": "s.offset = t.offset", "source_alias": "s", "target_alias": "t"},
        )
        merging.when_matched_delete().execute()

    def overwrite(self):
        rows = polars.read_delta(str(self.path)).filter(polars.col("offset") != 7)
        rows.write_delta(str(self.path), mode="overwrite")

    def sink(self):
        rows = polars.read_delta(str(self.path)).sort("offset", descending=True)
        rows.lazy().sink_delta(str(self.path), mode="overwrite")

    OPERATIONS = (
        Operation("append", append_rewritten, with_value("value", b"b", 3), moments=AT_REST),
        Operation("merge", merge_deleting, without(5)),
        Operation("overwrite", overwrite, without(7), moments=(FIRST, BETWEEN, WITHIN, MERGED)),
        Operation("sink", sink, same, moments=(BETWEEN, WITHIN, MERGED)),
    )


class PolarsIceberg(Iceberg):
    """Iceberg by Polars."""

    def overwrite(self):
        rows = polars.scan_iceberg(self.table).filter(polars.col("offset") != 7).collect()
        rows.write_iceberg(self.table, mode="overwrite")

    def append_rewritten(self):
        rows = polars.scan_iceberg(self.table).filter(polars.col("offset") == 3).collect()
        self.table.delete(EqualTo("offset", 3))
        rows.with_columns(value=polars.lit(b"b")).write_iceberg(self.table, mode="append")

    OPERATIONS = (
        Operation("append", append_rewritten, with_value("value", b"b", 3), moments=AT_REST),
        Operation("overwrite", overwrite, without(7), moments=(BETWEEN, WITHIN, MERGED)),
    )


PYTHON = (Delta, Iceberg, PolarsDelta, PolarsIceberg)
