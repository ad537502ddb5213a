"""ProduceResponse, v0 to v11.

Made by `make codec` from protocol/schema/00_produce.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class BatchIndexAndErrorMessage(NamedTuple):
    batch_index: int = 0  # v8+
    batch_index_error_message: str | None = None  # v8+, null v8+


class LeaderIdAndEpoch(NamedTuple):
    leader_id: int = -1  # v10+
    leader_epoch: int = -1  # v10+


class PartitionProduceResponse(NamedTuple):
    index: int = 0  # type: ignore[assignment]  # v0+
    error_code: int = 0  # v0+
    base_offset: int = 0  # v0+
    log_append_time_ms: int = -1  # v2+
    log_start_offset: int = -1  # v5+
    record_errors: Sequence[BatchIndexAndErrorMessage] = ()  # v8+
    error_message: str | None = None  # v8+, null v8+
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()  # v10+, tag 0 v10+


class TopicProduceResponse(NamedTuple):
    name: str = ""  # v0+
    partition_responses: Sequence[PartitionProduceResponse] = ()  # v0+


class NodeEndpoint(NamedTuple):
    node_id: int = 0  # v10+
    host: str = ""  # v10+
    port: int = 0  # v10+
    rack: str | None = None  # v10+, null v10+


class _ProduceResponse(NamedTuple):
    responses: Sequence[TopicProduceResponse] = ()  # v0+
    throttle_time_ms: int = 0  # v1+
    node_endpoints: Sequence[NodeEndpoint] = ()  # v10+, tag 0 v10+


class ProduceResponse(_ProduceResponse):
    __slots__ = ()
    BatchIndexAndErrorMessage: TypeAlias = BatchIndexAndErrorMessage
    LeaderIdAndEpoch: TypeAlias = LeaderIdAndEpoch
    PartitionProduceResponse: TypeAlias = PartitionProduceResponse
    TopicProduceResponse: TypeAlias = TopicProduceResponse
    NodeEndpoint: TypeAlias = NodeEndpoint
