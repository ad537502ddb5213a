"""The settings that coordinators follow, parsed once."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.settings import Settings


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Settings of consumer groups. Times in milliseconds, sizes in bytes."""

    initial_rebalance_delay_ms: int = 3_000
    session_timeout_min_ms: int = 6_000
    session_timeout_max_ms: int = 1_800_000
    members_max: int = 2**31 - 1
    metadata_bytes_max: int = 4_096
    retention_ms: int = 7 * 24 * 3_600_000
    store_timeout_ms: int = 5_000
    new_member_join_timeout_ms: int = 300_000  # Kafka's `NewMemberJoinTimeoutMs`

    @classmethod
    def from_settings(cls, settings: Settings) -> GroupConfig:
        return cls(
            initial_rebalance_delay_ms=settings["group.initial.rebalance.delay.ms"],
            session_timeout_min_ms=settings["group.min.session.timeout.ms"],
            session_timeout_max_ms=settings["group.max.session.timeout.ms"],
            members_max=settings["group.max.size"],
            metadata_bytes_max=settings["offset.metadata.max.bytes"],
            retention_ms=settings["offsets.retention.minutes"] * 60_000,
            store_timeout_ms=settings["offsets.commit.timeout.ms"],
        )
