"""What a topic needs of the active controller: first states. Pure: known state in, transactions out.

Runs in: the controller process of the active node.

Source: Kafka `ZkPartitionStateMachine`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from headrace.controller.active.leaders.elections import elect_offline
from headrace.controller.active.topics.assignment import initial_state
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER

PARTITIONS_PER_COMMIT = 200

Step = tuple[Transaction, dict[int, PartitionState]]  # a transaction, and the states that it writes


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
    state = past._replace(version=0)
    elected = elect_offline(state, topic.replicas[index], live, controller_epoch)
    if past.leader not in live and elected is not None:
        return elected
    leader = past.leader if past.leader in live else NO_LEADER
    return state._replace(leader=leader, leader_epoch=past.leader_epoch + 1, controller_epoch=controller_epoch)
