"""Leaders and first states of partitions: other leaders where theirs is gone, states where there are none.

Runs in: the controller process of the active node, one object a term. Both are tasks, and neither waits for the other:

    leaders       topics whose brokers came or went, whose replicas' directories failed, or that were read: partitions whose leader
                  is offline elect another, all of them first; then replicas that are offline leave the ISR
    first states  topics that have partitions without any: made by hand, or half by a killed controller

What a partition needs follows from what is known of it, so that the same topic may be checked whenever in doubt. A process of a
node that dies is none of this: its node stays a member. Topics that are being deleted are no longer known.
The first are carried out by `state_changes.py`; what the others decide is in `reconciliation.py`.

Source: Kafka `KafkaController.onBrokerFailure`, `onBrokerStartup`, `onReplicasBecomeOffline`, `processLeaderAndIsrResponseReceived`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from headrace.controller.active.answers import WELL
from headrace.controller.active.leaders.state_changes import Partition
from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.active.topics.reconciliation import first_states
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import NO_LEADER
from headrace.limits import ANSWERS_ASKED_MS
from headrace.runtime.tasks import Task

TOPICS_PER_STEP = 400  # checked without a pause

_log = logging.getLogger(__name__)


class Leaders(Part):
    """Of all partitions."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._leaderless: dict[
            str, bool
        ] = {}  # topics whose leaders are to be checked -> whether their replicas came or went
        self._elected: dict[str, bool] = {}  # the same, once that was done: their ISRs are next
        self._incomplete: dict[str, None] = {}  # topics that have partitions without a state
        self._told: dict[str, set[int]] = {}  # partitions that brokers were notified of in this term, by the topic's id
        self._checking: Task[None] | None = None
        self._completing: Task[None] | None = None
        self._is_asking_set = False  # brokers, for answers that steps wait for

    async def begin(self) -> None:
        """Look at everything, and tell it: it is unknown what the controller before had told."""
        names = list(self._term.known.topics)
        for first in range(0, len(names), TOPICS_PER_STEP):
            self._tell_new(names[first : first + TOPICS_PER_STEP])
            await self._term.tasks.pause()
        await self._term.states.hear()  # a leader that lives may hold its replica
        self._check(names)
        await self.settle()

    def brokers_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        self._check(self._term.known.topics_on(gone | come), has_moved=True)

    async def settle(self) -> None:
        while self._checking is not None:
            await self._checking

    def topics_read(self, names: Iterable[str]) -> None:
        names = list(names)
        for name in names:
            topic = self._term.known.topics.get(name)
            doubted = self._term.states.take_doubted(topic) if topic is not None else []
            if doubted:
                self._term.notices.tell_leaders(name, doubted)
        self._check(names)

    def topic_written(self, name: str) -> None:
        """Brokers may have gone meanwhile; what was not sent is sent once it was read."""
        self._check([name])

    def isrs_changed(self, name: str, indexes: Collection[int]) -> None:
        """One of a leader's node may have taken the leader away: its state was of the past (decision 015). Or a leader took a broker in
        that was about to go, by a write that came after we had removed it: it sees no lag where nothing is written, and we saw it go.
        A replica that was offline, and that its leader takes in, serves again. The topic may have gone while that was written, and
        another one may have its name.
        """
        topic = self._term.known.topics.get(name)
        if topic is None:
            return
        for index in topic.known_of(indexes):
            state = topic.states[index]
            if state is None:
                continue
            assigned = topic.replicas[index]
            live = sum(1 for one in state.isr if one in assigned and self._term.liveness.is_live(one))
            if state.leader not in assigned or 0 < live < len(state.isr):
                self._check([name])
                return

    def leaders_told(self, name: str, indexes: Collection[int]) -> None:
        topic = self._term.known.topics.get(name)
        if topic is not None:
            self._told_of(topic).update(indexes)

    def leaders_answered(self, broker: int, errors: Mapping[tuple[str, int], ErrorCode]) -> None:
        """Replicas whose directory failed are offline, those that were made since are not.

        A log that is out of service is said first. So one whose broker knows a later state than we do is in service: it was released
        by that state, of which we read a moment later, and nothing else would say so.
        """
        liveness = self._term.liveness
        failed = [place for place, error in errors.items() if error is ErrorCode.KAFKA_STORAGE_ERROR]
        well = [place for place, error in errors.items() if error in WELL]
        liveness.note_well(broker, well)
        self._check(self._term.states.take_unanswered(broker, {name for name, _index in errors}))
        if not failed and broker not in liveness.failed:
            return
        before = liveness.failed.get(broker, set())
        new = liveness.note_failed(broker, failed, well)
        if new:
            _log.warning("replicas are offline, their log directory failed broker=%d replicas=%d", broker, len(new))
        moved = before ^ liveness.failed.get(broker, set())
        self._check({name for name, _index in moved}, has_moved=True)

    def _check(self, names: Iterable[str], has_moved: bool = False) -> None:
        """Have topics' leaders, ISRs and states checked.

        has_moved   whether replicas came or went: brokers are notified of all partitions, for they may be offline or not any more
        """
        leaderless = self._leaderless
        for name in names:
            leaderless[name] = has_moved or leaderless.get(name, False)
        if self._has_more() and self._checking is None:
            self._checking = self._term.start(self._check_all(), self._checked)

    def _checked(self) -> None:
        self._checking = None
        if not self._term.is_over and self._has_more():
            self._check(())
        elif self._term.states.is_waiting and not self._is_asking_set:
            self._is_asking_set = self._term.tasks.later(ANSWERS_ASKED_MS, self._ask_again)

    def _ask_again(self) -> None:
        """Brokers whose answers steps wait for: they may have answered something else, as that a log was not open in time."""
        self._is_asking_set = False
        if self._term.is_over:
            return
        waiting = self._term.states.take_all_unanswered()
        for broker, topics in waiting.items():
            _log.warning(
                "elections wait for a broker that has not answered for its replicas in this term broker=%d partitions=%d first=%s",
                broker, sum(map(len, topics.values())), next(iter(topics)),
            )  # fmt: skip
            for name, indexes in topics.items():
                self._term.notices.tell_leaders(name, sorted(indexes), (broker,))
            self._check(topics)

    def _has_more(self) -> bool:
        return bool(self._leaderless or self._elected)

    def _tell_new(self, names: list[str]) -> None:
        """Notify brokers of partitions that they were not notified of in this term; states that are missing follow when they are made."""
        for name in names:
            topic = self._term.known.topics.get(name)
            if topic is None or name in self._term.reservations:
                continue
            told = self._told_of(topic)
            there = [index for index, state in enumerate(topic.states) if state is not None and index not in told]
            if there:
                told.update(there)
                self._term.notices.tell_leaders(name, there)

    def _told_of(self, topic: Topic) -> set[int]:
        """What was sent about a topic; entries of deleted topics are dropped now and then."""
        topics = self._term.known.topics
        if len(self._told) > 2 * len(topics) + TOPICS_PER_STEP:
            there = {one.topic_id or one.name for one in topics.values()}
            self._told = {name: told for name, told in self._told.items() if name in there}
        return self._told.setdefault(topic.topic_id or topic.name, set())

    async def _check_all(self) -> None:
        """Leaders of all topics first, for without them nothing is served; so many topics at a time."""
        term = self._term
        while self._has_more() and not term.is_over:
            if self._leaderless:
                some = _take(self._leaderless)
                topics = self._writable(some)
                for topic in topics:
                    if topic.missing:
                        self._complete_later(topic.name)
                await term.states.elect_offline(self._without_leader(topics))
                self._tell_new(list(some))
                for name, has_moved in some.items():
                    self._elected[name] = has_moved or self._elected.get(name, False)
            else:
                some = _take(self._elected)
                await term.states.shrink(self._offline_in_isr(self._writable(some)))
                for name, has_moved in some.items():
                    if has_moved:
                        term.notices.tell_metadata(name)
            await term.tasks.pause()

    def _writable(self, names: Iterable[str]) -> list[Topic]:
        """The topics that are there, and that no task writes: those are checked when that is over."""
        topics = self._term.known.topics
        return [topics[name] for name in names if name in topics and name not in self._term.reservations]

    def _without_leader(self, topics: Iterable[Topic]) -> list[Partition]:
        has_leader = self._term.states.has_leader
        return [
            (topic, index)
            for topic in topics
            for index, state in enumerate(topic.states)
            if state is not None and not has_leader(topic, index, state)
        ]

    def _offline_in_isr(self, topics: Iterable[Topic]) -> list[Partition]:
        """Partitions whose state names replicas that are offline, or are none, as their leader or beside others that are not."""
        serving, states = self._term.liveness.serving, self._term.states
        found = []
        for topic in topics:
            for index, state in enumerate(topic.states):
                if state is None:
                    continue
                assigned = topic.replicas[index]
                there = [one for one in serving(topic.name, index, state.isr) if one in assigned]
                has_leader = state.leader == NO_LEADER or states.has_leader(topic, index, state)
                if not has_leader or 0 < len(there) < len(state.isr):
                    found.append((topic, index))
        return found

    def _tell_states(self, topic: Topic, states: Mapping[int, PartitionState], is_new: bool = False) -> None:
        """The agent, then all brokers."""
        self._term.tell(events.StatesWritten(topic.name, topic.topic_id, dict(states)))
        self._term.notices.tell_leaders(topic.name, states, is_new=is_new)
        self._told_of(topic).update(states)

    def _complete_later(self, name: str) -> None:
        self._incomplete[name] = None
        if self._completing is None:
            self._completing = self._term.start(self._complete_all(), self._completed)

    def _completed(self) -> None:
        self._completing = None
        if not self._term.is_over and self._incomplete:
            self._complete_later(next(iter(self._incomplete)))

    async def _complete_all(self) -> None:
        term = self._term
        while self._incomplete and not term.is_over:
            name = next(iter(self._incomplete))
            await term.reservations.wait_free(name)
            self._incomplete.pop(name, None)
            topic = term.known.topics.get(name)
            if topic is None or not topic.missing:
                continue
            try:
                await self._complete(topic)
            except ControllerMoved:
                raise
            except ZkConflict:
                term.tell(events.StatesStale((name,)))
            except ZkError:
                self._incomplete[name] = None
                await term.tasks.sleep(RETRY_MS)

    async def _complete(self, topic: Topic) -> None:
        """Write the first state of every partition of a topic that has none; raises ZkError."""
        term = self._term
        is_told = False
        term.reservations.reserve(topic.name)
        try:
            paths = [
                znodes.partitions_path(topic.name),
                *(znodes.partition_path(topic.name, index) for index in topic.missing),
            ]
            nodes = await term.zk.get_many(paths)
            there = {path for path, node in zip(paths, nodes, strict=True) if node is not None}
            transaction = term.guard.begin()
            if paths[0] not in there:
                transaction.create(paths[0])
            for step, made in first_states(
                topic, term.liveness.brokers(), term.epoch, transaction, term.guard.begin, there
            ):
                await term.commit(step)
                self._tell_states(topic, made, is_new=True)
            is_told = not term.is_over  # else brokers of the next term were not notified: it is read again
        finally:
            term.reservations.release(topic.name, is_told)


def _take(waiting: dict[str, bool]) -> dict[str, bool]:
    """The next ones."""
    names = list(islice(waiting, TOPICS_PER_STEP))
    return {name: waiting.pop(name) for name in names}
