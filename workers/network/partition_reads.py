"""What all that reads a partition here has in common: who may read it from this node, and how a refusal reads.

Runs in: a network worker. Source: Kafka `Partition.getLocalLog`, `checkCurrentLeaderEpoch`; KIP-320.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.network.context import Context
from headrace.workers.network.routes import Route

SMALL_RANGE_BYTES = 16 * 1024  # of records, that are read rather than sent from their file
CONSUMER_REPLICA_ID_MAX = -1

_PartitionData = messages.FetchResponse.PartitionData


def refusal_of(route: Route, row: PartitionRow, client_epoch: int) -> ErrorCode | int:
    """Why this row may not answer for the partition, 0 where it may (KIP-320)."""
    if row.key != route.key or row.state == RowState.LOADING:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if row.state == RowState.OFFLINE:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if row.state != RowState.LEADER:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if client_epoch >= 0:
        if client_epoch < row.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if client_epoch > row.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
    return 0


def may_be_replica(context: Context, route: Route, replica_id: int) -> bool:
    """Whether who says that he is a broker may be one: another node that has a replica, or is alive in the view."""
    return replica_id != context.node_id and (replica_id in route.replicas or replica_id in context.view.brokers)


def refusal(index: int, error: ErrorCode | int) -> _PartitionData:
    """A partition's part of a Fetch response without records."""
    return _PartitionData(
        partition_index=index,
        error_code=int(error),
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        records=b"",
    )
