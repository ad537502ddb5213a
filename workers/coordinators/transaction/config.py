"""The settings that transaction coordinators follow, parsed once."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.settings import Settings


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Settings of transactions, times in milliseconds."""

    timeout_max_ms: int = 900_000
    expiration_ms: int = 7 * 24 * 3_600_000

    @classmethod
    def from_settings(cls, settings: Settings) -> TransactionConfig:
        return cls(
            timeout_max_ms=settings["transaction.max.timeout.ms"],
            expiration_ms=settings["transactional.id.expiration.ms"],
        )
