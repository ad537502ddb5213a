"""Names of data files: what they hold, and which attempt of which loader wrote them.

    topic=clicks/hour=2026-11-23-14/clicks-0-100-200-1f2e3d4c.7.parquet
                                    topic-partition-start-end-run.attempt[.again].parquet
    .clicks-0-100-200-1f2e3d4c.7.parquet.tmp    still being written

`again` counts files of one attempt and hour, after the first. Of a topic whose name is long its beginning is in that of the file: the
folder has all of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from headrace.load.target import CONTROL, DEAD_LETTERS
from headrace.log.names import bounded_name

HIDDEN_PREFIX, HIDDEN_SUFFIX = ".", ".tmp"
_NAME = re.compile(
    r"\.?(?P<topic>.+)-(?P<partition>\d+)-(?P<start>\d+)-(?P<end>\d+)-(?P<run>[0-9a-f]{8})\.(?P<attempt>[0-9a-f]+)"
    r"(?:\.\d+)?\.parquet(?:\.tmp)?\Z"
)


class Attempt(NamedTuple):
    """One try of one task."""

    run: str
    number: int

    def __str__(self) -> str:
        return f"{self.run}.{self.number:x}"


def folder_of(topic: str, hour: str, is_bad: bool) -> str:
    """Of a file, below the root."""
    folder = f"topic={topic}/hour={hour}"
    return f"{CONTROL}/{DEAD_LETTERS}/{folder}" if is_bad else folder


def file_name(topic: str, partition: int, start: int, end: int, attempt: Attempt, again: int = 0) -> str:
    suffix = f".{again}" if again else ""
    ending = f"-{partition}-{start}-{end}-{attempt}{suffix}.parquet"
    return bounded_name(topic, ending, len(HIDDEN_PREFIX) + len(HIDDEN_SUFFIX))


def hidden(path: Path) -> Path:
    """Its name while it is written."""
    return path.with_name(f"{HIDDEN_PREFIX}{path.name}{HIDDEN_SUFFIX}")


def attempt_of(name: str) -> Attempt | None:
    """Who wrote a file; None for a name that is not ours."""
    found = _NAME.match(name)
    return None if found is None else Attempt(found["run"], int(found["attempt"], 16))


def found_files(root: Path, topic: str = "*") -> list[tuple[Path, Attempt]]:
    """Every file below the root that bears a name of ours, committed or not."""
    found = []
    for folder in (root, root / CONTROL / DEAD_LETTERS, root / DEAD_LETTERS):
        for path in folder.glob(f"topic={topic}/hour=*/*"):
            attempt = attempt_of(path.name)
            if attempt is not None:
                found.append((path, attempt))
    return found
