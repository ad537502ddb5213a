"""Topics and their settings, as procedures: each request goes to the broker responsible.

What is asked for several topics has an error (or None) for each, so that one failure hides no other.

A topic is deleted by its id, where the brokers have ids: a request whose response was lost is repeated, and a topic of the same name may
have been created in between. One with names is not repeated.

Source: Kafka `KafkaAdminClient`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from headrace.client.engine.controller_requests import (
    TIMEOUT_MS,
    WAIT_S,
    Errors,
    ask_controller,
    errors_of,
    raise_first,
)
from headrace.client.engine.engine import Engine
from headrace.client.engine.metadata import Broker
from headrace.client.engine.offsets import grouped
from headrace.client.engine.tasks import Ask, Procedure, first_to_answer
from headrace.client.failures import ConnectionFailed, OutcomeUnknown, error_of
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import ZERO_UUID

RESOURCE_TOPIC: Final = 2
RESOURCE_BROKER: Final = 4
SET, DELETE = 0, 1  # of IncrementalAlterConfigs
CONFIG_VERSIONS: Final = (0, 4)
VERSION_OF_NO_CREATION: Final = 4  # of Metadata: before it, asking for a topic may create it
VERSION_OF_DELETED_IDS: Final = 6  # of DeleteTopics
SOURCES: Final = {1: "topic", 2: "broker", 3: "cluster", 4: "server.properties", 5: "default"}


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. -1: the cluster's default, from Kafka 2.4 on."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)


class TopicDescription(NamedTuple):
    """A topic.

    topic_id   32 hex digits; empty: the brokers have none
    """

    name: str
    topic_id: str
    partitions: int
    is_internal: bool


class Setting(NamedTuple):
    """A setting of a topic with its effective value; None: it is not shown."""

    name: str
    value: str | None
    is_default: bool


class Config(NamedTuple):
    """The same, and where it is set."""

    name: str
    value: str | None
    source: str  # one of SOURCES


class Administration:
    """What an admin asks of one cluster about topics."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._metadata = engine.metadata

    def brokers(self) -> Procedure[list[Broker]]:
        yield self._metadata.refresh()
        return sorted(self._metadata.brokers.values())

    def topics(self) -> Procedure[list[TopicDescription]]:
        """All topics, in order of their names."""
        answer = yield from self._described(None)
        found = []
        for row in answer.topics:
            if row.name is not None and not row.error_code:
                topic_id = row.topic_id.hex() if any(row.topic_id) else ""
                found.append(TopicDescription(row.name, topic_id, len(row.partitions), row.is_internal))
        return sorted(found)

    def partitions(self, topic: str) -> Procedure[int]:
        """How many partitions a topic has. raises KafkaError UNKNOWN_TOPIC_OR_PARTITION"""
        state = yield from self._metadata.known(topic)
        return len(state.partitions)

    # Topics

    def create_topics(self, topics: Sequence[NewTopic], validate_only: bool = False) -> Procedure[Errors]:
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
        request = kind(topics=rows, timeout_ms=TIMEOUT_MS, validate_only=validate_only)
        lowest = 1 if validate_only else 0
        answer = yield from ask_controller(
            self._engine, ApiKey.CREATE_TOPICS, (lowest, 7), request, lambda body: _codes(body.topics)
        )
        there = ErrorCode.TOPIC_ALREADY_EXISTS if answer.is_repeated and not validate_only else ErrorCode.NONE
        return errors_of(
            (row.name, 0 if row.error_code == there else row.error_code, row.error_message)
            for row in answer.body.topics
        )

    def create_topic(self, topic: NewTopic) -> Procedure[None]:
        """One that can be used when this returns."""
        raise_first((yield from self.create_topics([topic])))
        self._metadata.want([topic.name])
        yield from self._metadata.known(topic.name)

    def delete_topics(self, names: Sequence[str]) -> Procedure[Errors]:
        """Delete topics; they are gone when this returns.

        raises   OutcomeUnknown, KafkaError, ConnectionFailed
        """
        ids = yield from self._topic_ids(names)
        names_by_id = {topic_id: name for name, topic_id in ids.items()}
        self._metadata.unwant(names)
        version_sent = 0

        def message(version: int) -> Any:
            nonlocal version_sent
            version_sent = version
            return _deletion(names, ids, version >= VERSION_OF_DELETED_IDS)

        def lost(failure: ConnectionFailed) -> None:
            if version_sent < VERSION_OF_DELETED_IDS or not ids.keys() >= set(names):
                raise OutcomeUnknown(
                    f"deletion of {', '.join(names)}: the controller may have started it ({failure}). It is not"
                    " retried: the name may belong to a topic created since then"
                ) from None

        answer = yield from ask_controller(
            self._engine,
            ApiKey.DELETE_TOPICS,
            (0, VERSION_OF_DELETED_IDS),
            message,
            lambda body: _codes(body.responses),
            lost,
        )
        return errors_of(_deleted(row, names_by_id, answer.is_repeated) for row in answer.body.responses)

    def create_partitions(self, counts: Mapping[str, int], validate_only: bool = False) -> Procedure[Errors]:
        """Grow topics to these numbers of partitions."""
        kind = messages.CreatePartitionsRequest
        rows = [kind.CreatePartitionsTopic(name, count, None) for name, count in counts.items()]
        request = kind(topics=rows, timeout_ms=TIMEOUT_MS, validate_only=validate_only)
        answer = yield from ask_controller(
            self._engine, ApiKey.CREATE_PARTITIONS, (0, 3), request, lambda body: _codes(body.results)
        )
        return errors_of((row.name, row.error_code, row.error_message) for row in answer.body.results)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> Procedure[dict[TopicPartition, int]]:
        """Delete records below these offsets (-1: all there are now); returns where the logs begin then."""
        kind = messages.DeleteRecordsRequest
        found: dict[TopicPartition, int] = {}
        self._metadata.want({name.topic for name in before})
        yield self._metadata.refresh()
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in before:
            by_leader.setdefault(self._metadata.leader(name), []).append(name)
        for leader, names in by_leader.items():
            if leader < 0:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(names[0]))
            rows = [
                kind.DeleteRecordsTopic(
                    topic,
                    [kind.DeleteRecordsPartition(index, before[TopicPartition(topic, index)]) for index in indexes],
                )
                for topic, indexes in grouped(names).items()
            ]
            answer = yield Ask(leader, ApiKey.DELETE_RECORDS, (0, 2), kind(topics=rows, timeout_ms=TIMEOUT_MS), WAIT_S)
            for topic in answer.topics:
                for row in topic.partitions:
                    name = TopicPartition(topic.name, row.partition_index)
                    _raise(row.error_code, None, str(name))
                    found[name] = row.low_watermark
        return found

    # Settings

    def describe_configs(
        self, topics: Sequence[str], keys: Sequence[str] | None = None, may_be_gone: bool = False
    ) -> Procedure[dict[str, list[Config]]]:
        """Settings of topics, in order.

        keys          only these; None: all
        may_be_gone   leave out topics that are unknown
        """
        kind = messages.DescribeConfigsRequest
        wanted = None if keys is None else list(keys)
        request = kind(resources=[kind.DescribeConfigsResource(RESOURCE_TOPIC, topic, wanted) for topic in topics])
        answer = yield from first_to_answer(self._engine.requests, ApiKey.DESCRIBE_CONFIGS, CONFIG_VERSIONS, request)
        found = {}
        for result in answer.results:
            if may_be_gone and result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            _raise(result.error_code, result.error_message, f"topic {result.resource_name}")
            rows = sorted(result.configs, key=lambda row: str(row.name))
            found[result.resource_name] = [Config(row.name, row.value, _source(row)) for row in rows]
        return found

    def settings(self, topic: str) -> Procedure[dict[str, Setting]]:
        found = yield from self.describe_configs([topic])
        return {one.name: Setting(one.name, one.value, one.source == SOURCES[5]) for one in found[topic]}

    def describe_broker_configs(self, keys: Sequence[str]) -> Procedure[dict[str, str | None]]:
        """Settings of the first broker that answers: each has its own."""
        kind = messages.DescribeConfigsRequest
        yield self._metadata.refresh()
        failures = []
        for node in sorted(self._metadata.brokers):
            request = kind(resources=[kind.DescribeConfigsResource(RESOURCE_BROKER, str(node), list(keys))])
            try:
                answer = yield Ask(node, ApiKey.DESCRIBE_CONFIGS, CONFIG_VERSIONS, request)
            except ConnectionFailed as failure:
                failures.append(str(failure))
                continue
            result = answer.results[0]
            _raise(result.error_code, result.error_message, f"broker {node}")
            return {row.name: row.value for row in result.configs}
        raise ConnectionFailed("no broker responded: " + "; ".join(failures))

    def alter_configs(
        self, topic: str, changes: Mapping[str, str | None], validate_only: bool = False
    ) -> Procedure[None]:
        """Set settings of a topic; None: back to the default. Others stay."""
        kind = messages.IncrementalAlterConfigsRequest
        rows = [
            kind.AlterableConfig(name, DELETE if value is None else SET, value)
            for name, value in sorted(changes.items())
        ]
        resource = kind.AlterConfigsResource(RESOURCE_TOPIC, topic, rows)
        request = kind(resources=[resource], validate_only=validate_only)
        answer = yield from first_to_answer(self._engine.requests, ApiKey.INCREMENTAL_ALTER_CONFIGS, (0, 1), request)
        for row in answer.responses:
            _raise(row.error_code, row.error_message, f"settings of topic {topic}")

    # Inside

    def _described(self, names: Sequence[str] | None) -> Procedure[Any]:
        """Metadata of these topics, None: of all; before v4 always of all."""
        kind = messages.MetadataRequest

        def message(version: int) -> Any:
            rows: list[Any] | None = None if version else []
            if names is not None and version >= VERSION_OF_NO_CREATION:
                rows = [kind.MetadataRequestTopic(name=name) for name in names]
            return kind(topics=rows, allow_auto_topic_creation=False)

        return (yield from first_to_answer(self._engine.requests, ApiKey.METADATA, (0, 12), message))

    def _topic_ids(self, names: Sequence[str]) -> Procedure[dict[str, bytes]]:
        """Of those topics that there are and that have one."""
        answer = yield from self._described(names)
        ids = {row.name: bytes(row.topic_id) for row in answer.topics if not row.error_code}
        return {name: ids[name] for name in names if ids.get(name, ZERO_UUID) != ZERO_UUID}


