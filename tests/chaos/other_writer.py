"""Another program that maintains a table: it deletes rows and merges files, and writes down what it does, before and after.

    python -m tests.chaos.other_writer TO JOURNAL SEED

Runs in: a process of its own, until SIGTERM. It deletes offsets of one partition that the table has, one delete after the other, by
what `table_maintainer.py` has.

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
from tests.chaos.table_maintainer import Maintained, maintained

PAUSE_S = 0.4
ROWS_MAX = 60
OPTIMIZE_EVERY = 5


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
    to, journal, seed = sys.argv[1:]
    writer: Maintained | None = None
    chance = random.Random(int(seed))
    is_over: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: is_over.append(number))
    turns = 0
    with open(journal, "ab", buffering=0) as file:
        while not is_over:
            time.sleep(PAUSE_S)
            turns += 1
            try:
                writer = writer or maintained(to)
                one = chosen(writer.rows(), chance)
            except Exception:  # a file went between the table's log and its read
                continue
            if one is None:
                continue
            file.write(f"begin {one.partition} {one.first} {one.end}\n".encode())
            file.write(b"done\n" if _is_carried_out(writer.delete, one.partition, one.first, one.end) else b"failed\n")
            if turns % OPTIMIZE_EVERY == 0:
                _is_carried_out(getattr(writer, chance.choice(writer.others())))
    return 0


def _is_carried_out(operation: Any, *arguments: int) -> bool:
    """False, where the library said that another commit was first."""
    try:
        operation(*arguments)
    except Exception as failure:
        print(f"{os.getpid()}: {failure!r:.300}", file=sys.stderr, flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
