"""DescribeProducersResponse, v0.

Made by `make codec` from protocol/schema/61_describe_producers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class ProducerState(NamedTuple):
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    last_sequence: int = -1  # v0+
    last_timestamp: int = -1  # v0+
    coordinator_epoch: int = 0  # v0+
    current_txn_start_offset: int = -1  # v0+


class PartitionResponse(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = None  # v0+, null v0+
    active_producers: Sequence[ProducerState] = ()  # v0+


class TopicResponse(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[PartitionResponse] = ()  # v0+


class _DescribeProducersResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    topics: Sequence[TopicResponse] = ()  # v0+


class DescribeProducersResponse(_DescribeProducersResponse):
    __slots__ = ()
    ProducerState: TypeAlias = ProducerState
    PartitionResponse: TypeAlias = PartitionResponse
    TopicResponse: TypeAlias = TopicResponse
