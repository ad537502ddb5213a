"""One seed: what cluster it makes, what goes wrong, and what came of it.

    outcome = run_seed(7)          outcome.anomalies is empty where all is well

The seed says how many partitions, whether topics are synced before each answer, how many faults and which.
"""

import random
import time
from typing import NamedTuple

from tests.simulation.cluster import Cluster
from tests.simulation.faults import draw_plan

SPAN_MS = 20_000
FAULTS = 12


class Outcome(NamedTuple):
    seed: int
    anomalies: list
    fingerprint: str
    steps: int
    simulated_s: float
    real_s: float  # of processor time
    faults: dict
    counts: dict
    plan: list
    lines: list


def shape_of(seed):
    """What the seed makes besides its plan."""
    chance = random.Random(f"shape {seed}")
    configs = {"headrace.flush.before.ack": "true"} if chance.random() < 0.5 else {}
    return {"nodes": 3, "partitions": chance.randrange(1, 4), "configs": configs}


def run_seed(seed, plan=None, keep=False, faults=FAULTS, span_ms=SPAN_MS, shape=None):
    """A run, with the plan of the seed where no other is given."""
    shape = {**shape_of(seed), **(shape or {})}
    if plan is None:
        plan = draw_plan(seed, faults, span_ms, shape["nodes"])
    begun = time.process_time()
    with Cluster(seed, keep=keep, **shape) as cluster:
        kernel = cluster.kernel
        cluster.boot()
        if not kernel.anomalies:
            cluster.add_load()
            cluster.run_faults(plan, span_ms)
        if not kernel.anomalies:
            cluster.finish()
        return Outcome(
            seed, kernel.anomalies, kernel.fingerprint, kernel.steps, kernel.elapsed_s, time.process_time() - begun,
            {} if cluster.faults is None else {kind: count for kind, count in cluster.faults.done.items() if count},
            dict(cluster.history.counts), plan, kernel.lines,
        )  # fmt: skip
