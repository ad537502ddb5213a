"""Making a topic: what may be asked, and what is written.

Runs in: the controller process, the active one. The topic, its overrides and its partition states are
written in one guarded transaction. More than PARTITIONS_PER_COMMIT partitions take several; what is missing
where a process was killed between them is made by whichever controller finds the topic, as for topics that
somebody wrote into ZooKeeper by hand.

Source: Kafka `ZkAdminManager.createTopics`, `AdminZkClient`, `Topic.validate`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from headrace.controller import znodes
from headrace.controller.assignment import assign_replicas, elect, initial_state
from headrace.controller.cluster import Cluster, Topic, view_bytes_of
from headrace.controller.election import Election, OfficeLost
from headrace.controller.transaction import Transaction
from headrace.controller.zk import ZkConflict, ZkSession
from headrace.controller.znodes import PartitionState, TopicAssignment
from headrace.errors import ConfigError, ErrorCode, KafkaError
from headrace.limits import (
    CONFIG_VALUE_LENGTH_MAX,
    PARTITIONS_PER_REQUEST_MAX,
    PARTITIONS_PER_TOPIC_MAX,
    TOPIC_NAME_LENGTH_MAX,
    TOPIC_NODE_BYTES_MAX,
)
from headrace.settings import Settings, check_topic_value
from headrace.shm.view_writer import ROWS_KEY

PARTITIONS_PER_COMMIT = 200


class TopicNames:
    """The names that are taken, looked at once for all topics of a request."""

    def __init__(self, existing: Iterable[str]) -> None:
        self._existing = set(existing)
        self._by_metric: dict[str, str] = {}  # without dots -> the first name; made once a name needs it

    def add(self, name: str) -> None:
        """One more is taken."""
        self._existing.add(name)
        if self._by_metric:
            self._by_metric.setdefault(_metric(name), name)

    def check(self, name: str) -> None:
        """raises   KafkaError INVALID_TOPIC_EXCEPTION or TOPIC_ALREADY_EXISTS"""
        if not znodes.is_topic_name(name):
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"topic name {name[:300]!r}: 1 to {TOPIC_NAME_LENGTH_MAX} of a-z A-Z 0-9 . _ -, and neither '.' nor '..'",
            )
        if name in self._existing:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if "." in name or "_" in name:
            if not self._by_metric:
                self._by_metric = {_metric(other): other for other in sorted(self._existing, reverse=True)}
            other = self._by_metric.get(_metric(name))
            if other is not None:
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"topic name {name!r} collides with {other!r}: metrics can't tell '.' from '_'",
                )


def check_name(name: str, existing: Iterable[str]) -> None:
    """raises   KafkaError INVALID_TOPIC_EXCEPTION or TOPIC_ALREADY_EXISTS"""
    TopicNames(existing).check(name)


def check_total(partitions: int) -> None:
    """raises   KafkaError POLICY_VIOLATION, where the topics of one request ask for too many partitions in all"""
    if partitions > PARTITIONS_PER_REQUEST_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def check_configs(configs: dict[str, str | None]) -> dict[str, str]:
    """The overrides without nulls. raises   KafkaError INVALID_CONFIG"""
    kept = {}
    for key, value in configs.items():
        if value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {key}")
        try:
            if len(value) > CONFIG_VALUE_LENGTH_MAX:
                raise ConfigError(key, f"{value[:20]}...", f"{CONFIG_VALUE_LENGTH_MAX} characters at most")
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
        bound = "larger than 0" if partitions < 1 else f"at most {PARTITIONS_PER_TOPIC_MAX}"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be {bound}, got {partitions}.")
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
    topic = Topic(name, znodes.new_uuid(), replicas, configs, [None] * len(replicas))
    data = encode_assignment(topic.topic_id, replicas)
    check_room(cluster, name, replicas, configs)
    transaction = election.guarded()
    transaction.create(znodes.topic_path(name), data)
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
    cluster.add(topic)
    return topic


def encode_assignment(topic_id: str, replicas: tuple[tuple[int, ...], ...]) -> bytes:
    """A topic's node; raises KafkaError POLICY_VIOLATION, where ZooKeeper would not take it"""
    data = znodes.encode_topic(TopicAssignment(topic_id, replicas))
    if len(data) > TOPIC_NODE_BYTES_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{len(replicas)} partitions are too many for a node of ZooKeeper")
    return data


def check_room(
    cluster: Cluster, name: str, replicas: Sequence[Sequence[int]], configs: dict[str, str] | None = None
) -> None:
    """raises   KafkaError POLICY_VIOLATION, where this node has no rows left for its share of new replicas, or no room in its view"""
    here = sum(cluster.node_id in row for row in replicas)
    if not cluster.slots.has_room(here):
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"{here} more replicas are too many for node {cluster.node_id} "
            f"(headrace.partitions.max={cluster.slots.count})",
        )
    if not cluster.reserve(view_bytes_of(name, replicas, configs or {}), len(replicas)):
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"node {cluster.node_id} has no room for {len(replicas)} more partitions of the cluster in its view: "
            f"{ROWS_KEY}={cluster.rows}",
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
            state = made[index] = _first_state(topic, index, live, election.epoch)
            path = znodes.partition_path(topic.name, index)
            if path not in there:
                transaction.create(path)
            transaction.create(znodes.state_path(topic.name, index), znodes.encode_state(state))
        election.commit(transaction)
        for index, state in made.items():
            topic.states[index] = state
        transaction = election.guarded()


def _first_state(topic: Topic, index: int, live: Sequence[int], controller_epoch: int) -> PartitionState:
    """Of a partition that has none; where it had one, its in-sync replicas and the count of its epochs go on."""
    past = topic.past.get(index)
    if past is None:
        return initial_state(topic.replicas[index], live, controller_epoch)
    again = past._replace(leader_epoch=past.leader_epoch + 1, controller_epoch=controller_epoch, version=0)
    return elect(past._replace(version=0), topic.replicas[index], live, controller_epoch) or again


def _metric(name: str) -> str:
    return name.replace(".", "_")


def _add_config(zk: ZkSession, transaction: Transaction, path: str, configs: dict[str, str]) -> None:
    """Overrides go along with the topic, empty ones too; those of a deleted topic of that name may still be there."""
    stale = zk.get(path)
    if stale is None:
        transaction.create(path, znodes.encode_config(configs))
    else:
        transaction.set(path, znodes.encode_config(configs), stale.version)
