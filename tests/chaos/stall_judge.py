"""Whether one partition stalled while something was done to another one: how long its produces took, before and meanwhile. Pure but for
`Prober`, a thread that produces to all partitions of a topic in turn.

Used by: the campaign of moves.

    stalled   a produce took longer than STALL_S, and much longer than any before
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.chaos.history import Outcome
from tests.chaos.judge import Anomaly
from tests.chaos.raw_client import RawClient

STALL_S = 1.0
TIMES = 3  # what took longest before: a busy machine is slow all the time
PAUSE_S = 0.005
ANSWER_S = 60.0


class Took(NamedTuple):
    partition: int
    began: float
    seconds: float


def judge_stalls(what: str, took: Sequence[Took], since: float) -> list[Anomaly]:
    """What was slow among the produces that began after a moment; of those before, the slowest is what the machine is like."""
    usual_s = max((one.seconds for one in took if one.began + one.seconds < since), default=0.0)
    bound_s = max(STALL_S, TIMES * usual_s)
    slow = [one for one in took if one.began + one.seconds >= since and one.seconds > bound_s]
    if not slow:
        return []
    worst = max(slow, key=lambda one: one.seconds)
    text = (
        f"{what}: a produce to partition {worst.partition} took {worst.seconds:.1f} s, before at most {usual_s:.2f} s"
    )
    return [Anomaly("stalled", text)]


class StallProber:
    """Produces a record to each partition of a topic, again and again."""

    def __init__(self, port: Callable[[], int], topic: str, partitions: int) -> None:
        self.took: list[Took] = []
        self._topic, self._partitions = topic, partitions
        self._raw = RawClient(port, timeout_s=ANSWER_S)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stall-prober", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(2 * ANSWER_S)

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(PAUSE_S):
            partition = number % self._partitions
            began = time.monotonic()
            outcome, _offset = self._raw.produce(self._topic, {partition: [f"{self._topic}-{number}"]})[partition]
            if outcome is Outcome.OK:
                self.took.append(Took(partition, began, time.monotonic() - began))
            number += 1
        self._raw.close()
