"""How a node's followers fetch, from its settings."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.protocol.broker_versions import InterBroker, inter_broker
from headrace.settings import Settings


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """As the settings `replica.fetch.*` and `replica.socket.*` have it.

    versions               by the node's `inter.broker.protocol.version`
    client_id              of the connections
    wait_max_ms            how long a leader may wait for min_bytes
    partition_bytes_max    a larger first batch comes nevertheless
    response_bytes_max     the same, of a whole answer
    backoff_ms             how long a partition is left alone after an error, at most
    timeout_ms             of a request
    """

    node_id: int
    versions: InterBroker
    client_id: str = "headrace"
    wait_max_ms: int = 500
    min_bytes: int = 1
    partition_bytes_max: int = 1 << 20
    response_bytes_max: int = 10 << 20
    backoff_ms: int = 1_000
    timeout_ms: int = 30_000
    receive_buffer_bytes: int = 65_536

    @classmethod
    def from_settings(cls, settings: Settings, worker: int) -> FetchOptions:
        """`worker` is the index of the partition worker that fetches."""
        node_id: int = settings["broker.id"]
        return cls(
            node_id=node_id,
            versions=inter_broker(settings["inter.broker.protocol.version"]),
            client_id=f"broker-{node_id}-fetcher-{worker}",
            wait_max_ms=settings["replica.fetch.wait.max.ms"],
            min_bytes=settings["replica.fetch.min.bytes"],
            partition_bytes_max=settings["replica.fetch.max.bytes"],
            response_bytes_max=settings["replica.fetch.response.max.bytes"],
            backoff_ms=settings["replica.fetch.backoff.ms"],
            timeout_ms=settings["replica.socket.timeout.ms"],
            receive_buffer_bytes=settings["replica.socket.receive.buffer.bytes"],
        )
