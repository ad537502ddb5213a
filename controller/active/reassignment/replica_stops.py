"""Replicas that a reassignment has taken off their brokers: asked to be deleted, and remembered until they are.

Runs in: the controller process of the active node; one object a term. Which replicas go is said by the topic's node, and it may be of the
past: another controller died half-way through, or ZooKeeper was put back to a backup. So who has the records decides as well, by what
was just read:

    the state has the replica in sync, or as its leader    it is not asked: others lead first, and the ISR is without it (`leaders.py`)
    the partition has no state                             it is not asked: who has the records is not known
    a log of the partition is ahead of the state           it is not asked: the logs are compared first (decision 015)

One that could not be deleted is asked again when its topic is read again (RECHECK_MS of `reassignments.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from headrace.controller.active.reassignment.held_targets import ByBroker, waits_for
from headrace.controller.active.term import Term
from headrace.controller.cluster.unwanted_replicas import Unwanted, by_partition
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.limits import REASSIGNMENT_STOP_WAIT_MS
from headrace.runtime.tasks import Future

Replica = tuple[str, int, int]  # topic, partition, broker

_log = logging.getLogger(__name__)


class ReplicaStops:
    """Those of a term.

    check   has a topic looked at again
    """

    def __init__(self, term: Term, check: Callable[[str], None]) -> None:
        self._term = term
        self._check = check
        self._asked: dict[Replica, bool] = {}  # whether it has gone, and is named by its topic still
        self._kept: dict[Replica, str] = {}  # why it is not deleted, as it was logged

    def forget(self, brokers: Collection[int]) -> None:
        """They went: what they were asked, they are asked again when they are back."""
        self._asked = {one: is_gone for one, is_gone in self._asked.items() if is_gone or one[2] not in brokers}

    async def stop(
        self,
        name: str,
        taken: Mapping[tuple[int, int], int],
        unwanted: Unwanted,
        states: Mapping[int, PartitionState],
        held: Mapping[int, ByBroker],
    ) -> Unwanted:
        """Have replicas deleted, and wait until brokers that are alive have done it, or for so long: they do it later.

        taken      by broker and partition, replicas that were taken off just now: the leader epoch of the state that is without them
        unwanted   all that the topic's node names
        states     of their partitions, as they are now
        held       what brokers hold of the topic, by partition
        returns    those that are not deleted yet
        """
        stops, alive, asked = dict(taken), self._term.known.brokers, self._asked
        self._term.liveness.forget_replicas(name, set(taken))
        named = [(broker, index) for index, brokers in unwanted.items() for broker in brokers]
        left = {(broker, index) for broker, index in named if not asked.get((name, index, broker))} | set(taken)
        for broker, index in named:
            replica = (name, index, broker)
            if (broker, index) not in left:
                del asked[replica]
            elif broker in alive and replica not in asked and (broker, index) not in taken:
                state = states.get(index)
                if reason := _why_kept(broker, state, held.get(index, {})):
                    self._keep(replica, reason)
                elif state is not None:
                    stops[broker, index] = state.leader_epoch
        asked.update(((name, index, broker), False) for broker, index in stops if broker in alive)
        waiting = {place for place in stops if place[0] in alive}
        await self._carry_out(name, stops, left, waiting)
        for replica in [one for one in self._kept if one[0] == name and (one[2], one[1]) not in left]:
            del self._kept[replica]
        return by_partition(left)

    async def _carry_out(
        self, name: str, stops: Mapping[tuple[int, int], int], left: set[tuple[int, int]], waiting: set[tuple[int, int]]
    ) -> None:
        """Ask brokers; what they have deleted leaves `left`."""
        term = self._term
        all_stopped: Future[None] = Future()

        def on_stopped(broker: int, _topic: str, index: int, error: ErrorCode) -> None:
            replica = (name, index, broker)
            if error is not ErrorCode.NONE:
                self._asked.pop(replica, None)
                self._keep(replica, f"its broker answered {error.name}")
            elif (broker, index) in left:
                left.discard((broker, index))
                self._kept.pop(replica, None)
                if all_stopped.is_done:  # late: the node names it still
                    self._asked[replica] = True
                    self._check(name)
                else:
                    self._asked.pop(replica, None)
            waiting.discard((broker, index))
            if not waiting and not all_stopped.is_done:
                term.tasks.unexpect(all_stopped)
                all_stopped.complete(None)

        if waiting:
            term.tasks.expect(all_stopped, REASSIGNMENT_STOP_WAIT_MS, None)
        for (broker, index), epoch in stops.items():
            term.notices.stop_replica(broker, name, index, epoch, is_deleted=True, on_stopped=on_stopped)
        if waiting:
            await all_stopped

    def _keep(self, replica: Replica, reason: str) -> None:
        """Once for the same reason."""
        if self._kept.get(replica) != reason:
            self._kept[replica] = reason
            name, index, broker = replica
            _log.warning(
                "replica not deleted yet topic=%s partition=%d broker=%d reason=%s", name, index, broker, reason
            )


def _why_kept(broker: int, state: PartitionState | None, held: ByBroker) -> str:
    """Why a replica that no assignment names is not asked to go; empty: it is."""
    if state is None:
        return "the partition has no state"
    if broker == state.leader or broker in state.isr:
        return f"the partition's state has it in sync: leader {state.leader}, ISR {list(state.isr)}"
    if holders := waits_for(held, (), state):
        return f"brokers {holders} hold the partition, and it is not known whose log counts"
    return ""
