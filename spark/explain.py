"""`explain`: what of a query runs in the Python workers, beneath what Spark's own `explain()` shows.

Runs in: Spark's driver, PySpark Classic. A scan's function carries a name, `headrace_scan_7`, which Spark keeps in its plans:
so scans are found in any DataFrame made of them. What `.format("headrace")` reads is found as `refresh` finds it.
"""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame

from headrace.arrow.local_range import local_directory
from headrace.arrow.pushdown import pushed
from headrace.arrow.ranges import OffsetRange
from headrace.limits import EXPLAINED_SCANS_MAX
from headrace.log.names import LOG_SUFFIX, path_of, segment_bases
from headrace.spark.options import parse_options
from headrace.spark.read_counts import ReadCounts, counts_of
from headrace.spark.reading import Reading, reading_of
from headrace.spark.refresh import source_of

_NAME = re.compile(r"headrace_scan_\d+")
_numbers = itertools.count(1)
_scans: OrderedDict[str, tuple[Reading, Sequence[Sequence[OffsetRange]], str]] = OrderedDict()


def explain(frame: DataFrame) -> str:
    """What the workers do for a DataFrame: ranges and bytes, columns, decoding, filter; a paragraph for each read.

    raises   ValueError, if it reads nothing of headrace in a classic session
    """
    analyzed = _analyzed(frame, "explain")
    found = ["\n".join([*_scan_lines(*_scans[name]), *_count_lines(name)]) for name in _names(analyzed)]
    leaves = analyzed.collectLeaves()
    for index in range(leaves.size()):
        leaf = leaves.apply(index)
        if source_of(leaf) is not None:
            found.append("\n".join(_source_lines(leaf)))
    if not found:
        raise ValueError("this DataFrame does not read through headrace's scan or .format")
    return "\n\n".join(found)


def read_counts(frame: DataFrame) -> ReadCounts:
    """Bytes that the scans of a DataFrame have read so far, from files and over the network, in all actions on it.

    raises   ValueError, if there is no scan of headrace in it, or in Spark Connect
    """
    names = _names(_analyzed(frame, "read_counts"))
    if not names:
        raise ValueError("this DataFrame does not read through headrace's scan, which keeps the counts")
    found = [counts_of(name) for name in names]
    return ReadCounts(sum(one.local_bytes for one in found), sum(one.remote_bytes for one in found))


def _analyzed(frame: DataFrame, what: str) -> Any:
    execution = getattr(getattr(frame, "_jdf", None), "queryExecution", None)
    if execution is None:
        raise ValueError(f"{what} needs a classic session")
    return execution().analyzed()


def _names(analyzed: Any) -> list[str]:
    """Of the scans in a plan."""
    return [name for name in dict.fromkeys(_NAME.findall(str(analyzed.toString()))) if name in _scans]


def remember(reading: Reading, tasks: Sequence[Sequence[OffsetRange]], map_batches: Callable[..., Any] | None) -> str:
    """The name for a scan's function."""
    name = f"headrace_scan_{next(_numbers)}"
    mapped = "" if map_batches is None else getattr(map_batches, "__name__", repr(map_batches))
    _scans[name] = (reading, tasks, mapped)
    if len(_scans) > EXPLAINED_SCANS_MAX:
        _scans.popitem(last=False)
    return name


def _scan_lines(reading: Reading, tasks: Sequence[Sequence[OffsetRange]], mapped: str) -> list[str]:
    ranges = [one for task in tasks for one in task]
    topics = ", ".join(sorted({one.topic for one in ranges})) or "nothing"
    offsets = sum(one.end - one.start for one in ranges)
    sizes = [_size_bytes(one) for one in ranges]
    here = [size for size in sizes if size is not None]
    lines = [
        f"scan of {topics}: {len(ranges)} ranges in {len(tasks)} tasks, {offsets:,} offsets",
        f"  files   {len(here)} of {len(ranges)} ranges on this host, segments of {sum(here):,} bytes",
        *_reading_lines(reading),
    ]
    return [*lines, f"  then    map_batches {mapped}"] if mapped else lines


def _count_lines(name: str) -> list[str]:
    counts = counts_of(name)
    if not counts.local_bytes + counts.remote_bytes:
        return []
    return [
        f"  read    {counts.local_bytes:,} bytes from files of the tasks' hosts, {counts.remote_bytes:,} over the network"
    ]


def _source_lines(leaf: Any) -> list[str]:
    options = parse_options({str(key): str(value) for key, value in dict(leaf.options().asCaseSensitiveMap()).items()})
    reading = Reading(tuple(leaf.schema().fieldNames()), reading_of(options, None).decode)
    what = ", ".join(options.topics) or options.pattern or ", ".join(map(str, options.assigned))
    most = "" if options.max_partitions is None else f" in at most {options.max_partitions} tasks"
    return [
        f'.format("headrace") of {what}, ranges planned by Spark at the first action{most}',
        *_reading_lines(reading),
    ]


def _reading_lines(reading: Reading) -> list[str]:
    lines = [f"  reads   {', '.join(reading.sources())}"]
    if reading.decode is not None:
        lines += [f"  decodes {line}" for line in reading.decode.describe(reading.names)]
        lines.append(f"  bad     {reading.decode.mode}")
    if reading.where is not None:
        where = getattr(reading.where, "__name__", "a function") if callable(reading.where) else reading.where
        lines.append(f"  where   {where}")
        if bounds := pushed(reading.where, reading.arrow_schema()).describe():
            lines.append(f"  pushed  {bounds}: offsets before and after are not read")
    return [*lines, f"  gives   {', '.join(reading.names)}"]


def _size_bytes(one: OffsetRange) -> int | None:
    """Bytes of the segments that hold a range, None if they are not on this host."""
    directory = local_directory(one)
    if directory is None:
        return None
    bases = segment_bases(directory)
    ends = [*bases[1:], one.end]
    held = [base for base, end in zip(bases, ends, strict=True) if base < one.end and end > one.start]
    try:
        return sum(path_of(directory, base, LOG_SUFFIX).stat().st_size for base in held)
    except OSError:  # retention took one meanwhile
        return None
