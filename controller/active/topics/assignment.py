"""Who leads a new partition: pure. Which brokers hold its replicas is `placement.py`'s.

Runs in: the controller process; nothing here asks ZooKeeper.

Source: Kafka `ZkPartitionStateMachine.initializeLeaderAndIsrForPartitions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER


def initial_state(replicas: Sequence[int], live: Sequence[int], controller_epoch: int) -> PartitionState:
    """A new partition: the first live replica leads, all live ones are in sync."""
    isr = tuple(replica for replica in replicas if replica in live)
    return PartitionState(isr[0] if isr else NO_LEADER, 0, isr or tuple(replicas), controller_epoch)
