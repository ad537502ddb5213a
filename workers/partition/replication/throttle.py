"""How much a worker's throttled followers may fetch: what they took is paid for by waiting.

Runs in: a partition worker. The rate is the node's, `headrace/throttled_replicas.py` says for which replicas it holds. Workers share
the rate evenly. A follower that has what its leader has committed is never held back, as in Kafka: it would leave the ISR.

    took(bytes) -> the bytes are owed       pause_ms -> how long until they are paid, at most THROTTLE_PAUSE_MS_MAX

A rate that changes forgives what is owed, so that a lifted throttle holds nobody.

Source: Kafka `ReplicationQuotaManager`, `ReplicaFetcherThread.shouldFollowerThrottle`; KIP-73.
"""

from __future__ import annotations

from headrace.ids import TopicPartition
from headrace.limits import THROTTLE_PAUSE_MS_MAX
from headrace.shm.cluster_view import ClusterView
from headrace.throttled_replicas import ThrottledReplicas


class Throttle:
    """rate   bytes a second of this node, as its settings have it"""

    def __init__(self, node_id: int, workers: int, rate: int) -> None:
        self._replicas = ThrottledReplicas("follower", node_id, rate)
        self._workers = workers
        self._paid_ms = 0.0  # when what was taken will be paid

    def follow(self, view: ClusterView) -> None:
        """The rate as it is now, and the topics' replicas."""
        if self._replicas.follow(view):
            self._paid_ms = 0.0

    def holds(self, partition: TopicPartition) -> bool:
        """Whether this node's replica of a partition is throttled."""
        return self._replicas.holds(partition.topic, partition.partition)

    def took(self, size: int, now_ms: int) -> None:
        """A throttled follower fetched `size` bytes."""
        self._paid_ms = max(self._paid_ms, now_ms) + size * 1000 * self._workers / max(1, self._replicas.rate)

    def pause_ms(self, partition: TopicPartition, now_ms: int) -> int:
        """How long a follower is not to fetch; 0: it may."""
        if self._paid_ms < now_ms + 1 or not self.holds(partition):
            return 0
        return min(THROTTLE_PAUSE_MS_MAX, int(self._paid_ms - now_ms))
