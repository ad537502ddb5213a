"""Admin of topics, their settings, and groups: each request goes to the broker responsible, errors are returned by name.

A call for several topics or groups returns an error (or None) for each, so that one failure hides no other. Requests
for the active controller are retried when the controller has moved.

Source: Kafka `KafkaAdminClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from headrace.client.assignors import decode_assignment
from headrace.client.cluster import Cluster, error_of
from headrace.client.connection import Connection, ConnectionFailed
from headrace.client.coordinator import CoordinatorClient
from headrace.client.offset_store import committed_offsets, store_offsets
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

RESOURCE_TOPIC = 2
RESOURCE_BROKER = 4
SET, DELETE = 0, 1  # of IncrementalAlterConfigs
VERSION_OF_STATES = 4  # of ListGroups
VERSION_OF_DELETED_IDS = 6  # of DeleteTopics
ADMIN_TIMEOUT_MS = 25_000
ADMIN_WAIT_S = ADMIN_TIMEOUT_MS / 1000 + 5
SOURCES = {1: "topic", 2: "broker", 3: "cluster", 4: "server.properties", 5: "default"}

T = TypeVar("T")
Errors = dict[str, KafkaError | None]


class OutcomeUnknown(HeadraceError):
    """A request may have been carried out, and can't be repeated without harm."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. -1: the cluster's default."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)


class Config(NamedTuple):
    """A setting of a topic, with its effective value."""

    name: str
    value: str | None
    source: str  # one of SOURCES


class GroupListing(NamedTuple):
    """A group as ListGroups returns it."""

    group_id: str
    protocol_type: str
    state: str  # '' where the broker does not tell
    group_type: str = ""  # classic or consumer, since Kafka 3.8


