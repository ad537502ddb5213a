"""What all that reads a partition here has in common: who may read it from this node.

Runs in: a network worker. Source: Kafka `Partition.getLocalLog`, `checkCurrentLeaderEpoch`; KIP-320.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.network.context import Context
from headrace.workers.network.routes import Route

SMALL_RANGE_BYTES: Final = 64 * 1024  # of records, that are read rather than sent from their file
CONSUMER_REPLICA_ID_MAX: Final = -1


def refusal_of(route: Route, row: PartitionRow, client_epoch: int, *, may_follow: bool = False) -> ErrorCode | int:
    """Why this row may not answer for the partition, 0 where it may (KIP-320).

    may_follow   a follower's may, too (KIP-392)
    """
    if row.key != route.key or row.state == RowState.LOADING:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if row.state == RowState.OFFLINE:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if row.state != RowState.LEADER and not (may_follow and row.state == RowState.FOLLOWER):
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


def closest_replica(context: Context, route: Route, rack: str) -> int:
    """The in-sync replica that a client of a rack should read from instead of this leader; -1: none.

    All of the ISR have what clients may read. Of several in the rack, partitions take turns.

    source   Kafka `RackAwareReplicaSelector`; KIP-392
    """
    brokers = context.view.brokers
    own = brokers.get(context.node_id)
    if own is not None and own.rack == rack:
        return -1
    topic = context.view.topics.get(route.topic)
    isr = topic.partitions[route.index].isr if topic is not None and route.index < len(topic.partitions) else ()
    near = [one for one in isr if one != context.node_id and one in brokers and brokers[one].rack == rack]
    return near[route.index % len(near)] if near else -1
