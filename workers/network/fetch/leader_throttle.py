"""How much the throttled replicas led here send to followers: once that is used up, those out of sync get nothing.

Runs in: a network worker. `leader.replication.throttled.rate` is the node's. Each network worker counts what it sent of throttled
replicas (REPLICATION_BYTES_THROTTLED) and reads what the others have counted, so that the node as a whole keeps the rate
whichever connections its followers use.

    sent by all -> owed: bytes are paid for at the rate         owed_ms > 0: it is used up        tick: in each cycle

What followers in sync take is counted, and never held back: they would leave the ISR. A rate that changes forgives what
is owed, so that a lifted throttle holds nobody. Without a rate nothing is counted or read.

Source: Kafka `ReplicaManager.shouldLeaderThrottle`, `ReplicationQuotaManager`; KIP-73.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.shm.cluster_view import ClusterView
from headrace.shm.counters import REPLICATION_BYTES_THROTTLED, Counters
from headrace.throttled_replicas import ThrottledReplicas


class LeaderThrottle:
    """As one network worker sees it.

    is_limited   whether there is a rate; else nothing else is to be asked
    """

    __slots__ = ("_counted", "_counted_ms", "_everyone", "_own", "_paid_ms", "_replicas", "is_limited")

    def __init__(self, node_id: int, rate: int, own: Counters, everyone: Sequence[Counters]) -> None:
        self._replicas = ThrottledReplicas("leader", node_id, rate)
        self._own = own
        self._everyone = everyone  # of all network workers
        self._counted = self._sum()
        self._counted_ms = 0
        self._paid_ms = 0.0  # when what was sent will be paid
        self.is_limited = self._replicas.is_limited

    def follow(self, view: ClusterView) -> None:
        """The rate as it is now, and the topics' replicas."""
        if self._replicas.follow(view):
            self._counted, self._paid_ms = self._sum(), 0.0
        self.is_limited = self._replicas.is_limited

    def holds(self, topic: str, index: int) -> bool:
        """Whether a partition that is led here is throttled."""
        return self._replicas.holds(topic, index)

    def sent(self, size: int) -> None:
        """Bytes of throttled partitions leave for a follower."""
        self._own.add(REPLICATION_BYTES_THROTTLED, size)

    def owed_ms(self, now_ms: int) -> int:
        """How long until all that was sent is paid; 0: more may be sent."""
        self.tick(now_ms)
        return max(0, int(self._paid_ms - now_ms))

    def tick(self, now_ms: int) -> None:
        """See what all have sent; what came since the last time counts as sent then."""
        counted = self._sum()
        if counted != self._counted:
            sent = max(0, counted - self._counted)  # a worker that died may begin with less
            self._paid_ms = max(self._paid_ms, self._counted_ms) + sent * 1000 / self._replicas.rate
            self._counted = counted
        self._counted_ms = now_ms

    def _sum(self) -> int:
        return sum(each.get(REPLICATION_BYTES_THROTTLED) for each in self._everyone)
