"""Topics, settings and groups, as procedures: each request goes to the broker responsible, errors are raised by name.

A request for the controller is asked again where the controller has moved. One whose answer was lost may have been carried out: a topic
that is there after a second try of its creation, or gone after one of its deletion, is what was wanted.

Source: Kafka `KafkaAdminClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from headrace.client.assignors import decode_assignment
from headrace.client.engine.coordinator import Coordinator, fetch_committed, store_committed
from headrace.client.engine.engine import Engine
from headrace.client.engine.link import Versions
from headrace.client.engine.metadata import Broker
from headrace.client.engine.offsets import grouped
from headrace.client.engine.tasks import Ask, Pause, Procedure, first_to_answer, retry_pause_s
from headrace.client.failures import ConnectionFailed, error_of, is_retriable
from headrace.client.offset_store import Committed
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

TRIES: Final = 20  # with pauses up to a second each
TIMEOUT_MS: Final = 25_000
WAIT_S: Final = TIMEOUT_MS / 1000 + 5
RESOURCE_TOPIC: Final = 2
SET, DELETE = 0, 1  # of IncrementalAlterConfigs


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


class GroupMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


class Group(NamedTuple):
    """A group. `protocol` is the name of its assignor."""

    group_id: str
    state: str
    protocol: str
    members: tuple[GroupMember, ...]


class Administration:
    """What an admin asks of one cluster."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._metadata = engine.metadata

    def brokers(self) -> Procedure[list[Broker]]:
        yield self._metadata.refresh()
        return sorted(self._metadata.brokers.values())

    def topics(self) -> Procedure[list[TopicDescription]]:
        """All topics, in order of their names."""
        answer = yield from first_to_answer(
            self._engine.requests,
            ApiKey.METADATA,
            (0, 12),
            lambda version: messages.MetadataRequest(topics=None if version else [], allow_auto_topic_creation=False),
        )
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

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> Procedure[None]:
        kind = messages.CreateTopicsRequest
        row = kind.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            assignments=[],
            configs=[kind.CreatableTopicConfig(key, value) for key, value in configs.items()],
        )
        request = kind(topics=[row], timeout_ms=TIMEOUT_MS)
        tries = yield from self._of_controller(
            ApiKey.CREATE_TOPICS,
            (0, 7),
            request,
            lambda answer: answer.topics,
            f"topic {name}",
            ErrorCode.TOPIC_ALREADY_EXISTS,
        )
        assert tries
        self._metadata.want([name])
        yield from self._metadata.known(name)

    def delete_topic(self, name: str) -> Procedure[None]:
        kind = messages.DeleteTopicsRequest

        def message(version: int) -> Any:
            if version >= 6:
                return kind(topics=[kind.DeleteTopicState(name=name)], timeout_ms=TIMEOUT_MS)
            return kind(topic_names=[name], timeout_ms=TIMEOUT_MS)

        self._metadata.unwant([name])
        yield from self._of_controller(
            ApiKey.DELETE_TOPICS,
            (0, 6),
            message,
            lambda answer: answer.responses,
            f"topic {name}",
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )

    def create_partitions(self, name: str, count: int) -> Procedure[None]:
        """Grow a topic to a number of partitions."""
        kind = messages.CreatePartitionsRequest
        request = kind(
            topics=[kind.CreatePartitionsTopic(name, count, None)], timeout_ms=TIMEOUT_MS, validate_only=False
        )
        yield from self._of_controller(
            ApiKey.CREATE_PARTITIONS, (0, 3), request, lambda answer: answer.results, f"topic {name}", None
        )

    def settings(self, topic: str) -> Procedure[dict[str, Setting]]:
        kind = messages.DescribeConfigsRequest
        request = kind(resources=[kind.DescribeConfigsResource(RESOURCE_TOPIC, topic, None)])
        answer = yield from first_to_answer(self._engine.requests, ApiKey.DESCRIBE_CONFIGS, (0, 4), request)
        row = answer.results[0]
        _raise(row.error_code, row.error_message, f"settings of topic {topic}")
        return {
            one.name: Setting(one.name, one.value, bool(one.is_default or one.config_source == 5))
            for one in row.configs
        }

    def alter_settings(self, topic: str, changes: Mapping[str, str | None]) -> Procedure[None]:
        """Set settings of a topic; None: back to the default. Others stay."""
        kind = messages.IncrementalAlterConfigsRequest
        rows = [kind.AlterableConfig(name, DELETE if value is None else SET, value) for name, value in changes.items()]
        request = kind(resources=[kind.AlterConfigsResource(RESOURCE_TOPIC, topic, rows)], validate_only=False)
        yield from self._of_controller(
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            (0, 1),
            request,
            lambda answer: answer.responses,
            f"settings of topic {topic}",
            None,
        )

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

    def groups(self) -> Procedure[list[str]]:
        """The ids of all groups."""
        yield self._metadata.refresh()
        found: set[str] = set()
        for node in sorted(self._metadata.brokers):
            answer = yield Ask(node, ApiKey.LIST_GROUPS, (0, 5), messages.ListGroupsRequest())
            _raise(answer.error_code, None, f"groups of broker {node}")
            found.update(row.group_id for row in answer.groups)
        return sorted(found)

    def group(self, group_id: str) -> Procedure[Group]:
        coordinator = Coordinator(self._engine.requests, group_id)
        request = messages.DescribeGroupsRequest(groups=[group_id])
        answer = yield from coordinator.ask(
            ApiKey.DESCRIBE_GROUPS, (0, 5), request, lambda found: int(found.groups[0].error_code)
        )
        row = answer.groups[0]
        _raise(row.error_code, None, f"group {group_id}")
        members = tuple(
            GroupMember(
                one.member_id,
                one.group_instance_id,
                one.client_id,
                one.client_host,
                tuple(_assigned(bytes(one.member_assignment), row.protocol_type)),
            )
            for one in row.members
        )
        return Group(row.group_id, row.group_state, row.protocol_data, members)

    def delete_group(self, group_id: str) -> Procedure[None]:
        coordinator = Coordinator(self._engine.requests, group_id)
        request = messages.DeleteGroupsRequest(groups_names=[group_id])
        answer = yield from coordinator.ask(
            ApiKey.DELETE_GROUPS, (0, 2), request, lambda found: int(found.results[0].error_code)
        )
        _raise(answer.results[0].error_code, None, f"group {group_id}")

    def committed(self, group_id: str) -> Procedure[dict[TopicPartition, Committed]]:
        """What a group has committed."""
        return fetch_committed(Coordinator(self._engine.requests, group_id), None)

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> Procedure[None]:
        """Set the offsets of a group without members. raises KafkaError, where it has some"""
        coordinator = Coordinator(self._engine.requests, group_id)
        wanted = {name: (offset, NO_EPOCH, "") for name, offset in offsets.items()}
        code = yield from store_committed(coordinator, wanted)
        _raise(code, None, f"group {group_id}")

    def _of_controller(
        self,
        api_key: int,
        versions: Versions,
        message: Any,
        rows: Callable[[Any], Iterable[Any]],
        what: str,
        done_already: ErrorCode | None,
    ) -> Procedure[int]:
        """Returns the number of tries. Brokers in KRaft take it, whichever is asked; those with ZooKeeper only as controller."""
        was_lost = False
        for tries in range(1, TRIES + 1):
            failure: HeadraceError
            if tries > 1 or not self._metadata.version:
                yield self._metadata.refresh()
            node = self._metadata.controller_id
            if node not in self._metadata.brokers:
                node = self._engine.requests.any_node(self._engine.tasks.now_s)
            try:
                answer = yield Ask(node, api_key, versions, message, WAIT_S)
                failed = next((row for row in rows(answer) if row.error_code), None)
                if failed is None or (was_lost and failed.error_code == done_already):
                    return tries
                failure = error_of(failed.error_code, getattr(failed, "error_message", None) or what)
            except ConnectionFailed as lost:
                failure, was_lost = lost, True
            if (
                not is_retriable(failure)
                or tries == TRIES
                or (isinstance(failure, KafkaError) and failure.code is done_already)
            ):
                raise failure
            yield Pause(retry_pause_s(tries))
        raise AssertionError("unreachable")


def _assigned(data: bytes, protocol_type: str) -> Sequence[TopicPartition]:
    return decode_assignment(data) if protocol_type == "consumer" else ()


def _raise(code: int, message: str | None, what: str) -> None:
    if code:
        raise error_of(code, message or what)
