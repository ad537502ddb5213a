"""A Kafka client for asyncio: `from headrace.aio import Kafka`. The names are those of `headrace.client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.aio.admin import KafkaAdmin
    from headrace.aio.consumer import KafkaConsumer
    from headrace.aio.delivery import Delivery
    from headrace.aio.kafka import Kafka
    from headrace.aio.producer import KafkaProducer
    from headrace.aio.transformer import transform
    from headrace.client.consuming import CommitFailed
    from headrace.client.dead_letters import DeadLetterFailed, dead_letter
    from headrace.client.engine.coordinator import GroupMetadata
    from headrace.client.engine.fetching import LogTruncation
    from headrace.client.engine.offsets import EARLIEST, LATEST
    from headrace.client.failures import (
        ConnectionFailed,
        DeliveryFailed,
        Interrupted,
        OutcomeUnknown,
        OutOfOrderSequence,
        ProducerFenced,
        TransactionAbortable,
        TransactionAborted,
        WaitTimedOut,
    )
    from headrace.client.forks import ForkedClient
    from headrace.client.records import Record, RecordMetadata
    from headrace.client.schemas.avro import Avro
    from headrace.client.schemas.failures import BadRecord, RegistryUnavailable, SchemaRefused, UnknownSchema
    from headrace.client.schemas.protobuf import Protobuf
    from headrace.client.schemas.registry import Registry
    from headrace.client.serializers import Bytes, DecodingFailed, Json, Str
    from headrace.client.transforming import Output

_HOMES = {
    "KafkaAdmin": "aio.admin",
    "KafkaConsumer": "aio.consumer", "Delivery": "aio.delivery", "Kafka": "aio.kafka", "KafkaProducer": "aio.producer",
    "CommitFailed": "client.consuming", "DeliveryFailed": "client.failures", "LogTruncation": "client.engine.fetching",
    "EARLIEST": "client.engine.offsets", "LATEST": "client.engine.offsets", "ConnectionFailed": "client.failures",
    "OutcomeUnknown": "client.failures",
    "WaitTimedOut": "client.failures", "Interrupted": "client.failures",
    "ForkedClient": "client.forks", "Record": "client.records", "RecordMetadata": "client.records",
    "Bytes": "client.serializers", "Json": "client.serializers", "Str": "client.serializers", "DecodingFailed": "client.serializers",
    "Avro": "client.schemas.avro", "BadRecord": "client.schemas.failures", "DeadLetterFailed": "client.dead_letters",
    "Protobuf": "client.schemas.protobuf",
    "Registry": "client.schemas.registry", "RegistryUnavailable": "client.schemas.failures",
    "SchemaRefused": "client.schemas.failures", "UnknownSchema": "client.schemas.failures",
    "GroupMetadata": "client.engine.coordinator", "OutOfOrderSequence": "client.failures", "ProducerFenced": "client.failures",
    "TransactionAbortable": "client.failures", "TransactionAborted": "client.failures",
    "Output": "client.transforming", "transform": "aio.transformer",
    "dead_letter": "client.dead_letters",
}  # fmt: skip

__all__ = [
    "EARLIEST",
    "LATEST",
    "Avro",
    "BadRecord",
    "Bytes",
    "CommitFailed",
    "ConnectionFailed",
    "DeadLetterFailed",
    "DecodingFailed",
    "Delivery",
    "DeliveryFailed",
    "ForkedClient",
    "GroupMetadata",
    "Interrupted",
    "Json",
    "Kafka",
    "KafkaAdmin",
    "KafkaConsumer",
    "KafkaProducer",
    "LogTruncation",
    "OutOfOrderSequence",
    "OutcomeUnknown",
    "Output",
    "ProducerFenced",
    "Protobuf",
    "Record",
    "RecordMetadata",
    "Registry",
    "RegistryUnavailable",
    "SchemaRefused",
    "Str",
    "TransactionAbortable",
    "TransactionAborted",
    "UnknownSchema",
    "WaitTimedOut",
    "dead_letter",
    "transform",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"headrace.{home}"), name)
