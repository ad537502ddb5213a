"""A Kafka client: `from headrace.client import Kafka`. What is imported on demand is in `kafka.py` and beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.client.delivery import Delivery
    from headrace.client.engine.fetching import LogTruncation
    from headrace.client.engine.offsets import EARLIEST, LATEST
    from headrace.client.failures import ConnectionFailed, DeliveryFailed, OutcomeUnknown, WaitTimedOut
    from headrace.client.forks import ForkedClient
    from headrace.client.kafka import Kafka
    from headrace.client.kafka_admin import KafkaAdmin
    from headrace.client.kafka_consumer import CommitFailed, KafkaConsumer
    from headrace.client.kafka_producer import KafkaProducer
    from headrace.client.records import Record, RecordMetadata
    from headrace.client.serializers import Bytes, DecodingFailed, Json, Str

_HOMES = {
    "Delivery": "delivery", "DeliveryFailed": "failures", "OutcomeUnknown": "failures", "WaitTimedOut": "failures",
    "LogTruncation": "engine.fetching",
    "EARLIEST": "engine.offsets", "LATEST": "engine.offsets", "ConnectionFailed": "failures", "ForkedClient": "forks", "Kafka": "kafka",
    "CommitFailed": "kafka_consumer", "KafkaAdmin": "kafka_admin",
    "KafkaConsumer": "kafka_consumer", "KafkaProducer": "kafka_producer", "Record": "records",
    "RecordMetadata": "records", "Bytes": "serializers", "Json": "serializers", "Str": "serializers", "DecodingFailed": "serializers",
}  # fmt: skip

__all__ = [
    "EARLIEST",
    "LATEST",
    "Bytes",
    "CommitFailed",
    "ConnectionFailed",
    "DecodingFailed",
    "Delivery",
    "DeliveryFailed",
    "ForkedClient",
    "Json",
    "Kafka",
    "KafkaAdmin",
    "KafkaConsumer",
    "KafkaProducer",
    "LogTruncation",
    "OutcomeUnknown",
    "Record",
    "RecordMetadata",
    "Str",
    "WaitTimedOut",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
