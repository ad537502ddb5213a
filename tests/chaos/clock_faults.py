"""Clocks that are stepped, back and forth, of the whole node or of single processes; what the node owes by the minute it still owes.

Used by: the campaign. The shim (`shim.py`) shows processes another date; monotonic clocks go on. Records are deleted meanwhile, and in the
end the node may be killed while the date is wrong.
"""

from __future__ import annotations

import queue
import random
import time
from types import MappingProxyType

from tests.chaos.running_node import ROLES
from tests.chaos.shim import EVERY
from tests.chaos.stage import Fault, Kind, Stage

STEPS_S = (-86_400, -3_600, -3_600, -60, 5, 60, 3_600)
INTERVAL_MS = 500
BEFORE_S, WRONG_S = (0.0, 2.0), (12.0, 14.0)  # the second one: longer than a checkpoint may be late
TRIMS = 4
JOB_S = 5.0


class ClockStep(Fault):
    """The date is another one for some seconds, by which processes of a role go, or all."""

    name, weight, kind, needs_shim, is_apart = "clock-step", 1.0, Kind.HEAVY, True, True
    settings = MappingProxyType(
        {
            "log.flush.offset.checkpoint.interval.ms": str(INTERVAL_MS),
            "log.flush.start.offset.checkpoint.interval.ms": str(INTERVAL_MS),
            "log.retention.check.interval.ms": str(INTERVAL_MS),
            "log.segment.delete.delay.ms": "1000",
            "replica.high.watermark.checkpoint.interval.ms": str(INTERVAL_MS),
        }
    )

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        shim = stage.node.shim
        role = chance.choice(["all", "all", "housekeeper", *ROLES])
        pids = [EVERY] if role == "all" else stage.node.children().get(role)
        if shim is None or not pids:
            return None
        step_s = chance.choice(STEPS_S)
        shim.step_clocks(dict.fromkeys(pids, step_s))
        now = time.monotonic()
        stage.sleep(chance.uniform(*BEFORE_S))
        for _trim in range(TRIMS):
            self._delete_records(stage, chance)
        stage.sleep(chance.uniform(*WRONG_S))
        stage.notes[f"clock of {role} stepped {'back' if step_s < 0 else 'forth'}"] += 1
        if chance.random() < 0.7:
            stage.kill_tree()
            if chance.random() < 0.5:
                shim.step_clocks({})
            now = time.monotonic()
            stage.node.start()
        shim.step_clocks({})
        return now

    @staticmethod
    def _delete_records(stage: Stage, chance: random.Random) -> None:
        client = chance.choice([*stage.trimmed, *stage.churned])

        def job() -> None:
            client.write(0, 20)
            client.trim()

        try:
            client.jobs.put_nowait(job)
        except queue.Full:
            return
        deadline = time.monotonic() + JOB_S
        while client.is_at_a_job and time.monotonic() < deadline:
            stage.sleep(0.01)


CLOCK_FAULTS: list[Fault] = [ClockStep()]
