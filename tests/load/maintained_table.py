"""The matrix of tables that other programs maintain: writer x operation x moment x format, and what a cell has to show.

    a table     of one format, as another program sees and changes it; in tests/interop Spark's own as well
    operation   what such a program does, and what a model of rows says of it, that knows nothing of files
    moment      before the first load, between loads, within a commit, after merging, while a load repeats

Each cell: the rows are the model's for the table's own reader, `dataset` and `headrace.table`; the load goes on, the audit is right.
What a load can't write is refused by its name, with nothing lost, and the load goes on when the owner has undone it.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import headrace
import headrace.spark
from headrace.errors import HeadraceError
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.contents import contents_of
from headrace.load.errors import LoadFenced
from headrace.load.history import dataset
from tests.load.loading import fill, load_inline

FIRST, BETWEEN, WITHIN, MERGED, MEANWHILE = (
    "before the first load", "between loads", "within a commit", "after merging", "while a load repeats",
)  # fmt: skip
MOMENTS = (FIRST, BETWEEN, WITHIN, MERGED, MEANWHILE)
ROUNDS, EACH = 4, 10
REPEATS = 4
COMPARED = ("value", "note")  # columns, beside the offset; null is as absent


def same(rows):
    """Of an operation that changes files, not rows."""
    return rows


def without(*offsets):
    return lambda rows: {at: row for at, row in rows.items() if at not in offsets}


def with_value(column, value, *offsets):
    """Of an update."""
    return lambda rows: {at: {**row, column: value} if at in offsets else row for at, row in rows.items()}


@dataclass(frozen=True)
class Operation:
    """What another program does.

    run       of a table of this matrix
    model     rows by offset before -> rows after
    refused   words of the error that a load then raises; '': it goes on
    reads     whether headrace's readers show the rows while the load is refused
    undo      by the owner, after which the load goes on
    columns   that it adds
    fences    whether a load at whose commit it comes may be fenced: the next one loads the same
    moments   at which it makes sense
    """

    name: str
    run: Callable
    model: Callable = same
    refused: str = ""
    reads: bool = True
    undo: Callable | None = None
    columns: tuple = ()
    fences: bool = False
    moments: tuple = MOMENTS

    def __str__(self):
        return self.name


def cells(tables, moments=MOMENTS):
    """(table, operation, moment) of each cell, for parametrize. The suite has one moment of each operation, in turn; the others are
    heavy: `make matrix` runs all."""
    found = []
    for table in tables:
        for number, operation in enumerate(table.OPERATIONS):
            fitting = [moment for moment in moments if moment in operation.moments]
            for moment in fitting:
                name = f"{table.__name__}-{operation.name}-{moment.replace(' ', '_')}"
                marks = () if moment == fitting[number % len(fitting)] else pytest.mark.heavy
                found.append(pytest.param(table, operation, moment, id=name, marks=marks))
    return found


class Cell:
    """One cell: a log, a table, and the rows that it should have."""

    def __init__(self, log, broker, table, operation):
        self.log = log
        self.broker = broker
        self.table = table
        self.operation = operation
        self.rows = {}
        self.next = 0  # the load's next offset
        self.end = 0
        self.is_changed = False
        self.spark = None

    def fill(self, count=EACH):
        fill(self.log, count=count)
        self.end += count

    def logged(self, start):
        return {at: {"value": b"%d" % at} for at in range(start, self.end)}

    def loaded(self):
        """The model of a load."""
        self.rows |= self.logged(self.next)
        self.next = self.end

    def change(self):
        self.operation.run(self.table)
        self.is_changed = True
        self.rows = self.operation.model(self.rows)

    def load(self, step=lambda name: None, **given):
        """A load; a fenced one is begun again, where the operation may fence one."""
        try:
            load_inline(self.broker, self.table.target(step), **given)
        except LoadFenced:
            assert self.operation.fences
            load_inline(self.broker, self.table.target(), **given)
        self.loaded()

    def check(self):
        """Each reader's rows. Rows of the log that are not loaded yet are in `headrace.table`."""
        live = self.rows | self.logged(self.next)
        self._check("the table's own reader", self.table.read(), self.rows)
        self._check("dataset", dataset(self.table.target()).to_table(), self.rows)
        made = headrace.table("clicks", history=self.table.target(), bootstrap_servers=self.broker.address)
        self._check("headrace.table", made.read_all(), live)
        if self.spark is not None:
            frame = headrace.spark.table(
                self.spark, "clicks", history=self.table.target(), bootstrap_servers=self.broker.address
            )
            self._check("headrace.spark.table", frame.toArrow(), live)

    def _check(self, reader, table, expected):
        if self.is_changed:
            assert set(self.operation.columns) <= set(table.column_names), reader
        assert shown(table) == expected, reader

    def check_audit(self):
        found = audit(self.table.target(), is_deep=True)
        assert (found.faults, found.orphans) == ([], [])
        said = [(one.loaded, one.present) for one in found.changes]
        lacking = self.end - len(self.rows)
        assert said == [(self.end, len(self.rows))] or (not said and not lacking)


