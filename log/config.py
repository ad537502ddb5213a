"""What a log needs to know of its topic's settings, parsed once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from headrace.limits import INDEX_BYTES_MIN
from headrace.settings import TopicValues

NEVER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Settings of one log. Sizes in bytes, times in milliseconds; a retention of -1 is none.

    deletes_segments, is_compacted   what `cleanup.policy` names
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3_600_000
    index_interval_bytes: int = 4096
    index_bytes_max: int = 10 << 20
    max_message_bytes: int = 1_048_588
    flush_messages: int = NEVER
    flush_ms: int | None = None
    is_log_append_time: bool = False
    timestamp_before_max_ms: int = NEVER
    timestamp_after_max_ms: int = NEVER
    deletes_segments: bool = True
    is_compacted: bool = False
    retention_ms: int = -1
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = 86_400_000
    dirty_ratio_min: float = 0.5
    compaction_lag_min_ms: int = 0
    compaction_lag_max_ms: int = NEVER
    flush_before_ack: bool = False

    @classmethod
    def from_values(cls, values: TopicValues) -> LogConfig:
        """From `headrace.settings.topic_values`."""
        flush_ms = values["flush.ms"]
        both_max_ms = values["message.timestamp.difference.max.ms"]  # KIP-937: where the newer keys are not set
        policy = values["cleanup.policy"]
        roll_ms = values["segment.ms"]
        dirty_ratio = values["min.cleanable.dirty.ratio"]
        if "compact" in policy:
            roll_ms = min(roll_ms, values["max.compaction.lag.ms"])  # the active segment is never compacted
        return cls(
            segment_bytes=values["segment.bytes"],
            segment_ms=roll_ms,
            index_interval_bytes=values["index.interval.bytes"],
            index_bytes_max=max(values["segment.index.bytes"], INDEX_BYTES_MIN),
            max_message_bytes=values["max.message.bytes"],
            flush_messages=values["flush.messages"],
            flush_ms=None if flush_ms is None or flush_ms >= NEVER else flush_ms,
            is_log_append_time=values["message.timestamp.type"] == "LogAppendTime",
            timestamp_before_max_ms=_first_bound(values["message.timestamp.before.max.ms"], both_max_ms),
            timestamp_after_max_ms=_first_bound(values["message.timestamp.after.max.ms"], both_max_ms),
            deletes_segments="delete" in policy,
            is_compacted="compact" in policy,
            retention_ms=values["retention.ms"],
            retention_bytes=values["retention.bytes"],
            file_delete_delay_ms=values["file.delete.delay.ms"],
            delete_retention_ms=values["delete.retention.ms"],
            dirty_ratio_min=1.0 if math.isnan(dirty_ratio) else dirty_ratio,  # no share is above it, as of NaN in Kafka
            compaction_lag_min_ms=values["min.compaction.lag.ms"],
            compaction_lag_max_ms=values["max.compaction.lag.ms"],
            flush_before_ack=values["headrace.flush.before.ack"],
        )


def _first_bound(bound_ms: int, otherwise_ms: int) -> int:
    return bound_ms if bound_ms != NEVER else otherwise_ms
