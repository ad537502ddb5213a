"""What the service manager is told of the node in one line (STATUS=), composed of parts.

Runs in: the supervisor, which reads the process table and its own list of children.

    starting: 4 of 6 processes, 12 of 40 logs open, 5123 MiB recovered
    serving on log1:9092, listening on 0.0.0.0:9092
    serving on log1:9092; degraded: hr-partition-0 restarted 13 x, next in 5 s, log directories offline: /data/2
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headrace.node.children import Child
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.process_table import ProcessState, ProcessTable
from headrace.shm.wiring import Wiring

MANY_DEATHS = 3  # in a row: a process that serves again is still worth a word
CALM_MS = 10_000  # after so long it is not
_MEBIBYTE = 1 << 20


class Progress(NamedTuple):
    """How far a start has come; no field of it goes back while it does."""

    processes: int
    logs_wanted: int
    logs_opened: int
    recovered_bytes: int

    def beyond(self, other: Progress) -> bool:
        return any(mine > theirs for mine, theirs in zip(self, other, strict=True))

    def furthest(self, other: Progress) -> Progress:
        return Progress(*map(max, self, other))


NO_PROGRESS = Progress(0, 0, 0, 0)


def progress(processes: ProcessTable, wiring: Wiring) -> Progress:
    ready = sum(processes.state(process_id) is ProcessState.READY for process_id in range(wiring.process_count))
    counters = [processes.counters(process_id) for process_id in wiring.partition_ids]
    return Progress(
        ready, *(sum(one.get(index) for one in counters) for index in (LOGS_WANTED, LOGS_OPENED, RECOVERED_BYTES))
    )


def start_line(now: Progress, process_count: int, troubles: Iterable[str] = ()) -> str:
    """What a start is busy with; what is not known yet is left out."""
    parts = [f"{now.processes} of {process_count} processes"]
    if now.logs_wanted:
        parts.append(f"{now.logs_opened} of {now.logs_wanted} logs open")
    if now.recovered_bytes:
        parts.append(f"{now.recovered_bytes // _MEBIBYTE} MiB recovered")
    return f"starting: {', '.join([*parts, *troubles])}"


def serving_line(bootstrap: str, bound: str, troubles: Iterable[str] = (), news: Iterable[str] = ()) -> str:
    """Where the node serves, and what is wrong with it."""
    line = f"serving on {bootstrap}" if bound == bootstrap else f"serving on {bootstrap}, listening on {bound}"
    degraded = ", ".join(troubles)
    return "; ".join([line, *([f"degraded: {degraded}"] if degraded else []), *news])


def child_troubles(children: Iterable[Child], wiring: Wiring, now_ns: int) -> list[str]:
    """Of processes that don't serve, or died again and again a moment ago."""
    found = []
    for child in children:
        if not child.deaths:
            continue
        text = f"{wiring.title(child.process_id)} restarted {child.deaths} x"
        if not child.pid:
            wait_ms = max(0, (child.due_ms or 0) - now_ns // 1_000_000)
            found.append(f"{text}, next restart in {-(-wait_ms // 1000)} s")
        elif not child.ready_ns:
            found.append(f"{text}, starting")
        elif child.deaths >= MANY_DEATHS and child.served_ms(now_ns) < CALM_MS:
            found.append(text)
    return found


def directory_troubles(processes: ProcessTable, wiring: Wiring) -> list[str]:
    """Of log directories that failed, at the start or since."""
    mask = 0
    for process_id in range(wiring.process_count):
        mask |= processes.offline_dirs(process_id)
    paths = wiring.settings["log.dirs"]
    offline = [path for path in paths if path in wiring.offline_directories or mask & wiring.log_dir_bit(path)]
    return [f"log directories offline: {' '.join(offline)}"] if offline else []
