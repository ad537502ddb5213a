"""Connections of the classic clients: any broker from Kafka 0.8.2 on.

Brokers before 0.10 don't know ApiVersions and hang up when they are asked; what they serve is then taken to be what 0.8.2 serves.

Source: Kafka 0.8.2 `RequestKeys`, `KafkaApis`.
"""

from __future__ import annotations

from types import MappingProxyType

from headrace.client.connection import Connection
from headrace.protocol.apis import ApiKey

KAFKA_0_8_2 = MappingProxyType(
    {
        int(ApiKey.PRODUCE): (0, 0),
        int(ApiKey.FETCH): (0, 0),
        int(ApiKey.LIST_OFFSETS): (0, 0),
        int(ApiKey.METADATA): (0, 0),
        int(ApiKey.OFFSET_COMMIT): (0, 1),
        int(ApiKey.OFFSET_FETCH): (0, 1),
        int(ApiKey.FIND_COORDINATOR): (0, 0),
    }
)


def connect(host: str, port: int, timeout_ms: int, client_id: str) -> Connection:
    """raises   ConnectionFailed"""
    return Connection(host, port, timeout_ms / 1000, client_id or "headrace-classic", assumed=KAFKA_0_8_2)
