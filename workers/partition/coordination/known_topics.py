"""Topics as the last view had them, and which of them were deleted since the one before.

Runs in: a partition worker, for its coordinators. A topic is deleted when the view says so, or when another topic has its
name; one that is merely not in the view may come back (decision 009). What did not change is not visited.

Bound: ids of RELEASED_TOPICS_MAX topics that left the view.
"""

from __future__ import annotations

from headrace.limits import RELEASED_TOPICS_MAX
from headrace.shm.cluster_view import Changes, ClusterView, DeletedTopic, TopicView, changed_topics


class KnownTopics:
    """What coordinators ask of the view."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicView] = {}  # of the view
        self._ids: dict[str, str] = {}
        self._left_ids: dict[str, str] = {}  # of topics that left the view: they may come back
        self._deleted: frozenset[DeletedTopic] = frozenset()

    def follow(self, view: ClusterView, changes: Changes | None = None) -> frozenset[str]:
        """Take the next view; returns the names of topics that are gone since.

        changes   what is another than in the last view; None: whatever topics are other objects
        """
        if changes is None:
            changes = changed_topics(self._topics, view.topics)
        self._topics = view.topics
        deleted = frozenset(view.deleted)
        gone = {topic.name for topic in deleted - self._deleted}
        for name in gone:
            self._ids.pop(name, None)
            self._left_ids.pop(name, None)
        gone.update(name for name, indexes in changes.items() if indexes is None and self._is_another(name))
        self._deleted = deleted
        return frozenset(gone)

    def _is_another(self, name: str) -> bool:
        """Remember the id of a topic that changed; True where it is not the topic that had this name."""
        topic = self._topics.get(name)
        known_id = self._ids.pop(name, "") or self._left_ids.pop(name, "")
        if topic is not None:
            self._ids[name] = topic.topic_id or known_id
            return bool(known_id and topic.topic_id) and topic.topic_id != known_id
        if known_id:
            self._left_ids[name] = known_id
        if len(self._left_ids) > RELEASED_TOPICS_MAX:
            del self._left_ids[next(iter(self._left_ids))]
        return False

    @property
    def deleted(self) -> frozenset[str]:
        """Names of topics whose deletion is in progress."""
        return frozenset(topic.name for topic in self._deleted)

    def has(self, topic: str, partition: int) -> bool:
        known = self._topics.get(topic)
        return known is not None and 0 <= partition < len(known.partitions)

    def partition_count(self, topic: str) -> int:
        """0 where there is no such topic."""
        known = self._topics.get(topic)
        return 0 if known is None else len(known.partitions)
