"""The active controller: what the elected node alone does for the cluster.

Runs in: the controller process of the active node, from Elected to Resigned. It reads the known cluster, decides by pure functions
(`reconciliation.py`, `topic_creation.py`, `topic_growth.py`, `assignment.py`), writes transactions that each check the controller
epoch, and tells the agent what is written. Each of these is a task, or one task a topic, and none waits for another:

    leaders       topics whose brokers came or went, or that were read: other leaders where theirs is gone
    first states  topics that have partitions without any: made by hand, or half by a killed controller
    writes        creation, growth and marks, as requests ask for them
    removal       topics that are marked, once everybody here has acted on that

A deletion, each step of which can be run again; a process that is killed leaves a mark in /admin/delete_topics, and the next active
controller goes on from there. Kafka's own tools and other brokers make such marks as well.

    mark in /admin/delete_topics
        ->  TopicLeaving: topic out of the view, its replicas here are to go
        ->  owners rename the directories, rows DELETED; coordinators forget its offsets; every partition worker has
            followed the view: ReplicasSettled
        ->  znodes removed, the mark last
        ->  TopicRemoved: slots and name are free

The znodes hold the name until then: a topic made under it finds neither files nor committed offsets of the old one.

Source: Kafka `KafkaController`, `TopicDeletionManager`.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import islice
from typing import Any

from headrace.controller.active.reconciliation import Step, first_states, leader_changes
from headrace.controller.active.topic_creation import creation_steps, encode_assignment
from headrace.controller.active.topic_growth import check_growable, growth_steps
from headrace.controller.cluster import events
from headrace.controller.cluster.events import Replicas
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.tasks import Future, Task, Tasks
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import DELETIONS_IN_FLIGHT_MAX

CHANGES_PER_COMMIT = 400
TOPICS_PER_STEP = 400  # of which leaders are looked for without a pause
ZNODES_PER_COMMIT = 500
RETRY_MS = 200

_log = logging.getLogger(__name__)


class ActiveController:
    """One node's, over all of its terms.

    tell                  takes what the agent has to know
    is_deletion_enabled   delete.topic.enable: where it is off, marks of others are removed
    """

    def __init__(
        self,
        zk: ZkSession,
        tasks: Tasks,
        known: KnownCluster,
        room: ViewRoom,
        tell: Callable[[events.ToAgent], None],
        is_deletion_enabled: bool,
    ) -> None:
        self.chance = random.Random()
        self.guard: EpochGuard | None = None  # of this term; None: we are not active
        self._zk = zk
        self._tasks = tasks
        self._known = known
        self._room = room
        self._tell = tell
        self._is_deletion_enabled = is_deletion_enabled
        self._writing: dict[str, Future[None]] = {}  # names that a task writes in several steps
        self._marked: frozenset[str] = frozenset()
        self._pending: dict[str, None] = {}  # topics whose deletion has begun
        self._removable: dict[str, None] = {}  # of these, the ones that everybody here has acted on
        self._removals = 0  # tasks
        self._leaderless: dict[str, None] = {}  # topics whose leaders are to be looked at
        self._incomplete: dict[str, None] = {}  # topics that have partitions without a state
        self._electing: Task[None] | None = None
        self._completing: Task[None] | None = None

    # Events

    def take(self, event: events.ToActive) -> None:
        """What the agent tells."""
        if isinstance(event, events.Elected):
            self._end_term()
            self.guard = EpochGuard(self._zk, event.epoch, event.epoch_version)
        elif isinstance(event, events.Resigned):
            self._end_term()
        elif self.guard is None:
            return
        elif isinstance(event, events.BrokersChanged):
            self._check(self._known.topics_on(event.brokers))
        elif isinstance(event, events.TopicsRead):
            self._check(event.names)
        elif isinstance(event, events.Marked):
            self._marked = event.names
            self.begin_deletions(event.names)
        elif isinstance(event, events.ReplicasSettled) and event.name in self._pending:
            self._removable[event.name] = None
            self._start_removals()

    def _end_term(self) -> None:
        """The next controller goes on, by the marks and by what is missing. Replicas that are to go still are."""
        if self.guard is not None:
            self.guard.is_over = True
        self.guard = None
        self._marked = frozenset()
        for names in (self._pending, self._removable, self._leaderless, self._incomplete):
            names.clear()

    # Requests

    def is_deleting(self, name: str) -> bool:
        return name in self._pending

    async def wait_free(self, name: str) -> None:
        """Wait until no task writes a topic of this name. Until the caller's next await none will."""
        while name in self._writing:
            await self._writing[name]

    async def create(self, name: str, replicas: Replicas, configs: dict[str, str]) -> str:
        """Write a topic; returns its id. Call after `wait_free`, and after the name was checked.

        raises   KafkaError TOPIC_ALREADY_EXISTS, where ZooKeeper has it, POLICY_VIOLATION, where there is no room;
                 ControllerMoved; ZkLost, where it may be there or not
        """
        guard = self._guard()
        topic = Topic(name, znodes.new_uuid(), replicas, configs, [None] * len(replicas))
        data = encode_assignment(topic.assignment)
        self._room.reserve(name, replicas, configs)
        is_told = False
        self._reserve(name)
        try:
            old_configs = await self._zk.get(znodes.topic_config_path(name))
            steps = creation_steps(topic, data, old_configs, self._known.live(), guard.epoch, guard.begin)
            states = await self._write(guard, steps)
            ordered = tuple(states[index] for index in range(len(replicas)))
            self._tell(events.TopicWritten(name, topic.topic_id, replicas, configs, ordered))
            is_told = True
        except ControllerMoved:
            raise
        except ZkConflict as conflict:
            if conflict.path == znodes.topic_path(name):
                raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.") from None
            raise
        finally:
            self._release(name, is_told)
        return topic.topic_id

    async def grow(self, topic: Topic, replicas: Replicas) -> None:
        """Write new partitions of a topic. Call after `wait_free`.

        raises   KafkaError REASSIGNMENT_IN_PROGRESS, POLICY_VIOLATION (no room here), UNKNOWN_TOPIC_OR_PARTITION;
                 ControllerMoved; ZkConflict, where somebody else changed the topic; ZkLost, where it may have happened or not
        """
        guard = self._guard()
        name, new = topic.name, replicas[len(topic.replicas) :]
        data = encode_assignment(topic.assignment._replace(replicas=replicas))
        self._room.reserve(name, new)
        is_told = False
        self._reserve(name)
        try:
            node = check_growable(topic, await self._zk.get(znodes.topic_path(name)))
            states: list[PartitionState | None] = [*topic.states, *[None] * len(new)]
            grown = Topic(name, topic.topic_id, replicas, topic.configs, states, others=topic.others)
            existing = len(topic.replicas)
            steps = growth_steps(grown, existing, data, node.version, self._known.live(), guard.epoch, guard.begin)
            made = await self._write(guard, steps)
            self._tell(events.TopicGrown(name, topic.topic_id, replicas, made))
            is_told = True
        finally:
            self._release(name, is_told)

    async def mark(self, name: str) -> None:
        """Say in ZooKeeper that a topic is to go; raises ZkError."""
        guard = self._guard()
        transaction = guard.begin()
        transaction.create(znodes.delete_topic_path(name))
        try:
            await self._commit(guard, transaction)
        except ControllerMoved:
            raise
        except ZkConflict:
            pass  # marked already

    def begin_deletions(self, names: Iterator[str] | frozenset[str] | list[str]) -> None:
        """Have marked topics go. A mark without a topic is what a killed controller may leave."""
        if self.guard is None:
            return
        for name in names:
            if name in self._pending or name in self._writing:  # once it is written the marks are read again
                continue
            if not self._is_deletion_enabled and self._known.has(name):
                _log.warning("deletion mark removed, delete.topic.enable=false topic=%s", name)
                self._start(self._remove_mark(self.guard, name))
                continue
            self._pending[name] = None
            self._tell(events.TopicLeaving(name))
            replicas = len(self._known.leaving.get(name, ()))
            _log.info("topic deletion begun topic=%s replicas_here=%d", name, replicas)

    # Names in several steps

    def _reserve(self, name: str) -> None:
        self._writing[name] = Future()
        self._tell(events.NameReserved(name))

    def _release(self, name: str, is_told: bool) -> None:
        """is_told   whether the agent knows all that was written"""
        self._tell(events.NameReleased(name, is_told and name not in self._marked))
        self._writing.pop(name).complete(None)
        if self.guard is not None and is_told:
            self._check([name])  # brokers may have gone meanwhile; what was not told is looked at once it was read

    async def _write(self, guard: EpochGuard, steps: Iterator[Step]) -> dict[int, PartitionState]:
        written: dict[int, PartitionState] = {}
        for transaction, made in steps:
            await self._commit(guard, transaction)
            written.update(made)
        return written

    # Leaders and first states

    def _check(self, names: Any) -> None:
        """Look at topics' leaders and states."""
        self._leaderless.update(dict.fromkeys(names))
        if self._leaderless and self._electing is None:
            assert self.guard is not None
            self._electing = self._start(self._elect(self.guard), self._elected)

    def _elected(self) -> None:
        self._electing = None
        if self.guard is not None and self._leaderless:
            self._check(())

    async def _elect(self, guard: EpochGuard) -> None:
        """Other leaders for partitions whose leader is not alive, so many topics at a time."""
        while self._leaderless and self.guard is guard:
            names = list(islice(self._leaderless, TOPICS_PER_STEP))
            changes: list[tuple[Topic, int, PartitionState]] = []
            live = self._known.live()
            for name in names:
                del self._leaderless[name]
                topic = self._known.topics.get(name)
                if topic is None or name in self._writing:
                    continue
                if topic.missing:
                    self._complete_later(name)
                found = leader_changes(topic, live, guard.epoch)
                changes += [(topic, index, state) for index, state in found.items()]
            for first in range(0, len(changes), CHANGES_PER_COMMIT):
                await self._change_leaders(guard, changes[first : first + CHANGES_PER_COMMIT])
            await self._tasks.pause()

    async def _change_leaders(self, guard: EpochGuard, changes: list[tuple[Topic, int, PartitionState]]) -> None:
        """A change expects the node as it was read (KAFKA-2729: after a conflict it is read again)."""
        transaction = guard.begin()
        by_topic: dict[Topic, dict[int, PartitionState]] = {}
        for topic, index, state in changes:
            transaction.set(znodes.state_path(topic.name, index), znodes.encode_state(state), state.version)
            by_topic.setdefault(topic, {})[index] = state._replace(version=state.version + 1)
        names = tuple(topic.name for topic in by_topic)
        try:
            await self._commit(guard, transaction)
        except ControllerMoved:
            raise
        except ZkConflict as conflict:
            _log.info("states were written by others, they are read again topics=%d reason=%s", len(names), conflict)
            self._tell(events.StatesStale(names))
            return
        except ZkError:
            self._leaderless.update(dict.fromkeys(names))
            await self._tasks.sleep(RETRY_MS)
            return
        for topic, states in by_topic.items():
            self._tell(events.StatesWritten(topic.name, topic.topic_id, states))
        _log.info("leaders changed partitions=%d epoch=%d", len(changes), guard.epoch)

    def _complete_later(self, name: str) -> None:
        self._incomplete[name] = None
        if self._completing is None:
            assert self.guard is not None
            self._completing = self._start(self._complete_all(self.guard), self._completed)

    def _completed(self) -> None:
        self._completing = None
        if self.guard is not None and self._incomplete:
            self._complete_later(next(iter(self._incomplete)))

    async def _complete_all(self, guard: EpochGuard) -> None:
        while self._incomplete and self.guard is guard:
            name = next(iter(self._incomplete))
            await self.wait_free(name)
            self._incomplete.pop(name, None)
            topic = self._known.topics.get(name)
            if topic is None or not topic.missing:
                continue
            try:
                await self._complete(guard, topic)
            except ControllerMoved:
                raise
            except ZkConflict:
                self._tell(events.StatesStale((name,)))
            except ZkError:
                self._incomplete[name] = None
                await self._tasks.sleep(RETRY_MS)

    async def _complete(self, guard: EpochGuard, topic: Topic) -> None:
        """Write the first state of every partition of a topic that has none; raises ZkError."""
        is_told = False
        self._reserve(topic.name)
        try:
            paths = [
                znodes.partitions_path(topic.name),
                *(znodes.partition_path(topic.name, index) for index in topic.missing),
            ]
            nodes = await self._zk.get_many(paths)
            there = {path for path, node in zip(paths, nodes, strict=True) if node is not None}
            transaction = guard.begin()
            if paths[0] not in there:
                transaction.create(paths[0])
            for step, made in first_states(topic, self._known.live(), guard.epoch, transaction, guard.begin, there):
                await self._commit(guard, step)
                self._tell(events.StatesWritten(topic.name, topic.topic_id, dict(made)))
            is_told = True
        finally:
            self._release(topic.name, is_told)

    # Removal

    def _start_removals(self) -> None:
        while self._removable and self._removals < DELETIONS_IN_FLIGHT_MAX and self.guard is not None:
            name = next(iter(self._removable))
            del self._removable[name]
            self._removals += 1
            self._start(self._remove_topic(self.guard, name), self._removal_ended)

    def _removal_ended(self) -> None:
        self._removals -= 1
        self._start_removals()

    async def _remove_topic(self, guard: EpochGuard, name: str) -> None:
        zk = self._zk
        while self.guard is guard:
            try:
                paths = [
                    *await zk.tree(znodes.topic_path(name)),
                    *await zk.tree(znodes.topic_config_path(name)),
                    *await zk.tree(znodes.delete_topic_path(name)),
                ]
                await self._remove(guard, paths)
                break
            except ControllerMoved:
                raise
            except ZkError as failure:
                _log.debug("deletion goes on later topic=%s reason=%s", name, failure)
                await self._tasks.sleep(RETRY_MS)
        else:
            return
        self._pending.pop(name, None)
        self._marked -= {name}
        self._tell(events.TopicRemoved(name))
        _log.info("topic deleted topic=%s", name)

    async def _remove_mark(self, guard: EpochGuard, name: str) -> None:
        try:
            await self._remove(guard, [znodes.delete_topic_path(name)])
        except ControllerMoved:
            raise
        except ZkConflict:
            pass  # somebody else was faster

    async def _remove(self, guard: EpochGuard, paths: list[str]) -> None:
        for first in range(0, len(paths), ZNODES_PER_COMMIT):
            transaction = guard.begin()
            for path in paths[first : first + ZNODES_PER_COMMIT]:
                transaction.delete(path)
            await self._commit(guard, transaction)

    # Writing

    def _guard(self) -> EpochGuard:
        """raises   ControllerMoved, where we are not active any more"""
        if self.guard is None:
            raise ControllerMoved(znodes.CONTROLLER_EPOCH, "this node is not the active controller any more")
        return self.guard

    async def _commit(self, guard: EpochGuard, transaction: Transaction) -> None:
        """raises   ControllerMoved, ZkError"""
        try:
            await guard.commit(transaction)
        except ControllerMoved as failure:
            if self.guard is guard:
                _log.warning("not the active controller any more reason=%s", failure)
                self._tell(events.SteppedDown())
            raise

    def _start(self, coroutine: Coroutine[Any, None, None], on_end: Callable[[], None] = lambda: None) -> Task[None]:
        return self._tasks.start(coroutine, partial(_ended, on_end))


def _ended(on_end: Callable[[], None], task: Task[None]) -> None:
    """raises   what is no failure of ZooKeeper: that ends a procedure, with the session or the term"""
    on_end()
    if task.failure is not None and not isinstance(task.failure, ZkError):
        raise task.failure
