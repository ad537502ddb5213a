"""More partitions for a topic: what may be asked, and what is written.

Runs in: the controller process, the active one. The assignment and the first states are written in one guarded transaction;
more than PARTITIONS_PER_COMMIT take several, and what a killed process leaves is completed as for a new topic.

Source: Kafka `ZkAdminManager.createPartitions`, `AdminZkClient.addPartitions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headrace.controller.active.topics.placement import Racks, place_replicas
from headrace.controller.active.topics.reconciliation import Step, first_states
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import PARTITIONS_PER_TOPIC_MAX

Replicas = tuple[tuple[int, ...], ...]


def placed(topic: Topic, count: int, assignment: Sequence[Sequence[int]] | None, racks: Racks) -> Replicas:
    """Replicas of all partitions of the grown topic.

    assignment   brokers of each new partition, None: they go on round the brokers from where partition 0 began
    racks        of live brokers
    raises       KafkaError INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT or INVALID_REPLICATION_FACTOR
    """
    existing = len(topic.replicas)
    if not existing < count <= PARTITIONS_PER_TOPIC_MAX:
        reason = (
            f"at most {PARTITIONS_PER_TOPIC_MAX} are allowed"
            if count > existing
            else "the number of partitions can only be increased"
        )
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"topic {topic.name} has {existing} partitions, {count} requested: {reason}"
        )
    if not existing or not topic.replicas[0]:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"topic {topic.name} has no replicas of partition 0: it can't grow"
        )
    if assignment is not None:
        return (*topic.replicas, *_checked(topic, count - existing, assignment, sorted(racks)))
    factor = len(topic.replicas[0])
    brokers = sorted(racks)
    if factor > len(brokers):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"topic {topic.name} has {factor} replicas per partition, but only brokers {brokers} are alive",
        )
    first = topic.replicas[0][0]
    start = next((place for place, broker in enumerate(brokers) if broker >= first), 0)
    return (*topic.replicas, *place_replicas(racks, count - existing, factor, start, start, existing))


def check_growable(topic: Topic, node: Node | None) -> tuple[int, TopicAssignment]:
    """Compare what ZooKeeper has of a topic with what is known of it; returns the version of its node, and what it says.

    raises   KafkaError REASSIGNMENT_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST
    """
    if node is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic.name} does not exist")
    if znodes.is_reassigning(topic.name, node.data):
        raise KafkaError(
            ErrorCode.REASSIGNMENT_IN_PROGRESS, f"replicas of {topic.name} are being reassigned: wait for completion"
        )
    found = znodes.decode_topic(topic.name, node.data)
    if found.replicas != topic.replicas or found.topic_id != topic.topic_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} was just changed: retry")
    return node.version, found


def growth_steps(
    grown: Topic,
    existing: int,
    data: bytes,
    version: int,
    live: Sequence[int],
    epoch: int,
    begin: Callable[[], Transaction],
) -> Iterator[Step]:
    """What is written for a topic with more partitions, in order.

    grown     as it shall be, without states of the new partitions
    existing  how many partitions it has; states that are missing of those are not this request's business
    data      of its node, which has this version
    """
    transaction = begin()
    transaction.set(znodes.topic_path(grown.name), data, version)
    return first_states(grown, live, epoch, transaction, begin, begin_index=existing)


def _checked(topic: Topic, added: int, assignment: Sequence[Sequence[int]], live: Sequence[int]) -> Replicas:
    if len(assignment) != added:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{added} new partitions, but {len(assignment)} assignments"
        )
    factor = len(topic.replicas[0])
    rows = [tuple(row) for row in assignment]
    for index, row in enumerate(rows, len(topic.replicas)):
        if len(set(row)) != len(row) or len(row) != factor:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {index}: replicas {list(row)}, {factor} different brokers are needed",
            )
        unknown = [replica for replica in row if replica not in live]
        if unknown:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {index}: unknown brokers {unknown}")
    return tuple(rows)
