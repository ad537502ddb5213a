"""WriteTxnMarkersResponse, v0 to v1.

Made by `make codec` from protocol/schema/27_write_txn_markers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class WritableTxnMarkerPartitionResult(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class WritableTxnMarkerTopicResult(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[WritableTxnMarkerPartitionResult] = ()  # v0+


class WritableTxnMarkerResult(NamedTuple):
    producer_id: int = 0  # v0+
    topics: Sequence[WritableTxnMarkerTopicResult] = ()  # v0+


class _WriteTxnMarkersResponse(NamedTuple):
    markers: Sequence[WritableTxnMarkerResult] = ()  # v0+


class WriteTxnMarkersResponse(_WriteTxnMarkersResponse):
    __slots__ = ()
    WritableTxnMarkerPartitionResult: TypeAlias = WritableTxnMarkerPartitionResult
    WritableTxnMarkerTopicResult: TypeAlias = WritableTxnMarkerTopicResult
    WritableTxnMarkerResult: TypeAlias = WritableTxnMarkerResult
