"""Replicas, as procedures: reassignments (KIP-455), elections, sizes. Requests go to the active controller, sizes come from every broker.

An error of one partition hides no other's.

Source: Kafka `KafkaAdminClient.alterPartitionReassignments`, `listPartitionReassignments`, `electLeaders`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from headrace.client.engine.controller_requests import TIMEOUT_MS, ask_controller
from headrace.client.engine.engine import Engine
from headrace.client.engine.offsets import grouped
from headrace.client.engine.tasks import Ask, Procedure
from headrace.client.failures import error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

PREFERRED, UNCLEAN = 0, 1  # of ElectLeaders
LOG_DIR_VERSIONS: Final = (0, 4)

ReplicaErrors = dict[TopicPartition, KafkaError | None]


class Reassignment(NamedTuple):
    """A partition whose replicas are being moved."""

    replicas: tuple[int, ...]  # all
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReplicaAdministration:
    """What an admin asks of one cluster about replicas."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def reassign(self, targets: Mapping[TopicPartition, Collection[int] | None]) -> Procedure[ReplicaErrors]:
        """Begin to move replicas, None: cancel. It is written when this returns, not done. raises KafkaError"""
        kind = messages.AlterPartitionReassignmentsRequest
        topics: dict[str, list[messages.AlterPartitionReassignmentsRequest.ReassignablePartition]] = {}
        for name, replicas in targets.items():
            wanted = kind.ReassignablePartition(name.partition, None if replicas is None else list(replicas))
            topics.setdefault(name.topic, []).append(wanted)
        request = kind(
            topics=[kind.ReassignableTopic(topic, rows) for topic, rows in topics.items()], timeout_ms=TIMEOUT_MS
        )
        answer = yield from self._asked(ApiKey.ALTER_PARTITION_REASSIGNMENTS, (0, 0), request)
        found: ReplicaErrors = {}
        for topic in answer.responses:
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                found[name] = _error(row.error_code, row.error_message, name)
        return found

    def reassignments(self) -> Procedure[dict[TopicPartition, Reassignment]]:
        """All that are in progress; raises KafkaError"""
        request = messages.ListPartitionReassignmentsRequest(topics=None, timeout_ms=TIMEOUT_MS)
        answer = yield from self._asked(ApiKey.LIST_PARTITION_REASSIGNMENTS, (0, 0), request)
        return {
            TopicPartition(topic.name, row.partition_index): Reassignment(
                tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
            )
            for topic in answer.topics
            for row in topic.partitions
        }

    def elect(self, names: Iterable[TopicPartition] | None, election_type: int = PREFERRED) -> Procedure[ReplicaErrors]:
        """Elect leaders of these partitions, None: of all that need it. raises KafkaError"""
        kind = messages.ElectLeadersRequest
        rows = None
        if names is not None:
            rows = [kind.TopicPartitions(topic, indexes) for topic, indexes in grouped(names).items()]
        request = kind(election_type=election_type, topic_partitions=rows, timeout_ms=TIMEOUT_MS)
        answer = yield from self._asked(ApiKey.ELECT_LEADERS, (1, 2), request)
        found: ReplicaErrors = {}
        for topic in answer.replica_election_results:
            for row in topic.partition_result:
                name = TopicPartition(topic.topic, row.partition_id)
                found[name] = _error(row.error_code, row.error_message, name)
        return found

    def sizes(self) -> Procedure[dict[tuple[int, TopicPartition], int]]:
        """Bytes of each replica, by broker, as far as brokers respond."""
        yield self._engine.metadata.refresh()
        found = {}
        request = messages.DescribeLogDirsRequest(topics=None)
        for node in sorted(self._engine.metadata.brokers):
            try:
                answer = yield Ask(node, ApiKey.DESCRIBE_LOG_DIRS, LOG_DIR_VERSIONS, request)
            except HeadraceError:
                continue
            for result in answer.results:
                for topic in result.topics:
                    for row in topic.partitions:
                        found[node, TopicPartition(topic.name, row.partition_index)] = row.partition_size
        return found

    def _asked(self, api_key: int, versions: tuple[int, int], request: Any) -> Procedure[Any]:
        answer = yield from ask_controller(self._engine, api_key, versions, request, _codes)
        body = answer.body
        if body.error_code:
            raise error_of(body.error_code, getattr(body, "error_message", None) or "the active controller")
        return body


def _codes(answer: Any) -> list[int]:
    """The error of the whole request; an election's refusal has it with each partition as well."""
    results = getattr(answer, "replica_election_results", ())
    return [answer.error_code, *(row.error_code for topic in results for row in topic.partition_result)]


def _error(error_code: int, text: str | None, name: TopicPartition) -> KafkaError | None:
    if not error_code or error_code == ErrorCode.ELECTION_NOT_NEEDED:
        return None
    return error_of(error_code, f"{name}: {text}" if text else str(name))
