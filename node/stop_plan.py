"""The order of a clean stop, and how long each role may take.

    controller    leaders move to other brokers               where others are alive, LEAVE_MS_MAX at most
    network       stop accepting, answer what is in flight    nothing new reaches the logs after this
    partition     flush, snapshot, close                      their rows are final after this
    housekeeper   final checkpoints, clean-shutdown marker
    controller    closes the ZooKeeper session                the node's ephemerals go

A role that is late is killed when its time is over: a network worker that hangs must not cost the partition
workers their flush.
"""

from __future__ import annotations

from headrace.limits import DRAIN_MAX_MS, LEAVE_MS_MAX, STOP_DEADLINE_MS
from headrace.shm.wiring import Role

# role -> when it must have exited, from the beginning of the stop
STOP_PLAN: dict[Role, int] = {
    Role.NETWORK: 4_600,
    Role.PARTITION: 7_700,
    Role.HOUSEKEEPER: 8_500,
    Role.CONTROLLER: STOP_DEADLINE_MS,
}

CLOSE_MS = 500  # after a drain that took its time, on a busy machine: else who is in order is killed

assert STOP_PLAN[Role.NETWORK] - LEAVE_MS_MAX >= DRAIN_MAX_MS + CLOSE_MS
assert STOP_PLAN[Role.PARTITION] - STOP_PLAN[Role.NETWORK] >= DRAIN_MAX_MS + CLOSE_MS
assert STOP_PLAN.keys() == set(Role)
assert list(STOP_PLAN.values()) == sorted(STOP_PLAN.values())
