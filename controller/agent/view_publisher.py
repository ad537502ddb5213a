"""The cluster view made of what is known: only what changed is rebuilt.

Runs in: the controller process, in each duty cycle. The view is the only way in which other processes learn of the cluster.

    changed   at once: leaders, brokers, settings, topics that go. All that goes is in the first view that says any of it
    added     topics that are new: PARTITIONS_PER_PUBLICATION_MAX at a time, each ADDED_PAUSE_MS or on request (`hurry`).
              A view wakes every process of the node, and where topics come by the thousand, one each is too many
    first     everything at once: a topic that comes in a later view is new to a partition worker, which would make an empty
              log of one whose directory failed; and network workers let clients in
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.slots import NO_SLOT
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import INTERNAL_TOPICS, NO_KEY, NO_LEADER, partition_key
from headrace.limits import PARTITIONS_PER_PUBLICATION_MAX
from headrace.shm.cluster_view import (
    BrokerView,
    ClusterView,
    PartitionView,
    ReleasedTopic,
    TopicView,
    ViewError,
)
from headrace.shm.view_writer import ClusterViewWriter

ADDED_PAUSE_MS = 50
RETRY_MS = 1_000  # of what does not fit
NO_STATE = PartitionState(NO_LEADER, 0, (), 0)

Indexes = Mapping[str, frozenset[int] | None]

_log = logging.getLogger(__name__)


class ViewPublisher:
    """The last view, and what it takes to make the next one."""

    def __init__(self, known: KnownCluster, room: ViewRoom, writer: ClusterViewWriter) -> None:
        self._known = known
        self._room = room
        self._writer = writer
        self._published = writer.read()
        self._topics: dict[str, TopicView] = dict(self._published.topics)  # as published
        self._unhosted: dict[str, int] = {}  # topics with replicas here that have no row, and how many
        self._unhosted_told = 0
        self._changed_next_ms = 0
        self._added_next_ms = 0
        self._is_told = False  # that something does not fit
        self._is_new = False  # whether a view was published

    def hurry(self) -> None:
        """A request waits for what is new."""
        self._changed_next_ms = self._added_next_ms = 0

    def next_ms(self) -> int | None:
        """When there is something to publish next; None where there is nothing."""
        if self._has_changed():
            return self._changed_next_ms
        return self._added_next_ms if self._known.added else None

    def publish(self, now_ms: int) -> bool:
        """Say what is new; False where nothing is, or it may wait, or it does not fit (the last view stays valid then)."""
        known = self._known
        if not self._published.version:
            return self._publish_first(now_ms)
        if self._has_changed() and now_ms >= self._changed_next_ms:
            names, known.changed = known.changed, {}
            if not self._say(names):
                known.changed = {**names, **known.changed}
                self._changed_next_ms = now_ms + RETRY_MS
        elif known.added and now_ms >= self._added_next_ms:
            names = self._next_added()
            if not self._say(names):
                self._added_next_ms = now_ms + RETRY_MS
                return False
            for name in names:
                known.added.pop(name, None)
            if not known.added:
                self._added_next_ms = now_ms + ADDED_PAUSE_MS
        else:
            return False
        is_new, self._is_new = self._is_new, False
        return is_new

    def _publish_first(self, now_ms: int) -> bool:
        known = self._known
        if now_ms < self._changed_next_ms:
            return False
        self._is_new = False
        if not self._say(dict.fromkeys((*known.changed, *known.added))):
            self._changed_next_ms = self._added_next_ms = now_ms + RETRY_MS
            return False
        known.changed, known.added = {}, {}
        is_new, self._is_new = self._is_new, False
        return is_new

    def _has_changed(self) -> bool:
        known = self._known
        return bool(known.changed) or known.is_head_changed or known.is_leaving_changed

    def _next_added(self) -> dict[str, set[int] | None]:
        names: dict[str, set[int] | None] = {}
        partitions = 0
        for name in self._known.added:
            partitions += len(self._known.topics[name].replicas)
            if names and partitions > PARTITIONS_PER_PUBLICATION_MAX:
                break
            names[name] = None
        return names

    def _say(self, names: Mapping[str, set[int] | None]) -> bool:
        """Publish what is new of these topics, and of everything that is no topic; False where it does not fit."""
        known = self._known
        changes, views = self._changed_views(names)
        last = self._published._replace(topics=self._topics)
        view = self._with_head(last)
        if changes or view != last:
            before = {name: self._topics[name] for name in changes if name in self._topics}
            self._put(views, changes)
            try:
                self._published = self._writer.publish(view, changes)
            except ViewError as failure:
                self._put(before, changes)
                if not self._is_told:
                    _log.error("cluster view not published, the previous one stays in use reason=%s", failure)
                self._is_told = True
                return False
            self._is_new = True
            self._is_told = False
        for name in names:
            self._room.release(name)
        if known.is_leaving_changed:
            known.note_published(self._published.version)
            self._added_next_ms = 0  # there may be room now
        known.is_head_changed = known.is_leaving_changed = False
        self._report_unhosted()
        return True

    def _put(self, views: Mapping[str, TopicView], changes: Indexes) -> None:
        for name in changes:
            if name in views:
                self._topics[name] = views[name]
            else:
                self._topics.pop(name, None)

    def _with_head(self, view: ClusterView) -> ClusterView:
        """Everything but topics. What did not change is the same object, by which the writer knows."""
        known = self._known
        if known.is_head_changed or not view.version:
            view = view._replace(
                cluster_id=known.cluster_id,
                controller_id=known.controller_id,
                brokers={
                    node_id: BrokerView(node_id, broker.host, broker.port, broker.rack, broker.epoch)
                    for node_id, broker in sorted(known.brokers.items())
                },
                cluster_settings=known.cluster_settings,
                node_settings=known.node_settings,
            )
        if known.is_leaving_changed or not view.version:
            view = view._replace(
                doomed=tuple(replica for replicas in known.leaving.values() for replica in replicas),
                deleted=tuple(known.deleted),
                released=tuple(self._released_view(topic) for topic in known.released.values()),
            )
        return view

    def _changed_views(self, names: Mapping[str, set[int] | None]) -> tuple[Indexes, dict[str, TopicView]]:
        """Of these topics, those that the view has to say otherwise, and how."""
        known = self._known
        held_back = known.held_back | {topic.name for topic in known.deleted}
        changes: dict[str, frozenset[int] | None] = {}
        views: dict[str, TopicView] = {}
        for name, indexes in names.items():
            topic = None if name in held_back else known.topics.get(name)
            before = self._topics.get(name)
            if topic is None:
                self._unhosted.pop(name, None)
                if before is not None:
                    changes[name] = None
                continue
            if before is not None and indexes is not None and len(before.partitions) == len(topic.states):
                made, moved = self._with_partitions(before, topic, indexes)
                if moved:
                    changes[name], views[name] = moved, made
                continue
            made = self._topic_view(topic)
            if made != before:
                changes[name], views[name] = None, made
        return changes, views

    def _with_partitions(self, before: TopicView, topic: Topic, indexes: set[int]) -> tuple[TopicView, frozenset[int]]:
        """The topic's view with other states of some partitions; which ones differ."""
        partitions = list(before.partitions)
        moved = []
        for index in indexes:
            made = self._partition_view(topic, index)
            if made != partitions[index]:
                partitions[index] = made
                moved.append(index)
        return before._replace(partitions=tuple(partitions)), frozenset(moved)

    def _topic_view(self, topic: Topic) -> TopicView:
        self._unhosted.pop(topic.name, None)
        partitions = tuple(self._partition_view(topic, index) for index in range(len(topic.states)))
        return TopicView(topic.name, topic.topic_id, topic.name in INTERNAL_TOPICS, topic.configs, partitions)

    def _partition_view(self, topic: Topic, index: int) -> PartitionView:
        known = self._known
        replicas, state = topic.replicas[index], topic.states[index]
        offline = frozenset(topic.offline.get(index, ()))
        slot = NO_SLOT
        if known.hosts(topic, index):
            slot = known.slots.take(topic.name, index)
            if slot == NO_SLOT:
                self._unhosted[topic.name] = self._unhosted.get(topic.name, 0) + 1
        leader, leader_epoch, isr, *_ = state or NO_STATE
        is_held = bool(known.held) and known.is_held(topic, index)
        if is_held and leader == known.node_id:
            leader = NO_LEADER
        return PartitionView(
            index,
            leader if leader in known.brokers else NO_LEADER,
            leader_epoch,
            isr,
            replicas,
            tuple(replica for replica in replicas if replica not in known.brokers or replica in offline),
            slot,
            partition_key(topic.name, index, topic.topic_id) if slot != NO_SLOT else NO_KEY,
            index in topic.halted,
            is_held,
        )

    def _released_view(self, topic: Topic) -> ReleasedTopic:
        slots = tuple(self._known.slots.get(topic.name, index) for index in range(len(topic.replicas)))
        return ReleasedTopic(topic.name, topic.topic_id, topic.replicas, slots)

    def _report_unhosted(self) -> None:
        """Another controller may give us more replicas than we have rows for; those get one as soon as one is free."""
        known = self._known
        unhosted = sum(self._unhosted.values())
        if unhosted != self._unhosted_told:
            _log.error("replicas not hosted count=%d headrace.partitions.max=%d", unhosted, known.slots.count)
            self._unhosted_told = unhosted
        if unhosted and known.slots.has_room(1):
            known.changed = dict.fromkeys((*known.changed, *self._unhosted))
