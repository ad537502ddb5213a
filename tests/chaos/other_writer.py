"""Another program that maintains a table: it deletes rows and merges files, and writes down what it does, before and after.

    python -m tests.chaos.other_writer KIND TO JOURNAL SEED

Runs in: a process of its own, by deltalake or pyiceberg, until SIGTERM. It deletes offsets of one partition that the table has, one
delete after the other.

    journal    begin PARTITION FIRST END | done | failed        a line each, whole when it is there
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from tests.chaos.query_judge import Deletion

PAUSE_S = 0.4
ROWS_MAX = 60
OPTIMIZE_EVERY = 5


class DeltaWriter:
    """By delta-rs."""

    def __init__(self, to: str) -> None:
        self._path = to.removeprefix("delta:")

    def rows(self) -> Any:
        return self._table().to_pyarrow_dataset().to_table(columns=["partition", "offset"])

    def delete(self, one: Deletion) -> None:
        self._table().delete(f'partition = {one.partition} and "offset" >= {one.first} and "offset" < {one.end}')

    def optimize(self) -> None:
        self._table().optimize.compact()

    def _table(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self._path)


class IcebergWriter:
    """By pyiceberg, which has no merge of its own: the loader's runs meanwhile."""

    def __init__(self, to: str) -> None:
        _scheme, self._catalog, self._name = to.split(":")

    def rows(self) -> Any:
        return self._table().scan(selected_fields=("partition", "offset")).to_arrow()

    def delete(self, one: Deletion) -> None:
        from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThan

        where = And(
            EqualTo("partition", one.partition), GreaterThanOrEqual("offset", one.first), LessThan("offset", one.end)
        )
        self._table().delete(where)

    def optimize(self) -> None:
        return None

    def _table(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog(self._catalog).load_table(self._name)


WRITERS = {"delta": DeltaWriter, "iceberg": IcebergWriter}


def read_journal(path: Path) -> tuple[list[Deletion], bool]:
    """The deletes in order but for those that failed, and whether the last one is done."""
    found: list[Deletion] = []
    is_done = True
    for line in path.read_text().splitlines(keepends=True) if path.exists() else ():
        word, *numbers = line.split()
        if not line.endswith("\n"):
            break
        if word == "begin":
            found.append(Deletion(*map(int, numbers)))
        elif word == "failed":
            found.pop()
        is_done = word != "begin"
    return found, is_done


def chosen(rows: Any, chance: random.Random) -> Deletion | None:
    """Offsets of a partition that the table has; None, while it has few."""
    partition = chance.randrange(4)
    last = pc.max(rows.filter(pc.equal(rows["partition"], partition))["offset"]).as_py()
    if last is None or last < ROWS_MAX:
        return None
    first = chance.randrange(last - ROWS_MAX)
    return Deletion(partition, first, first + chance.randint(1, ROWS_MAX))


def main() -> int:
    kind, to, journal, seed = sys.argv[1:]
    writer = WRITERS[kind](to)
    chance = random.Random(int(seed))
    is_over: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: is_over.append(number))
    turns = 0
    with open(journal, "ab", buffering=0) as file:
        while not is_over:
            time.sleep(PAUSE_S)
            turns += 1
            try:
                one = chosen(writer.rows(), chance)
            except Exception:  # a file went between the table's log and its read
                continue
            if one is None:
                continue
            file.write(f"begin {one.partition} {one.first} {one.end}\n".encode())
            file.write(b"done\n" if _is_carried_out(lambda one=one: writer.delete(one)) else b"failed\n")
            if turns % OPTIMIZE_EVERY == 0:
                _is_carried_out(writer.optimize)
    return 0


def _is_carried_out(operation: Any) -> bool:
    """False, where the library said that another commit was first."""
    try:
        operation()
    except Exception as failure:
        print(f"{os.getpid()}: {failure!r:.300}", file=sys.stderr, flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
