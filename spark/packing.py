"""Which ranges share a task: small ones of the same hosts, so that 400 small partitions don't cost 400 tasks.

Runs in: Spark's driver; for `.format("headrace")` a Python process beside it. A task costs some 45 ms of wall time, as much as a few
hundred thousand records. A range is never cut here (`planner.divide` does that).

    packed           of `scan`, which knows the cores and places its tasks: in their order, by hosts, up to an even share of all offsets for
                     each of TASKS_PER_CORE tasks a core; a range that is larger than the share has a task of its own
    packed_at_most   of `.format` with maxPartitions, which knows neither: into a number of tasks, as even as can be
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from headrace.arrow.offset_range import OffsetRange
from headrace.limits import PACKED_RANGES_MAX

TASKS_PER_CORE = 4
RANGE_COST = 5_000  # of opening a range, as offsets


def packed(ranges: Sequence[OffsetRange], cores: int, tasks_min: int = 1) -> list[list[OffsetRange]]:
    """The ranges of each task.

    tasks_min   no fewer tasks, if there are as many ranges
    returns     every range once; those of a task have the same hosts, and are at most PACKED_RANGES_MAX
    """
    wanted = max(TASKS_PER_CORE * cores, tasks_min, 1)
    if len(ranges) <= wanted:
        return [[one] for one in ranges]
    share = sum(map(_weight, ranges)) / wanted
    by_hosts: dict[frozenset[str], list[OffsetRange]] = {}
    for one in ranges:
        by_hosts.setdefault(frozenset(host for _id, host, _log_dir in one.replicas), []).append(one)
    tasks = [task for group in by_hosts.values() for task in _filled(group, share)]
    while len(tasks) < tasks_min:
        longest = max(tasks, key=len)
        tasks.remove(longest)
        tasks += [longest[: len(longest) // 2], longest[len(longest) // 2 :]]
    return tasks


def packed_at_most(ranges: Sequence[OffsetRange], most: int) -> list[list[OffsetRange]]:
    """The ranges of each of at most `most` tasks: the longest first, each into the task that has the least so far.

    returns   every range once, in their order within a task; the same for the same ranges, as a task that is repeated needs
    """
    assert most > 0, "a number of tasks"
    if len(ranges) <= most:
        return [[one] for one in ranges]
    tasks = [(0, number) for number in range(most)]  # weight, number: a heap
    held: list[list[int]] = [[] for _ in range(most)]
    for index in sorted(range(len(ranges)), key=lambda index: -_weight(ranges[index])):
        weight, number = tasks[0]
        held[number].append(index)
        heapq.heapreplace(tasks, (weight + _weight(ranges[index]), number))
    return [[ranges[index] for index in sorted(indexes)] for indexes in held]


def _filled(group: list[OffsetRange], share: float) -> list[list[OffsetRange]]:
    """Tasks of one set of hosts; each has about a share, or one range that is larger."""
    tasks: list[list[OffsetRange]] = []
    left = 0.0
    for one in group:
        weight = _weight(one)
        if not tasks or weight > left or len(tasks[-1]) == PACKED_RANGES_MAX:
            tasks.append([])
            left = share
        tasks[-1].append(one)
        left -= weight
    return tasks


def _weight(one: OffsetRange) -> int:
    return one.end - one.start + RANGE_COST