class MemberDescription(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


class GroupDescription(NamedTuple):
    group_id: str
    state: str
    protocol: str
    members: tuple[MemberDescription, ...]


class Admin:
    """An admin client over a `Cluster`, whose metadata it refreshes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    # Topics

    def create_topics(self, topics: Sequence[NewTopic], validate_only: bool = False) -> Errors:
        """Create topics; the brokers serve them when this returns."""
        kind = messages.CreateTopicsRequest
        rows = [
            kind.CreatableTopic(
                name=topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=[],
                configs=[kind.CreatableTopicConfig(key, value) for key, value in topic.configs.items()],
            )
            for topic in topics
        ]
        request = kind(topics=rows, timeout_ms=ADMIN_TIMEOUT_MS, validate_only=validate_only)
        answer = self.ask_controller(ApiKey.CREATE_TOPICS, (1, 6), request, lambda found: found.topics)
        return _errors((row.name, row.error_code, row.error_message) for row in answer.topics)

    def delete_topics(self, names: Sequence[str]) -> Errors:
        """Delete topics; they are gone when this returns.

        By their ids, where brokers have these: a request whose response was lost is repeated, and a topic of the same name may have been
        created in between. One with names is not repeated.

        raises   OutcomeUnknown, KafkaError, ConnectionFailed
        """
        ids = self._topic_ids(names)
        may_have_begun = False

        def attempt() -> messages.DeleteTopicsResponse:
            nonlocal may_have_begun
            self._cluster.refresh([])
            connection = self._controller()
            version = connection.version(ApiKey.DELETE_TOPICS, 1, VERSION_OF_DELETED_IDS)
            has_ids = version >= VERSION_OF_DELETED_IDS
            try:
                answer = connection.request(
                    ApiKey.DELETE_TOPICS, version, _deletion(names, ids, has_ids), timeout_s=ADMIN_WAIT_S
                )
            except ConnectionFailed as failure:
                may_have_begun = True
                if has_ids and ids.keys() >= set(names):
                    raise
                raise OutcomeUnknown(
                    f"deletion of {', '.join(names)}: the controller may have begun it ({failure}). It is not asked again: by its name a "
                    "topic can't be told from one that was created since"
                ) from None
            self._check_controller(answer.responses)
            return answer

        answer = self._cluster.retried(attempt, set())
        names_by_id = {bytes.fromhex(topic_id): name for name, topic_id in ids.items()}
        return _errors(_deleted(row, names_by_id, may_have_begun) for row in answer.responses)

    def _topic_ids(self, names: Sequence[str]) -> dict[str, str]:
        """As 32 hex digits, of those topics that there are and that have one. raises   KafkaError, ConnectionFailed"""
        there = set(self._cluster.retried(lambda: self._cluster.refresh(None), set()))
        known = self._cluster.topic_ids
        return {name: known[name] for name in names if name in there and name in known}

    def create_partitions(self, counts: Mapping[str, int], validate_only: bool = False) -> Errors:
        """Increase the partition counts of topics to these."""
        kind = messages.CreatePartitionsRequest
        rows = [kind.CreatePartitionsTopic(name, count, None) for name, count in counts.items()]
        request = kind(topics=rows, timeout_ms=ADMIN_TIMEOUT_MS, validate_only=validate_only)
        answer = self.ask_controller(ApiKey.CREATE_PARTITIONS, (0, 3), request, lambda found: found.results)
        return _errors((row.name, row.error_code, row.error_message) for row in answer.results)

    def alter_configs(self, topic: str, changes: Mapping[str, str | None], validate_only: bool = False) -> None:
        """Set overrides of a topic, None removes one; raises KafkaError"""
        kind = messages.IncrementalAlterConfigsRequest
        configs = [
            kind.AlterableConfig(key, DELETE if value is None else SET, value) for key, value in sorted(changes.items())
        ]
        resource = kind.AlterConfigsResource(RESOURCE_TOPIC, topic, configs)
        request = kind(resources=[resource], validate_only=validate_only)
        answer = self._cluster.ask_any(ApiKey.INCREMENTAL_ALTER_CONFIGS, (0, 1), request)
        for row in answer.responses:
            if row.error_code:
                raise error_of(row.error_code, row.error_message or f"topic {topic}")

    def describe_configs(
        self, topics: Sequence[str], keys: Sequence[str] | None = None, may_be_gone: bool = False
    ) -> dict[str, list[Config]]:
        """Settings of topics, in order.

        keys          only these; None: all
        may_be_gone   leave out topics that are unknown
        raises        KafkaError
        """
        kind = messages.DescribeConfigsRequest
        wanted = None if keys is None else list(keys)
        resources = [kind.DescribeConfigsResource(RESOURCE_TOPIC, topic, wanted) for topic in topics]
        answer = self._cluster.ask_any(ApiKey.DESCRIBE_CONFIGS, (1, 4), kind(resources=resources))
        found = {}
        for result in answer.results:
            if may_be_gone and result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            if result.error_code:
                raise error_of(result.error_code, result.error_message or f"topic {result.resource_name}")
            found[result.resource_name] = [
                Config(row.name, row.value, SOURCES.get(row.config_source, str(row.config_source)))
                for row in sorted(result.configs, key=lambda row: str(row.name))
            ]
        return found

    def describe_broker_configs(self, keys: Sequence[str]) -> dict[str, str | None]:
        """Settings of the first broker that answers: each tells its own; raises ConnectionFailed, KafkaError"""
        kind = messages.DescribeConfigsRequest
        self._cluster.refresh([])
        for node_id in self._cluster.brokers:
            request = kind(resources=[kind.DescribeConfigsResource(RESOURCE_BROKER, str(node_id), list(keys))])
            try:
                connection = self._cluster.connection(node_id)
                version = connection.version(ApiKey.DESCRIBE_CONFIGS, 1, 4)
                answer = connection.request(ApiKey.DESCRIBE_CONFIGS, version, request)
            except ConnectionFailed:
                continue
            result = answer.results[0]
            if result.error_code:
                raise error_of(result.error_code, result.error_message or f"broker {node_id}")
            return {row.name: row.value for row in result.configs}
        raise ConnectionFailed("no broker responded")

    # Groups

    def list_groups(self, states: Iterable[str] = ()) -> list[GroupListing]:
        """Groups of all brokers, by name; retried while a broker is loading some.

        states   only those in one of these; none: all of them
        raises   KafkaError (UNSUPPORTED_VERSION, if a broker before Kafka 2.6 is asked for states), ConnectionFailed
        """
        found = self._cluster.retried(partial(self._list_groups, list(states)), set())
        return [found[name] for name in sorted(found)]

    def _list_groups(self, wanted: list[str]) -> dict[str, GroupListing]:
        self._cluster.refresh([])
        found = {}
        for node_id in sorted(self._cluster.brokers):
            connection = self._cluster.connection(node_id)
            version = connection.version(ApiKey.LIST_GROUPS, VERSION_OF_STATES if wanted else 0, 5)
            request = messages.ListGroupsRequest(states_filter=wanted, types_filter=[])
            answer = connection.request(ApiKey.LIST_GROUPS, version, request)
            if answer.error_code:
                raise error_of(answer.error_code, f"groups of broker {node_id}")
            for row in answer.groups:
                found[row.group_id] = GroupListing(row.group_id, row.protocol_type, row.group_state, row.group_type)
        return found

    def describe_group(self, group_id: str) -> GroupDescription:
        """State and members; an unknown group is described as Dead, as its coordinator does. raises KafkaError"""
        request = messages.DescribeGroupsRequest(groups=[group_id])
        coordinator = CoordinatorClient(self._cluster, group_id)
        try:
            answer = coordinator.ask(
                ApiKey.DESCRIBE_GROUPS, (0, 5), request, lambda found: int(found.groups[0].error_code)
            )
        finally:
            coordinator.close()
        row = answer.groups[0]
        if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return GroupDescription(group_id, "Dead", "", ())
        if row.error_code:
            raise error_of(row.error_code, f"group {group_id}")
        members = tuple(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                _partitions(bytes(member.member_assignment)) if row.protocol_type == "consumer" else (),
            )
            for member in row.members
        )
        return GroupDescription(group_id, row.group_state, row.protocol_data, members)

    def delete_groups(self, group_ids: Sequence[str]) -> Errors:
        """Delete groups without members, with all their offsets."""
        found: Errors = {}
        for group_id in group_ids:
            coordinator = CoordinatorClient(self._cluster, group_id)
            request = messages.DeleteGroupsRequest(groups_names=[group_id])
            try:
                answer = coordinator.ask(
                    ApiKey.DELETE_GROUPS, (0, 2), request, lambda found: int(found.results[0].error_code)
                )
            finally:
                coordinator.close()
            code = answer.results[0].error_code
            found[group_id] = error_of(code, f"group {group_id}") if code else None
        return found

    def group_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        """All committed offsets of a group; raises KafkaError"""
        coordinator = CoordinatorClient(self._cluster, group_id)
        try:
            return committed_offsets(coordinator)
        finally:
            coordinator.close()

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        epochs: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """Commit offsets for a group without members; raises KafkaError, which names the partition

        epochs   leader epochs of the last records before the offsets, as far as they are known
        """
        coordinator = CoordinatorClient(self._cluster, group_id)
        try:
            store_offsets(coordinator, offsets, epochs=epochs)
        finally:
            coordinator.close()

    def ask_controller(
        self, api_key: int, versions: tuple[int, int], request: messages.Request[T], rows: Callable[[T], Iterable[Any]]
    ) -> T:
        """Ask the active controller; a broker that no longer is refuses the whole request, and the current one is asked.

        rows   of an answer: its error codes, or what has them
        """

        def attempt() -> T:
            self._cluster.refresh([])
            connection = self._controller()
            answer = connection.request(
                api_key, connection.version(api_key, *versions), request, timeout_s=ADMIN_WAIT_S
            )
            self._check_controller(rows(answer))
            return answer

        return self._cluster.retried(attempt, set())

    def _check_controller(self, rows: Iterable[Any]) -> None:
        """raises   KafkaError NOT_CONTROLLER: nothing was done"""
        if any(_code(row) == ErrorCode.NOT_CONTROLLER for row in rows):
            raise KafkaError(ErrorCode.NOT_CONTROLLER, f"broker {self._cluster.controller_id}")

    def _controller(self) -> Connection:
        controller_id = self._cluster.controller_id
        if controller_id not in self._cluster.brokers:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster has no active controller")
        return self._cluster.connection(controller_id)


def _code(row: Any) -> int:
    return int(row if isinstance(row, int) else row.error_code)


def _deletion(names: Sequence[str], ids: Mapping[str, str], has_ids: bool) -> messages.DeleteTopicsRequest:
    kind = messages.DeleteTopicsRequest
    if not has_ids:
        return kind(topic_names=list(names), timeout_ms=ADMIN_TIMEOUT_MS)
    states = [
        kind.DeleteTopicState(name=None, topic_id=bytes.fromhex(ids[name]))
        if name in ids
        else kind.DeleteTopicState(name=name)
        for name in names
    ]
    return kind(topics=states, timeout_ms=ADMIN_TIMEOUT_MS)


def _deleted(
    row: messages.DeleteTopicsResponse.DeletableTopicResult, names_by_id: Mapping[bytes, str], is_repeated: bool
) -> tuple[str, int, str | None]:
    """(name, error code, text) of a topic. An id that a repeated request does not find was deleted by the one before."""
    name = names_by_id.get(bytes(row.topic_id)) or row.name or ""
    if row.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
        return (
            name,
            0 if is_repeated else int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            f"topic {name} was deleted meanwhile",
        )
    return name, row.error_code, row.error_message


def _errors(rows: Iterable[tuple[str, int, str | None]]) -> Errors:
    return {name: error_of(code, text or f"topic {name}") if code else None for name, code, text in rows}


def _partitions(assignment: bytes) -> tuple[TopicPartition, ...]:
    """Decode a member's metadata; none if it is malformed: other clients wrote it."""
    try:
        return tuple(decode_assignment(assignment))
    except BadFrame:
        return ()
