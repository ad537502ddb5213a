"""Admin of topics, their settings, groups, replicas and transactions, for tools that have a `Cluster`: several at once, an error for each.

A call for several topics or groups returns an error (or None) for each, so that one failure hides no other. What is asked is in
`engine/administration.py` and beside it, as it is for `KafkaAdmin`, which programs use.

Source: Kafka `KafkaAdminClient`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from headrace.client.cluster import Cluster
from headrace.client.engine.administration import Administration, Config, NewTopic
from headrace.client.engine.controller_requests import Errors
from headrace.client.engine.group_administration import Group, GroupAdministration, GroupListing
from headrace.client.engine.replica_administration import (
    PREFERRED,
    UNCLEAN,
    Reassignment,
    ReplicaAdministration,
    ReplicaErrors,
)
from headrace.client.engine.transaction_administration import (
    ANY_DURATION,
    Listing,
    ProducerState,
    TransactionAdministration,
    TransactionDescription,
)
from headrace.client.failures import OutcomeUnknown
from headrace.client.offset_store import committed_offsets, store_offsets
from headrace.ids import TopicPartition

__all__ = [
    "PREFERRED",
    "UNCLEAN",
    "Admin",
    "Config",
    "Errors",
    "Group",
    "GroupListing",
    "Listing",
    "NewTopic",
    "OutcomeUnknown",
    "ProducerState",
    "Reassignment",
    "ReplicaAdmin",
    "ReplicaErrors",
    "TransactionAdmin",
    "TransactionDescription",
]


class Admin:
    """Over a `Cluster`, by whose engine it asks. Each call raises KafkaError, ConnectionFailed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def create_topics(self, topics: Sequence[NewTopic], validate_only: bool = False) -> Errors:
        """Create topics; the brokers serve them when this returns."""
        return self._cluster.run(
            lambda engine: Administration(engine).create_topics(topics, validate_only), "creation of topics"
        )

    def delete_topics(self, names: Sequence[str]) -> Errors:
        """Delete topics; they are gone when this returns. raises   OutcomeUnknown, KafkaError, ConnectionFailed"""
        return self._cluster.run(lambda engine: Administration(engine).delete_topics(names), "deletion of topics")

    def create_partitions(self, counts: Mapping[str, int], validate_only: bool = False) -> Errors:
        """Increase the partition counts of topics to these."""
        return self._cluster.run(
            lambda engine: Administration(engine).create_partitions(counts, validate_only), "creation of partitions"
        )

    def alter_configs(self, topic: str, changes: Mapping[str, str | None], validate_only: bool = False) -> None:
        """Set overrides of a topic, None removes one; raises KafkaError"""
        self._cluster.run(
            lambda engine: Administration(engine).alter_configs(topic, changes, validate_only), f"settings of {topic}"
        )

    def describe_configs(
        self, topics: Sequence[str], keys: Sequence[str] | None = None, may_be_gone: bool = False
    ) -> dict[str, list[Config]]:
        """Settings of topics, in order.

        keys          only these; None: all
        may_be_gone   leave out topics that are unknown
        raises        KafkaError
        """
        return self._cluster.run(
            lambda engine: Administration(engine).describe_configs(topics, keys, may_be_gone), "settings of topics"
        )

    def describe_broker_configs(self, keys: Sequence[str]) -> dict[str, str | None]:
        """Settings of the first broker that answers: each has its own; raises ConnectionFailed, KafkaError"""
        return self._cluster.run(
            lambda engine: Administration(engine).describe_broker_configs(keys), "settings of a broker"
        )

    # Groups

    def list_groups(self, states: Iterable[str] = ()) -> list[GroupListing]:
        """Groups of all brokers, by name; asked for again while a broker is loading some.

        states   only those in one of these; none: all of them
        raises   KafkaError (UNSUPPORTED_VERSION, if a broker before Kafka 2.6 is asked for states), ConnectionFailed
        """
        wanted = list(states)
        return self._cluster.run(lambda engine: GroupAdministration(engine).list_groups(wanted), "groups")

    def describe_group(self, group_id: str) -> Group:
        """State and members; an unknown group is described as Dead, as its coordinator does. raises KafkaError"""
        return self._cluster.run(
            lambda engine: GroupAdministration(engine).describe_group(group_id), f"group {group_id}"
        )

    def delete_groups(self, group_ids: Sequence[str]) -> Errors:
        """Delete groups without members, with all their offsets."""
        return self._cluster.run(
            lambda engine: GroupAdministration(engine).delete_groups(group_ids), "deletion of groups"
        )

    def group_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        """All committed offsets of a group; raises KafkaError"""
        return committed_offsets(self._cluster, group_id)

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        epochs: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """Commit offsets for a group without members; raises KafkaError, which names the partition

        epochs   leader epochs of the last records before the offsets, as far as they are known
        """
        store_offsets(self._cluster, group_id, offsets, epochs=epochs)


