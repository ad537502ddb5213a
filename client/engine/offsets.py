"""Offsets by time, and where leader epochs end: one request for each leader, retried where a leader has moved.

ListOffsets v0 answers with a list of offsets, the first of which is the one; v1 and later with one offset and its time.
OffsetForLeaderEpoch is for consumers from v3 on.

Source: Kafka `OffsetFetcher`, `OffsetsForLeaderEpochClient`; KIP-320.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from headrace.client.engine.metadata import Metadata
from headrace.client.engine.tasks import Ask, Pause, Procedure, Tasks, retry_pause_s
from headrace.client.failures import error_of, is_retriable
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, NO_LEADER, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

LATEST: Final = -1
EARLIEST: Final = -2
NO_OFFSET: Final = -1
CONSUMER: Final = -1  # replica id
TRIES: Final = 20  # with pauses up to a second each

LIST_VERSIONS: Final = (0, 7)
EPOCH_VERSIONS: Final = (3, 4)


class Found(NamedTuple):
    """An offset for a time.

    offset          NO_OFFSET: no record is that late
    timestamp_ms    of the record, -1: not known
    leader_epoch    of the record, -1: not known
    """

    offset: int
    timestamp_ms: int = -1
    leader_epoch: int = NO_EPOCH


class EpochEnd(NamedTuple):
    """The largest epoch of a log at or below the one asked for, and where it ends; both -1: none."""

    epoch: int
    end: int


class Question(NamedTuple):
    """What leaders are asked about partitions.

    request   of some of them, a message by version
    take      the answers in a response, by partition; returns those that were refused, with the error code
    """

    api_key: int
    versions: tuple[int, int]
    what: str
    request: Callable[[list[TopicPartition]], Callable[[int], Any]]
    take: Callable[[int, Any, dict[TopicPartition, Any]], list[tuple[TopicPartition, int]]]


def offsets_question(
    metadata: Metadata, wanted: Mapping[TopicPartition, int], is_read_committed: bool = False
) -> Question:
    """The first offset at or after each time: LATEST, EARLIEST, or milliseconds. Answers are `Found`."""
    kind = messages.ListOffsetsRequest

    def request(names: list[TopicPartition]) -> Callable[[int], Any]:
        def of_version(_version: int) -> Any:
            topics: dict[str, list[Any]] = {}
            for name in names:
                row = kind.ListOffsetsPartition(
                    partition_index=name.partition,
                    timestamp=wanted[name],
                    max_num_offsets=1,
                    current_leader_epoch=_leader_epoch(metadata, name),
                )
                topics.setdefault(name.topic, []).append(row)
            rows = [kind.ListOffsetsTopic(name=topic, partitions=found) for topic, found in topics.items()]
            return kind(replica_id=CONSUMER, isolation_level=int(is_read_committed), topics=rows)

        return of_version

    def take(version: int, answer: Any, found: dict[TopicPartition, Any]) -> list[tuple[TopicPartition, int]]:
        refused = []
        for topic in answer.topics:
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                if row.error_code:
                    refused.append((name, row.error_code))
                elif version == 0:
                    found[name] = Found(row.old_style_offsets[0] if row.old_style_offsets else NO_OFFSET)
                else:
                    found[name] = Found(row.offset, row.timestamp, row.leader_epoch)
        return refused

    return Question(ApiKey.LIST_OFFSETS, LIST_VERSIONS, "offsets", request, take)


def epochs_question(metadata: Metadata, wanted: Mapping[TopicPartition, int]) -> Question:
    """Where leader epochs end in the present leaders' logs. Answers are `EpochEnd`."""
    kind = messages.OffsetForLeaderEpochRequest

    def request(names: list[TopicPartition]) -> Callable[[int], Any]:
        def of_version(_version: int) -> Any:
            topics: dict[str, list[Any]] = {}
            for name in names:
                row = kind.OffsetForLeaderPartition(name.partition, _leader_epoch(metadata, name), wanted[name])
                topics.setdefault(name.topic, []).append(row)
            rows = [kind.OffsetForLeaderTopic(topic, found) for topic, found in topics.items()]
            return kind(replica_id=CONSUMER, topics=rows)

        return of_version

    def take(_version: int, answer: Any, found: dict[TopicPartition, Any]) -> list[tuple[TopicPartition, int]]:
        refused = []
        for topic in answer.topics:
            for row in topic.partitions:
                name = TopicPartition(topic.topic, row.partition)
                if row.error_code:
                    refused.append((name, row.error_code))
                else:
                    found[name] = EpochEnd(row.leader_epoch, row.end_offset)
        return refused

    return Question(ApiKey.OFFSET_FOR_LEADER_EPOCH, EPOCH_VERSIONS, "leader epochs", request, take)


