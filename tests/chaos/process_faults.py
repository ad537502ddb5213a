"""Faults of processes: killed, stopped for a while, killed as they start, all at once; starts and stops cut short.

Used by: the campaign.
"""

from __future__ import annotations

import random
import signal
import time
from functools import partial

from headrace.exit_codes import CLEAN, FAILED
from tests.chaos.running_node import WORKERS
from tests.chaos.stage import Fault, Kind, Stage
from tests.support.waiting import DEADLINE_S

PAUSE_MAX_S = 0.4
LONG_PAUSE_MAX_S = 4.0
START_MAX_S = 3.0


class Kill(Fault):
    """SIGKILL to one process of a role."""

    def __init__(self, role: str, weight: float) -> None:
        self.role, self.weight, self.name = role, weight, f"kill-{role}"

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        pids = stage.node.children().get(self.role)
        if not pids:
            return None  # it is being started
        now = time.monotonic()
        return now if stage.node.signal(chance.choice(pids), signal.SIGKILL) else None


class KillSeveral(Fault):
    """SIGKILL to two or more workers in the same moment."""

    name, weight = "kill-several", 3.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        found = stage.node.children()
        pids = [pid for role in WORKERS for pid in found.get(role, ())]
        if len(pids) < 2:
            return None
        now = time.monotonic()
        chosen = chance.sample(pids, chance.randint(2, len(pids)))
        hit = [stage.node.signal(pid, signal.SIGKILL) for pid in chosen]
        return now if all(hit) else None


class KillYoung(Fault):
    """SIGKILL, and the same to its successor within its first moments: in mid-recovery, in mid-attachment."""

    name, weight = "kill-young", 5.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        role = chance.choice(["network", "partition", "partition", "controller", "housekeeper"])
        before = stage.node.children().get(role)
        if not before or not stage.node.signal(chance.choice(before), signal.SIGKILL):
            return None
        for _look in range(2000):
            young = set(stage.node.children().get(role, ())) - set(before)
            if young:
                break
            time.sleep(0.0005)
        else:
            return None  # held back after many deaths
        time.sleep(chance.choice([0.0, chance.uniform(0, 0.01), chance.uniform(0, 0.06)]))
        now = time.monotonic()
        return now if stage.node.signal(young.pop(), signal.SIGKILL) else None


class Pause(Fault):
    """SIGSTOP to a worker, SIGCONT after a while."""

    name, weight = "stop-cont", 8.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        pids = stage.node.children().get(chance.choice(WORKERS))
        if not pids:
            return None
        pid = chance.choice(pids)
        now = time.monotonic()
        if not stage.node.signal(pid, signal.SIGSTOP):
            return None
        longest = LONG_PAUSE_MAX_S if chance.random() < 0.05 else PAUSE_MAX_S
        stage.later(chance.uniform(0.02, longest), partial(stage.node.signal, pid, signal.SIGCONT))
        return now


class KillTree(Fault):
    """SIGKILL to the supervisor, with which all go; and a start."""

    name, weight, kind = "kill-tree", 1.2, Kind.HEAVY

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        stage.kill_tree()
        stage.node.start()
        return now


class Restart(Fault):
    """SIGTERM, and a start."""

    name, weight, kind = "stop-start", 0.4, Kind.HEAVY

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        code = stage.stop_node()
        stage.node.log.look()
        if code and not (
            code == FAILED and stage.node.log.has_losses
        ):  # a worker killed just before has not opened its logs
            stage.blame("exit-code", f"SIGTERM to a node that serves ended with {code}")
        stage.node.start()
        return now


class EarlyEnd(Fault):
    """A start that is ended within its first seconds, by SIGTERM or SIGKILL, once or twice; and a start."""

    kind = Kind.HEAVY

    def __init__(self, name: str, number: int, weight: float) -> None:
        self.name, self.number, self.weight = name, number, weight

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        if chance.random() < 0.5:
            stage.kill_tree()
        else:
            stage.stop_node()
        for _time in range(chance.randint(1, 2)):
            stage.node.launch()
            longest = START_MAX_S if chance.random() < 0.1 else 1.0
            time.sleep(chance.uniform(0, longest))
            if self.number == signal.SIGKILL:
                stage.kill_tree()
            else:
                early_stop(stage, "in a start")
        stage.node.start()
        return now


def early_stop(stage: Stage, when: str) -> None:
    """SIGTERM to a node that does not serve yet: it ends with 0, or as the interpreter does that has not come to our code."""
    hears = stage.node.hears
    code = stage.node.stop()
    stage.notes[f"SIGTERM {when} ends with {code}{'' if hears else ', before our first line'}"] += 1
    allowed = (CLEAN, FAILED) if hears else (CLEAN, -signal.SIGTERM)
    if code not in allowed:
        stage.blame("exit-code", f"SIGTERM {when} ended with {code}")


PROCESS_FAULTS: list[Fault] = [
    Kill("network", 10),
    Kill("partition", 14),
    Kill("controller", 8),
    Kill("housekeeper", 6),
    KillSeveral(),
    KillYoung(),
    Pause(),
    KillTree(),
    Restart(),
    EarlyEnd("early-sigterm", signal.SIGTERM, 0.6),
    EarlyEnd("early-sigkill", signal.SIGKILL, 0.4),
]

assert LONG_PAUSE_MAX_S < 30 < DEADLINE_S  # below headrace.worker.hang.timeout.ms: a pause is no hang
