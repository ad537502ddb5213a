"""Which brokers hold which replicas of a new topic, and who leads first: pure functions.

Replicas go round the brokers from a random start; the second and later ones are shifted by one more at each
round, so that no pair of brokers shares everything.

Runs in: the controller process; nothing here asks ZooKeeper.

Source: Kafka `AdminUtils.assignReplicasToBrokersRackUnaware`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER


def assign_replicas(
    brokers: Sequence[int], partitions: int, factor: int, start: int, shift: int
) -> tuple[tuple[int, ...], ...]:
    """Replicas of each partition.

    brokers        ids of live brokers, in order; at least `factor` of them
    start, shift   0 <= value < len(brokers), chosen at random by the caller

    source   Kafka `AdminUtils.assignReplicasToBrokersRackUnaware`
    """
    count = len(brokers)
    assert 1 <= factor <= count
    rows = []
    for partition in range(partitions):
        if partition and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        replicas = [brokers[first]]
        for extra in range(factor - 1):
            replicas.append(brokers[(first + 1 + (shift + extra) % (count - 1)) % count])
        rows.append(tuple(replicas))
    return tuple(rows)


def initial_state(replicas: Sequence[int], live: Sequence[int], controller_epoch: int) -> PartitionState:
    """A new partition: the first live replica leads, all live ones are in sync."""
    isr = tuple(replica for replica in replicas if replica in live)
    return PartitionState(isr[0] if isr else NO_LEADER, 0, isr or tuple(replicas), controller_epoch)
