"""Forgets producers that were idle for `producer.id.expiration.ms`, in all logs of a partition worker.

A timer and not the appends of a log: a log that takes none keeps its producers for ever else. Nor an opening: what it finds is as old
as its opening, so nothing has expired then. Each PRODUCERS_CHECK_MS the logs are checked, some in each tick.

Runs in: a partition worker. Source: Kafka `ProducerStateManager.removeExpiredProducers`, `producer.id.expiration.check.interval.ms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from headrace.limits import PRODUCER_LOGS_PER_TICK_MAX, PRODUCERS_CHECK_MS
from headrace.workers.partition.replicas.replica import Replica


class ProducerExpiry:
    """Over the replicas of one worker, by slot."""

    def __init__(self, replicas: Mapping[int, Replica], now_ms: int) -> None:
        self._replicas = replicas
        self._waiting: Iterable[int] = iter(())  # slots that this round has not visited
        self._next_ms = now_ms + PRODUCERS_CHECK_MS

    def tick(self, now_ms: int) -> int:
        """Check some logs, where a round is due or in progress; returns how many producers were forgotten.

        now_ms   of the monotonic clock
        """
        if now_ms >= self._next_ms:
            self._next_ms = now_ms + PRODUCERS_CHECK_MS
            self._waiting = iter(list(self._replicas))
        expired = 0
        for slot in islice(self._waiting, PRODUCER_LOGS_PER_TICK_MAX):
            replica = self._replicas.get(slot)
            if replica is not None:
                expired += replica.log.producers.expire(now_ms)
        return expired
