"""Another program that maintains a table while it is loaded: deletes rows, rewrites files, gives old versions up.

Runs in: a process of its own, started and killed by `load_campaign.py`. It uses the table's own library, and by lot our own deletion
and merging. A Parquet directory has no other program than these.

    ledger    one JSON object a line: {"intend": [numbers]} before a deletion, {"done": [numbers]} after it

A number that is intended and not done may be there or not: the process was killed, or another writer was first. One that is done
may never be seen again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

import headrace.load

KEPT_S = 45  # an earlier version, a file that no version has: longer than a commit takes
PAUSE_S = 0.8
LONGEST = 5  # offsets of a deletion
REWRITTEN = 500  # offsets of a rewrite


@dataclass
class Ledger:
    """What was deleted, by the lines of a ledger.

    intended   numbers, all that were begun
    done       of them, those whose deletion was answered
    counts     operations that were answered, by name
    """

    intended: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> Ledger:
        found = Ledger()
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                one = json.loads(line)
            except ValueError:
                continue  # the process was killed in mid-write: it had not begun
            found.intended.update(one.get("intend", ()))
            found.done.update(one.get("done", ()))
            for name in one.get("operation", ()):
                found.counts[name] = found.counts.get(name, 0) + 1
        return found


class Maintained(ABC):
    """A table, as its own library sees it.

    to   as `headrace load` names it
    """

    def __init__(self, to: str) -> None:
        self._to = to

    @abstractmethod
    def rows(self) -> pa.Table:
        """partition, offset and value of all rows"""

    @abstractmethod
    def delete(self, partition: int, start: int, end: int) -> None:
        """Rows of a partition with start <= offset < end."""

    def others(self) -> Sequence[str]:
        """Names of methods that delete no row."""
        return ("merge",)

    def delete_by_us(self, partition: int, start: int, end: int) -> None:
        """The same, by `headrace load delete`."""
        headrace.load.delete(self._to, f'partition = {partition} and "offset" >= {start} and "offset" < {end}')

    def merge(self) -> None:
        """Small files, by `headrace load compact`."""
        headrace.load.compact(self._to)


class MaintainedParquet(Maintained):
    def rows(self) -> pa.Table:
        return headrace.load.dataset(self._to).to_table(columns=["partition", "offset", "value"])

    def delete(self, partition: int, start: int, end: int) -> None:
        self.delete_by_us(partition, start, end)


class MaintainedDelta(Maintained):
    def __init__(self, to: str) -> None:
        super().__init__(to)
        self._path = to.removeprefix("delta:")
        table = self._table
        kept = f"interval {KEPT_S} seconds"
        table.alter.set_table_properties({"delta.deletedFileRetentionDuration": kept}, raise_if_not_exists=False)

    @property
    def _table(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self._path)

    def rows(self) -> pa.Table:
        return self._table.to_pyarrow_table(columns=["partition", "offset", "value"])

    def delete(self, partition: int, start: int, end: int) -> None:
        self._table.delete(f'partition = {partition} AND "offset" >= {start} AND "offset" < {end}')

    def others(self) -> Sequence[str]:
        return (*super().others(), "optimize", "vacuum", "checkpoint")

    def optimize(self) -> None:
        self._table.optimize.compact()

    def vacuum(self) -> None:
        self._table.vacuum(dry_run=False, full=True)

    def checkpoint(self) -> None:
        self._table.create_checkpoint()


class MaintainedIceberg(Maintained):
    def __init__(self, to: str) -> None:
        from pyiceberg.catalog import load_catalog

        super().__init__(to)
        catalog, _, self._name = to.removeprefix("iceberg:").partition(":")
        self._catalog = load_catalog(catalog)

    @property
    def _table(self) -> Any:
        return self._catalog.load_table(self._name)

    def rows(self) -> pa.Table:
        return self._table.scan(selected_fields=("partition", "offset", "value")).to_arrow()

    def _within(self, partition: int, start: int, end: int) -> Any:
        from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThan

        return And(EqualTo("partition", partition), GreaterThanOrEqual("offset", start), LessThan("offset", end))

    def delete(self, partition: int, start: int, end: int) -> None:
        self._table.delete(self._within(partition, start, end))

    def others(self) -> Sequence[str]:
        return (*super().others(), "rewrite", "expire")

    def rewrite(self) -> None:
        """The rows of some files, in one file: rewrite_data_files, as far as pyiceberg has it."""
        table = self._table
        offsets = table.scan(selected_fields=("partition", "offset")).to_arrow()
        at = random.randrange(offsets.num_rows)
        partition, start = offsets["partition"][at].as_py(), offsets["offset"][at].as_py()
        within = self._within(partition, start, start + REWRITTEN)
        table.overwrite(table.scan(row_filter=within).to_arrow(), overwrite_filter=within)

    def expire(self) -> None:
        from datetime import UTC, datetime

        before = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=KEPT_S)
        self._table.maintenance.expire_snapshots().older_than(before).commit()


def maintained(to: str) -> Maintained:
    """Of what `--to` names."""
    kinds = {"delta": MaintainedDelta, "iceberg": MaintainedIceberg}
    return kinds.get(to.partition(":")[0], MaintainedParquet)(to)


def _deleted(table: Maintained, lots: random.Random, ledger: IO[str]) -> None:
    rows = table.rows()
    at = lots.randrange(rows.num_rows)
    partition, start = rows["partition"][at].as_py(), rows["offset"][at].as_py()
    end = start + lots.randint(1, LONGEST)
    offsets = rows["offset"]
    mask = pc.and_(
        pc.equal(rows["partition"], partition), pc.and_(pc.greater_equal(offsets, start), pc.less(offsets, end))
    )
    numbers = [int(one) for one in rows.filter(mask)["value"].to_pylist()]
    name = lots.choice(["delete", "delete_by_us"])
    _write(ledger, intend=numbers)
    getattr(table, name)(partition, start, end)
    _write(ledger, done=numbers, operation=[name])


def _write(ledger: IO[str], **what: list[Any]) -> None:
    """A whole line in one write: a kill leaves it, or nothing of it."""
    ledger.write(json.dumps(what) + "\n")
    ledger.flush()


def main() -> int:
    to, path, seed = sys.argv[1:]
    lots = random.Random(seed)
    random.seed(seed)
    table: Maintained | None = None
    with open(path, "a") as ledger:
        while True:
            time.sleep(lots.expovariate(1 / PAUSE_S))
            name = "delete"
            try:
                table = table or maintained(to)
                name = lots.choice(["delete", *table.others()])
                if name == "delete":
                    _deleted(table, lots, ledger)
                else:
                    getattr(table, name)()
                    _write(ledger, operation=[name])
            except Exception as failure:  # of a library: a load was first, most often; what it said is in the log
                print(f"{name}: {type(failure).__name__}: {str(failure)[:300]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
