"""Targets of each kind for tests of upkeep, and programs of others that change tables meanwhile."""

from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, GreaterThan

from headrace.load.delta_target import DeltaTarget
from headrace.load.iceberg_target import IcebergTarget
from headrace.load.parquet_target import ParquetTarget


def no_step(_name):
    pass


class Parquet:
    """A directory; no other program changes it."""

    def __init__(self, path):
        self.path = path / "out"

    def target(self, step=no_step):
        return ParquetTarget(self.path, step)


class Delta:
    """A table as delta-rs changes it."""

    def __init__(self, path):
        self.path = path / "table"

    def target(self, step=no_step):
        return DeltaTarget(self.path, step)

    @property
    def table(self):
        return DeltaTable(str(self.path))

    def offsets(self):
        return sorted(self.table.to_pyarrow_table(columns=["offset"])["offset"].to_pylist())

    def delete(self, offset):
        self.table.delete(f'"offset" = {offset}')

    def optimize(self):
        self.table.optimize.compact()


class Iceberg:
    """A table as pyiceberg changes it."""

    def __init__(self, path):
        self.path = path
        self.catalog = SqlCatalog("prod", uri=f"sqlite:///{path}/catalog.db", warehouse=f"file://{path}/warehouse")

    def target(self, step=no_step):
        return IcebergTarget(self.catalog, "web.clicks", step)

    @property
    def table(self):
        return self.catalog.load_table("web.clicks")

    def offsets(self):
        return sorted(self.table.scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist())

    def delete(self, offset):
        self.table.delete(EqualTo("offset", offset))

    def optimize(self):
        rows = self.table.scan(row_filter=GreaterThan("offset", -1)).to_arrow()
        self.table.overwrite(rows.sort_by("offset"))


KINDS = [Parquet, Delta, Iceberg]
TABLES = [Delta, Iceberg]
