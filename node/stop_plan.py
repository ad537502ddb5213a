"""The order of a clean stop, and how long each role may take.

    controller    leaders move to other brokers               where others are alive, LEAVE_MS_MAX at most
    network       stop accepting, answer what is in flight    nothing new reaches the logs after this
    partition     flush, snapshot, close                      their rows are final after this
    housekeeper   final checkpoints, clean-shutdown marker
    controller    closes the ZooKeeper session                the node's ephemerals go

A role that is late is killed when its time is over: a network worker that hangs must not cost the partition
workers their flush. One that gets on is waited for (`StopClock`): a worker killed among its logs makes the next start recover
them all, and 10,000 of them are not synced in a second.
"""

from __future__ import annotations

from headrace.limits import DRAIN_MAX_MS, STOP_DEADLINE_MS, STOP_OVERTIME_MS_MAX, STOP_STEP_MS
from headrace.shm.wiring import Role

# role -> when it must have exited, from when leaders were moved
STOP_PLAN: dict[Role, int] = {
    Role.NETWORK: 3_100,
    Role.PARTITION: 6_200,
    Role.HOUSEKEEPER: 7_000,
    Role.CONTROLLER: STOP_DEADLINE_MS,
}

CLOSE_MS = 500  # after a drain that took its time, on a busy machine: else processes in order are killed

assert STOP_PLAN[Role.NETWORK] >= DRAIN_MAX_MS + CLOSE_MS
assert STOP_PLAN[Role.PARTITION] - STOP_PLAN[Role.NETWORK] >= DRAIN_MAX_MS + CLOSE_MS
assert STOP_PLAN.keys() == set(Role)
assert list(STOP_PLAN.values()) == sorted(STOP_PLAN.values())


class StopClock:
    """How long each role is waited for.

    begun_ms   when leaders were moved
    """

    def __init__(self, begun_ms: int) -> None:
        self._begun_ms = begun_ms
        self._overtime_ms = 0
        self._deadline_ms = begun_ms
        self._steps = 0

    def begin(self, role: Role, steps: int) -> None:
        """It is told to stop now. The overtime of those before it cost no other process its time.

        steps   that its processes count (CLOSING_STEPS)
        """
        self._deadline_ms = self._begun_ms + STOP_PLAN[role] + self._overtime_ms
        self._steps = steps

    def left_ms(self, now_ms: int) -> int:
        return self._deadline_ms - now_ms

    def extend(self, steps: int) -> bool:
        """The role's time is over. Whether it got on since the last look, and has STOP_STEP_MS more."""
        if steps == self._steps or self._overtime_ms >= STOP_OVERTIME_MS_MAX:
            return False
        self._steps = steps
        self._overtime_ms += STOP_STEP_MS
        self._deadline_ms += STOP_STEP_MS
        return True
