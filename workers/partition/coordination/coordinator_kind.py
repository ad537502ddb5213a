"""A kind of coordinators, as their host sees it: which log they live in, and what is theirs alone.

Runs in: a partition worker. `groups.py` is the kind of group coordinators; a host carries one kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from headrace.ids import TopicPartition
from headrace.workers.coordinators.coordinator import Coordinator
from headrace.workers.coordinators.effects import KeyValue

C = TypeVar("C", bound=Coordinator)


class CoordinatorKind(Protocol[C]):
    """What the host has to know.

    name                 of what they coordinate, for log lines: "groups"
    topic                a coordinator for each of its partitions
    partition_count      of that topic, until a view has it
    codec                that its batches are compressed with
    commit_timeout_ms    how long an append may wait for its replicas
    upkeep_interval_ms   between two `Upkeep` events of a coordinator
    waits_for_late       an append that takes too long is `AppendLate`, and its outcome comes when it is known;
                         else it is `AppendFailed`
    """

    @property
    def name(self) -> str: ...

    @property
    def topic(self) -> str: ...

    @property
    def partition_count(self) -> int: ...

    @property
    def codec(self) -> int: ...

    @property
    def commit_timeout_ms(self) -> int: ...

    @property
    def upkeep_interval_ms(self) -> int: ...

    @property
    def waits_for_late(self) -> bool: ...

    def new_coordinator(
        self,
        partition: TopicPartition,
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        is_known: Callable[[str, int], bool],
    ) -> C:
        """A coordinator that is loading.

        new_timer   draws the number of a timer
        has_timers  whether a client may cause one more; one that is set without asking, when there is no room, costs the
                    coordinator: it is given up, and its partition loaded again
        is_known    whether a topic has a partition
        """

    def marker_event(self, producer_id: int, is_commit: bool) -> Any:
        """What a coordinator gets when the end of a transaction is committed in its log; None: nothing."""

    def perform(self, effect: Any) -> None:
        """An effect of its own, beside those that `effects.py` has."""

    def appended(self, records: int) -> None:
        """Records were written to its log."""

    def committed(self, records: list[KeyValue]) -> None:
        """Records of one append, of no transaction, are committed."""

    def loaded(self, coordinator: C) -> None:
        """A coordinator has read its log."""

    def unloading(self, coordinator: C) -> None:
        """A coordinator is about to be given up."""

    def flush(self, now_ms: int) -> None:
        """The end of a cycle."""
