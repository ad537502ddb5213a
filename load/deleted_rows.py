"""Which rows commits of ours took from a table on purpose: their offsets, by partition.

A range that was loaded says how many rows it had. Where files have fewer, the audit has to know whether rows were deleted by us
(`headrace load expire`, `headrace load delete`) or lost. So a commit that deletes says each offset, in runs:

    offsets   3 4 5 9 20 21     runs   3..6, 9..10, 20..22     text   the differences of these bounds, deflated, in base 64

Neighbours become one run: of hours that expired little is left, whatever was deleted in them before. Rows at or after the offset where
the load continues are none of these: a rewind has them loaded again.

Pure.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headrace.limits import LOAD_DELETED_RUNS_MAX

NO_RUNS = np.empty((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """Of one partition.

    rows   runs of offsets of the table's rows, as text; '': none
    bad    of dead letters
    """

    topic: str
    topic_id: str
    partition: int
    rows: str = ""
    bad: str = ""

    @property
    def row_runs(self) -> np.ndarray:
        return decoded(self.rows)

    @property
    def bad_runs(self) -> np.ndarray:
        return decoded(self.bad)

    def count(self, start: int | None = None, end: int | None = None) -> tuple[int, int]:
        """Rows and dead letters at offsets start <= offset < end."""
        return (
            counted(within(self.row_runs, start, end)),
            counted(within(self.bad_runs, start, end)),
        )


def deleted_rows(topic: str, topic_id: str, partition: int, rows: np.ndarray, bad: np.ndarray) -> DeletedRows:
    """From offsets, in any order."""
    return DeletedRows(topic, topic_id, partition, encoded(runs_of(rows)), encoded(runs_of(bad)))


def summed(some: Iterable[DeletedRows]) -> tuple[DeletedRows, ...]:
    """One for each partition, in order. raises ValueError, where a text can't be read"""
    grouped: dict[tuple[str, str, int], list[DeletedRows]] = {}
    for one in some:
        grouped.setdefault((one.topic, one.topic_id, one.partition), []).append(one)
    found = []
    for key, parts in sorted(grouped.items()):
        if len(parts) == 1:
            found.append(parts[0])
            continue
        rows, bad = joint([one.row_runs for one in parts]), joint([one.bad_runs for one in parts])
        found.append(DeletedRows(*key, encoded(rows), encoded(bad)))
    return tuple(found)


def before(one: DeletedRows, end: int) -> DeletedRows:
    """What of it lies before an offset."""
    rows, bad = within(one.row_runs, None, end), within(one.bad_runs, None, end)
    return DeletedRows(one.topic, one.topic_id, one.partition, encoded(rows), encoded(bad))


def runs_of(offsets: np.ndarray) -> np.ndarray:
    """(start, end) of each run of offsets, which come in any order; shape (n, 2)."""
    if not len(offsets):
        return NO_RUNS
    found = np.unique(np.asarray(offsets, np.int64))
    breaks = np.flatnonzero(np.diff(found) != 1)
    starts = found[np.concatenate(([0], breaks + 1))]
    ends = found[np.concatenate((breaks, [len(found) - 1]))] + 1
    return np.stack([starts, ends], axis=1)


def joint(some: Iterable[np.ndarray]) -> np.ndarray:
    """Runs that have what any of them has."""
    found = np.concatenate([NO_RUNS, *some])
    if len(found) < 2:
        return found
    found = found[np.argsort(found[:, 0], kind="stable")]
    reach = np.maximum.accumulate(found[:, 1])
    begins = np.concatenate(([True], found[1:, 0] > reach[:-1]))
    first = np.flatnonzero(begins)
    last = np.concatenate((first[1:] - 1, [len(found) - 1]))
    return np.stack([found[first, 0], reach[last]], axis=1)


def within(runs: np.ndarray, start: int | None, end: int | None) -> np.ndarray:
    """The runs' part at offsets start <= offset < end; None: no limit."""
    if not len(runs):
        return runs
    found = np.clip(runs, start, end) if start is not None or end is not None else runs
    return found[found[:, 0] < found[:, 1]]


def counted(runs: np.ndarray) -> int:
    return int((runs[:, 1] - runs[:, 0]).sum())


def marked(runs: np.ndarray, start: int, end: int) -> np.ndarray:
    """For each offset start <= offset < end whether a run has it."""
    found = np.zeros(end - start + 1, np.int8)
    inside = within(runs, start, end) - start
    np.add.at(found, inside[:, 0], 1)
    np.add.at(found, inside[:, 1], -1)
    return np.asarray(np.cumsum(found[:-1], dtype=np.int8), bool)


def encoded(runs: np.ndarray) -> str:
    """raises   ValueError, for more runs than a commit is to have"""
    if not len(runs):
        return ""
    if len(runs) > LOAD_DELETED_RUNS_MAX:
        raise ValueError(
            f"{len(runs)} runs of deleted offsets in one partition, more than the limit of {LOAD_DELETED_RUNS_MAX}: delete fewer rows "
            "at once, or expire whole hours first"
        )
    steps = np.diff(runs.reshape(-1), prepend=0).astype("<i8")
    return base64.b64encode(zlib.compress(steps.tobytes())).decode()


def decoded(text: str) -> np.ndarray:
    """raises   ValueError"""
    if not text:
        return NO_RUNS
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(base64.b64decode(text, validate=True), 16 * LOAD_DELETED_RUNS_MAX)
    except (binascii.Error, zlib.error) as failure:
        raise ValueError(f"runs of deleted offsets can't be read: {failure}") from None
    if len(data) % 16 or not inflate.eof:
        raise ValueError(f"the list of deleted offsets can't be read: invalid size {len(data)} bytes")
    return np.cumsum(np.frombuffer(data, "<i8")).reshape(-1, 2)