class ReplicaAdmin:
    """Replicas: over a `Cluster`, as `Admin`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def reassign(self, targets: Mapping[TopicPartition, Collection[int] | None]) -> ReplicaErrors:
        """Begin to move replicas, None: cancel. It is written when this returns, not done. raises KafkaError"""
        return self._cluster.run(lambda engine: ReplicaAdministration(engine).reassign(targets), "reassignment")

    def reassignments(self) -> dict[TopicPartition, Reassignment]:
        """All that are in progress; raises KafkaError"""
        return self._cluster.run(lambda engine: ReplicaAdministration(engine).reassignments(), "reassignments")

    def elect(self, names: Iterable[TopicPartition] | None, election_type: int = PREFERRED) -> ReplicaErrors:
        """Elect leaders of these partitions, None: of all that need it. raises KafkaError"""
        wanted = None if names is None else list(names)
        return self._cluster.run(lambda engine: ReplicaAdministration(engine).elect(wanted, election_type), "election")

    def sizes(self) -> dict[tuple[int, TopicPartition], int]:
        """Bytes of each replica, by broker, as far as brokers respond."""
        return self._cluster.run(lambda engine: ReplicaAdministration(engine).sizes(), "sizes of replicas")


class TransactionAdmin:
    """Transactions (KIP-664): over a `Cluster`, as `Admin`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def list(
        self, states: Iterable[str] = (), producer_ids: Iterable[int] = (), duration_ms: int = ANY_DURATION
    ) -> Listing:
        """Transactional ids of all coordinators, and which of these can't be asked. Empty filters take all.

        duration_ms   only transactions that are open for longer
        """
        filters = (tuple(states), tuple(producer_ids), duration_ms)
        return self._cluster.run(
            lambda engine: TransactionAdministration(engine).list_transactions(*filters), "transactions"
        )

    def describe(self, transactional_id: str) -> TransactionDescription:
        """Its coordinator's word; raises KafkaError TRANSACTIONAL_ID_NOT_FOUND"""
        return self._cluster.run(
            lambda engine: TransactionAdministration(engine).describe_transaction(transactional_id),
            f"transactional id {transactional_id}",
        )

    def producers(self, names: Collection[TopicPartition]) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """What the leaders of partitions know of producers."""
        return self._cluster.run(
            lambda engine: TransactionAdministration(engine).describe_producers(names), "producers"
        )

    def fence(self, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
        """Abort the open transaction and fence its producer; returns the next (producer id, epoch)."""
        return self._cluster.run(
            lambda engine: TransactionAdministration(engine).fence(transactional_id, timeout_ms),
            f"abort of transactional id {transactional_id}",
        )

    def write_abort_marker(self, name: TopicPartition, producer: ProducerState) -> None:
        """End a transaction in one partition, whatever a coordinator thinks of it."""
        self._cluster.run(
            lambda engine: TransactionAdministration(engine).write_abort_marker(name, producer),
            f"abort marker in {name}",
        )
