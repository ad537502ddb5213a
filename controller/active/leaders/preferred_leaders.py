"""Leaders that should lead: the first replica of each assignment, asked for or by itself; and any live one, asked for.

Runs in: the controller process of the active node; one object a term. Elections are `state_changes.py`'s.

    /admin/preferred_replica_election   its partitions, then the node is removed
    ElectLeaders                        `a43_elect_leaders.py`
    auto.leader.rebalance.enable        BALANCE_FIRST_MS after the election of this controller, then at each check interval: the
                                        partitions of brokers that lead too few of those they should
                                        (more than leader.imbalance.per.broker.percentage are led by others)

Source: Kafka `KafkaController.processReplicaLeaderElection`, `checkAndTriggerAutoLeaderRebalance`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from enum import IntEnum

from headrace.controller.active.effects import UNANSWERED
from headrace.controller.active.leaders.state_changes import Changes, Partition
from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.admin_znodes import Place, decode_preferred_election
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_LEADER

BALANCE_FIRST_MS = 5_000
TOPICS_PER_STEP = 400  # counted without a pause

_log = logging.getLogger(__name__)


class Election(IntEnum):
    """Of ElectLeaders."""

    PREFERRED = 0
    UNCLEAN = 1


class PreferredLeaders(Part):
    """Those of a term."""

    watched = znodes.PREFERRED_ELECTION

    def __init__(self, term: Term) -> None:
        self._term = term
        self._is_reading = False  # wishes
        self._is_stale = False  # there may be others

    async def begin(self) -> None:
        self.notified()
        if self._term.settings["auto.leader.rebalance.enable"]:
            self._term.start(self._balance_for_ever())

    def notified(self) -> None:
        self._is_stale = True
        if not self._is_reading and not self._term.is_over:
            self._is_reading = True
            self._term.start(self._follow_wishes(), self._wishes_followed)

    # Requests

    async def elect(self, wanted: Iterable[Place] | None, kind: Election) -> dict[Place, KafkaError | None]:
        """Elect leaders of these partitions, None: of all that need one, once each; an error, or None, for each.

        raises   ControllerMoved
        """
        term, known = self._term, self._term.known.topics
        errors: dict[Place, KafkaError | None] = {}
        partitions: list[Partition] = []
        for name, index in dict.fromkeys(self._all() if wanted is None else wanted):
            await term.tasks.pause()
            await term.reservations.wait_free(name)
            topic = known.get(name)
            if name in term.marked or name in term.leaving:
                errors[name, index] = KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
            elif topic is None or not 0 <= index < len(topic.states):
                errors[name, index] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
            elif self._is_well_led(topic, index, kind):
                if wanted is not None:
                    text = "Leader election not needed for topic partition."
                    errors[name, index] = KafkaError(ErrorCode.ELECTION_NOT_NEEDED, text)
            else:
                partitions.append((topic, index))
        changes = await self._elect(partitions, kind)
        for topic, index in partitions:
            place, state = (topic.name, index), topic.states[index]
            is_disputed = place in changes.refused and state is not None and term.heard.is_disputed(place, state)
            errors[place] = _error_of(topic, index, kind, changes, is_disputed=is_disputed)
        return errors

    # Wishes in ZooKeeper

    def _wishes_followed(self) -> None:
        self._is_reading = False
        if self._is_stale:
            self.notified()

    async def _follow_wishes(self) -> None:
        while self._is_stale and not self._term.is_over:
            self._is_stale = False
            try:
                await self._follow()
            except ControllerMoved:
                raise
            except ZkError as failure:
                self._is_stale = True
                _log.debug("requested elections not processed, retrying later reason=%s", failure)
                await self._term.tasks.sleep(RETRY_MS)

    async def _follow(self) -> None:
        """raises   ZkError"""
        node = await self._term.zk.get(znodes.PREFERRED_ELECTION, watch=True)
        if node is None:
            return
        try:
            places = decode_preferred_election(node.data)
        except BadZnode as failure:
            places = []
            _log.error("invalid election request removed reason=%s", failure)
        errors = await self.elect(places, Election.PREFERRED)
        failed = {place: error for place, error in errors.items() if error is not None and _is_failure(error)}
        _log.info("preferred leader election finished partitions=%d not_elected=%d", len(places), len(failed))
        transaction = self._term.guard.begin()
        transaction.delete(znodes.PREFERRED_ELECTION, node.version)
        try:
            await self._term.commit(transaction)
        except ControllerMoved:
            raise
        except ZkConflict:
            pass  # a client wrote it once more: the watch says so

    # Balance

    async def _balance_for_ever(self) -> None:
        term = self._term
        await term.tasks.sleep(BALANCE_FIRST_MS)
        while not term.is_over:
            try:
                await self._balance()
            except ControllerMoved:
                raise
            except ZkError as failure:
                _log.debug("leaders not balanced, retrying later reason=%s", failure)
            except Exception as failure:  # whatever a topic has: all need the controller, nothing needs the balance
                _log.error("leaders not balanced reason=%s: %s", type(failure).__name__, failure, exc_info=failure)
            await term.tasks.sleep(term.settings["leader.imbalance.check.interval.seconds"] * 1000)

    async def _balance(self) -> None:
        """raises   ZkError"""
        term = self._term
        preferred: dict[int, int] = {}  # partitions that a broker should lead
        others: dict[int, list[Partition]] = {}  # of these, the ones that another one leads
        for number, name in enumerate(list(term.known.topics), 1):
            topic = term.known.topics.get(name)
            if topic is not None and name not in term.marked:
                count_leaders(topic, preferred, others)
            if not number % TOPICS_PER_STEP:
                await term.tasks.pause()
        percentage = term.settings["leader.imbalance.per.broker.percentage"]
        partitions = [
            (topic, index)
            for broker in sorted(others)
            if len(others[broker]) * 100 > percentage * preferred[broker]
            for topic, index in others[broker]
            if self._may_lead(topic, index, broker)
        ]
        if partitions:
            changes = await term.states.elect_preferred(partitions)
            _log.info("leaders balanced partitions=%d moved=%d", len(partitions), len(changes.written))

    def _may_lead(self, topic: Topic, index: int, broker: int) -> bool:
        state = topic.states[index]
        is_online = bool(self._term.liveness.online(topic.name, index, (broker,)))
        return state is not None and broker in state.isr and is_online

    # Parts

    async def _elect(self, partitions: Collection[Partition], kind: Election) -> Changes:
        states = self._term.states
        if kind is Election.UNCLEAN:
            return await states.elect_offline(partitions, is_unclean=True)
        return await states.elect_preferred(partitions)

    def _all(self) -> list[Place]:
        return [(name, index) for name, topic in self._term.known.topics.items() for index in range(len(topic.states))]

    def _is_well_led(self, topic: Topic, index: int, kind: Election) -> bool:
        state = topic.states[index]
        if state is None:
            return False
        if kind is Election.UNCLEAN:
            return self._term.states.has_leader(topic, index, state)
        return state.leader in topic.replicas[index][:1]


def count_leaders(topic: Topic, preferred: dict[int, int], others: dict[int, list[Partition]]) -> None:
    """Add a topic's partitions: by their first replica, and of these the ones that another one leads. Without those that have none."""
    for index, row in enumerate(topic.replicas):
        if not row:
            continue
        preferred[row[0]] = preferred.get(row[0], 0) + 1
        state = topic.states[index]
        if state is not None and state.leader != row[0]:
            others.setdefault(row[0], []).append((topic, index))


def _is_failure(error: KafkaError) -> bool:
    return error.code is not ErrorCode.ELECTION_NOT_NEEDED


def _error_of(topic: Topic, index: int, kind: Election, changes: Changes, *, is_disputed: bool) -> KafkaError | None:
    place = (topic.name, index)
    if place in changes.written:
        return None
    state = topic.states[index]
    leader = NO_LEADER if state is None else state.leader
    why = "another client is changing it: retry" if place in changes.stale else f"its leader is {leader}"
    disputed = "a replica's log is ahead of the partition's state, see headrace cluster describe --held"
    if changes.refused.get(place) is UNANSWERED:
        code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return KafkaError(code, f"{UNANSWERED.value}: retry; {why}")
    if kind is Election.UNCLEAN:
        text = disputed if is_disputed else f"none of replicas {list(topic.replicas[index])} is alive"
        return KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, f"{text}; {why}")
    replica = "of its assignment, which is empty," if not topic.replicas[index] else topic.replicas[index][0]
    text = disputed if is_disputed else f"replica {replica} is not in sync, or not alive"
    return KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, f"{text}; {why}")
