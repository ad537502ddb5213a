"""FetchResponse, v0 to v17.

Made by `make codec` from protocol/schema/01_fetch.txt: do not edit.
"""

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class EpochEndOffset(NamedTuple):
    epoch: int = -1  # v12+
    end_offset: int = -1  # v12+


class LeaderIdAndEpoch(NamedTuple):
    leader_id: int = -1  # v12+
    leader_epoch: int = -1  # v12+


class SnapshotId(NamedTuple):
    end_offset: int = -1  # v0+
    epoch: int = -1  # v0+


class AbortedTransaction(NamedTuple):
    producer_id: int = 0  # v4+
    first_offset: int = 0  # v4+


class _PartitionData(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+
    high_watermark: int = 0  # v0+
    last_stable_offset: int = -1  # v4+
    log_start_offset: int = -1  # v5+
    diverging_epoch: EpochEndOffset = EpochEndOffset()  # v12+, tag 0 v12+
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()  # v12+, tag 1 v12+
    snapshot_id: SnapshotId = SnapshotId()  # v12+, tag 2 v12+
    aborted_transactions: Sequence[AbortedTransaction] | None = ()  # v4+, null v4+
    preferred_read_replica: int = -1  # v11+
    records: memoryview | None = None  # v0+, null v0+


class PartitionData(_PartitionData):
    __slots__ = ()
    if TYPE_CHECKING:

        def __new__(
            cls,
            partition_index: int = ...,
            error_code: int = ...,
            high_watermark: int = ...,
            last_stable_offset: int = ...,
            log_start_offset: int = ...,
            diverging_epoch: EpochEndOffset = ...,
            current_leader: LeaderIdAndEpoch = ...,
            snapshot_id: SnapshotId = ...,
            aborted_transactions: Sequence[AbortedTransaction] | None = ...,
            preferred_read_replica: int = ...,
            records: Sized | None = ...,
        ) -> Self: ...
        def _replace(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            high_watermark: int = ...,
            last_stable_offset: int = ...,
            log_start_offset: int = ...,
            diverging_epoch: EpochEndOffset = ...,
            current_leader: LeaderIdAndEpoch = ...,
            snapshot_id: SnapshotId = ...,
            aborted_transactions: Sequence[AbortedTransaction] | None = ...,
            preferred_read_replica: int = ...,
            records: Sized | None = ...,
        ) -> Self: ...


class FetchableTopicResponse(NamedTuple):
    topic: str = ""  # v0-12
    topic_id: bytes = ZERO_UUID  # v13+
    partitions: Sequence[PartitionData] = ()  # v0+


class NodeEndpoint(NamedTuple):
    node_id: int = 0  # v16+
    host: str = ""  # v16+
    port: int = 0  # v16+
    rack: str | None = None  # v16+, null v16+


class _FetchResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # v7+
    session_id: int = 0  # v7+
    responses: Sequence[FetchableTopicResponse] = ()  # v0+
    node_endpoints: Sequence[NodeEndpoint] = ()  # v16+, tag 0 v16+


class FetchResponse(_FetchResponse):
    __slots__ = ()
    EpochEndOffset: TypeAlias = EpochEndOffset
    LeaderIdAndEpoch: TypeAlias = LeaderIdAndEpoch
    SnapshotId: TypeAlias = SnapshotId
    AbortedTransaction: TypeAlias = AbortedTransaction
    PartitionData: TypeAlias = PartitionData
    FetchableTopicResponse: TypeAlias = FetchableTopicResponse
    NodeEndpoint: TypeAlias = NodeEndpoint