def ask_leader(
    leader: int, names: list[TopicPartition], question: Question
) -> Procedure[tuple[dict[TopicPartition, Any], dict[TopicPartition, HeadraceError]]]:
    """One request to a leader: (answers, failures). Those that its response leaves out are in neither."""
    found: dict[TopicPartition, Any] = {}
    try:
        version, answer = yield Ask(
            leader, question.api_key, question.versions, question.request(names), has_version=True
        )
    except HeadraceError as failure:
        return found, dict.fromkeys(names, failure)
    refused = question.take(version, answer, found)
    return found, {name: error_of(code, f"{question.what} of {name}") for name, code in refused}


def offsets_for(
    tasks: Tasks, metadata: Metadata, wanted: Mapping[TopicPartition, int], is_read_committed: bool = False
) -> Procedure[dict[TopicPartition, Found]]:
    """The first offset at or after each time, of all these partitions: asked again for those that are missing.

    raises   KafkaError with the partition's name, where it is not retriable or stayed for TRIES tries; ConnectionFailed
    """
    question = offsets_question(metadata, wanted, is_read_committed)
    return ask_leaders(tasks, metadata, wanted, question)


def ask_leaders(
    tasks: Tasks, metadata: Metadata, names: Iterable[TopicPartition], question: Question
) -> Procedure[dict[TopicPartition, Any]]:
    """The answers of all these partitions' leaders. Those that a leader left out, beside others, are asked for again at once.

    raises   KafkaError with the partition's name, where it is not retriable or stayed for TRIES tries; ConnectionFailed
    """
    found: dict[TopicPartition, Any] = {}
    left = dict.fromkeys(names)
    failures: dict[TopicPartition, HeadraceError] = {}
    tries = 0
    while tries < TRIES:
        if tries:
            yield Pause(retry_pause_s(tries))
        if metadata.want({name.topic for name in left}) or tries:
            yield metadata.refresh()
        failures = {}
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in left:
            leader = metadata.leader(name)
            if leader == NO_LEADER:
                failures[name] = no_leader(metadata, name)
            else:
                by_leader.setdefault(leader, []).append(name)
        asked = [
            tasks.start(ask_leader(leader, some, question), f"{question.what} at broker {leader}")
            for leader, some in by_leader.items()
        ]
        count = len(left)
        for task in asked:
            answers, refused = yield task
            found.update(answers)
            failures.update(refused)
        for name in found:
            left.pop(name, None)
        for failure in failures.values():
            if not is_retriable(failure):
                raise failure
        if not left:
            return found
        tries = 0 if len(left) < count and not failures else tries + 1
    name = next(iter(left))
    raise failures.get(name) or KafkaError(
        ErrorCode.UNKNOWN_SERVER_ERROR, f"{question.what} of {name}: not in the response"
    )


def _leader_epoch(metadata: Metadata, name: TopicPartition) -> int:
    state = metadata.partition(name)
    return NO_EPOCH if state is None else state.leader_epoch


def no_leader(metadata: Metadata, name: TopicPartition) -> KafkaError:
    """Why a partition has no leader that could be asked."""
    topic = metadata.topics.get(name.topic)
    if topic is None or name.partition >= len(topic.partitions):
        return (topic and topic.failure) or KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(name))
    return KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(name))


def grouped(names: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partitions by topic."""
    found: dict[str, list[int]] = {}
    for name in names:
        found.setdefault(name.topic, []).append(name.partition)
    return found


__all__ = [
    "EARLIEST",
    "LATEST",
    "EpochEnd",
    "Found",
    "ask_leader",
    "ask_leaders",
    "epochs_question",
    "grouped",
    "offsets_for",
    "offsets_question",
]