def shown(table):
    """Rows by offset; a row that is there twice is an error."""
    columns = [name for name in table.column_names if name in COMPARED]
    offsets = table["offset"].to_pylist()
    assert len(set(offsets)) == len(offsets), f"doubled: {sorted(at for at in offsets if offsets.count(at) > 1)}"
    rows = table.select(columns).to_pylist()
    said = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return dict(sorted(zip(offsets, said, strict=True)))


def run_cell(log, broker, table, operation, moment, spark=None):
    """Loads, with the operation at its moment, and then what a cell has to show; by Spark's reader as well, where a session is given."""
    cell = Cell(log, broker, table, operation)
    cell.spark = spark
    if moment == FIRST:
        table.create(contents_of(None, None, "fail").schema())
        cell.fill()
        _at_rest(cell)
    for number in range(ROUNDS):
        cell.fill()
        is_now = number == 2
        if is_now and moment == MERGED:
            compact(table.target())
        if is_now and moment in (BETWEEN, MERGED):
            _at_rest(cell)
        if is_now and moment == WITHIN:
            _within(cell)
        elif is_now and moment == MEANWHILE:
            _meanwhile(cell)
        else:
            cell.load()
    cell.check()
    compact(table.target())
    cell.check()
    cell.fill(3)
    cell.check()
    cell.load()
    cell.check()
    cell.check_audit()


def _at_rest(cell):
    """The operation while no load runs."""
    cell.change()
    if not cell.operation.refused:
        return
    for _ in range(2):
        with pytest.raises(HeadraceError, match=cell.operation.refused):
            load_inline(cell.broker, cell.table.target())
    if cell.operation.reads:
        cell.check()
    else:
        with pytest.raises(HeadraceError, match=cell.operation.refused):
            dataset(cell.table.target())
    if cell.operation.undo:
        cell.operation.undo(cell.table)


def _within(cell):
    """The operation when a load is about to make its commit."""
    done = []

    def step(name):
        if name == "table commit made" and not done:
            done.append(name)
            cell.change()

    if not cell.operation.refused:
        cell.load(step)
    else:
        with pytest.raises(HeadraceError, match=cell.operation.refused):
            load_inline(cell.broker, cell.table.target(step))
        if cell.operation.undo:
            cell.operation.undo(cell.table)
        cell.load()
    assert done


def _meanwhile(cell):
    """The operation again and again while a load repeats, in a thread of its own."""
    is_over = threading.Event()
    failures = []

    def loads():
        try:
            load_inline(
                cell.broker, cell.table.target(), every_s=0.05, compact_every=2, is_stopped=is_over.is_set, group=""
            )
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=loads)
    thread.start()
    try:
        for _ in range(REPEATS):
            cell.fill()
            cell.table.repeated(cell.operation)
    finally:
        is_over.set()
        thread.join()
    assert not failures, failures
    cell.load()
    cell.rows = cell.logged(0)
    cell.change()
