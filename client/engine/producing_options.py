"""Options of the producing half of the engine, checked when they are made.

Source: Kafka 3.9 `ProducerConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.protocol.compression import Codec

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1


@dataclass(frozen=True, slots=True)
class ProducingOptions:
    """Options of a producer, by Kafka's keys. Sizes in bytes, uncompressed; times in milliseconds.

    is_idempotent     None: where acks is all and the cluster has it
    ends_at_failure   the first batch that fails for good ends the producer: nothing that comes after a lost record is stored
    transactional_id   of a producer of transactions; needs acks=all and idempotence
    """

    acks: int = ACKS_ALL
    codec: int = Codec.NONE
    level: int | None = None
    is_idempotent: bool | None = None
    linger_ms: float = 5
    batch_size: int = 256 << 10
    buffer_memory: int = 32 << 20
    max_request_size: int = 4 << 20
    max_in_flight: int = 5
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    ends_at_failure: bool = False
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.transactional_id is not None:
            if not self.transactional_id:
                raise ValueError("transactional.id: expected a name, found an empty one")
            if self.acks != ACKS_ALL or self.is_idempotent is False:
                raise ValueError("transactional.id: needs acks=all and enable.idempotence")
        if self.transaction_timeout_ms < 1:
            raise ValueError(f"transaction.timeout.ms: {self.transaction_timeout_ms}: expected 1 or more")
        if self.acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
            raise ValueError(f"acks: {self.acks!r}: expected 'all' (-1), 0 or 1")
        if self.is_idempotent and self.acks != ACKS_ALL:
            raise ValueError(f"enable.idempotence: needs acks=all, acks is {self.acks}")
        if not 0 < self.batch_size <= self.buffer_memory:
            raise ValueError(f"batch.size: {self.batch_size}: expected 1 to buffer.memory ({self.buffer_memory})")
        if not 1 <= self.max_in_flight <= 5:
            raise ValueError(f"max.in.flight.requests.per.connection: {self.max_in_flight}: expected 1 to 5")
        if self.delivery_timeout_ms < self.linger_ms:
            raise ValueError(f"delivery.timeout.ms: {self.delivery_timeout_ms}: below linger.ms ({self.linger_ms})")
