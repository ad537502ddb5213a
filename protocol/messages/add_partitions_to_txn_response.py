"""AddPartitionsToTxnResponse, v0 to v5.

Made by `make codec` from protocol/schema/24_add_partitions_to_txn.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AddPartitionsToTxnPartitionResult(NamedTuple):
    partition_index: int = 0  # v0+
    partition_error_code: int = 0  # v0+


class AddPartitionsToTxnTopicResult(NamedTuple):
    name: str = ""  # v0+
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = ()  # v0+


class AddPartitionsToTxnResult(NamedTuple):
    transactional_id: str = ""  # v4+
    topic_results: Sequence[AddPartitionsToTxnTopicResult] = ()  # v4+


class _AddPartitionsToTxnResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v4+
    results_by_transaction: Sequence[AddPartitionsToTxnResult] = ()  # v4+
    results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = ()  # v0-3


class AddPartitionsToTxnResponse(_AddPartitionsToTxnResponse):
    __slots__ = ()
    AddPartitionsToTxnPartitionResult: TypeAlias = AddPartitionsToTxnPartitionResult
    AddPartitionsToTxnTopicResult: TypeAlias = AddPartitionsToTxnTopicResult
    AddPartitionsToTxnResult: TypeAlias = AddPartitionsToTxnResult
