"""What a log needs to know of its topic's settings, parsed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Settings of one log. Sizes in bytes, times in milliseconds."""

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
    is_compacted: bool = False
    flush_before_ack: bool = False

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> LogConfig:
        """From `headrace.settings.topic_values`."""
        flush_ms = values["flush.ms"]
        return cls(
            segment_bytes=values["segment.bytes"],
            segment_ms=values["segment.ms"],
            index_interval_bytes=values["index.interval.bytes"],
            index_bytes_max=values["segment.index.bytes"],
            max_message_bytes=values["max.message.bytes"],
            flush_messages=values["flush.messages"],
            flush_ms=None if flush_ms is None or flush_ms >= NEVER else flush_ms,
            is_log_append_time=values["message.timestamp.type"] == "LogAppendTime",
            timestamp_before_max_ms=values["message.timestamp.before.max.ms"],
            timestamp_after_max_ms=values["message.timestamp.after.max.ms"],
            is_compacted="compact" in values["cleanup.policy"],
            flush_before_ack=values["headrace.flush.before.ack"],
        )
