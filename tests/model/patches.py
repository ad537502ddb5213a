"""The real tables with one thing changed, for the life of a `with`: what variants and mutants are made of.

A function of the tables is known in several places: by name in each module that imports it, in cells, in rows of requests. All of them
change, and change back.
"""

import sys
from contextlib import contextmanager

from headrace.state_table import Transition
from headrace.workers.coordinators.transaction import table
from headrace.workers.coordinators.transaction.machine import PENDING_COLUMN, TransactionMachine

PACKAGE = "headrace.workers.coordinators.transaction"
PENDING = object()  # the column of a cell: while a record is being appended

_TABLES = (table.ROWS, table.STORED, table.FAILED)


@contextmanager
def swapped(old, new):
    """One function in place of another, wherever the tables have it."""
    with _restored():
        for module in _modules():
            for name, value in list(vars(module).items()):
                if value is old:
                    setattr(module, name, new)
        for rows in _TABLES:
            for event, row in rows.items():
                rows[event] = tuple(
                    cell._replace(act=new) if isinstance(cell, Transition) and cell.act is old else cell for cell in row
                )
        for event, row in table.REQUESTS.items():
            table.REQUESTS[event] = row._replace(
                fault_of=new if row.fault_of is old else row.fault_of,
                judge=new if row.judge is old else row.judge,
                absent=new if row.absent is old else row.absent,
                cells=table.ROWS[event],
            )
        yield


@contextmanager
def cell(rows, event, state, new):
    """One cell of ROWS, STORED or FAILED."""
    with _restored():
        column = PENDING_COLUMN if state is PENDING else state.column
        row = list(rows[event])
        row[column] = new
        rows[event] = tuple(row)
        yield


@contextmanager
def method(owner, name, new):
    """One method of a class."""
    old = vars(owner)[name]
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextmanager
def without_rule():
    yield


def on_machine(name, new):
    return method(TransactionMachine, name, new)


def _modules():
    return [module for name, module in list(sys.modules.items()) if name.startswith(PACKAGE) and module is not None]


@contextmanager
def _restored():
    tables = [(rows, dict(rows)) for rows in (*_TABLES, table.REQUESTS)]
    names = [(module, dict(vars(module))) for module in _modules()]
    try:
        yield
    finally:
        for rows, before in tables:
            rows.update(before)
        for module, before in names:
            for name, value in before.items():
                if vars(module).get(name) is not value:
                    setattr(module, name, value)
