"""Elections that are owed to replicas which were released or handed over, where the controller does not hold them by itself.

Runs in: the controller process of the node that held them. Ours elects once this node has answered that it can serve; Apache's does not.
Where there is no leader after ELECT_MS the node registers again, for a broker that comes has any controller elect leaders for partitions
without one, among their in-sync replicas. Each partition has its own tries: logs are opened for minutes, those that are late
are not to be forgotten for the tries of others.

A process that was killed has left what it owed. The next one owes an election for each partition without a leader that has this node
in sync, and for those that were handed over: nobody was elected in the era that this began.

ElectLeaders is no way to ask: the one kind that serves, UNCLEAN, elects a replica out of the ISR where the controller does not know yet
that a member of it is back. Nothing that acts by itself may ask for that.

Source: Kafka `KafkaController.onBrokerStartup`, `PartitionStateMachine.triggerOnlinePartitionStateChange`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any, NamedTuple

from headrace.controller.agent.other_ends import Questions
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.ids import NO_LEADER
from headrace.leader_eras import is_first
from headrace.limits import HELD_TOLD_MAX

ELECT_MS = 10_000  # before the node registers again; twice as long each time
ELECT_TRIES = 5  # for each partition

Place = tuple[str, int]  # topic and partition
Register = Callable[[], Coroutine[Any, None, None]]  # this node again: its broker epoch is another one

_log = logging.getLogger(__name__)


class _Owed(NamedTuple):
    """One partition's: when the node is to register again for it, and how often it has.

    is_left   a process before us may have owed it: it counts once our log serves, if we are the one to be elected
    """

    due_ms: int
    tries: int = 0
    is_left: bool = False


class OwedElections:
    """Those of one node."""

    def __init__(
        self, known: KnownCluster, monotonic_ms: Callable[[], int], register_again: Register, ask: Questions
    ) -> None:
        self._known = known
        self._ask = ask
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

    def owe_left(self) -> None:
        """What a process before this one may have owed."""
        known = self._known
        due_ms = self._monotonic_ms() + ELECT_MS
        for name in known.topics_on([known.node_id]):
            topic = known.topics[name]
            for index, state in enumerate(topic.states):
                place = (name, index)
                if state is None or state.leader != NO_LEADER or known.node_id not in topic.replicas[index]:
                    continue
                if place in known.held or place in self._owed:
                    continue
                is_handed_over = is_first(state.leader_epoch) and not known.brokers.keys().isdisjoint(state.isr)
                if known.node_id in state.isr or is_handed_over:
                    self._owed[place] = _Owed(due_ms, is_left=True)

    def _is_ready(self, place: Place, owed: _Owed, isr: Collection[int]) -> bool:
        return not owed.is_left or self._known.node_id not in isr or self._ask.is_open(place)

    async def settle(self) -> None:
        """Register again, where there is no leader yet after a while. raises ZkError"""
        known, now_ms = self._known, self._monotonic_ms()
        ready = []
        for place, owed in list(self._owed.items()):
            topic = known.topics.get(place[0])
            state = topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None
            is_over = state is None or state.leader != NO_LEADER or place in known.held
            if state is None or is_over or owed.tries >= ELECT_TRIES or (owed.is_left and self._ask.is_out(place)):
                del self._owed[place]
            elif self._is_ready(place, owed, state.isr):
                ready.append(place)
        due = [place for place in ready if now_ms >= self._owed[place].due_ms]
        if due:
            for place in ready:  # it registers for all
                tries = self._owed[place].tries + 1
                self._owed[place] = self._owed[place]._replace(due_ms=now_ms + (ELECT_MS << tries), tries=tries)
            some = ", ".join(f"{name}-{index}" for name, index in due[:HELD_TOLD_MAX])
            _log.warning(
                "registering again, so that the controller elects leaders among in-sync replicas partitions=%d some=%s",
                len(due), some,
            )  # fmt: skip
            await self._register_again()
