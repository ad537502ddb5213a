"""Which segments a log gives up: facts of its segments in, base offsets out.

Pure functions; the housekeeper gathers the facts, the owner of the log does what comes out, as far as it may: the oldest
ones first, none that holds anything at or above the high watermark, the active one only after it rolled.

    below the log start offset    every log: DeleteRecords moved it
    older than `retention.ms`     policy `delete`: by the largest timestamp in the segment
    above `retention.bytes`       policy `delete`: as long as what is left is not smaller than that

Another policy is a function of the same form, named by `headrace.retention.policy`.

Source: Kafka `UnifiedLog.deleteOldSegments`, `deleteRetentionMsBreachedSegments`, `deleteRetentionSizeBreachedSegments`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from headrace.errors import ConfigError
from headrace.log.config import LogConfig

POLICY_KEY: Final = "headrace.retention.policy"
NO_RETENTION: Final = -1  # nothing goes for it, as in Kafka's settings


class SegmentFacts(NamedTuple):
    """What is known of a segment.

    end_offset             where the next segment begins; the log's end, where it is the active one
    largest_timestamp_ms   of its records; where they have none, of its last write. For the active segment it may be
                           older: the owner checks again
    """

    base_offset: int
    end_offset: int
    size_bytes: int
    largest_timestamp_ms: int


# (segments, oldest first, the active one last; settings; log start offset; now) -> base offsets of those that go
RetentionPolicy = Callable[[Sequence[SegmentFacts], LogConfig, int, int], list[int]]


def expired_segments(
    segments: Sequence[SegmentFacts], config: LogConfig, log_start_offset: int, now_ms: int
) -> list[int]:
    """Kafka's policy. returns base offsets, oldest first, without a gap"""
    count = 0
    if config.deletes_segments:
        if config.retention_ms >= 0:
            count = _leading(segments, lambda one: now_ms - one.largest_timestamp_ms > config.retention_ms)
        if config.retention_bytes >= 0:
            excess = sum(one.size_bytes for one in segments) - config.retention_bytes
            by_size = 0
            while by_size < len(segments) and excess >= segments[by_size].size_bytes:
                excess -= segments[by_size].size_bytes
                by_size += 1
            count = max(count, by_size)
    count = max(count, _leading(segments[:-1], lambda one: one.end_offset <= log_start_offset))
    return [one.base_offset for one in segments[:count] if one.size_bytes or one is not segments[-1]]


def retention_of(config: LogConfig) -> tuple[int, int]:
    """`retention.ms` and `retention.bytes` as far as segments go for them: what a decision to delete was made by."""
    return (config.retention_ms, config.retention_bytes) if config.deletes_segments else (NO_RETENTION, NO_RETENTION)


def load_policy(name: str | None) -> RetentionPolicy:
    """The function named `module:function`; Kafka's policy for None. raises ConfigError"""
    if name is None:
        return expired_segments
    module, _, function = name.partition(":")
    try:
        policy = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as failure:
        raise ConfigError(POLICY_KEY, name, f"must be module:function ({failure})") from None
    if not callable(policy):
        raise ConfigError(POLICY_KEY, name, "must name a function")
    return policy  # type: ignore[no-any-return]


def _leading(segments: Sequence[SegmentFacts], goes: Callable[[SegmentFacts], bool]) -> int:
    """How many segments from the oldest on go."""
    for count, one in enumerate(segments):
        if not goes(one):
            return count
    return len(segments)
