"""A Kafka client: `from headrace.client import Kafka`. What is imported on demand is in `kafka.py` and beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.client.dead_letters import DeadLetterFailed, dead_letter
    from headrace.client.delivery import Delivery
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
    from headrace.client.kafka import Kafka
    from headrace.client.kafka_admin import KafkaAdmin
    from headrace.client.kafka_consumer import CommitFailed, KafkaConsumer
    from headrace.client.kafka_producer import KafkaProducer
    from headrace.client.records import Record, RecordMetadata
    from headrace.client.schemas.avro import Avro
    from headrace.client.schemas.failures import BadRecord, RegistryUnavailable, SchemaRefused, UnknownSchema
    from headrace.client.schemas.protobuf import Protobuf
    from headrace.client.schemas.registry import Registry
    from headrace.client.serializers import Bytes, DecodingFailed, Json, Str
    from headrace.client.transformer import transform
    from headrace.client.transforming import Output

_HOMES = {
    "Delivery": "delivery", "DeliveryFailed": "failures", "Interrupted": "failures", "OutcomeUnknown": "failures",
    "WaitTimedOut": "failures",
    "LogTruncation": "engine.fetching",
    "EARLIEST": "engine.offsets", "LATEST": "engine.offsets", "ConnectionFailed": "failures", "ForkedClient": "forks", "Kafka": "kafka",
    "CommitFailed": "kafka_consumer", "KafkaAdmin": "kafka_admin",
    "KafkaConsumer": "kafka_consumer", "KafkaProducer": "kafka_producer", "Record": "records",
    "RecordMetadata": "records", "Bytes": "serializers", "Json": "serializers", "Str": "serializers", "DecodingFailed": "serializers",
    "Avro": "schemas.avro", "BadRecord": "schemas.failures", "DeadLetterFailed": "dead_letters", "Protobuf": "schemas.protobuf",
    "Registry": "schemas.registry", "RegistryUnavailable": "schemas.failures",
    "SchemaRefused": "schemas.failures", "UnknownSchema": "schemas.failures",
    "GroupMetadata": "engine.coordinator", "OutOfOrderSequence": "failures", "ProducerFenced": "failures",
    "TransactionAbortable": "failures", "TransactionAborted": "failures",
    "Output": "transforming", "transform": "transformer",
    "dead_letter": "dead_letters",
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

    return getattr(import_module(f"{__name__}.{home}"), name)
