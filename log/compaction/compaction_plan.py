"""Whether a log is due for compaction, and which part of it: facts in, a plan out. And what a compaction asks and says of itself, for who
plans without having one.

    clean              below the checkpoint: compacted before
    dirty, cleanable   rolled, committed, and older than `min.compaction.lag.ms`
    the rest           left alone

Due is what is dirtier than `min.cleanable.dirty.ratio`, or has a record that waits for longer than
`max.compaction.lag.ms`. Pure. Source: Kafka `LogCleanerManager.cleanableOffsets`, `grabFilthiestCompactedLog`; KIP-354.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headrace.errors import HeadraceError
from headrace.log.config import LogConfig
from headrace.log.retention import SegmentFacts


class CompactionFailed(HeadraceError):
    """A log that can't be compacted as it is."""


class SwapRefused(HeadraceError):
    """The owner would not, or could not, take the segment: the log has changed, or it is gone. Worth another try."""


class Swap(NamedTuple):
    """The `.cleaned` files of the first segment are to replace these, (base offset, size) each."""

    segments: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """Bounds of the cleaner's memory.

    map_bytes       for the map of keys, filled up to `load_factor`
    chunk_bytes     read at a time
    """

    map_bytes: int = 128 << 20
    load_factor: float = 0.9
    chunk_bytes: int = 8 << 20
    producer_expiration_ms: int = 86_400_000


class CompactionPlan(NamedTuple):
    """What to compact.

    dirty_ratio   bytes that would go into the map, of all that would be read
    """

    first_dirty_offset: int
    uncleanable_offset: int
    dirty_ratio: float


def plan_compaction(
    segments: Sequence[SegmentFacts],
    config: LogConfig,
    checkpoint: int,
    committed_offset: int,
    earliest_dirty_ms: int,
    now_ms: int,
) -> CompactionPlan | None:
    """None, where the log is not due.

    segments            oldest first, the active one last
    checkpoint          where the last compaction ended; one that can't be is taken for the log's start
    committed_offset    high watermark and last stable offset: nothing at or above it is touched
    earliest_dirty_ms   timestamp of the first dirty record, -1: unknown
    """
    if not config.is_compacted or len(segments) < 2:
        return None
    first_dirty = first_dirty_offset(segments, checkpoint)
    uncleanable = segments[0].base_offset
    clean_bytes = dirty_bytes = 0
    for one in segments[:-1]:
        is_dirty = one.end_offset > first_dirty
        is_young = config.compaction_lag_min_ms and now_ms - one.largest_timestamp_ms < config.compaction_lag_min_ms
        if one.end_offset > committed_offset or (is_dirty and is_young):
            break
        uncleanable = one.end_offset
        if is_dirty:
            dirty_bytes += one.size_bytes
        else:
            clean_bytes += one.size_bytes
    if not dirty_bytes:
        return None
    ratio = dirty_bytes / (clean_bytes + dirty_bytes)
    is_overdue = earliest_dirty_ms >= 0 and now_ms - earliest_dirty_ms > config.compaction_lag_max_ms
    if ratio <= config.dirty_ratio_min and not is_overdue:
        return None
    return CompactionPlan(first_dirty, uncleanable, ratio)


def first_dirty_offset(segments: Sequence[SegmentFacts], checkpoint: int) -> int:
    """The checkpoint, or the log's start, where the checkpoint lies outside of the log."""
    start, end = segments[0].base_offset, segments[-1].end_offset
    return checkpoint if start <= checkpoint <= end else start
