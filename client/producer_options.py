"""Options of a producer, validated when created."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.protocol.compression import Codec

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
CODECS = {codec.name.lower(): codec for codec in Codec}  # by Kafka's names


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """Options of a producer. Sizes in bytes, uncompressed; times in milliseconds.

    is_idempotent   requires acks=all
    buffer_bytes    limit of records held in memory; `send` waits above it
    """

    acks: int = ACKS_ALL
    codec: int = Codec.NONE
    is_idempotent: bool = True
    linger_ms: int = 5
    batch_bytes: int = 256 << 10
    buffer_bytes: int = 32 << 20
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000

    def __post_init__(self) -> None:
        if self.acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
            raise ValueError(f"invalid acks {self.acks}: expected -1 (all), 0 or 1")
        if self.is_idempotent and self.acks != ACKS_ALL:
            raise ValueError(f"invalid acks {self.acks}: idempotence requires acks=all (-1)")
        if not 0 < self.batch_bytes <= self.buffer_bytes:
            raise ValueError(
                f"invalid batch_bytes {self.batch_bytes}: expected 1 to buffer_bytes ({self.buffer_bytes})"
            )
