"""More partitions for a topic: what may be asked, and what is written.

Runs in: the controller process, the active one. The assignment and the first states are written in one guarded transaction;
more than PARTITIONS_PER_COMMIT take several, and what a killed process leaves is completed as for a new topic.

Source: Kafka `ZkAdminManager.createPartitions`, `AdminZkClient.addPartitions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.controller import znodes
from headrace.controller.assignment import assign_replicas
from headrace.controller.cluster import Cluster, Topic
from headrace.controller.election import Election
from headrace.controller.topic_creation import check_room, encode_assignment, write_states
from headrace.controller.zk import ZkSession
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import PARTITIONS_PER_TOPIC_MAX

Replicas = tuple[tuple[int, ...], ...]


def placed(topic: Topic, count: int, assignment: Sequence[Sequence[int]] | None, live: Sequence[int]) -> Replicas:
    """Replicas of all partitions of the grown topic.

    assignment   brokers of each new partition, None: they go on round the brokers from where partition 0 began
    raises       KafkaError INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT or INVALID_REPLICATION_FACTOR
    """
    existing = len(topic.replicas)
    if not existing < count <= PARTITIONS_PER_TOPIC_MAX:
        reason = f"at most {PARTITIONS_PER_TOPIC_MAX} are allowed" if count > existing else "a topic only grows"
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"topic {topic.name} has {existing} partitions, {count} were asked: {reason}"
        )
    if assignment is not None:
        return (*topic.replicas, *_checked(topic, count - existing, assignment, live))
    factor = len(topic.replicas[0])
    if factor > len(live):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"topic {topic.name} has {factor} replicas a partition, only brokers {list(live)} are alive",
        )
    first = topic.replicas[0][0]
    start = live.index(first) if first in live else 0
    return (*topic.replicas, *assign_replicas(live, count, factor, start, start)[existing:])


def grow(zk: ZkSession, election: Election, cluster: Cluster, topic: Topic, replicas: Replicas) -> Topic:
    """Write the new partitions and take them into the cluster's state.

    raises   KafkaError REASSIGNMENT_IN_PROGRESS, POLICY_VIOLATION (no room here), UNKNOWN_TOPIC_OR_PARTITION;
             OfficeLost; ZkConflict, where somebody else changed the topic; ZkLost, where it may have happened or not
    """
    new = replicas[len(topic.replicas) :]
    data = encode_assignment(topic.topic_id, replicas)
    check_room(cluster, topic.name, new)
    path = znodes.topic_path(topic.name)
    node = zk.get(path)
    if node is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {topic.name}")
    if znodes.is_reassigning(topic.name, node.data):
        raise KafkaError(ErrorCode.REASSIGNMENT_IN_PROGRESS, f"replicas of {topic.name} are being moved: wait for that")
    if znodes.decode_topic(topic.name, node.data).replicas != topic.replicas:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} was changed just now: ask again")
    grown = Topic(topic.name, topic.topic_id, replicas, topic.configs, [*topic.states, *[None] * len(new)])
    transaction = election.guarded()
    transaction.set(path, data, node.version)
    write_states(election, grown, cluster.live(), transaction, set())
    cluster.topics[topic.name] = grown
    return grown


def _checked(topic: Topic, added: int, assignment: Sequence[Sequence[int]], live: Sequence[int]) -> Replicas:
    if len(assignment) != added:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{added} partitions are new, {len(assignment)} are assigned"
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
