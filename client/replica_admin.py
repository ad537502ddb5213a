"""Admin of replicas: reassignments (KIP-455), elections, sizes. Requests go to the active controller, which may move.

An error of one partition hides no other's.

Source: Kafka `KafkaAdminClient.alterPartitionReassignments`, `listPartitionReassignments`, `electLeaders`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.client.admin import ADMIN_TIMEOUT_MS, Admin
from headrace.client.cluster import Cluster, error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

PREFERRED, UNCLEAN = 0, 1  # of ElectLeaders

Errors = dict[TopicPartition, KafkaError | None]


class Reassignment(NamedTuple):
    """A partition whose replicas are being moved."""

    replicas: tuple[int, ...]  # all
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReplicaAdmin:
    """Over a `Cluster`, whose metadata it refreshes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._admin = Admin(cluster)

    def reassign(self, targets: Mapping[TopicPartition, Collection[int] | None]) -> Errors:
        """Begin to move replicas, None: cancel. It is written when this returns, not done. raises KafkaError"""
        kind = messages.AlterPartitionReassignmentsRequest
        topics: dict[str, list[messages.AlterPartitionReassignmentsRequest.ReassignablePartition]] = {}
        for name, replicas in targets.items():
            wanted = kind.ReassignablePartition(name.partition, None if replicas is None else list(replicas))
            topics.setdefault(name.topic, []).append(wanted)
        request = kind(
            topics=[kind.ReassignableTopic(topic, rows) for topic, rows in topics.items()], timeout_ms=ADMIN_TIMEOUT_MS
        )
        answer = self._admin.ask_controller(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS, (0, 0), request, lambda found: [found.error_code]
        )
        _check(answer.error_code, answer.error_message)
        found: Errors = {}
        for topic in answer.responses:
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                found[name] = _error(row.error_code, row.error_message, name)
        return found

    def reassignments(self) -> dict[TopicPartition, Reassignment]:
        """All that are in progress; raises KafkaError"""
        request = messages.ListPartitionReassignmentsRequest(topics=None, timeout_ms=ADMIN_TIMEOUT_MS)
        answer = self._admin.ask_controller(
            ApiKey.LIST_PARTITION_REASSIGNMENTS, (0, 0), request, lambda found: [found.error_code]
        )
        _check(answer.error_code, answer.error_message)
        return {
            TopicPartition(topic.name, row.partition_index): Reassignment(
                tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
            )
            for topic in answer.topics
            for row in topic.partitions
        }

    def elect(self, names: Iterable[TopicPartition] | None, election_type: int = PREFERRED) -> Errors:
        """Elect leaders of these partitions, None: of all that need it. raises KafkaError"""
        kind = messages.ElectLeadersRequest
        rows = None
        if names is not None:
            topics: dict[str, list[int]] = {}
            for name in names:
                topics.setdefault(name.topic, []).append(name.partition)
            rows = [kind.TopicPartitions(topic, indexes) for topic, indexes in topics.items()]
        request = kind(election_type=election_type, topic_partitions=rows, timeout_ms=ADMIN_TIMEOUT_MS)
        answer = self._admin.ask_controller(ApiKey.ELECT_LEADERS, (1, 2), request, _codes)
        _check(answer.error_code, None)
        found: Errors = {}
        for topic in answer.replica_election_results:
            for row in topic.partition_result:
                name = TopicPartition(topic.topic, row.partition_id)
                found[name] = _error(row.error_code, row.error_message, name)
        return found

    def sizes(self) -> dict[tuple[int, TopicPartition], int]:
        """Bytes of each replica, by broker, as far as brokers respond."""
        found = {}
        for node_id in self._cluster.brokers:
            try:
                connection = self._cluster.connection(node_id)
                version = connection.version(ApiKey.DESCRIBE_LOG_DIRS, 0, 4)
                request = messages.DescribeLogDirsRequest(topics=None)
                answer = connection.request(ApiKey.DESCRIBE_LOG_DIRS, version, request)
            except HeadraceError:
                continue
            for result in answer.results:
                for topic in result.topics:
                    for row in topic.partitions:
                        found[node_id, TopicPartition(topic.name, row.partition_index)] = row.partition_size
        return found


def _codes(answer: messages.ElectLeadersResponse) -> list[int]:
    rows = [row.error_code for topic in answer.replica_election_results for row in topic.partition_result]
    return [answer.error_code, *rows]


def _check(error_code: int, text: str | None) -> None:
    if error_code:
        raise error_of(error_code, text or "the active controller")


def _error(error_code: int, text: str | None, name: TopicPartition) -> KafkaError | None:
    if not error_code or error_code == ErrorCode.ELECTION_NOT_NEEDED:
        return None
    return error_of(error_code, f"{name}: {text}" if text else str(name))
