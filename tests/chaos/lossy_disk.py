"""A machine loses power: what was not synced of its logs is gone, in part: the end of a file, or some pages of it, are zeroes.

Used by: the cluster campaign. What lies below the recovery point was synced, and stays. Checkpoints and other small files are
synced before they take their names, so they stay too. Names in a partition's directory that came after the recovery point may be
gone with all that was under them: the last segments, an index, a snapshot (each index and snapshot on its own). Of segments no
hole is made: names in one directory reach the disk in their order on journalled file systems, and decision 006 keeps what
follows a hole; `tests/support/faulty_disk.py` loses each name on its own, and knows which were synced.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from headrace.controller.zookeeper.session_file import SESSION_FILE
from headrace.log.state.checkpoints import RECOVERY_POINT_FILE, read_offset_checkpoint
from headrace.protocol.record_batch import CorruptRecord
from tests.chaos.machine_crash import PAGE_BYTES, position_of

PAGES_MAX = 3  # zeroed in one file
NAMES_LOST = 0.3  # of those that may be
SIDE_SUFFIXES = (".index", ".timeindex", ".txnindex")
NOTHING: Mapping[str, int] = MappingProxyType({})


def lose_unsynced(log_dirs: Iterable[Path], chance: random.Random, synced: Mapping[str, int] = NOTHING) -> int:
    """Damage the logs of a node that does not run; returns the number of files that lost something.

    synced   up to where they were, by name of directory, where that is known better than by the checkpoints
    """
    return sum(_lose_in(log_dir, chance, synced) for log_dir in log_dirs)


def forget_boot(log_dirs: Iterable[Path]) -> None:
    """What a Headrace node wrote down of this machine's boot is of another one."""
    for log_dir in log_dirs:
        path = log_dir / SESSION_FILE
        if path.exists():
            path.write_text(json.dumps({**json.loads(path.read_text()), "boot": "before"}))


def _lose_in(log_dir: Path, chance: random.Random, synced: Mapping[str, int]) -> int:
    try:
        points = {
            f"{name.topic}-{name.partition}": offset
            for name, offset in read_offset_checkpoint(log_dir / RECOVERY_POINT_FILE).items()
        }
    except FileNotFoundError:
        points = {}
    damaged = 0
    for directory in sorted(path for path in log_dir.iterdir() if path.is_dir() and "-" in path.name):
        point = max(points.get(directory.name, 0), synced.get(directory.name, 0))
        damaged += lose_names(directory, point, chance)
        segments = sorted(directory.glob("*.log"))
        for index, path in enumerate(segments):
            is_synced = index + 1 < len(segments) and int(segments[index + 1].stem) <= point
            if is_synced or not path.stat().st_size:
                continue
            try:
                first = -(-position_of(path, point) // PAGE_BYTES)
            except CorruptRecord:
                continue  # the machine went down again before this log was opened
            damaged += lose_pages(path, first, chance)
    return damaged


def lose_names(directory: Path, point: int, chance: random.Random) -> int:
    """Files that were made after an offset was synced are not there; returns how many segments' batches went with them."""
    made_since = [path for path in sorted(directory.glob("*.log"))[1:] if int(path.stem) > point]
    lost = made_since[len(made_since) - chance.randint(0, len(made_since)) :] if chance.random() < NAMES_LOST else []
    for path in lost:
        path.unlink()
    for path in made_since:
        for suffix in SIDE_SUFFIXES:
            if path in lost or chance.random() < NAMES_LOST:
                path.with_suffix(suffix).unlink(missing_ok=True)
    for path in sorted(directory.glob("*.snapshot")):
        if int(path.stem) > point and chance.random() < NAMES_LOST:
            path.unlink()
    return len(lost)


def lose_pages(path: Path, first: int, chance: random.Random) -> bool:
    """Cut a file at a page from `first` on, or zero some of them; False where it keeps all that it has."""
    end = path.stat().st_size
    pages = range(first, -(-end // PAGE_BYTES))
    way = chance.random()
    if not pages or way < 0.3:
        return False
    if way < 0.7:
        with open(path, "r+b") as file:
            file.truncate(chance.choice(pages) * PAGE_BYTES)
        return True
    with open(path, "r+b") as file:
        for page in chance.sample(pages, min(len(pages), chance.randint(1, PAGES_MAX))):
            file.seek(page * PAGE_BYTES)
            file.write(bytes(min(PAGE_BYTES, end - page * PAGE_BYTES)))
    return True
