"""How much a worker's throttled followers may fetch: what they took is paid for by waiting.

Runs in: a partition worker. `follower.replication.throttled.rate` is the node's, `follower.replication.throttled.replicas` says
for each topic which replicas it holds for: `*`, or partition:broker, as kafka-reassign-partitions sets them. Workers share
the rate evenly. A follower that has what its leader has committed is never held back, as in Kafka: it would leave the ISR.

    took(bytes) -> the bytes are owed       pause_ms -> how long until they are paid, at most THROTTLE_PAUSE_MS_MAX

A rate that changes forgives what is owed, so that a lifted throttle holds nobody.

Source: Kafka `ReplicationQuotaManager`, `ReplicaFetcherThread.shouldFollowerThrottle`; KIP-73.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ids import TopicPartition
from headrace.limits import THROTTLE_PAUSE_MS_MAX
from headrace.shm.cluster_view import ClusterView, TopicView

RATE_KEY = "follower.replication.throttled.rate"
REPLICAS_KEY = "follower.replication.throttled.replicas"
ALL = "*"


class Throttle:
    """rate   bytes a second of this node, as its settings have it"""

    def __init__(self, node_id: int, workers: int, rate: int) -> None:
        self._node_id = node_id
        self._workers = workers
        self._static_rate = rate
        self._rate = rate
        self._topics: Mapping[str, TopicView] = {}
        self._paid_ms = 0.0  # when what was taken will be paid

    def follow(self, view: ClusterView) -> None:
        """The rate as it is now, and the topics' replicas."""
        self._topics = view.topics
        text = view.node_settings.get(RATE_KEY, view.cluster_settings.get(RATE_KEY))
        rate = self._static_rate if text is None else int(text)
        if rate != self._rate:
            self._rate, self._paid_ms = rate, 0.0

    def holds(self, partition: TopicPartition) -> bool:
        """Whether this node's replica of a partition is throttled."""
        topic = self._topics.get(partition.topic)
        text = "" if topic is None else topic.configs.get(REPLICAS_KEY, "")
        return text == ALL or f"{partition.partition}:{self._node_id}" in text.replace(" ", "").split(",")

    def took(self, size: int, now_ms: int) -> None:
        """A throttled follower fetched `size` bytes."""
        self._paid_ms = max(self._paid_ms, now_ms) + size * 1000 * self._workers / max(1, self._rate)

    def pause_ms(self, partition: TopicPartition, now_ms: int) -> int:
        """How long a follower is not to fetch; 0: it may."""
        if self._paid_ms < now_ms + 1 or not self.holds(partition):
            return 0
        return min(THROTTLE_PAUSE_MS_MAX, int(self._paid_ms - now_ms))
