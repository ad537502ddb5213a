"""TxnOffsetCommitRequest, v0 to v4.

Made by `make codec` from protocol/schema/28_txn_offset_commit.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse


class TxnOffsetCommitRequestPartition(NamedTuple):
    partition_index: int = 0  # v0+
    committed_offset: int = 0  # v0+
    committed_leader_epoch: int = -1  # v2+
    committed_metadata: str | None = ""  # v0+, null v0+


class TxnOffsetCommitRequestTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[TxnOffsetCommitRequestPartition] = ()  # v0+


class _TxnOffsetCommitRequest(NamedTuple):
    transactional_id: str = ""  # v0+
    group_id: str = ""  # v0+
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    generation_id: int = -1  # v3+
    member_id: str = ""  # v3+
    group_instance_id: str | None = None  # v3+, null v3+
    topics: Sequence[TxnOffsetCommitRequestTopic] = ()  # v0+


class TxnOffsetCommitRequest(_TxnOffsetCommitRequest):
    __slots__ = ()
    TxnOffsetCommitRequestPartition: TypeAlias = TxnOffsetCommitRequestPartition
    TxnOffsetCommitRequestTopic: TypeAlias = TxnOffsetCommitRequestTopic
    if TYPE_CHECKING:

        def _answer_(self) -> TxnOffsetCommitResponse: ...
