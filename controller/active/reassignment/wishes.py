"""Entries of /admin/reassign_partitions, the node of wishes: which are at their target, and how they go.

Source: Kafka `KafkaZkClient.setOrCreatePartitionReassignment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.controller.cluster.partition_assignment import PartitionAssignment
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.admin_znodes import Place, decode_reassignment, encode_reassignment
from headrace.controller.zookeeper.errors import Node
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.errors import KafkaError

Target = tuple[int, ...] | None  # None: cancelled
Errors = dict[int, KafkaError | None]  # by partition


def is_at(settled: Mapping[int, PartitionAssignment], index: int, target: tuple[int, ...]) -> bool:
    row = settled.get(index)
    return row is not None and row.replicas == target


def take_out(
    transaction: Transaction, trigger: Node | None, is_out: Callable[[Place, tuple[int, ...]], bool]
) -> tuple[Node | None] | None:
    """Take entries out of the node of wishes, and the node away with the last one; None: there was none of them.

    returns   the node as it is then
    """
    if trigger is None:
        return None
    try:
        wanted = decode_reassignment(trigger.data)
    except BadZnode:
        return None
    left = {place: target for place, target in wanted.items() if not is_out(place, target)}
    if len(left) == len(wanted):
        return None
    if not left:
        transaction.delete(znodes.REASSIGN_PARTITIONS, trigger.version)
        return (None,)
    data = encode_reassignment(left)
    transaction.set(znodes.REASSIGN_PARTITIONS, data, trigger.version)
    return (trigger._replace(data=data, version=trigger.version + 1),)
