"""Elections that are owed to replicas which were released or handed over, where the controller does not hold them by itself.

Runs in: the controller process of the node that held them. Ours elects once this node has answered that it can serve; Apache's does not.
Where there is no leader after ELECT_MS the node registers again, for a broker that comes has any controller elect leaders for partitions
without one, among their in-sync replicas. ElectLeaders is no way to ask: the one kind that serves, UNCLEAN, elects a replica out of the
ISR where the controller does not know yet that a member of it is back. Nothing that acts by itself may ask for that.

Source: Kafka `KafkaController.onBrokerStartup`, `PartitionStateMachine.triggerOnlinePartitionStateChange`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.ids import NO_LEADER
from headrace.limits import HELD_TOLD_MAX

ELECT_MS = 10_000  # before the node registers again; twice as long each time
ELECT_TRIES = 5

Place = tuple[str, int]  # topic and partition
Register = Callable[[], Coroutine[Any, None, None]]  # this node again: its broker epoch is another one

_log = logging.getLogger(__name__)


class OwedElections:
    """Those of one node."""

    def __init__(self, known: KnownCluster, monotonic_ms: Callable[[], int], register_again: Register) -> None:
        self._known = known
        self._monotonic_ms = monotonic_ms
        self._register_again = register_again
        self._due_ms: dict[Place, int] = {}
        self._tries = 0

    def __bool__(self) -> bool:
        return bool(self._due_ms)

    @property
    def places(self) -> set[Place]:
        return set(self._due_ms)

    def owe(self, place: Place) -> None:
        self._due_ms[place] = self._monotonic_ms() + ELECT_MS

    async def settle(self) -> None:
        """Register again, where nobody leads yet after a while. raises ZkError"""
        known, now_ms = self._known, self._monotonic_ms()
        for place in list(self._due_ms):
            topic = known.topics.get(place[0])
            state = topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None
            if state is None or state.leader != NO_LEADER or place in known.held:
                del self._due_ms[place]
        due = [place for place, due_ms in self._due_ms.items() if now_ms >= due_ms]
        if not self._due_ms or self._tries >= ELECT_TRIES:
            self._due_ms.clear()
            self._tries = 0
        elif due:
            self._tries += 1
            self._due_ms.update(dict.fromkeys(self._due_ms, now_ms + (ELECT_MS << self._tries)))
            some = ", ".join(f"{name}-{index}" for name, index in due[:HELD_TOLD_MAX])
            _log.warning(
                "the node registers again, so that the controller elects leaders among in-sync replicas partitions=%d some=%s",
                len(due), some,
            )  # fmt: skip
            await self._register_again()
