"""How far an import has come: a JSON file, replaced as a whole and synced after every acknowledged batch.

What it says never runs ahead of the topic. It may lag by one batch: a batch that was sent when the import died. That one is found by its
producer id and sequence after `target_end`, before anything is sent again (`import_topic.py`).

A lock on `FILE.lock` keeps two imports from using one state.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.limits import IMPORT_STATE_BYTES_MAX
from headrace.log.disk import Disk
from headrace.log.kafka07.log_07 import Place

VERSION = 1


class BadState(HeadraceError):
    """A state file that can't be used; names it and the reason."""


@dataclass(slots=True)
class PartitionProgress:
    """How far one partition is.

    place            of the next message to be carried: segment, position, inner
    next_sequence    of the next batch
    first_offset     in the topic, where this import began
    target_end       the offset after the last acknowledged batch
    checksum         CRC-32 over length and bytes of every payload carried, in order
    last_damage      place of the last damage that is in `damaged`: a later run doesn't count it again
    """

    place: tuple[int, int, int] | None = None
    next_sequence: int = 0
    first_offset: int = -1
    target_end: int = -1
    count: int = 0
    bytes: int = 0
    checksum: int = 0
    damaged: int = 0
    lost_bytes: int = 0
    last_damage: tuple[int, int, int] | None = None

    @property
    def start(self) -> Place | None:
        return Place(*self.place) if self.place is not None else None


@dataclass(slots=True)
class ImportState:
    """All of an import. `source`, `source_topic`, `topic` and `cluster_id` tell which one it is."""

    source: str
    source_topic: str
    topic: str
    cluster_id: str
    batch_bytes: int
    producer_id: int = -1
    producer_epoch: int = -1
    partitions: dict[int, PartitionProgress] = field(default_factory=dict)


class StateFile:
    """The file; one process at a time."""

    def __init__(self, path: Path) -> None:
        """raises   BadState, where another import holds it, or it can't be made"""
        self.path = path
        try:
            self._fd = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as failure:
            raise BadState(f"{path}: {failure.strerror}") from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise BadState(f"{path}: another import is using it") from None

    def read(self) -> ImportState | None:
        """None where there is no file yet; raises BadState."""
        try:
            if self.path.stat().st_size > IMPORT_STATE_BYTES_MAX:
                raise BadState(f"{self.path}: more than {IMPORT_STATE_BYTES_MAX} bytes")
            content = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as failure:
            raise BadState(f"{self.path}: {failure}") from None
        if not isinstance(content, dict) or content.get("version") != VERSION:
            raise BadState(f"{self.path}: not a state file of an import")
        try:
            partitions = {int(number): _partition(row) for number, row in content.pop("partitions").items()}
            del content["version"]
            return ImportState(**content, partitions=partitions)
        except (TypeError, ValueError, KeyError, AttributeError) as failure:
            raise BadState(f"{self.path}: {failure!r}") from None

    def write(self, state: ImportState) -> None:
        """Replace the file, durably; raises BadState."""
        try:
            Disk().replace_file(self.path, json.dumps({"version": VERSION, **asdict(state)}, indent=1).encode())
        except OSError as failure:
            raise BadState(f"{self.path}: {failure.strerror}") from None

    def close(self) -> None:
        """Let others use it."""
        os.close(self._fd)


def _partition(row: dict[str, Any]) -> PartitionProgress:
    known = {one.name for one in fields(PartitionProgress)}
    if set(row) != known:
        raise ValueError(f"fields {sorted(set(row) ^ known)}")
    places = {name: _place(row[name]) for name in ("place", "last_damage")}
    numbers = {name: value for name, value in row.items() if name not in places}
    if not all(isinstance(value, int) for value in numbers.values()):
        raise ValueError(f"{numbers}")
    return PartitionProgress(place=places["place"], last_damage=places["last_damage"], **numbers)


def _place(content: Any) -> tuple[int, int, int] | None:
    if content is None:
        return None
    segment, position, inner = content
    if not all(isinstance(one, int) for one in content):
        raise ValueError(f"place {content}")
    return segment, position, inner
