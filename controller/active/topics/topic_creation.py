"""Making a topic: what may be asked, and what is written.

Runs in: the controller process, the active one. The topic, its overrides and its partition states are
written in one guarded transaction. More than PARTITIONS_PER_COMMIT partitions take several; what is missing
where a process was killed between them is made by whichever controller finds the topic, as for topics that
a client wrote into ZooKeeper by hand.

Source: Kafka `ZkAdminManager.createTopics`, `AdminZkClient`, `Topic.validate`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from headrace.controller.active.topics.placement import Racks, place_replicas
from headrace.controller.active.topics.reconciliation import Step, first_states
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import PARTITIONS_PER_REQUEST_MAX, PARTITIONS_PER_TOPIC_MAX, TOPIC_NODE_BYTES_MAX
from headrace.settings import Settings


def check_total(partitions: int) -> None:
    """raises   KafkaError POLICY_VIOLATION, where the topics of one request ask for too many partitions in all"""
    if partitions > PARTITIONS_PER_REQUEST_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def place(
    racks: Racks, settings: Settings, partitions: int, factor: int, chance: random.Random
) -> tuple[tuple[int, ...], ...]:
    """Replicas for a topic without a manual assignment; -1 takes the node's defaults.

    racks    of live brokers
    raises   KafkaError INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, or INVALID_REPLICA_ASSIGNMENT: some lack a rack
    """
    if partitions == -1:
        partitions = settings["num.partitions"]
    if factor == -1:
        factor = settings["default.replication.factor"]
    if not 1 <= partitions <= PARTITIONS_PER_TOPIC_MAX:
        bound = "larger than 0" if partitions < 1 else f"at most {PARTITIONS_PER_TOPIC_MAX}"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be {bound}, got {partitions}.")
    if not 1 <= factor <= len(racks):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {factor} larger than available brokers: {len(racks)} (alive: {sorted(racks)})."
            if factor > 0
            else f"Replication factor must be larger than 0, got {factor}.",
        )
    start = chance.randrange(len(racks))
    return place_replicas(racks, partitions, factor, start, chance.randrange(len(racks)))


def check_assignment(assignment: dict[int, list[int]], live: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """A manual assignment in order of partitions; raises KafkaError INVALID_REPLICA_ASSIGNMENT."""
    if sorted(assignment) != list(range(len(assignment))):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based sequence")
    rows = [tuple(assignment[index]) for index in range(len(assignment))]
    for index, replicas in enumerate(rows):
        if not replicas or len(set(replicas)) != len(replicas) or len(replicas) != len(rows[0]):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {index}: replicas {list(replicas)}")
        unknown = [replica for replica in replicas if replica not in live]
        if unknown:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {index}: unknown brokers {unknown}")
    return tuple(rows)


def encode_assignment(assignment: TopicAssignment) -> bytes:
    """A topic's node; raises KafkaError POLICY_VIOLATION, where ZooKeeper would not take it"""
    data = znodes.encode_topic(assignment)
    if len(data) > TOPIC_NODE_BYTES_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"{len(assignment.replicas)} partitions are too many for one znode"
        )
    return data


def creation_steps(
    topic: Topic,
    data: bytes,
    old_configs: Node | None,
    live: Sequence[int],
    epoch: int,
    begin: Callable[[], Transaction],
) -> Iterator[Step]:
    """What is written for a new topic, in order.

    data          of its node
    old_configs   the node of overrides, where a deleted topic of that name has left it
    """
    transaction = begin()
    transaction.create(znodes.topic_path(topic.name), data)
    path = znodes.topic_config_path(topic.name)
    if old_configs is None:
        transaction.create(path, znodes.encode_config(topic.configs))  # empty ones too
    else:
        transaction.set(path, znodes.encode_config(topic.configs), old_configs.version)
    transaction.create(znodes.partitions_path(topic.name))
    return first_states(topic, live, epoch, transaction, begin)
