"""Making a topic: what may be asked, and what is written.

Runs in: the controller process, the active one. The topic, its overrides and its partition states are
written in one guarded transaction. More than PARTITIONS_PER_COMMIT partitions take several; what is missing
where a process was killed between them is made by whichever controller finds the topic, as for topics that
somebody wrote into ZooKeeper by hand.

Source: Kafka `ZkAdminManager.createTopics`, `AdminZkClient`, `Topic.validate`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from headrace.controller import znodes
from headrace.controller.assignment import assign_replicas, initial_state
from headrace.controller.cluster import Cluster, Topic
from headrace.controller.election import Election, OfficeLost
from headrace.controller.transaction import Transaction
from headrace.controller.zk import ZkConflict, ZkSession
from headrace.controller.znodes import TopicAssignment
from headrace.errors import ConfigError, ErrorCode, KafkaError
from headrace.limits import TOPIC_NAME_LENGTH_MAX
from headrace.settings import Settings, check_topic_value

PARTITIONS_PER_COMMIT = 200
PARTITIONS_PER_TOPIC_MAX = 100_000

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+\Z")


def check_name(name: str, existing: Iterable[str]) -> None:
    """raises   KafkaError INVALID_TOPIC_EXCEPTION or TOPIC_ALREADY_EXISTS"""
    if not name or name in (".", "..") or len(name) > TOPIC_NAME_LENGTH_MAX or not _LEGAL.match(name):
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic name {name[:300]!r}: 1 to {TOPIC_NAME_LENGTH_MAX} of a-z A-Z 0-9 . _ -, and neither '.' nor '..'",
        )
    existing = set(existing)
    if name in existing:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if "." in name or "_" in name:
        metric = name.replace(".", "_")
        for other in sorted(existing):
            if other.replace(".", "_") == metric:
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"topic name {name!r} collides with {other!r}: metrics can't tell '.' from '_'",
                )


def check_configs(configs: dict[str, str | None]) -> dict[str, str]:
    """The overrides without nulls; raises KafkaError INVALID_CONFIG."""
    kept = {}
    for key, value in configs.items():
        if value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {key}")
        try:
            check_topic_value(key, value)
        except ConfigError as failure:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(failure)) from None
        kept[key] = value
    return kept


def place(
    cluster: Cluster, settings: Settings, partitions: int, factor: int, chance: random.Random
) -> tuple[tuple[int, ...], ...]:
    """Replicas for a topic without a manual assignment; -1 takes the node's defaults.

    raises   KafkaError INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR
    """
    if partitions == -1:
        partitions = settings["num.partitions"]
    if factor == -1:
        factor = settings["default.replication.factor"]
    if not 1 <= partitions <= PARTITIONS_PER_TOPIC_MAX:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be larger than 0, got {partitions}.")
    brokers = cluster.live()
    if not 1 <= factor <= len(brokers):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {factor} larger than available brokers: {len(brokers)} (alive: {brokers})."
            if factor > 0
            else f"Replication factor must be larger than 0, got {factor}.",
        )
    start = chance.randrange(len(brokers))
    return assign_replicas(brokers, partitions, factor, start, chance.randrange(len(brokers)))


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


def create(
    zk: ZkSession,
    election: Election,
    cluster: Cluster,
    name: str,
    replicas: tuple[tuple[int, ...], ...],
    configs: dict[str, str],
) -> Topic:
    """Write a topic and take it into the cluster's state.

    raises   KafkaError TOPIC_ALREADY_EXISTS, where ZooKeeper has it; OfficeLost; ZkLost, where it may be there or not
    """
    check_room(cluster, replicas)
    topic = Topic(name, znodes.new_uuid(), replicas, configs, [None] * len(replicas))
    transaction = election.guarded()
    transaction.create(znodes.topic_path(name), znodes.encode_topic(TopicAssignment(topic.topic_id, replicas)))
    _add_config(zk, transaction, znodes.topic_config_path(name), configs)
    transaction.create(znodes.partitions_path(name))
    try:
        write_states(election, topic, cluster.live(), transaction, set())
    except OfficeLost:
        raise
    except ZkConflict as conflict:
        if conflict.path == znodes.topic_path(name):
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.") from None
        raise
    cluster.topics[name] = topic
    return topic


def check_room(cluster: Cluster, replicas: Iterable[Sequence[int]]) -> None:
    """raises   KafkaError POLICY_VIOLATION, where this node has no rows left for its share of new replicas"""
    here = sum(cluster.node_id in row for row in replicas)
    if not cluster.slots.has_room(here):
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"{here} more replicas are too many for node {cluster.node_id} "
            f"(headrace.partitions.max={cluster.slots.count})",
        )


def complete(zk: ZkSession, election: Election, topic: Topic, live: Sequence[int]) -> None:
    """Write the first state of every partition of a topic that has none; raises ZkError."""
    paths = [
        znodes.partitions_path(topic.name),
        *(znodes.partition_path(topic.name, index) for index in topic.missing),
    ]
    there = {path for path, node in zip(paths, zk.get_many(paths), strict=True) if node is not None}
    transaction = election.guarded()
    if paths[0] not in there:
        transaction.create(paths[0])
    write_states(election, topic, live, transaction, there)


def write_states(
    election: Election, topic: Topic, live: Sequence[int], transaction: Transaction, there: set[str]
) -> None:
    """`transaction` takes the first states along; `there` are partition nodes that exist already."""
    missing = topic.missing
    for first in range(0, len(missing), PARTITIONS_PER_COMMIT):
        made = {}
        for index in missing[first : first + PARTITIONS_PER_COMMIT]:
            state = made[index] = initial_state(topic.replicas[index], live, election.epoch)
            path = znodes.partition_path(topic.name, index)
            if path not in there:
                transaction.create(path)
            transaction.create(znodes.state_path(topic.name, index), znodes.encode_state(state))
        election.commit(transaction)
        for index, state in made.items():
            topic.states[index] = state
        transaction = election.guarded()


def _add_config(zk: ZkSession, transaction: Transaction, path: str, configs: dict[str, str]) -> None:
    """Overrides go along with the topic, empty ones too; those of a deleted topic of that name may still be there."""
    stale = zk.get(path)
    if stale is None:
        transaction.create(path, znodes.encode_config(configs))
    else:
        transaction.set(path, znodes.encode_config(configs), stale.version)
