"""Why a reassignment waits: brokers hold replicas of the partition, and it is not known yet which broker has the better log.

Runs in: the controller process of the active node. A step of a reassignment elects a leader, and has files deleted. What
brokers hold is in ZooKeeper before they register (decision 013), so it is read with the states that a step is planned by.

    a live broker disputes the state                nothing is done: it compares all logs, and says who leads (decision 015)
    a live broker of the target holds its replica   nothing is done: the others may have what it lost, and would be deleted
    any broker's log is ahead of the state          nothing is done: it may be what was acknowledged, and would be deleted or cut; so it
                                                    is where it parted from its leader within an epoch, and waits for an operator. So
                                                    it is while its broker is away, until an operator accepts the loss
    what a broker holds can't be read               nothing is done
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

from headrace.controller.active.heard_epochs import disputes
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.cluster.unwanted_replicas import unwanted_of
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_reader import read_znodes
from headrace.controller.zookeeper.held_znodes import UNREADABLE, HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment

ByBroker = Mapping[int, HeldReplica]
Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


async def read_held_of(
    zk: ZkSession, name: str, assignment: TopicAssignment, known: KnownCluster
) -> tuple[dict[int, dict[int, HeldReplica]], tuple[int, ...]]:
    """What brokers hold of a topic, by partition and broker: the live ones, and those of the assignment that are away.

    Of a broker that is away only what is ahead counts: what it may have lost it does not serve.

    returns   that, and the live ones that are registered as they were before it was read
    raises    ZkError
    """
    live = dict(known.brokers)
    count = len(assignment.replicas)
    named = {broker for replicas in assignment.replicas for broker in replicas}
    brokers = sorted({*live, *named, *(broker for unwanted in unwanted_of(assignment).values() for broker in unwanted)})
    holding = set(await zk.children(held_znodes.HELD))
    found: dict[int, dict[int, HeldReplica]] = {}
    for broker in brokers:
        if str(broker) not in holding:
            continue
        replicas = await _read_replicas(zk, broker, name, count)
        for index, one in replicas.items():
            if not is_another(one.topic_id, assignment.topic_id) and (broker in live or one.is_ahead):
                found.setdefault(index, {})[broker] = one
    away = [(index, broker) for index, holders in found.items() for broker in holders if broker not in live]
    for index, broker in await _accepted(zk, name, found, away):
        del found[index][broker]
    return found, tuple(broker for broker, registration in live.items() if known.brokers.get(broker) == registration)


async def _read_replicas(zk: ZkSession, broker: int, name: str, count: int) -> dict[int, HeldReplica]:
    """What a broker holds of a topic of so many partitions, by partition. raises ZkError"""
    held, failures = await read_znodes(zk, broker, name)
    replicas = {index: one for (_name, index), one in held.items()}
    for znode, failure in failures.items():
        if failure is not None:
            _log.error("held replicas of a broker are unknown broker=%d topic=%s reason=%s", broker, name, failure)
            first = held_znodes.order_of(znode)[1] * held_znodes.HELD_PER_ZNODE
            replicas.update(dict.fromkeys(range(first, min(count, first + held_znodes.HELD_PER_ZNODE)), UNREADABLE))
    return replicas


async def _accepted(
    zk: ZkSession, name: str, found: Mapping[int, ByBroker], away: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Those of these (partition, broker) whose loss an operator accepts: nothing else reads that while the broker is
    away. raises ZkError"""
    paths = [held_znodes.accept_loss_path((name, index)) for index, _broker in away]
    return [
        (index, broker)
        for (index, broker), node in zip(away, await zk.get_many(paths), strict=True)
        if node is not None and held_znodes.is_meant(node.data, broker, found[index][broker].end_offset)
    ]


def waits_for(held: ByBroker, target: Collection[int], state: PartitionState) -> list[int]:
    """Brokers that hold a reassignment to this target up."""
    return sorted(
        broker
        for broker, one in held.items()
        if disputes(one, state)
        or (broker in target and not one.is_sole)
        or (one.is_ahead and not one.is_over(state.leader_epoch))
    )


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
                "reassignment is waiting: brokers hold their replicas, and the authoritative log is not known yet"
                " partition=%s-%d brokers=%s; see"
                " headrace cluster describe --held, and headrace cluster accept-loss %s:%d",
                name, index, holders, name, index,
            )  # fmt: skip
