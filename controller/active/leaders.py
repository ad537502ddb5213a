"""Leaders and first states of partitions: other leaders where theirs is gone, states where there are none.

Runs in: the controller process of the active node, one object a term. Both are tasks, and neither waits for the other:

    leaders       topics whose brokers came or went, or that were read
    first states  topics that have partitions without any: made by hand, or half by a killed controller

What they decide is in `reconciliation.py`.

Source: Kafka `PartitionStateMachine`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import islice

from headrace.controller.active.reconciliation import first_states, leader_changes
from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError
from headrace.controller.zookeeper.tasks import Task
from headrace.controller.zookeeper.znodes import PartitionState

CHANGES_PER_COMMIT = 400
TOPICS_PER_STEP = 400  # of which leaders are looked for without a pause

_log = logging.getLogger(__name__)


class Leaders(Part):
    """Of all partitions."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._leaderless: dict[str, None] = {}  # topics whose leaders are to be looked at
        self._incomplete: dict[str, None] = {}  # topics that have partitions without a state
        self._told: set[str] = set()  # ids of topics that brokers were told of in this term
        self._electing: Task[None] | None = None
        self._completing: Task[None] | None = None

    async def begin(self) -> None:
        """Look at everything, and tell it: nobody knows what the controller before had told."""
        names = list(self._term.known.topics)
        for first in range(0, len(names), TOPICS_PER_STEP):
            self._tell_new(names[first : first + TOPICS_PER_STEP])
            await self._term.tasks.pause()
        self._check(names)

    def brokers_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        self._check(self._term.known.topics_on(gone | come))

    def topics_read(self, names: Iterable[str]) -> None:
        self._check(names)

    def topic_written(self, name: str) -> None:
        """Brokers may have gone meanwhile; what was not told is looked at once it was read."""
        topic = self._term.known.topics.get(name)
        if topic is not None:
            self._is_new(topic)  # whoever wrote it has told
        self._check([name])

    def _check(self, names: Iterable[str]) -> None:
        """Look at topics' leaders and states."""
        self._leaderless.update(dict.fromkeys(names))
        if self._leaderless and self._electing is None:
            self._electing = self._term.start(self._elect(), self._elected)

    def _elected(self) -> None:
        self._electing = None
        if not self._term.is_over and self._leaderless:
            self._check(())

    def _tell_new(self, names: list[str]) -> None:
        """Tell brokers of topics that they were not told of in this term; states that are missing follow when they are made."""
        for name in names:
            topic = self._term.known.topics.get(name)
            if topic is not None and name not in self._term.reservations and self._is_new(topic):
                there = [index for index, state in enumerate(topic.states) if state is not None]
                self._term.notices.tell_leaders(name, there)

    def _is_new(self, topic: Topic) -> bool:
        """Whether brokers were not told of a topic in this term; from now on they were."""
        before = len(self._told)
        self._told.add(topic.topic_id or topic.name)
        return len(self._told) > before

    async def _elect(self) -> None:
        """Other leaders for partitions whose leader is not alive, so many topics at a time."""
        term = self._term
        while self._leaderless and not term.is_over:
            names = list(islice(self._leaderless, TOPICS_PER_STEP))
            changes: list[tuple[Topic, int, PartitionState]] = []
            live = term.known.live()
            for name in names:
                del self._leaderless[name]
                topic = term.known.topics.get(name)
                if topic is None or name in term.reservations:
                    continue
                if topic.missing:
                    self._complete_later(name)
                found = leader_changes(topic, live, term.epoch)
                changes += [(topic, index, state) for index, state in found.items()]
            for first in range(0, len(changes), CHANGES_PER_COMMIT):
                await self._change_leaders(changes[first : first + CHANGES_PER_COMMIT])
            self._tell_new(names)
            await term.tasks.pause()

    async def _change_leaders(self, changes: list[tuple[Topic, int, PartitionState]]) -> None:
        """A change expects the node as it was read (KAFKA-2729: after a conflict it is read again)."""
        term = self._term
        transaction = term.guard.begin()
        by_topic: dict[Topic, dict[int, PartitionState]] = {}
        for topic, index, state in changes:
            transaction.set(znodes.state_path(topic.name, index), znodes.encode_state(state), state.version)
            by_topic.setdefault(topic, {})[index] = state._replace(version=state.version + 1)
        names = tuple(topic.name for topic in by_topic)
        try:
            await term.commit(transaction)
        except ControllerMoved:
            raise
        except ZkConflict as conflict:
            _log.info("states were written by others, they are read again topics=%d reason=%s", len(names), conflict)
            term.tell(events.StatesStale(names))
            return
        except ZkError:
            self._leaderless.update(dict.fromkeys(names))
            await term.tasks.sleep(RETRY_MS)
            return
        for topic, states in by_topic.items():
            self._tell_states(topic, states)
        _log.info("leaders changed partitions=%d epoch=%d", len(changes), term.epoch)

    def _tell_states(self, topic: Topic, states: Mapping[int, PartitionState], is_new: bool = False) -> None:
        """The agent, then all brokers."""
        self._term.tell(events.StatesWritten(topic.name, topic.topic_id, dict(states)))
        self._term.notices.tell_leaders(topic.name, states, is_new=is_new)

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
            for step, made in first_states(topic, term.known.live(), term.epoch, transaction, term.guard.begin, there):
                await term.commit(step)
                self._tell_states(topic, made, is_new=True)
            is_told = not term.is_over  # else brokers of the next term were not told: it is read again
        finally:
            term.reservations.release(topic.name, is_told)
