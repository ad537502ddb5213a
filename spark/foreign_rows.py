"""`ForeignRows`: what other tasks of an interrupted micro-batch wrote, and rows that look like theirs.

A micro-batch that continues with another number of tasks has its rows shared out in another way: a task comes to rows that another one
stored before this run began. (What came since is of tasks that are as many as now.) Spark reports a task its own number and not how many
there are, so it is seen by the rows: a run of rows, which the others have each once, in their order. RUN_ROWS of them are no accident;
RUN_ROWS_LEAST are none where they are all that the other task wrote to a partition, or the last ones of this task. Rows of a run are
held back until it breaks, so none is stored twice. Rows may go to another partition than they went to (without keys they do), so all
partitions of the others count.

Tasks that have such a run of their own each (an upstream producer that stored a batch twice) look the same. The option
`headrace.exactly.once.alike` names the micro-batch in which they are let through.

Runs in: Python workers, in the first attempts after a start. Memory: some 100 bytes for each row of the others; RUN_ROWS rows are held of
each partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.protocol.record_batch import Header

RUN_ROWS = 8
RUN_ROWS_LEAST = 3
SEVERAL = -1  # instead of a place

SinkRow = tuple[bytes | None, bytes | None, Sequence[Header], int]  # value, key, headers, partition


def hash_row(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """What a row is known by in this process."""
    return hash((key, value, tuple(headers)))


@dataclass(slots=True)
class _Run:
    """Of rows to one partition: the place of the last one among the others' rows, and those that are held."""

    last: int = -2
    held: list[SinkRow] = field(default_factory=list)


class ForeignRows:
    """Of one attempt."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}  # by the hash of a row
        self._needed: list[int] = []  # by place: how long a run has to be
        self._runs: dict[int, _Run] = {}

    @property
    def is_empty(self) -> bool:
        """Every row can be sent: `passed` need not be asked."""
        return not self._needed

    def add(self, hashes: Sequence[int]) -> None:
        """The rows of another task in one partition, in their order."""
        needed = min(RUN_ROWS, max(RUN_ROWS_LEAST, len(hashes)))
        for one in hashes:
            self._places[one] = SEVERAL if one in self._places else len(self._needed)
            self._needed.append(needed)
        self._needed.append(0)  # no run goes from one task's rows to the next one's

    def passed(self, row: SinkRow, row_hash: int) -> list[SinkRow] | None:
        """The rows that can be sent now, in their order; None: they are another task's."""
        if self.is_empty:
            return [row]
        run = self._runs.setdefault(row[3], _Run())
        place = self._places.get(row_hash, SEVERAL)
        free: list[SinkRow] = []
        if place == SEVERAL or place != run.last + 1:
            free, run.held = run.held, []
        if place == SEVERAL:
            run.last = -2
            return [*free, row]
        run.last = place
        run.held.append(row)
        return None if len(run.held) >= self._needed[place] else free

    def released(self) -> list[SinkRow] | None:
        """The task has no more rows: what is held; None: it is another task's."""
        if any(len(run.held) >= RUN_ROWS_LEAST for run in self._runs.values()):
            return None
        return [row for run in self._runs.values() for row in run.held]
