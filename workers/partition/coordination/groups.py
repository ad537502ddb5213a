"""Group coordinators as a kind: their settings, their counters, and the lag rows of what they commit.

Runs in: a partition worker, for the partitions of `__consumer_offsets` that it leads.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from headrace.ids import OFFSETS_TOPIC, TopicPartition
from headrace.shm.counters import (
    GROUP_REBALANCES,
    OFFSETS_COMMITTED,
    REBALANCES_EXPIRED,
    REBALANCES_JOINED,
    REBALANCES_LEFT,
    REBALANCES_METADATA,
    REBALANCES_NOT_SYNCED,
    REBALANCES_OTHER,
)
from headrace.shm.seat import Seat
from headrace.workers.coordinators.group.config import GroupConfig
from headrace.workers.coordinators.group.events import MarkerAppended
from headrace.workers.coordinators.group.group_coordinator import GroupCoordinator
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason, RebalanceStarted
from headrace.workers.coordinators.group.records import offset_key_prefix
from headrace.workers.partition.coordination.lag_rows import LagRows

_R: Final = RebalanceReason
_COUNTERS: Final = {
    _R.MEMBER_JOINED: REBALANCES_JOINED,
    _R.STATIC_MEMBER_REJOINED: REBALANCES_JOINED,
    _R.MEMBER_LEFT: REBALANCES_LEFT,
    _R.SESSION_EXPIRED: REBALANCES_EXPIRED,
    _R.METADATA_CHANGED: REBALANCES_METADATA,
    _R.LEADER_REJOINED: REBALANCES_METADATA,
    _R.STATIC_MEMBER_CHANGED_PROTOCOL: REBALANCES_METADATA,
    _R.NOT_SYNCED: REBALANCES_NOT_SYNCED,
    _R.ASSIGNMENT_NOT_STORED: REBALANCES_OTHER,
    _R.OVER_SIZE: REBALANCES_OTHER,
}
assert _COUNTERS.keys() == set(RebalanceReason)


class Groups:
    """The kind of `CoordinatorHost` that serves consumer groups."""

    def __init__(self, seat: Seat) -> None:
        self.name = "groups"
        self.topic = OFFSETS_TOPIC
        settings = seat.wiring.settings
        self.partition_count: int = settings["offsets.topic.num.partitions"]
        self.codec: int = settings["offsets.topic.compression.codec"]
        self.commit_timeout_ms: int = settings["offsets.commit.timeout.ms"]
        self.upkeep_interval_ms: int = settings["offsets.retention.check.interval.ms"]
        self.waits_for_late = False
        self._config = GroupConfig.from_settings(settings)
        self._counters = seat.counters
        self._lags = LagRows(seat.lags, seat.wiring.index(seat.process_id))
        self.committed = self._lags.note
        self.flush = self._lags.flush

    def new_coordinator(
        self,
        partition: TopicPartition,
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        is_known: Callable[[str, int], bool],
    ) -> GroupCoordinator:
        return GroupCoordinator(str(partition), self._config, _new_id, new_timer, has_timers, is_known)

    def marker_event(self, producer_id: int, is_commit: bool) -> MarkerAppended:
        """Offsets of the transaction count, or are dropped."""
        return MarkerAppended(producer_id, is_commit)

    def perform(self, effect: Any) -> None:
        """A rebalance is counted, all of them and by its reason."""
        assert isinstance(effect, RebalanceStarted), effect
        self._counters.add(GROUP_REBALANCES, 1)
        self._counters.add(_COUNTERS[effect.reason], 1)

    def appended(self, records: int) -> None:
        self._counters.add(OFFSETS_COMMITTED, records)

    def loaded(self, coordinator: GroupCoordinator) -> None:
        """Offsets that a predecessor committed have rows as well."""
        for group in coordinator.groups.values():
            if not self._lags.has_room:
                break
            prefix = offset_key_prefix(group.group_id)
            self._lags.note([(prefix + suffix, value) for suffix, value in group.offsets.items()])

    def unloading(self, coordinator: GroupCoordinator) -> None:
        self._lags.forget([offset_key_prefix(group_id) for group_id in coordinator.groups])


def _new_id() -> str:
    return str(uuid.uuid4())
