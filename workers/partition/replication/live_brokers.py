"""What followers are judged by: which brokers live, the time of the cycle, how late a follower may be.

Runs in: a partition worker; pure. One for all replicas of a worker. `Replicas` writes the brokers as it follows a view,
the worker the time as a cycle begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.shm.cluster_view import BrokerView

NO_EPOCH_TOLD: Final = -1


class LiveBrokers:
    """Of one partition worker.

    now_ms          monotonic, of this cycle
    lag_max_ms      replica.lag.time.max.ms
    is_successor    the process before this one died: what it had asked may still be done
    """

    __slots__ = ("_epochs", "is_successor", "lag_max_ms", "now_ms")

    def __init__(self, lag_max_ms: int, now_ms: int = 0, *, is_successor: bool = False) -> None:
        self.now_ms = now_ms
        self.lag_max_ms = lag_max_ms
        self.is_successor = is_successor
        self._epochs: dict[int, int] = {}

    def follow(self, brokers: Mapping[int, BrokerView]) -> bool:
        """Take the brokers of a view; returns whether others live than before, or one has started again."""
        epochs = {node_id: broker.epoch for node_id, broker in brokers.items()}
        if epochs == self._epochs:
            return False
        self._epochs = epochs
        return True

    def is_eligible(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether a broker may join an ISR: it lives, and what it fetched it fetched in its present life (KIP-903).

        broker_epoch   under which its last fetch came, -1: it was unknown then
        """
        known = self._epochs.get(broker_id)
        return known is not None and known in (NO_EPOCH_TOLD, broker_epoch)

    def is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether a fetch comes from an earlier life of a broker."""
        return NO_EPOCH_TOLD < broker_epoch < self._epochs.get(broker_id, NO_EPOCH_TOLD)

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._epochs
