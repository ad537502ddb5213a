"""The active controller: what the elected node alone does for the cluster.

Runs in: the controller process of the active node, from Elected to Resigned. It reads the known cluster, decides by pure functions
(`reconciliation.py`, `topic_creation.py`, `topic_growth.py`, `assignment.py`), writes transactions that each check the controller
epoch, notifies the agent what is written, and then the brokers (`notices.py`). What it does by itself are the parts of a term
(`term.py`), in the order of PARTS; what requests ask for is here: creation, growth, marks. Each is a task, and none waits for another.

Source: Kafka `KafkaController`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from headrace.controller.active.leaders.isr_notifications import IsrNotifications
from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.active.leaders.log_dir_events import LogDirEvents
from headrace.controller.active.leaders.preferred_leaders import PreferredLeaders
from headrace.controller.active.node_notes import NodeNotes
from headrace.controller.active.notices import Channels
from headrace.controller.active.reassignment.reassignments import Reassignments
from headrace.controller.active.reservations import Reservations
from headrace.controller.active.term import Part, Term
from headrace.controller.active.topics.deletions import Deletions
from headrace.controller.active.topics.reconciliation import Step
from headrace.controller.active.topics.topic_creation import creation_steps, encode_assignment
from headrace.controller.active.topics.topic_growth import check_growable, growth_steps
from headrace.controller.active.topics.topic_ids import TopicIds
from headrace.controller.cluster import events
from headrace.controller.cluster.events import Replicas
from headrace.controller.cluster.known_cluster import KnownCluster, Topic, is_another
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol.broker_versions import inter_broker
from headrace.runtime.tasks import Tasks
from headrace.settings import Settings

AnyPart = TypeVar("AnyPart", bound=Part)

# In the order in which they begin; `Part` has what each hears of
PARTS: tuple[Callable[[Term], Part], ...] = (
    TopicIds,
    Deletions,
    Leaders,
    Reassignments,
    PreferredLeaders,
    IsrNotifications,
    LogDirEvents,
    NodeNotes,
)


class ActiveController:
    """One node's, over all of its terms.

    term            None: we are not active
    tell            takes what the agent has to know
    open_channels   to the brokers of a term
    """

    def __init__(
        self,
        zk: ZkSession,
        tasks: Tasks,
        known: KnownCluster,
        room: ViewRoom,
        tell: Callable[[events.ToAgent], None],
        settings: Settings,
        open_channels: Callable[[Term], Channels],
    ) -> None:
        self.chance = random.Random()
        self.term: Term | None = None
        self.reservations = Reservations(tell, self._is_marked, self._written)
        self._zk = zk
        self._tasks = tasks
        self._known = known
        self._room = room
        self._tell = tell
        self._settings = settings
        self._open_channels = open_channels
        self._deletions: Deletions | None = None  # of this term

    # Events

    def take(self, event: events.ToActive) -> None:
        """What the agent tells."""
        if isinstance(event, events.Elected):
            self._end_term()
            self._begin_term(EpochGuard(self._zk, event.epoch, event.epoch_version))
        elif isinstance(event, events.Resigned):
            self._end_term()
        elif (term := self.term) is None:
            return
        elif isinstance(event, events.BrokersChanged):
            term.take_brokers()
        elif isinstance(event, events.TopicsRead):
            for part in term.parts():
                part.topics_read(event.names)
        elif isinstance(event, events.Marked):
            term.marked = event.names
            for part in term.parts():
                part.marks_read(event.names)
        elif isinstance(event, events.ReplicasSettled):
            for part in term.parts():
                part.replicas_settled(event.name)
        elif isinstance(event, events.Notified):
            for part in term.parts():
                if part.watched == event.path:
                    part.notified()

    def _begin_term(self, guard: EpochGuard) -> None:
        term = Term(self._zk, self._tasks, self._known, self._settings, self._tell, self.reservations, guard)
        parts = [make(term) for make in PARTS]
        [self._deletions] = [part for part in parts if isinstance(part, Deletions)]
        self.term = term
        term.open(self._open_channels(term), parts)

    def _end_term(self) -> None:
        """The next controller goes on, by the marks and by what is missing. Replicas that are to go still are."""
        term, self.term, self._deletions = self.term, None, None
        if term is not None:
            term.end()

    # Requests

    def reassignments(self) -> Reassignments:
        """Of this term; raises   ControllerMoved, KafkaError NOT_CONTROLLER: it begins"""
        return self._part(Reassignments)

    def preferred_leaders(self) -> PreferredLeaders:
        """Of this term; raises   as `reassignments`"""
        return self._part(PreferredLeaders)

    def is_deleting(self, name: str) -> bool:
        return self._deletions is not None and name in self._deletions

    async def wait_free(self, name: str) -> None:
        """Wait until no task writes a topic of this name. Until the caller's next await none will."""
        await self.reservations.wait_free(name)

    async def create(self, name: str, replicas: Replicas, configs: dict[str, str]) -> str:
        """Write a topic; returns its id. Call after `wait_free`, and after the name was checked.

        raises   KafkaError TOPIC_ALREADY_EXISTS, where ZooKeeper has it, POLICY_VIOLATION, where there is no room;
                 ControllerMoved; ZkLost, where it may be there or not
        """
        term = self.require_term()
        guard = term.guard
        has_id = inter_broker(self._settings["inter.broker.protocol.version"]).has_topic_ids
        topic = Topic(name, znodes.new_uuid() if has_id else "", replicas, configs, [None] * len(replicas))
        data = encode_assignment(topic.assignment)
        self._room.reserve(name, replicas, configs)
        is_told = False
        self.reservations.reserve(name)
        try:
            old_configs = await self._zk.get(znodes.topic_config_path(name))
            steps = creation_steps(topic, data, old_configs, term.liveness.brokers(), guard.epoch, guard.begin)
            states = await _write(term, steps)
            ordered = tuple(states[index] for index in range(len(replicas)))
            self._tell(events.TopicWritten(name, topic.topic_id, replicas, configs, ordered))
            self._tell_leaders(name, states)
            is_told = True
        except ControllerMoved:
            raise
        except ZkConflict as conflict:
            if conflict.path == znodes.topic_path(name):
                raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.") from None
            raise
        finally:
            self.reservations.release(name, is_told)
        return topic.topic_id

    async def grow(self, topic: Topic, replicas: Replicas) -> None:
        """Write new partitions of a topic. Call after `wait_free`.

        raises   KafkaError REASSIGNMENT_IN_PROGRESS, POLICY_VIOLATION (no room here), UNKNOWN_TOPIC_OR_PARTITION;
                 ControllerMoved; ZkConflict, where another client changed the topic; ZkLost, where it may have happened or not
        """
        term = self.require_term()
        guard = term.guard
        name, new = topic.name, replicas[len(topic.replicas) :]
        encode_assignment(topic.assignment._replace(replicas=replicas))  # refused, before room is reserved
        self._room.reserve(name, new)
        is_told = False
        self.reservations.reserve(name)
        try:
            version, found = check_growable(topic, await self._zk.get(znodes.topic_path(name)))
            data = encode_assignment(found._replace(replicas=replicas))  # other fields as they are now
            states: list[PartitionState | None] = [*topic.states, *[None] * len(new)]
            grown = Topic(name, topic.topic_id, replicas, topic.configs, states, others=topic.others)
            existing = len(topic.replicas)
            steps = growth_steps(grown, existing, data, version, term.liveness.brokers(), guard.epoch, guard.begin)
            made = await _write(term, steps)
            self._tell(events.ReplicasAssigned(name, topic.topic_id, replicas, made))
            self._tell_leaders(name, made)
            is_told = True
        finally:
            self.reservations.release(name, is_told)

    async def mark(self, name: str) -> None:
        """Say in ZooKeeper that a topic is to go; raises ZkError."""
        self.require_term()
        assert self._deletions is not None
        await self._deletions.mark(name)

    def begin_deletion(self, name: str, topic_id: str) -> None:
        """Have a topic go that was marked; nothing, where its name is another's now. Call in the step in which its mark returned.

        topic_id   of the topic that was marked; empty: it has none
        """
        term = self.term
        if term is None or self._deletions is None:
            return
        now = term.known.topics.get(name) or term.known.released.get(name)
        if now is None or not is_another(now.topic_id, topic_id):
            self._deletions.begin_marked(name)

    def require_term(self) -> Term:
        """raises   ControllerMoved, where we are no longer active"""
        if self.term is None:
            raise ControllerMoved(znodes.CONTROLLER_EPOCH, "this node is no longer the active controller")
        return self.term

    def _part(self, kind: type[AnyPart]) -> AnyPart:
        for part in self.require_term().parts():
            if isinstance(part, kind):
                return part
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "the active controller is starting, retry")

    # Names

    def _tell_leaders(self, name: str, indexes: Collection[int]) -> None:
        """Of new partitions, to the brokers of this term: the one in which they were written may be over."""
        if self.term is not None:
            self.term.notices.tell_leaders(name, indexes, is_new=True)
            for part in self.term.parts():
                part.leaders_told(name, indexes)

    def _is_marked(self, name: str) -> bool:
        return self.term is not None and name in self.term.marked

    def _written(self, name: str) -> None:
        if self.term is not None:
            for part in self.term.parts():
                part.topic_written(name)


async def _write(term: Term, steps: Iterator[Step]) -> dict[int, PartitionState]:
    written: dict[int, PartitionState] = {}
    for transaction, made in steps:
        await term.commit(transaction)
        written.update(made)
    return written