def _deletion(names: Sequence[str], ids: Mapping[str, bytes], has_ids: bool) -> messages.DeleteTopicsRequest:
    kind = messages.DeleteTopicsRequest
    if not has_ids:
        return kind(topic_names=list(names), timeout_ms=TIMEOUT_MS)
    states = [
        kind.DeleteTopicState(name=None, topic_id=ids[name]) if name in ids else kind.DeleteTopicState(name=name)
        for name in names
    ]
    return kind(topics=states, timeout_ms=TIMEOUT_MS)


def _deleted(row: Any, names_by_id: Mapping[bytes, str], is_repeated: bool) -> tuple[str, int, str | None]:
    """(name, error code, text) of a topic. An id that a repeated request does not find was deleted by the one before."""
    name = names_by_id.get(bytes(row.topic_id)) or row.name or ""
    if row.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
        code = 0 if is_repeated else int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return name, code, f"topic {name} was deleted in the meantime"
    return name, row.error_code, row.error_message


def _source(row: Any) -> str:
    """Before v1 a setting is a default or not."""
    return SOURCES.get(row.config_source) or (SOURCES[5] if row.is_default else str(row.config_source))


def _codes(rows: Iterable[Any]) -> list[int]:
    return [row.error_code for row in rows]


def _raise(code: int, message: str | None, what: str) -> None:
    if code:
        raise error_of(code, message or what)
