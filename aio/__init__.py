"""A Kafka client for asyncio: `from headrace.aio import Kafka`. The names are those of `headrace.client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.aio.admin import KafkaAdmin
    from headrace.aio.consumer import KafkaConsumer
    from headrace.aio.delivery import Delivery
    from headrace.aio.kafka import Kafka
    from headrace.aio.producer import KafkaProducer
    from headrace.client.consuming import CommitFailed
    from headrace.client.engine.fetching import LogTruncation
    from headrace.client.engine.offsets import EARLIEST, LATEST
    from headrace.client.failures import ConnectionFailed, DeliveryFailed, OutcomeUnknown, WaitTimedOut
    from headrace.client.forks import ForkedClient
    from headrace.client.records import Record, RecordMetadata
    from headrace.client.serializers import Bytes, DecodingFailed, Json, Str

_HOMES = {
    "KafkaAdmin": "aio.admin",
    "KafkaConsumer": "aio.consumer", "Delivery": "aio.delivery", "Kafka": "aio.kafka", "KafkaProducer": "aio.producer",
    "CommitFailed": "client.consuming", "DeliveryFailed": "client.failures", "LogTruncation": "client.engine.fetching",
    "EARLIEST": "client.engine.offsets", "LATEST": "client.engine.offsets", "ConnectionFailed": "client.failures",
    "OutcomeUnknown": "client.failures",
    "WaitTimedOut": "client.failures", "ForkedClient": "client.forks", "Record": "client.records", "RecordMetadata": "client.records",
    "Bytes": "client.serializers", "Json": "client.serializers", "Str": "client.serializers", "DecodingFailed": "client.serializers",
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

    return getattr(import_module(f"headrace.{home}"), name)
