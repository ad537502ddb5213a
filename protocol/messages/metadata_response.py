"""MetadataResponse, v0 to v12.

Made by `make codec` from protocol/schema/03_metadata.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class MetadataResponseBroker(NamedTuple):
    node_id: int = 0  # v0+
    host: str = ""  # v0+
    port: int = 0  # v0+
    rack: str | None = None  # v1+, null v1+


class MetadataResponsePartition(NamedTuple):
    error_code: int = 0  # v0+
    partition_index: int = 0  # v0+
    leader_id: int = 0  # v0+
    leader_epoch: int = -1  # v7+
    replica_nodes: Sequence[int] = ()  # v0+
    isr_nodes: Sequence[int] = ()  # v0+
    offline_replicas: Sequence[int] = ()  # v5+


class MetadataResponseTopic(NamedTuple):
    error_code: int = 0  # v0+
    name: str | None = ""  # v0+, null v12+
    topic_id: bytes = ZERO_UUID  # v10+
    is_internal: bool = False  # v1+
    partitions: Sequence[MetadataResponsePartition] = ()  # v0+
    topic_authorized_operations: int = -2147483648  # v8+


class _MetadataResponse(NamedTuple):
    throttle_time_ms: int = 0  # v3+
    brokers: Sequence[MetadataResponseBroker] = ()  # v0+
    cluster_id: str | None = None  # v2+, null v2+
    controller_id: int = -1  # v1+
    topics: Sequence[MetadataResponseTopic] = ()  # v0+
    cluster_authorized_operations: int = -2147483648  # v8-10


class MetadataResponse(_MetadataResponse):
    __slots__ = ()
    MetadataResponseBroker: TypeAlias = MetadataResponseBroker
    MetadataResponsePartition: TypeAlias = MetadataResponsePartition
    MetadataResponseTopic: TypeAlias = MetadataResponseTopic
