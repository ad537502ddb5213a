"""Counters in shared memory: one writer, read by anyone.

Each process counts in its own row of the process table; a reader sums over the processes. An increment is one
load and one store (90 ns).
"""

from __future__ import annotations

from typing import Final

from headrace.memory import load_word, store_word
from headrace.shm.layout import COUNTER_WORDS

NAMES: Final = (
    "requests",
    "bytes_in",
    "connections_accepted",
    "connections_closed_bad",
    "produce_requests",
    "produce_batches",
    "produce_bytes",
    "produce_errors",
    "fetch_requests",
    "fetch_bytes",
    "parked_fetches",
    "ring_full",
    "logs_wanted",
    "logs_opened",
    "recovered_bytes",
    "segments_deleted",
    "segments_compacted",
    "bytes_compacted",
    "partitions_uncleanable",
    "offsets_committed",
    "group_rebalances",
    "rebalances_joined",
    "rebalances_left",
    "rebalances_expired",
    "rebalances_metadata",
    "rebalances_not_synced",
    "rebalances_other",
    "connections_open",
    "topics_released",
    "zookeeper_connections_lost",
    "zookeeper_sessions_lost",
    "replication_bytes_throttled",
    "closing_steps",
)
(
    REQUESTS,
    BYTES_IN,
    CONNECTIONS_ACCEPTED,
    CONNECTIONS_CLOSED_BAD,
    PRODUCE_REQUESTS,
    PRODUCE_BATCHES,
    PRODUCE_BYTES,
    PRODUCE_ERRORS,
    FETCH_REQUESTS,
    FETCH_BYTES,
    PARKED_FETCHES,
    RING_FULL,
    LOGS_WANTED,
    LOGS_OPENED,
    RECOVERED_BYTES,
    SEGMENTS_DELETED,
    SEGMENTS_COMPACTED,
    BYTES_COMPACTED,
    PARTITIONS_UNCLEANABLE,
    OFFSETS_COMMITTED,
    GROUP_REBALANCES,
    REBALANCES_JOINED,
    REBALANCES_LEFT,
    REBALANCES_EXPIRED,
    REBALANCES_METADATA,
    REBALANCES_NOT_SYNCED,
    REBALANCES_OTHER,
    CONNECTIONS_OPEN,
    TOPICS_RELEASED,
    ZOOKEEPER_CONNECTIONS_LOST,
    ZOOKEEPER_SESSIONS_LOST,
    REPLICATION_BYTES_THROTTLED,
    CLOSING_STEPS,
) = range(len(NAMES))

assert len(NAMES) <= COUNTER_WORDS
_MASK: Final = (1 << 64) - 1
_WITHIN: Final = 1 << 61  # of a compiled int that is no object


class Counters:
    """One process's counters. `words` is the table's memory, `base` the index of the first."""

    __slots__ = ("_base", "_words")

    def __init__(self, words: memoryview, base: int) -> None:
        self._words = words
        self._base = base

    def add(self, index: int, count: int) -> None:
        """Count up; only the owning process may."""
        words = self._words
        place = self._base + index
        total = load_word(words, place) + count
        store_word(words, place, total if 0 <= total < _WITHIN else total & _MASK)

    def get(self, index: int) -> int:
        """One counter."""
        return load_word(self._words, self._base + index)

    def read(self) -> dict[str, int]:
        """All counters by name."""
        return {name: load_word(self._words, self._base + index) for index, name in enumerate(NAMES)}
