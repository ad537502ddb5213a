"""Upkeep of ours and of others, loads and kills in any order, against a model that knows nothing of files.

After each operation the table has the model's rows, and the audit against the log has no fault: nothing is lost, revived or doubled.
"""

import random

import pytest

import headrace
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.deleting import delete
from headrace.load.expiring import expire
from headrace.load.history import dataset
from headrace.load.rewinding import rewind
from headrace.load.vacuuming import vacuum
from tests.load.dying_upkeep import upkeep_and_die
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import HOUR_MS, T0, fill, load_inline
from tests.load.tables import KINDS, Delta, Iceberg, Parquet

__all__ = ["icebergs_threads_end"]

STEP_MS = HOUR_MS // 5
STEPS = 14


class World:
    """A log, a table, and what the table should have."""

    def __init__(self, log, broker, kind, seed):
        self.log, self.broker, self.kind = log, broker, kind
        self.random = random.Random(seed)
        self.end = self.next = 0
        self.rows = set()
        self.by_others = set()

    def load(self):
        count = self.random.randint(1, 15)
        fill(self.log, count=count, step_ms=STEP_MS)
        self.end += count
        done = load_inline(self.broker, self.kind.target(), records_per_task=self.random.choice([3, 100]))
        assert done.records == self.end - self.next
        self.rows |= {*range(self.next, self.end)}
        self.next = self.end

    def compact(self):
        compact(self.kind.target())

    def delete(self):
        divisor = self.random.randint(2, 9)
        rest = self.random.randrange(divisor)
        gone = {n for n in self.rows if n % divisor == rest}
        done = delete(self.kind.target(), f'"offset" % {divisor} = {rest}')
        assert done.removal.rows == len(gone)
        self.rows -= gone

    def expire(self):
        at_ms = T0 + self.random.randrange(self.end + 1) * STEP_MS
        expire(self.kind.target(), 0, now_s=at_ms / 1000)
        self.rows = {n for n in self.rows if (T0 + n * STEP_MS) // HOUR_MS >= at_ms // HOUR_MS}

    def rewind(self):
        cut = self.random.randint(self.next // 2, self.next)
        rewind("clicks", self.kind.target(), cut, bootstrap_servers=self.broker.address)
        self.rows = {n for n in self.rows if n < cut}
        self.next = min(cut, self.next)

    def vacuum(self):
        vacuum(self.kind.target(), 0, force=True)

    def delete_by_others(self):
        offset = self.random.choice(sorted(self.rows)) if self.rows else 0
        self.kind.delete(offset)
        self.rows.discard(offset)

    def optimize(self):
        if self.rows:
            self.kind.optimize()

    def check(self):
        table = dataset(self.kind.target()).to_table(columns=["offset"])
        assert sorted(table["offset"].to_pylist()) == sorted(self.rows)
        live = headrace.table("clicks", history=self.kind.target(), bootstrap_servers=self.broker.address).read_all()
        assert sorted(live["offset"].to_pylist()) == sorted(self.rows | {*range(self.next, self.end)})
        if not isinstance(self.kind, Parquet):
            assert self.kind.offsets() == sorted(self.rows)
        found = audit(self.kind.target(), True, self.broker.address)
        assert (found.faults, found.orphans) == ([], [])
        for one in found.log:
            assert (one.lost, one.extra_unknown, one.rows) == (0, 0, len(self.rows))


OURS = ("load", "load", "compact", "delete", "expire", "rewind", "vacuum")
OTHERS = ("delete_by_others", "delete_by_others", "optimize")


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.heavy), pytest.param(2, marks=pytest.mark.heavy)]
)
def test_rows_are_those_of_the_model_after_each_operation(log, broker, tmp_path, make, seed):
    world = World(log, broker, make(tmp_path), seed)
    operations = OURS if make is Parquet else OURS + OTHERS
    done = ["load"]
    world.load()
    for _ in range(STEPS):
        done.append(world.random.choice(operations))
        getattr(world, done[-1])()
        try:
            world.check()
        except AssertionError as failure:
            raise AssertionError(f"after {done}: {failure}") from failure


STEPS_OF_TABLES = ["rows removed", "manifest written", "table commit made", "table committed"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("make", "operation"),
    [
        (Delta, "delete"),
        (Iceberg, "expire"),
        pytest.param(Delta, "expire", marks=pytest.mark.heavy),
        pytest.param(Iceberg, "delete", marks=pytest.mark.heavy),
    ],
)
@pytest.mark.parametrize("step", STEPS_OF_TABLES)
def test_one_that_is_killed_leaves_all_or_nothing(log, broker, tmp_path, make, operation, step):
    kind = make(tmp_path)
    fill(log, count=30, step_ms=STEP_MS)
    load_inline(broker, kind.target())
    to, environment = name_of(kind, tmp_path)
    assert upkeep_and_die(to, step, operation, '"offset" < 20' if operation == "delete" else 0, **environment)
    left = [*range(20, 30)] if operation == "delete" else []
    assert kind.offsets() == (left if step == "table committed" else [*range(30)])
    load_inline(broker, kind.target())
    found = audit(kind.target(), True, broker.address)
    assert (found.faults, found.orphans) == ([], [])
    if operation == "delete":
        delete(kind.target(), '"offset" < 20')
    else:
        expire(kind.target(), 0)
    assert kind.offsets() == left
    assert audit(kind.target(), True, broker.address).faults == []


def name_of(kind, path):
    """The target as another process opens it."""
    if isinstance(kind, Delta):
        return f"delta:{kind.path}", {}
    catalog = {"URI": f"sqlite:///{path}/catalog.db", "WAREHOUSE": f"file://{path}/warehouse"}
    environment = {f"PYICEBERG_CATALOG__PROD__{key}": value for key, value in catalog.items()}
    return "iceberg:prod:web.clicks", environment
