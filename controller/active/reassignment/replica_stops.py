"""Replicas that a reassignment has taken off their brokers: asked to be deleted, and remembered until they are.

Runs in: the controller process of the active node; one object a term. Which replicas go is said by the topic's node, and it may be of the
past: another controller died half-way through, or ZooKeeper was put back to a backup. So who has the records decides as well, by what
was just read:

    the state has the replica in sync, or as its leader    it is not asked: others lead first, and the ISR is without it (`leaders.py`)
    the partition has no state                             it is not asked: who has the records is not known
    a log of the partition is ahead of the state           it is not asked: the logs are compared first (decision 015)
    its leader has not answered in this term, and in the   it is not asked: the directory of that one may have failed, and nobody
    leader epoch of the state, that its replica serves     else has the records then. The topic's node names the replica until then

One that could not be deleted is asked again when its topic is read again (RECHECK_MS of `reassignments.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from typing import NamedTuple

from headrace.controller.active.reassignment.held_targets import ByBroker, waits_for
from headrace.controller.active.term import Term
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.cluster.unwanted_replicas import Unwanted, by_partition
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.limits import REASSIGNMENT_STOP_WAIT_MS
from headrace.runtime.tasks import Future

Replica = tuple[str, int, int]  # topic, partition, broker

_log = logging.getLogger(__name__)


class _Unled(NamedTuple):
    """A wait for answers of leaders.

    states   by partition
    """

    topic: Topic
    states: Mapping[int, PartitionState]
    answered: Future[None]


class ReplicaStops:
    """Those of a term.

    check        has a topic looked at again
    unanswered   topics that are looked at again once a broker has answered a LeaderAndIsr of them
    """

    def __init__(self, term: Term, check: Callable[[str], None], unanswered: set[str]) -> None:
        self._term = term
        self._check = check
        self._unanswered = unanswered
        self._unled: dict[str, _Unled] = {}  # topics of which a task waits for answers of leaders
        self._asked: dict[Replica, int] = {}  # those that have not answered, by the number of the question
        self._gone: set[Replica] = set()  # those that are deleted, and named by their topics still
        self._questions = 0
        self._kept: dict[Replica, str] = {}  # why it is not deleted, as it was logged

    def forget(self, brokers: Collection[int]) -> None:
        """They went: what they were asked, they are asked again when they are back."""
        self._asked = {one: number for one, number in self._asked.items() if one[2] not in brokers}

    async def stop(
        self,
        topic: Topic,
        taken: Set[tuple[int, int]],
        unwanted: Unwanted,
        states: Mapping[int, PartitionState],
        held: Mapping[int, ByBroker],
    ) -> Unwanted:
        """Have replicas deleted, and wait until brokers that are alive have done it, or for so long: they do it later.

        taken      replicas (broker, partition) that were taken off just now
        unwanted   all that the topic's node names
        states     of their partitions, as they are now
        held       what brokers hold of the topic, by partition
        returns    those that are not deleted yet
        """
        name, liveness = topic.name, self._term.liveness
        liveness.forget_replicas(name, taken)
        self._term.answers.forget_replicas(topic, taken)
        named = {(broker, index): None for index, brokers in unwanted.items() for broker in brokers}
        self._forget_old(name, taken, named.keys())
        await self._wait_led(topic, {index: states[index] for _broker, index in taken})
        stops: dict[tuple[int, int], int] = {}
        alive = self._term.known.brokers.keys() - liveness.returning
        left = {*named, *taken}
        for broker, index in dict.fromkeys((*taken, *named)):
            replica = (name, index, broker)
            if replica in self._gone:
                self._gone.discard(replica)
                left.discard((broker, index))
            elif broker in alive and replica not in self._asked:
                state = states.get(index)
                reason = _why_kept(broker, state, held.get(index, {})) if (broker, index) not in taken else ""
                if not reason and state is not None and not self._is_led(topic, index, state):
                    self._unanswered.add(name)
                    reason = f"its leader {state.leader} has not answered in leader epoch {state.leader_epoch}"
                if reason:
                    self._keep(replica, reason)
                elif state is not None:
                    stops[broker, index] = state.leader_epoch
        await self._carry_out(name, stops, left)
        for replica in [one for one in self._kept if one[0] == name and (one[2], one[1]) not in left]:
            del self._kept[replica]
        return by_partition(left)

    def _forget_old(self, name: str, taken: Set[tuple[int, int]], named: Set[tuple[int, int]]) -> None:
        """What was answered for replicas that were replicas again since."""
        for one in [one for one in self._gone if one[0] == name]:
            if (one[2], one[1]) in taken or (one[2], one[1]) not in named:
                self._gone.discard(one)
        for broker, index in taken:
            self._asked.pop((name, index, broker), None)

    def leaders_answered(self, names: Iterable[str]) -> None:
        """A broker has answered a LeaderAndIsr of these topics."""
        for name in names:
            unled = self._unled.get(name)
            if unled is not None and not unled.answered.is_done and not self._unled_of(unled.topic, unled.states):
                self._term.tasks.unexpect(unled.answered)
                unled.answered.complete(None)

    async def _wait_led(self, topic: Topic, states: Mapping[int, PartitionState]) -> None:
        """Until the leaders of these states have answered, or for so long."""
        if not self._unled_of(topic, states):
            return
        unled = self._unled[topic.name] = _Unled(topic, states, Future())
        self._term.tasks.expect(unled.answered, REASSIGNMENT_STOP_WAIT_MS, None)
        try:
            await unled.answered
        finally:
            del self._unled[topic.name]

    def _unled_of(self, topic: Topic, states: Mapping[int, PartitionState]) -> list[int]:
        return [index for index, state in states.items() if not self._is_led(topic, index, state)]

    def _is_led(self, topic: Topic, index: int, state: PartitionState) -> bool:
        """Whether the leader of a state serves in it: it is alive, and has answered so in this term."""
        is_online = bool(self._term.liveness.serving(topic.name, index, (state.leader,)))
        return is_online and self._term.answers.is_well(state.leader, topic, index, state.leader_epoch)

    async def _carry_out(self, name: str, stops: Mapping[tuple[int, int], int], left: set[tuple[int, int]]) -> None:
        """Ask brokers; what they have deleted leaves `left`."""
        term = self._term
        all_stopped: Future[None] = Future()
        waiting: set[tuple[int, int]] = set()
        self._questions += 1
        number = self._questions

        def on_stopped(broker: int, _topic: str, index: int, error: ErrorCode) -> None:
            replica = (name, index, broker)
            is_ours = self._asked.get(replica) == number  # else it was a replica again since, or its broker went
            if is_ours:
                del self._asked[replica]
            if is_ours and error is not ErrorCode.NONE:
                self._keep(replica, f"its broker answered {error.name}")
            elif is_ours:
                left.discard((broker, index))
                self._kept.pop(replica, None)
                if all_stopped.is_done:  # late: the node names it still
                    self._gone.add(replica)
                    self._check(name)
            waiting.discard((broker, index))
            if not waiting and not all_stopped.is_done:
                term.tasks.unexpect(all_stopped)
                all_stopped.complete(None)

        for (broker, index), epoch in stops.items():
            if term.notices.stop_replica(broker, name, index, epoch, is_deleted=True, on_stopped=on_stopped):
                self._asked[name, index, broker] = number
                waiting.add((broker, index))
        if waiting:
            term.tasks.expect(all_stopped, REASSIGNMENT_STOP_WAIT_MS, None)
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
