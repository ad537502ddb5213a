"""Which partitions of a view are this worker's, what changed of them, and which were there before.

Runs in: a partition worker. Pure. What two views have in common costs one comparison a topic: `ClusterViewReader.read`
gives a topic that has not changed as the object that it gave before.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ids import owner_of
from headrace.shm.cluster_view import PartitionView, TopicView

Before = dict[int, PartitionView]  # by slot
After = dict[int, tuple[TopicView, PartitionView]]  # by slot


class OwnedPartitions:
    """The hosted partitions that worker `index` of `worker_count` owns."""

    def __init__(self, index: int, worker_count: int) -> None:
        self._index = index
        self._worker_count = worker_count
        self._topics: Mapping[str, TopicView] = {}

    def has(self, topic: str, partition: int) -> bool:
        return owner_of(topic, partition, self._worker_count) == self._index

    def follow(self, topics: Mapping[str, TopicView]) -> tuple[Before, After]:
        """Those of the topics that changed since the last call: as they were, and as they are."""
        before, self._topics = self._topics, topics
        was = {
            partition.slot: partition
            for name, topic in before.items()
            if topics.get(name) is not topic
            for partition in self._of(topic)
        }
        now = {
            partition.slot: (topic, partition)
            for name, topic in topics.items()
            if before.get(name) is not topic
            for partition in self._of(topic)
        }
        return was, now

    def _of(self, topic: TopicView) -> list[PartitionView]:
        """Every worker_count-th, where it is hosted here."""
        count = self._worker_count
        first = (self._index - owner_of(topic.name, 0, count)) % count
        return [partition for partition in topic.partitions[first::count] if partition.slot >= 0]


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

    def add(self, key: int) -> None:
        """It is in the view."""
        self._keys.add(key)
        self._left.pop(key, None)

    def note_left(self, key: int) -> None:
        """It is not in the view any more."""
        self._left[key] = None
        if len(self._left) > self._left_max:
            oldest = next(iter(self._left))
            del self._left[oldest]
            self._keys.discard(oldest)

    def forget(self, key: int) -> None:
        """It was deleted."""
        self._left.pop(key, None)
        self._keys.discard(key)
