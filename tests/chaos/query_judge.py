"""Whether what a query saw of a table is what the table had at one moment between the query's begin and its end.

    records of a partition    offsets 0, 1, 2, ...: a moment has those below an end, which only grows
    deletes of another writer one after the other: a moment has the first so many of them, each whole or not at all

A query is right, if there is such a number of deletes, and an end for each partition, with which its rows are the truth: none missing,
none double, none that was deleted. The ends lie between what was acknowledged before it began and what was sent when it had ended; the
deletes that were done before it began are among those it sees, those that begin after it ended are not.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Rows = Mapping[int, Sequence[int]]  # by partition, offsets as they came


@dataclass(frozen=True, slots=True)
class Deletion:
    """Of offsets first <= offset < end of a partition."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Window:
    """What may be true while a query ran.

    least, most   by partition, the end that was acknowledged before, and that was sent after
    done          deletes that were done before
    begun         these, and those that had begun when it ended
    """

    least: Mapping[int, int]
    most: Mapping[int, int]
    done: int
    begun: tuple[Deletion, ...]

    def moments(self) -> Iterable[tuple[Deletion, ...]]:
        """What may have been deleted."""
        return (self.begun[:count] for count in range(self.done, len(self.begun) + 1))


def fault_of_rows(window: Window, found: Rows, first: int = 0, end: int = 1 << 62) -> str:
    """Why rows whose offsets were to be first <= offset < end are of no moment; '' if they are."""
    whys = [_rows_differ(window, deleted, found, first, end) for deleted in window.moments()]
    return "" if "" in whys else whys[-1]


def fault_of_counts(window: Window, found: Mapping[int, int]) -> str:
    """Why the numbers of all rows by partition are of no moment; '' if they are."""
    whys = []
    for deleted in window.moments():
        why = ""
        for partition, least in window.least.items():
            low, high = (end - _deleted(deleted, partition, 0, end).size for end in (least, window.most[partition]))
            if not low <= found.get(partition, 0) <= high:
                why = f"partition {partition}: {found.get(partition, 0)} rows, and not {low} to {high}"
        whys.append(why)
    return "" if "" in whys else whys[-1]


def _rows_differ(window: Window, deleted: Sequence[Deletion], found: Rows, first: int, end: int) -> str:
    for partition, least in window.least.items():
        seen = np.sort(np.asarray(found.get(partition, ()), np.int64))
        last = int(seen[-1]) + 1 if seen.size else 0
        stop = min(max(least, last), window.most[partition], end)
        gone = _deleted(deleted, partition, first, stop)
        truth = np.setdiff1d(np.arange(first, max(stop, first)), gone)
        if np.array_equal(seen, truth):
            continue
        twice = seen[1:][seen[1:] == seen[:-1]]
        missing, more = np.setdiff1d(truth, seen), np.setdiff1d(seen, truth)
        return (
            f"partition {partition}, {first} to {stop}: {missing.size} missing {missing[:3]}, {twice.size} double {twice[:3]}, "
            f"{more.size} deleted or never sent {more[:3]}"
        )
    return ""


def _deleted(deleted: Sequence[Deletion], partition: int, first: int, end: int) -> np.ndarray:
    spans = [np.arange(max(one.first, first), min(one.end, end)) for one in deleted if one.partition == partition]
    return np.unique(np.concatenate(spans)) if spans else np.empty(0, np.int64)
