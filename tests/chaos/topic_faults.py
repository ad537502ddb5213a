"""Faults that clients commit: topics deleted and created again while something else fails, records deleted.

Used by: the campaign. They count as fired when the client that does them has taken them up.
"""

from __future__ import annotations

import queue
import random
import signal
import threading
import time
from collections.abc import Callable

from tests.chaos.running_node import WORKERS
from tests.chaos.stage import Fault, Kind, Stage
from tests.chaos.topic_clients import TopicClient

JOB_S = 10.0


class DeleteRecords(Fault):
    """DeleteRecords in a topic that is written to."""

    name, weight = "delete-records", 5.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        client = chance.choice([*stage.trimmed, *stage.churned])
        return time.monotonic() if _ask(client, client.trim) else None


class Recreate(Fault):
    """A topic is deleted and created again, most often after some of its records were deleted, in one of some orders."""

    name, weight = "recreate", 7.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        client = chance.choice(stage.churned)
        order = chance.choice([_plainly, _while_a_worker_stands, _with_a_kill_before, _with_a_kill_between])
        role, pause_s, trims = chance.choice(WORKERS), chance.uniform(0.05, 0.3), chance.random() < 0.7

        def recreate() -> None:
            if trims:
                client.write(0, 20)
                client.trim()
            order(stage, client, role, pause_s)

        return time.monotonic() if _ask(client, recreate) else None


class RecreateCrash(Fault):
    """A topic is deleted and created again and written to, and all of the node is killed before anything else is written down."""

    name, weight, kind = "recreate-kill-tree", 0.6, Kind.HEAVY

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        client = chance.choice(stage.churned)

        def recreate() -> None:
            client.recreate()
            client.write(0, chance.randint(1, 60))

        if not _ask(client, recreate):
            return None
        deadline = time.monotonic() + JOB_S
        while client.is_at_a_job and time.monotonic() < deadline:
            stage.sleep(0.005)
        stage.sleep(chance.choice([0.0, 0.0, 0.3]))
        now = time.monotonic()
        stage.kill_tree()
        stage.node.start()
        return now


def _ask(client: TopicClient, job: Callable[[], None]) -> bool:
    try:
        client.jobs.put_nowait(job)
    except queue.Full:
        return False
    return True


def _plainly(_stage: Stage, client: TopicClient, _role: str, _pause_s: float) -> None:
    client.recreate()


def _while_a_worker_stands(stage: Stage, client: TopicClient, role: str, pause_s: float) -> None:
    """It wakes up to a world in which both happened."""
    pids = stage.node.children().get("partition" if role == "network" else role, [])
    stopped = [pid for pid in pids[:1] if stage.node.signal(pid, signal.SIGSTOP)]
    timer = threading.Timer(pause_s, lambda: [stage.node.signal(pid, signal.SIGCONT) for pid in stopped])
    timer.start()
    try:
        client.recreate()
    finally:
        timer.join()


def _with_a_kill_before(stage: Stage, client: TopicClient, role: str, _pause_s: float) -> None:
    _kill(stage, role)
    client.recreate()


def _with_a_kill_between(stage: Stage, client: TopicClient, role: str, _pause_s: float) -> None:
    client.recreate(between=lambda: _kill(stage, role))


def _kill(stage: Stage, role: str) -> None:
    for pid in stage.node.children().get(role, ()):
        stage.node.signal(pid, signal.SIGKILL)


TOPIC_FAULTS: list[Fault] = [DeleteRecords(), Recreate(), RecreateCrash()]
