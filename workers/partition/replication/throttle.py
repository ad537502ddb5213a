"""How much a worker's throttled followers may fetch: what they took is paid for by waiting.

Runs in: a partition worker. The rate is the node's, `headrace/throttled_replicas.py` says for which replicas it holds. Each worker
counts what its followers took (REPLICATION_BYTES_THROTTLED), and reads what the others have counted: one partition that moves has
all of the rate, those of several workers have it together. A follower that has what its leader has committed is never held
back, as in Kafka: it would leave the ISR.

    took(bytes) -> the bytes are owed       pause_ms -> how long until they are paid, at most THROTTLE_PAUSE_MS_MAX

What others took counts from when it was read last: an idle one does not owe for what was paid meanwhile. A rate that changes
forgives what is owed, so that a lifted throttle holds no follower.

Source: Kafka `ReplicationQuotaManager`, `ReplicaFetcherThread.shouldFollowerThrottle`; KIP-73.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.ids import TopicPartition
from headrace.limits import THROTTLE_PAUSE_MS_MAX
from headrace.shm.cluster_view import ClusterView
from headrace.shm.counters import REPLICATION_BYTES_THROTTLED, Counters
from headrace.throttled_replicas import ThrottledReplicas


class Throttle:
    """One worker's part.

    rate     bytes a second of this node, as its settings have it
    own      counters of this process
    others   those of the other partition workers
    """

    def __init__(self, node_id: int, rate: int, own: Counters, others: Sequence[Counters] = ()) -> None:
        self._replicas = ThrottledReplicas("follower", node_id, rate)
        self._own = own
        self._others = others
        self._taken = 0  # by others, when it was read last, at:
        self._read_ms = 0
        self._paid_ms = 0.0  # when what was taken will be paid

    def follow(self, view: ClusterView) -> None:
        """The rate as it is now, and the topics' replicas."""
        if self._replicas.follow(view):
            self._taken, self._paid_ms = self._sum(), 0.0

    def holds(self, partition: TopicPartition) -> bool:
        """Whether this node's replica of a partition is throttled."""
        return self._replicas.is_limited and self._replicas.holds(partition.topic, partition.partition)

    def took(self, size: int, now_ms: int) -> None:
        """A throttled follower fetched `size` bytes."""
        self._catch_up(now_ms)
        self._own.add(REPLICATION_BYTES_THROTTLED, size)
        self._paid_ms = max(self._paid_ms, now_ms) + self._cost_ms(size)

    def pause_ms(self, partition: TopicPartition, now_ms: int) -> int:
        """How long a follower is not to fetch; 0: it may."""
        if not self.holds(partition):
            return 0
        self._catch_up(now_ms)
        if self._paid_ms < now_ms + 1:
            return 0
        return min(THROTTLE_PAUSE_MS_MAX, int(self._paid_ms - now_ms))

    def _catch_up(self, now_ms: int) -> None:
        """Owe what other workers took."""
        taken = self._sum()
        if taken > self._taken:
            self._paid_ms = max(self._paid_ms, self._read_ms) + self._cost_ms(taken - self._taken)
        self._taken, self._read_ms = taken, now_ms

    def _sum(self) -> int:
        return sum(each.get(REPLICATION_BYTES_THROTTLED) for each in self._others)

    def _cost_ms(self, size: int) -> float:
        return size * 1000 / self._replicas.rate
