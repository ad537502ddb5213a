"""The cluster as this controller process knows it: plain data, and the rules by which topics enter and leave it.

Runs in: the controller process. The agent changes it, the active controller reads it. What changed is noted here, by topic and
partition, so that a view costs what changed, whoever changed it and however many topics there are.

What is absent in ZooKeeper is unknown, not deleted. A topic of the last view leaves it

    with a mark in /admin/delete_topics     its files are renamed, its committed offsets forgotten
    without one                             released: its logs are closed, its files and offsets stay
    another one has taken its name          released, its offsets forgotten; a replica of the new one puts the files aside

A topic is not in the view while `deleted` names one of its name: everybody here has to act on that first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from headrace.controller.cluster.slots import NO_SLOT, Slots
from headrace.controller.cluster.topic_names import TopicNames
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import (
    NO_FIELDS,
    NO_MOVES,
    Moves,
    PartitionState,
    Registration,
    TopicAssignment,
)
from headrace.ids import partition_key
from headrace.limits import ASSIGNMENT_TOLD_MAX, RELEASED_TOPICS_MAX, RELEASES_TOLD_MAX
from headrace.shm.cluster_view import ClusterView, DeletedTopic, DoomedReplica, TopicView

Replicas = tuple[tuple[int, ...], ...]

_log = logging.getLogger(__name__)


class Topic:
    """One topic: assignment, overrides, partition states (None: not there).

    adding, removing   replicas that a reassignment adds or removes, by partition (KIP-455); the added are in `replicas` too
    others       fields of its node that we don't know
    past         states that were there once: what is written in their place goes on from them
    is_watched   whether its node in ZooKeeper is
    added        which addition to the known cluster this was, 0: none yet
    revision     how often it was changed by what we wrote: what was read before that is older
    """

    __slots__ = (
        "added",
        "adding",
        "configs",
        "is_watched",
        "name",
        "others",
        "past",
        "removing",
        "replicas",
        "revision",
        "states",
        "topic_id",
    )

    def __init__(
        self,
        name: str,
        topic_id: str,
        replicas: Replicas,
        configs: dict[str, str],
        states: list[PartitionState | None],
        adding: Moves = NO_MOVES,
        removing: Moves = NO_MOVES,
        others: Mapping[str, Any] = NO_FIELDS,
    ) -> None:
        self.name = name
        self.adding = adding
        self.removing = removing
        self.others = others
        self.topic_id = topic_id
        self.replicas = replicas
        self.configs = configs
        self.states = states
        self.past: dict[int, PartitionState] = {}
        self.is_watched = False
        self.added = 0
        self.revision = 0

    @property
    def assignment(self) -> TopicAssignment:
        """As its node has it."""
        return TopicAssignment(self.topic_id, self.replicas, self.adding, self.removing, self.others)

    @property
    def missing(self) -> list[int]:
        """Partitions without a state."""
        return [index for index, state in enumerate(self.states) if state is None]

    def brokers(self) -> set[int]:
        """All that have a replica."""
        return {broker for row in self.replicas for broker in row}


class KnownCluster:
    """Brokers, topics, controller; and this node's slots. A restarted process begins with its predecessor's view.

    missing    topics that have partitions without a state; is_missing_new: whether one came since somebody looked at them
    unwatched  topics whose nodes are to be watched: we made them ourselves
    reserved   names that are being written in several steps
    deleted    topics that everybody here has to forget -> the version of the view that says so first, 0: none does yet
    leaving    replicas of this node whose files are to go, by topic
    released   topics of earlier views that ZooKeeper does not have and nobody deleted
    releases   how many there have been

    changed    topics that the view says otherwise -> their partitions that changed, None: all of it
    added      the same, of topics that are new: they may wait for one another
    is_head_changed, is_leaving_changed   whether something else did
    """

    def __init__(self, node_id: int, view: ClusterView, partitions_max: int) -> None:
        self.node_id = node_id
        self.cluster_id = view.cluster_id
        self.controller_id = view.controller_id
        self.brokers = {broker_id: Registration(*broker) for broker_id, broker in view.brokers.items()}
        self.topics: dict[str, Topic] = {}
        self.cluster_settings = view.cluster_settings  # of all brokers, changed while they run
        self.node_settings = view.node_settings  # of this one
        self.slots = Slots(partitions_max)
        self.names = TopicNames()
        self._by_id: dict[str, str] = {}  # topic id -> name
        self.missing: dict[str, None] = {}
        self.is_missing_new = False
        self.unwatched: dict[str, None] = {}
        self.reserved: dict[str, None] = {}
        self.leaving: dict[str, list[DoomedReplica]] = {}
        self.deleted: dict[DeletedTopic, int] = dict.fromkeys(view.deleted, view.version)
        self.released: dict[str, Topic] = {}
        self.releases = 0
        self.changed: dict[str, set[int] | None] = {}
        self.added: dict[str, None] = {}
        self.is_head_changed = False
        self.is_leaving_changed = False
        self.additions = 0
        self._closing: dict[str, tuple[list[int], int]] = {}  # released topic -> partitions with a slot, version
        self._topics_of: dict[int, set[str]] = {}  # broker -> topics that have a replica on it
        self._restore(view)

    # Looking

    @property
    def is_waiting(self) -> bool:
        """Whether there is something that all workers have yet to act on."""
        return bool(self.deleted or self.leaving or self._closing)

    def live(self) -> list[int]:
        """Ids of live brokers, in order."""
        return sorted(self.brokers)

    def has(self, name: str) -> bool:
        """Whether we know a topic of this name, served or released."""
        return name in self.topics or name in self.released

    def topics_on(self, brokers: Iterable[int]) -> list[str]:
        """Topics that have a replica on one of them."""
        return sorted({name for broker in brokers for name in self._topics_of.get(broker, ())})

    def name_of(self, topic_id: str) -> str | None:
        """The topic of an id, 32 hex digits; None where we know none."""
        name = self._by_id.get(topic_id)
        topic = self.topics.get(name) if name is not None else None
        return name if topic is not None and topic.topic_id == topic_id else None

    def is_current(self, topic: Topic) -> bool:
        """Whether this is the topic that we know; else whoever holds it looked away for too long."""
        return self.topics.get(topic.name) is topic

    # Head

    def set_controller(self, controller_id: int) -> None:
        if controller_id != self.controller_id:
            self.controller_id = controller_id
            self.is_head_changed = True

    def set_cluster_id(self, cluster_id: str) -> None:
        if cluster_id != self.cluster_id:
            self.cluster_id = cluster_id
            self.is_head_changed = True

    def set_settings(self, of_cluster: dict[str, str], of_node: dict[str, str]) -> None:
        if (of_cluster, of_node) != (self.cluster_settings, self.node_settings):
            self.cluster_settings, self.node_settings = of_cluster, of_node
            self.is_head_changed = True

    def set_brokers(self, brokers: dict[int, Registration]) -> frozenset[int]:
        """returns   those that came or went"""
        moved = frozenset(brokers.keys() ^ self.brokers.keys())
        self.is_head_changed = self.is_head_changed or brokers != self.brokers
        self.brokers = brokers
        for name in self.topics_on(moved):
            self.changed[name] = None
        return moved

    # Topics

    def add(self, topic: Topic) -> None:
        """A topic that is new to us, or one that comes back."""
        known = self.released.pop(topic.name, None)
        if known is not None:
            self.is_leaving_changed = True
            if is_another(known.topic_id, topic.topic_id):
                self._say_deleted(DeletedTopic(topic.name, known.topic_id))
            else:
                _log.warning("released topic is back topic=%s topic_id=%s", topic.name, topic.topic_id)
                self._closing.pop(topic.name, None)
        before = self.topics.get(topic.name)
        if before is not None:
            self._leave_index(before)
        self.topics[topic.name] = topic
        self.names.add(topic.name)
        if topic.topic_id:
            self._by_id[topic.topic_id] = topic.name
        self.additions += 1
        topic.added = self.additions
        for broker in topic.brokers():
            self._topics_of.setdefault(broker, set()).add(topic.name)
        self._note_states(topic)
        if not topic.is_watched:
            self.unwatched[topic.name] = None
        if before is None and known is None:
            self.added[topic.name] = None
        else:
            self.changed[topic.name] = None

    def grow(self, topic: Topic, replicas: Replicas, states: Mapping[int, PartitionState]) -> None:
        """A topic has more partitions, or others hold its replicas; states that are not told are missing."""
        self._leave_index(topic)
        topic.states.extend([None] * (len(replicas) - len(topic.states)))
        topic.replicas = replicas
        for index, state in states.items():
            topic.states[index] = state
        for broker in topic.brokers():
            self._topics_of.setdefault(broker, set()).add(topic.name)
        self._note_states(topic)
        self.changed[topic.name] = None

    def set_states(self, topic: Topic, states: Mapping[int, PartitionState | None]) -> None:
        """What partitions' nodes say now; None: the node is not there."""
        moved = set()
        for index, state in states.items():
            known = topic.states[index]
            if state is None and known is not None:
                topic.past[index] = known
            if known is None or state is None or state[:3] != known[:3]:
                moved.add(index)
            topic.states[index] = state
        if moved:
            self._note_states(topic)
            self._note(topic.name, moved)

    def set_configs(self, topic: Topic, configs: dict[str, str]) -> None:
        if configs != topic.configs:
            topic.configs = configs
            if self.is_current(topic):
                self.changed[topic.name] = None

    def adopt(
        self,
        names: Iterable[str],
        found: dict[str, Topic],
        marked: Set[str],
        marked_before: Set[str],
        as_of: int,
    ) -> None:
        """Make `found` our topics: the only place where topics leave.

        names           of all topics in ZooKeeper; of those, what is not in `found` stays as it was
        marked          names in /admin/delete_topics, read before `names`
        marked_before   the same at an earlier time
        as_of           `additions` before `names` was asked for: what was added since is newer than both
        """
        names = set(names)
        vanished = []
        for name, known in [(name, known) for name, known in self.topics.items() if name not in names]:
            if known.added > as_of or name in found:
                continue
            if name in marked or name in marked_before:
                self.mark_for_deletion(name)
            else:
                vanished.append(known)
        for name, topic in found.items():
            now = self.topics.get(name)
            if now is None or not is_another(now.topic_id, topic.topic_id) or now.added > as_of:
                continue
            if name in marked_before:
                self.mark_for_deletion(name)
            else:
                self._remove(now)
                self._let_go(now)
                self._say_deleted(DeletedTopic(name, now.topic_id))
                _log.error(
                    "another topic has taken a name, the old one's files are kept as *-stray topic=%s topic_id=%s"
                    " now=%s",
                    name, now.topic_id, topic.topic_id,
                )  # fmt: skip
        self._release(vanished)
        for name, topic in found.items():
            now = self.topics.get(name)
            if now is None or now.added <= as_of:
                self.add(topic)

    def mark_for_deletion(self, name: str) -> None:
        """Take a topic out of the view that is deleted: its replicas on this node are to go, and its committed offsets."""
        topic = self.topics.get(name)
        if topic is not None:
            self._remove(topic)
        else:
            topic = self.released.pop(name)
            self.names.discard(name)
        self._closing.pop(name, None)
        replicas = self.leaving.get(name, [])
        for index, row in enumerate(topic.replicas):
            slot = self.slots.take(name, index) if self.node_id in row else NO_SLOT
            if slot != NO_SLOT:
                replica = DoomedReplica(name, index, slot, partition_key(name, index, topic.topic_id))
                if replica not in replicas:
                    replicas.append(replica)
        if replicas:
            self.leaving[name] = replicas
        self._say_deleted(DeletedTopic(name, topic.topic_id))

    def forget(self, names: Iterable[str]) -> None:
        """Everybody has acted on the deletion of these topics: their slots and their names are free."""
        gone = set(names)
        for name in gone:
            for replica in self.leaving.pop(name, ()):
                self.slots.release(replica.topic, replica.partition)
            if name in self.topics:
                self.changed[name] = None  # it was held back
        self.deleted = {topic: version for topic, version in self.deleted.items() if topic.name not in gone}
        self.is_leaving_changed = True

    def free_released(self, followed: int, is_left: Callable[[str, int, int], bool]) -> None:
        """Slots of released replicas are free once every worker has followed the view without them: nobody writes the rows.

        is_left   whether a killed owner left the row (topic, partition, slot): no successor has opened the log since, and
                  nothing else says how far it is synced, so that the slot is kept for its return
        """
        for name, (partitions, version) in list(self._closing.items()):
            if 0 < version <= followed:
                del self._closing[name]
                self.is_leaving_changed = True
                for index in partitions:
                    if not is_left(name, index, self.slots.get(name, index)):
                        self.slots.release(name, index)

    def note_published(self, version: int) -> None:
        """A view said all that is deleted and released."""
        self.deleted = {topic: since or version for topic, since in self.deleted.items()}
        self._closing = {name: (held, since or version) for name, (held, since) in self._closing.items()}

    # Parts

    def _note(self, name: str, indexes: set[int]) -> None:
        if name in self.added or name not in self.topics:
            return
        known = self.changed.setdefault(name, set())
        if known is not None:
            known |= indexes

    def _note_states(self, topic: Topic) -> None:
        if any(state is None for state in topic.states):
            self.missing[topic.name] = None
            self.is_missing_new = True
        else:
            self.missing.pop(topic.name, None)

    def _leave_index(self, topic: Topic) -> None:
        for broker in topic.brokers():
            names = self._topics_of.get(broker)
            if names is not None:
                names.discard(topic.name)
                if not names:
                    del self._topics_of[broker]

    def _remove(self, topic: Topic) -> None:
        name = topic.name
        del self.topics[name]
        self._by_id.pop(topic.topic_id, None)
        self.names.discard(name)
        self._leave_index(topic)
        self.missing.pop(name, None)
        self.unwatched.pop(name, None)
        self.added.pop(name, None)
        self.changed[name] = None

    def _say_deleted(self, topic: DeletedTopic) -> None:
        self.deleted.setdefault(topic, 0)
        self.changed[topic.name] = None
        self.is_leaving_changed = True

    def _release(self, topics: list[Topic]) -> None:
        for topic in topics[:RELEASES_TOLD_MAX]:
            path = znodes.topic_path(topic.name)
            _log.error(
                "topic released, its files and offsets stay topic=%s topic_id=%s replicas_here=%d reason=%s is gone and"
                " /admin/delete_topics has no mark for it: create it again with %s to have the topic back; DeleteTopics"
                " removes it for good",
                topic.name, topic.topic_id, sum(self.node_id in row for row in topic.replicas), path,
                znodes.encode_topic(topic.assignment)[:ASSIGNMENT_TOLD_MAX].decode(),
            )  # fmt: skip
        if len(topics) > RELEASES_TOLD_MAX:
            _log.error("topics released, their files and offsets stay more=%d", len(topics) - RELEASES_TOLD_MAX)
        for topic in topics:
            self._remove(topic)
            self._let_go(topic)
            self.released[topic.name] = topic
        while len(self.released) > RELEASED_TOPICS_MAX:
            del self.released[next(iter(self.released))]

    def _let_go(self, topic: Topic) -> None:
        """Host a topic no longer; its files stay."""
        held = [index for index in range(len(topic.replicas)) if self.slots.get(topic.name, index) != NO_SLOT]
        self._closing[topic.name] = (held, 0)
        self.releases += 1
        self.is_leaving_changed = True

    def _restore(self, view: ClusterView) -> None:
        """A predecessor's knowledge and slots stand in its last view."""
        taken = {
            (topic.name, partition.index): partition.slot
            for topic in view.topics.values()
            for partition in topic.partitions
            if partition.slot != NO_SLOT
        }
        taken.update({(replica.topic, replica.partition): replica.slot for replica in view.doomed})
        for name, _topic_id, _replicas, slots in view.released:
            held = [index for index, slot in enumerate(slots) if slot != NO_SLOT]
            taken.update({(name, index): slots[index] for index in held})
            if held:
                self._closing[name] = (held, view.version)
        self.slots.restore(taken)
        for replica in view.doomed:
            self.leaving.setdefault(replica.topic, []).append(replica)
        for name, topic_id, replicas, _slots in view.released:
            self.released[name] = Topic(name, topic_id, replicas, {}, [None] * len(replicas))
        for topic in view.topics.values():
            self.add(_topic_of(topic))
        self.changed, self.added = {}, {}
        self.unwatched.clear()  # everything is read before anything is followed
        self.is_head_changed = self.is_leaving_changed = False


def is_another(known_id: str, topic_id: str) -> bool:
    """Whether two topics of one name are two; one from before ids may have been given one."""
    return bool(known_id and topic_id) and known_id != topic_id


def _topic_of(view: TopicView) -> Topic:
    """A topic as the view has it, but for the versions of its nodes."""
    states: list[PartitionState | None] = [
        PartitionState(partition.leader, partition.leader_epoch, partition.isr, 0) if partition.isr else None
        for partition in view.partitions
    ]
    replicas = tuple(partition.replicas for partition in view.partitions)
    return Topic(view.name, view.topic_id, replicas, dict(view.configs), states)
