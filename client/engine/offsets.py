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


def offsets_for(
    tasks: Tasks, metadata: Metadata, wanted: Mapping[TopicPartition, int], is_read_committed: bool = False
) -> Procedure[dict[TopicPartition, Found]]:
    """The first offset at or after each time: LATEST, EARLIEST, or milliseconds.

    raises   KafkaError with the partition's name, where it is not retriable or stayed for TRIES tries; ConnectionFailed
    """
    kind = messages.ListOffsetsRequest

    def request(names: list[TopicPartition]) -> Callable[[int], Any]:
        def of_version(version: int) -> Any:
            topics: dict[str, list[Any]] = {}
            for name in names:
                state = metadata.partition(name)
                row = kind.ListOffsetsPartition(
                    partition_index=name.partition,
                    timestamp=wanted[name],
                    max_num_offsets=1,
                    current_leader_epoch=NO_EPOCH if state is None else state.leader_epoch,
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

    return _from_leaders(tasks, metadata, list(wanted), ApiKey.LIST_OFFSETS, LIST_VERSIONS, request, take, "offsets")


def epoch_ends_of(
    tasks: Tasks, metadata: Metadata, wanted: Mapping[TopicPartition, int]
) -> Procedure[dict[TopicPartition, EpochEnd]]:
    """Where leader epochs end in the present leaders' logs; a leader that does not support the question is left out.

    raises   as `offsets_for`
    """
    kind = messages.OffsetForLeaderEpochRequest

    def request(names: list[TopicPartition]) -> Callable[[int], Any]:
        def of_version(_version: int) -> Any:
            topics: dict[str, list[Any]] = {}
            for name in names:
                state = metadata.partition(name)
                present = NO_EPOCH if state is None else state.leader_epoch
                topics.setdefault(name.topic, []).append(
                    kind.OffsetForLeaderPartition(name.partition, present, wanted[name])
                )
            return kind(
                replica_id=CONSUMER, topics=[kind.OffsetForLeaderTopic(topic, rows) for topic, rows in topics.items()]
            )

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

    return _from_leaders(
        tasks, metadata, list(wanted), ApiKey.OFFSET_FOR_LEADER_EPOCH, EPOCH_VERSIONS, request, take, "leader epochs"
    )


def _from_leaders(
    tasks: Tasks,
    metadata: Metadata,
    names: list[TopicPartition],
    api_key: int,
    versions: tuple[int, int],
    request: Callable[[list[TopicPartition]], Callable[[int], Any]],
    take: Callable[[int, Any, dict[TopicPartition, Any]], list[tuple[TopicPartition, int]]],
    what: str,
) -> Procedure[Any]:
    """Ask all leaders at once, and those of what is missing again, until nothing is."""
    found: dict[TopicPartition, Any] = {}
    left = dict.fromkeys(names)
    failures: dict[TopicPartition, HeadraceError] = {}
    for tries in range(TRIES):
        if tries:
            yield Pause(retry_pause_s(tries))
        if tries or metadata.want({name.topic for name in left}):
            yield metadata.refresh()
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in left:
            leader = metadata.leader(name)
            if leader == NO_LEADER:
                failures[name] = _no_leader(metadata, name)
            else:
                by_leader.setdefault(leader, []).append(name)
        asked = [
            (
                asked_names,
                tasks.start(_one(leader, api_key, versions, request(asked_names)), f"{what} at broker {leader}"),
            )
            for leader, asked_names in by_leader.items()
        ]
        for asked_names, task in asked:
            try:
                version, answer = yield task
            except HeadraceError as failure:
                if (
                    isinstance(failure, KafkaError)
                    and failure.code is ErrorCode.UNSUPPORTED_VERSION
                    and versions == EPOCH_VERSIONS
                ):
                    for name in asked_names:
                        left.pop(name, None)
                    continue
                if not is_retriable(failure):
                    raise
                failures.update(dict.fromkeys(asked_names, failure))
                continue
            for name, code in take(version, answer, found):
                failures[name] = error_of(code, f"{what} of {name}")
        for name in [name for name in left if name in found]:
            del left[name]
        _raise_final({name: failure for name, failure in failures.items() if name in left})
        if not left:
            break
    if left:
        name = next(iter(left))
        raise failures.get(name) or KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{what} of {name}: not in the response")
    return found


def _one(leader: int, api_key: int, versions: tuple[int, int], message: Callable[[int], Any]) -> Procedure[Any]:
    return (yield Ask(leader, api_key, versions, message, has_version=True))


def _raise_final(failures: Mapping[TopicPartition, HeadraceError]) -> None:
    for failure in failures.values():
        if not is_retriable(failure):
            raise failure


def _no_leader(metadata: Metadata, name: TopicPartition) -> KafkaError:
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


__all__ = ["EARLIEST", "LATEST", "EpochEnd", "Found", "epoch_ends_of", "grouped", "offsets_for"]
