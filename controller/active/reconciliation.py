"""What a topic needs of the active controller: first states, and other leaders. Pure: known state in, transactions out.

Runs in: the controller process of the active node.

Source: Kafka `ZkPartitionStateMachine`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from headrace.controller.active.assignment import elect, initial_state
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import PartitionState

PARTITIONS_PER_COMMIT = 200

Step = tuple[Transaction, dict[int, PartitionState]]  # a transaction, and the states that it writes


def leader_changes(topic: Topic, live: Sequence[int], controller_epoch: int) -> dict[int, PartitionState]:
    """The states of partitions whose leader is lost, or came back, as they shall be; at the versions that they have."""
    changes = {}
    for index, state in enumerate(topic.states):
        changed = elect(state, topic.replicas[index], live, controller_epoch) if state is not None else None
        if changed is not None:
            changes[index] = changed
    return changes


def first_states(
    topic: Topic,
    live: Sequence[int],
    controller_epoch: int,
    first: Transaction,
    begin: Callable[[], Transaction],
    there: Collection[str] = (),
    begin_index: int = 0,
) -> Iterator[Step]:
    """Steps that write a state for each partition that has none.

    first   the first transaction, which has something to do already
    begin   makes the others
    there   partition nodes that exist already
    begin_index   of the first partition that is looked at
    """
    missing = [index for index in topic.missing if index >= begin_index]
    transaction = first
    for start in range(0, len(missing), PARTITIONS_PER_COMMIT):
        made = {}
        for index in missing[start : start + PARTITIONS_PER_COMMIT]:
            state = made[index] = first_state(topic, index, live, controller_epoch)
            path = znodes.partition_path(topic.name, index)
            if path not in there:
                transaction.create(path)
            transaction.create(znodes.state_path(topic.name, index), znodes.encode_state(state))
        yield transaction, made
        transaction = begin()


def first_state(topic: Topic, index: int, live: Sequence[int], controller_epoch: int) -> PartitionState:
    """Of a partition that has none; where it had one, its in-sync replicas and the count of its epochs go on."""
    past = topic.past.get(index)
    if past is None:
        return initial_state(topic.replicas[index], live, controller_epoch)
    again = past._replace(leader_epoch=past.leader_epoch + 1, controller_epoch=controller_epoch, version=0)
    return elect(past._replace(version=0), topic.replicas[index], live, controller_epoch) or again
