"""Where a partition's requests go: slot, key and owner, by topic and index, from the cluster view.

Runs in: a network worker. Built topic by topic on first use and dropped when the topic's part of the view is another,
so that a request costs two dict or list look-ups however many partitions there are.
"""

from __future__ import annotations

from headrace.ids import INTERNAL_TOPICS, PartitionKey, owner_of
from headrace.shm.cluster_view import Changes, ClusterView, PartitionView, TopicView, changed_topics
from headrace.topic_defaults import TopicDefaults
from headrace.workers.network.produce.record_policy import RecordPolicy


class Route:
    """One partition as this network worker sees it. Never changed: a partition that moves has another.

    slot       -1: not hosted here
    owner      process id of the partition worker
    leader     node id, -1: none
    policy     None: batches of v2 pass as they are
    replicas   node ids
    """

    __slots__ = ("index", "key", "leader", "leader_epoch", "owner", "policy", "replicas", "slot", "topic")

    def __init__(
        self, topic: str, partition: PartitionView, index: int, owner: int, policy: RecordPolicy | None
    ) -> None:
        self.topic = topic
        self.index = index
        self.slot: int = partition.slot
        self.key: PartitionKey = partition.key
        self.owner = owner
        self.leader: int = partition.leader
        self.leader_epoch: int = partition.leader_epoch
        self.policy = policy
        self.replicas: tuple[int, ...] = partition.replicas


class Routes:
    """Routes of the current view.

    defaults   what topics inherit, as of that view
    """

    def __init__(self, network_count: int, partition_count: int, defaults: TopicDefaults) -> None:
        self._network_count = network_count
        self._partition_count = partition_count
        self._defaults = defaults
        self._inherited = defaults.settings
        self._view: ClusterView | None = None
        self._policies: dict[str, RecordPolicy] = {}
        self._topics: dict[str, list[Route]] = {}
        self._slots: dict[int, Route] = {}

    def follow(self, view: ClusterView, changes: Changes | None = None) -> None:
        """Forget what came from an older view of a topic that changed, or of all where what they inherit did.

        changes   what is another than in the last view; None: whatever topics are other objects
        """
        if self._inherited is not self._defaults.settings:
            self._inherited = self._defaults.settings
            changes = dict.fromkeys((*self._topics, *self._policies))
        elif changes is None:
            changes = changed_topics(self._view.topics if self._view is not None else {}, view.topics)
        self._view = view
        for name, indexes in changes.items():
            if indexes is None:
                self._policies.pop(name, None)
                for route in self._topics.pop(name, None) or ():
                    self._forget_slot(route)
            elif name in self._topics:
                self._follow_partitions(view.topics[name], indexes)

    def _follow_partitions(self, topic: TopicView, indexes: frozenset[int]) -> None:
        """Some partitions of a topic that has routes have other leaders, or other places."""
        routes = self._topics[topic.name]
        for index in indexes:
            stale = routes[index]
            self._forget_slot(stale)
            route = routes[index] = self._route(topic, index, stale.policy)
            if route.slot >= 0:
                self._slots[route.slot] = route

    def _forget_slot(self, route: Route) -> None:
        if self._slots.get(route.slot) is route:
            del self._slots[route.slot]

    def topic(self, name: str) -> list[Route] | None:
        """Routes of a topic by partition index, None where the view does not have the topic."""
        try:
            return self._topics[name]
        except KeyError:
            return self._build(name)

    def partition(self, name: str, index: int) -> Route | None:
        """Route of a partition, None where there is no such topic or index."""
        routes = self.topic(name)
        if routes is None or not 0 <= index < len(routes):
            return None
        return routes[index]

    def policy(self, topic: str) -> RecordPolicy:
        """What a topic that has routes asks of its records."""
        policy = self._policies.get(topic)
        if policy is None:
            view = self._view.topics.get(topic) if self._view is not None else None
            policy = RecordPolicy(self._defaults.settings, view.configs if view is not None else {})
            self._policies[topic] = policy
        return policy

    def by_slot(self, slot: int) -> Route | None:
        """Route of a slot that this worker has routed to under the current view."""
        return self._slots.get(slot)

    def _build(self, name: str) -> list[Route] | None:
        if self._view is None:
            return None
        topic = self._view.topics.get(name)
        if topic is None:
            return None  # not remembered: names from clients must not fill the memory
        policy = self.policy(name)
        asked = None if policy.is_plain and name not in INTERNAL_TOPICS else policy
        routes = [self._route(topic, index, asked) for index in range(len(topic.partitions))]
        self._topics[name] = routes
        self._slots.update((route.slot, route) for route in routes if route.slot >= 0)
        return routes

    def _route(self, topic: TopicView, index: int, policy: RecordPolicy | None) -> Route:
        partition = topic.partitions[index]
        owner = self._network_count + owner_of(topic.name, index, self._partition_count)
        return Route(topic.name, partition, index, owner, policy)
