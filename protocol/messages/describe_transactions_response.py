"""DescribeTransactionsResponse, v0.

Made by `make codec` from protocol/schema/65_describe_transactions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TopicData(NamedTuple):
    topic: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class TransactionState(NamedTuple):
    error_code: int = 0  # v0+
    transactional_id: str = ""  # v0+
    transaction_state: str = ""  # v0+
    transaction_timeout_ms: int = 0  # v0+
    transaction_start_time_ms: int = 0  # v0+
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    topics: Sequence[TopicData] = ()  # v0+


class _DescribeTransactionsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    transaction_states: Sequence[TransactionState] = ()  # v0+


class DescribeTransactionsResponse(_DescribeTransactionsResponse):
    __slots__ = ()
    TopicData: TypeAlias = TopicData
    TransactionState: TypeAlias = TransactionState
