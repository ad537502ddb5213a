"""Which partitions of a view are this worker's, what changed of them, and which were there before.

Runs in: a partition worker. Pure. What two views have in common costs nothing: what is another is said along with a view
(`ClusterViewReader.follow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.ids import PartitionKey, owner_of
from headrace.shm.cluster_view import Changes, PartitionView, TopicView, changed_topics

Before = dict[int, PartitionView]  # by slot
After = dict[int, tuple[TopicView, PartitionView]]  # by slot


class OwnedPartitions:
    """The hosted partitions that worker `index` of `worker_count` owns."""

    def __init__(self, index: int, worker_count: int) -> None:
        self._index = index
        self._worker_count = worker_count
        self._topics: Mapping[str, TopicView] = {}
        self._held: dict[str, dict[int, PartitionView]] = {}  # by topic and index

    def has(self, topic: str, partition: int) -> bool:
        return owner_of(topic, partition, self._worker_count) == self._index

    def follow(self, topics: Mapping[str, TopicView], changes: Changes | None = None) -> tuple[Before, After]:
        """Those that changed since the last call: as they were, and as they are; of a topic that changed, all.

        changes   what is another than in the last call; None: whatever topics are other objects
        """
        if changes is None:
            changes = changed_topics(self._topics, topics)
        self._topics = topics
        was: Before = {}
        now: After = {}
        for name, indexes in changes.items():
            topic, held = topics.get(name), self._held.setdefault(name, {})
            for index in [index for index in indexes if self.has(name, index)] if indexes is not None else [*held]:
                partition = held.pop(index, None)
                if partition is not None:
                    was[partition.slot] = partition
            for partition in self._hosted(topic, indexes) if topic is not None else ():
                assert topic is not None
                held[partition.index] = partition
                now[partition.slot] = (topic, partition)
            if not held:
                del self._held[name]
        return was, now

    def _hosted(self, topic: TopicView, indexes: frozenset[int] | None) -> list[PartitionView]:
        """Ours of these indexes, None: of all, where they are hosted here."""
        count, partitions = self._worker_count, topic.partitions
        own: Iterable[int]
        if indexes is None:
            own = range((self._index - owner_of(topic.name, 0, count)) % count, len(partitions), count)
        else:
            own = (index for index in indexes if index < len(partitions) and self.has(topic.name, index))
        return [partition for index in own if (partition := partitions[index]).slot >= 0]


class KnownPartitions:
    """Keys of the partitions of all views so far: what is in none of them is new.

    A topic whose znode can't be read leaves the view and keeps its files: when it comes back, it is not new. As many of
    those that left are remembered as `left_max` says.
    """

    def __init__(self, left_max: int) -> None:
        self._left_max = left_max
        self._keys: set[int] = set()
        self._left: dict[int, None] = {}  # those that are not in the view, the oldest news first

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def add(self, key: PartitionKey) -> None:
        """It is in the view."""
        self._keys.add(key)
        self._left.pop(key, None)

    def note_left(self, key: PartitionKey) -> None:
        """It is no longer in the view."""
        self._left[key] = None
        if len(self._left) > self._left_max:
            oldest = next(iter(self._left))
            del self._left[oldest]
            self._keys.discard(oldest)

    def forget(self, key: PartitionKey) -> None:
        """It was deleted."""
        self._left.pop(key, None)
        self._keys.discard(key)
