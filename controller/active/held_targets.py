"""Why a reassignment waits: brokers hold replicas of the partition, and it is not known yet who has the better log.

Runs in: the controller process of the active node. A step of a reassignment elects a leader, and has files deleted. What
brokers hold is in ZooKeeper before they register (decision 042), so it is read with the states that a step is planned by.

    a live broker disputes the state                nothing is done: it compares all logs, and says who leads (decision 071)
    a live broker of the target holds its replica   nothing is done: the others may have what it lost, and would be deleted
    any live broker's log is ahead of the state     nothing is done: it may be what was acknowledged, and would be deleted or cut; so it
                                                    is where it parted from its leader within an epoch, and waits for an operator
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from headrace.controller.active.heard_epochs import disputes
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState
from headrace.leader_eras import era_of

ByBroker = Mapping[int, HeldReplica]
Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


async def read_held_of(
    zk: ZkSession, name: str, topic_id: str, brokers: Collection[int], partitions: int
) -> dict[int, dict[int, HeldReplica]]:
    """What these brokers hold of a topic, by partition and broker, but for nodes that can't be read. raises ZkError"""
    chunks = range(held_znodes.chunk_of(max(0, partitions - 1)) + 1)
    asked = [broker for broker in sorted(brokers) for _chunk in chunks]
    paths = [held_znodes.held_path(broker, name, chunk) for broker in sorted(brokers) for chunk in chunks]
    found: dict[int, dict[int, HeldReplica]] = {}
    for broker, path, node in zip(asked, paths, await zk.get_many(paths), strict=True):
        try:
            replicas = held_znodes.decode_held(path, node.data) if node is not None else {}
        except BadZnode:
            continue
        for index, one in replicas.items():
            if one.topic_id in ("", topic_id):
                found.setdefault(index, {})[broker] = one
    return found


def waits_for(held: ByBroker, target: Collection[int], state: PartitionState) -> list[int]:
    """Brokers that hold a reassignment to this target up."""
    return sorted(
        broker
        for broker, one in held.items()
        if disputes(one, state) or (broker in target and not one.is_sole) or (one.is_ahead and not is_over(one, state))
    )


def is_over(one: HeldReplica, state: PartitionState) -> bool:
    """Whether somebody has compared the logs, and begun another history, since this one was found ahead."""
    return era_of(state.leader_epoch) > era_of(one.latest_epoch)


class Waiting:
    """Reassignments that wait, of one term: a line of the log for each, once for the same brokers."""

    def __init__(self) -> None:
        self._said: dict[Place, list[int]] = {}

    def say(self, name: str, index: int, holders: list[int]) -> None:
        """holders   none: it does not wait"""
        if not holders:
            self._said.pop((name, index), None)
        elif self._said.get((name, index)) != holders:
            self._said[name, index] = holders
            _log.warning(
                "reassignment waits: brokers hold their replicas, and it is not known whose log counts partition=%s-%d brokers=%s; see"
                " headrace cluster describe --held, and headrace cluster accept-loss %s:%d",
                name, index, holders, name, index,
            )  # fmt: skip
