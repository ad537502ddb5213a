"""Faults of room: /dev/shm full while workers die, the disk of a log directory full for a while. They need mounts of the node's own.

Used by: the campaign. What fills a mount is one file, of all the room there is.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.private_mounts import fill, give_room
from tests.chaos.running_node import WORKERS
from tests.chaos.stage import Fault, Kind, Stage

SHM = Path("/dev/shm")
FULL_MAX_S = 2.0


class ShmFull(Fault):
    """/dev/shm has no room, and workers are killed; then it has some again."""

    name, weight, kind, is_private = "shm-full", 1.2, Kind.HEAVY, True

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        with _full(stage.node.path(SHM)):
            for _ in range(chance.randint(1, 3)):
                pids = stage.node.children().get(chance.choice(WORKERS))
                if pids:
                    stage.node.signal(chance.choice(pids), signal.SIGKILL)
                time.sleep(chance.uniform(0, FULL_MAX_S / 3))
        return time.monotonic()


class DiskFull(Fault):
    """A log directory has no room for a while; processes may be killed meanwhile, all of them too."""

    name, weight, kind, is_private = "disk-full", 1.0, Kind.HEAVY, True

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        bounded = next(path for path in stage.node.log_dirs if path.stat().st_dev != stage.directory.stat().st_dev)
        with _full(bounded):
            stage.sleep(chance.uniform(0, FULL_MAX_S / 2))
            way = chance.choice(["nothing", "worker", "worker", "controller", "tree"])
            if way == "tree":
                stage.kill_tree()
                stage.node.launch()
            elif way != "nothing":
                pids = stage.node.children().get("controller" if way == "controller" else "partition")
                if pids:
                    stage.node.signal(chance.choice(pids), signal.SIGKILL)
            stage.sleep(chance.uniform(0.2, FULL_MAX_S))
        if stage.node.wait_ready(60.0) != "ready":
            stage.node.start()
        return time.monotonic()


@contextmanager
def _full(directory: Path) -> Iterator[None]:
    fill(directory)
    try:
        yield
    finally:
        give_room(directory)


ROOM_FAULTS: list[Fault] = [ShmFull(), DiskFull()]
