"""How many bytes scans read from files on their tasks' hosts, and how many over the network.

Runs in: Python workers (count), Spark's driver (adds up). One accumulator of the session carries the counts of all scans, by the names
that `explain` gives them; a task's counts come with its result, so that attempts that failed count nothing, and a scan that runs
twice counts twice. Bytes are those of record batches as they lie in segments, compressed if they are.

    counts = read_counts(frame)          # after an action on the frame, or on what was made of it
    counts.local_share                   # 1.0: everything came from files on the hosts of its tasks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from headrace.arrow.tally import Tally
from headrace.limits import EXPLAINED_SCANS_MAX
from headrace.spark.reading import Reading

Counts = dict[str, tuple[int, int]]

_current: list[tuple[Any, Accumulator[Counts]]] = []  # (SparkContext, its accumulator): one, or none yet


class ReadCounts(NamedTuple):
    """Bytes that were read, by where from."""

    local_bytes: int = 0
    remote_bytes: int = 0

    @property
    def local_share(self) -> float:
        """From files, of all; 1.0 if nothing was read."""
        total = self.local_bytes + self.remote_bytes
        return self.local_bytes / total if total else 1.0


class _Sums(AccumulatorParam[Counts]):
    """Adds counts by scan; the latest scans are kept."""

    def zero(self, value: Counts) -> Counts:
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:
        for name, (local_bytes, remote_bytes) in value2.items():
            before = value1.pop(name, (0, 0))
            value1[name] = (before[0] + local_bytes, before[1] + remote_bytes)
        while len(value1) > EXPLAINED_SCANS_MAX:
            del value1[next(iter(value1))]
        return value1


def counted(spark: SparkSession, reading: Reading, name: str) -> Reading:
    """The same reading, which counts for a scan; as it is in Spark Connect, which has no accumulators."""
    context = getattr(spark, "sparkContext", None) if hasattr(spark, "_jsparkSession") else None
    if context is None:
        return reading
    return replace(reading, count=_counter(_accumulator(context), name))


def counts_of(name: str) -> ReadCounts:
    """What a scan has read so far."""
    if not _current:
        return ReadCounts()
    return ReadCounts(*_current[0][1].value.get(name, (0, 0)))


def _counter(accumulator: Accumulator[Counts], name: str) -> Callable[[Tally], None]:
    def count(tally: Tally) -> None:
        accumulator.add({name: (tally.local_bytes, tally.remote_bytes)})

    return count


def _accumulator(context: Any) -> Accumulator[Counts]:
    if not _current or _current[0][0] is not context:
        _current[:] = [(context, context.accumulator({}, _Sums()))]
    return _current[0][1]
