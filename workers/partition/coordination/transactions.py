"""Transaction coordinators as a kind: their settings, the markers that they want sent, the producer ids that they give.

Runs in: a partition worker, for the partitions of `__transaction_state` that it leads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.clock import Clock
from headrace.ids import TRANSACTIONS_TOPIC, TopicPartition
from headrace.shm.seat import Seat
from headrace.workers.coordinators.effects import KeyValue
from headrace.workers.coordinators.transaction.config import TransactionConfig
from headrace.workers.coordinators.transaction.effects import DropMarkers, SendMarkers
from headrace.workers.coordinators.transaction.transaction_coordinator import TransactionCoordinator
from headrace.workers.partition.coordination.marker_sender import MarkerSender
from headrace.workers.partition.coordination.producer_id_stock import ProducerIdStock

COMMIT_TIMEOUT_MS: Final = 5_000  # Kafka's `transaction.state.log` appends wait as long as a request may
UPKEEP_INTERVAL_MS: Final = 3_600_000  # Kafka's transaction.remove.expired.transaction.cleanup.interval.ms


class Transactions:
    """The kind of `CoordinatorHost` that serves transactional ids. It hosts nothing before `use`."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        self.name = "transactions"
        self.topic = TRANSACTIONS_TOPIC
        settings = seat.wiring.settings
        self.partition_count: int = settings["transaction.state.log.num.partitions"]
        self.codec = 0
        self.commit_timeout_ms = COMMIT_TIMEOUT_MS
        self.upkeep_interval_ms = UPKEEP_INTERVAL_MS
        self.waits_for_late = True
        self._config = TransactionConfig.from_settings(settings)
        self._clock = clock
        self._sender: MarkerSender | None = None
        self._stock: ProducerIdStock | None = None

    def use(self, sender: MarkerSender, stock: ProducerIdStock) -> None:
        """Who sends markers, and who has producer ids."""
        self._sender, self._stock = sender, stock

    def new_coordinator(
        self,
        partition: TopicPartition,
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        is_known: Callable[[str, int], bool],
    ) -> TransactionCoordinator:
        assert self._stock is not None, "hosted before it was connected"
        return TransactionCoordinator(
            str(partition),
            partition.partition,
            self._config,
            new_timer,
            has_timers,
            self._stock.take,
            self._clock.monotonic_ns,
            is_known,
        )

    def marker_event(self, producer_id: int, is_commit: bool) -> None:
        """No client can add a partition of this topic to a transaction; a marker that came changes nothing here."""

    def perform(self, effect: Any) -> None:
        """Markers are sent, or no more."""
        assert self._sender is not None, "hosted before it was connected"
        if isinstance(effect, SendMarkers):
            self._sender.send(effect)
        else:
            assert isinstance(effect, DropMarkers), effect
            self._sender.drop(effect)

    def appended(self, records: int) -> None:
        pass

    def committed(self, records: list[KeyValue]) -> None:
        pass

    def loaded(self, coordinator: TransactionCoordinator) -> None:
        pass

    def unloading(self, coordinator: TransactionCoordinator) -> None:
        pass

    def flush(self, now_ms: int) -> None:
        pass
