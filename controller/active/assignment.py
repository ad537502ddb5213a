"""Who leads a partition: pure functions. Which brokers hold its replicas is `placement.py`'s.

Runs in: the controller process; nothing here asks ZooKeeper.

Source: Kafka `PartitionLeaderElectionAlgorithms`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER


def initial_state(replicas: Sequence[int], live: Sequence[int], controller_epoch: int) -> PartitionState:
    """A new partition: the first live replica leads, all live ones are in sync."""
    isr = tuple(replica for replica in replicas if replica in live)
    return PartitionState(isr[0] if isr else NO_LEADER, 0, isr or tuple(replicas), controller_epoch)


def elect(
    state: PartitionState, replicas: Sequence[int], live: Sequence[int], controller_epoch: int
) -> PartitionState | None:
    """The state after the leader was lost or came back, None where nothing changes.

    Only an in-sync replica may lead; the last ISR is kept while none of them is alive.
    """
    if state.leader in live:
        return None
    isr = tuple(replica for replica in state.isr if replica in live)
    candidates = [replica for replica in replicas if replica in isr]
    if candidates:
        return state._replace(
            leader=candidates[0], leader_epoch=state.leader_epoch + 1, isr=isr, controller_epoch=controller_epoch
        )
    if state.leader == NO_LEADER:
        return None
    return state._replace(leader=NO_LEADER, leader_epoch=state.leader_epoch + 1, controller_epoch=controller_epoch)
