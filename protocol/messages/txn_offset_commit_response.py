"""TxnOffsetCommitResponse, v0 to v4.

Made by `make codec` from protocol/schema/28_txn_offset_commit.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TxnOffsetCommitResponsePartition(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class TxnOffsetCommitResponseTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[TxnOffsetCommitResponsePartition] = ()  # v0+


class _TxnOffsetCommitResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    topics: Sequence[TxnOffsetCommitResponseTopic] = ()  # v0+


class TxnOffsetCommitResponse(_TxnOffsetCommitResponse):
    __slots__ = ()
    TxnOffsetCommitResponsePartition: TypeAlias = TxnOffsetCommitResponsePartition
    TxnOffsetCommitResponseTopic: TypeAlias = TxnOffsetCommitResponseTopic
