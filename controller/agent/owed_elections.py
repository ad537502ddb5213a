"""Elections that are owed to replicas which were released or handed over, where the controller does not hold them by itself.

Runs in: the controller process of the node that held them. Ours elects once this node has answered that it can serve; Apache's does not.
Where there is no leader after ELECT_MS the node registers again, for a broker that comes has any controller elect leaders for partitions
without one, among their in-sync replicas. Each partition has its own tries: logs are opened for minutes, those that are late
are not to be forgotten for the tries of others.

ElectLeaders is no way to ask: the one kind that serves, UNCLEAN, elects a replica out of the ISR where the controller does not know yet
that a member of it is back. Nothing that acts by itself may ask for that.

Source: Kafka `KafkaController.onBrokerStartup`, `PartitionStateMachine.triggerOnlinePartitionStateChange`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.ids import NO_LEADER
from headrace.limits import HELD_TOLD_MAX

ELECT_MS = 10_000  # before the node registers again; twice as long each time
ELECT_TRIES = 5  # for each partition

Place = tuple[str, int]  # topic and partition
Register = Callable[[], Coroutine[Any, None, None]]  # this node again: its broker epoch is another one

_log = logging.getLogger(__name__)


class _Owed(NamedTuple):
    """One partition's: when the node is to register again for it, and how often it has."""

    due_ms: int
    tries: int = 0


class OwedElections:
    """Those of one node."""

    def __init__(self, known: KnownCluster, monotonic_ms: Callable[[], int], register_again: Register) -> None:
        self._known = known
        self._monotonic_ms = monotonic_ms
        self._register_again = register_again
        self._owed: dict[Place, _Owed] = {}

    def __bool__(self) -> bool:
        return bool(self._owed)

    @property
    def places(self) -> set[Place]:
        return set(self._owed)

    def owe(self, place: Place) -> None:
        self._owed[place] = _Owed(self._monotonic_ms() + ELECT_MS)

    async def settle(self) -> None:
        """Register again, where there is no leader yet after a while. raises ZkError"""
        known, now_ms = self._known, self._monotonic_ms()
        for place, owed in list(self._owed.items()):
            topic = known.topics.get(place[0])
            state = topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None
            is_over = state is None or state.leader != NO_LEADER or place in known.held
            if is_over or owed.tries >= ELECT_TRIES:
                del self._owed[place]
        due = [place for place, owed in self._owed.items() if now_ms >= owed.due_ms]
        if due:
            for place, owed in self._owed.items():  # it registers for all
                self._owed[place] = _Owed(now_ms + (ELECT_MS << (owed.tries + 1)), owed.tries + 1)
            some = ", ".join(f"{name}-{index}" for name, index in due[:HELD_TOLD_MAX])
            _log.warning(
                "the node registers again, so that the controller elects leaders among in-sync replicas partitions=%d some=%s",
                len(due), some,
            )  # fmt: skip
            await self._register_again()
