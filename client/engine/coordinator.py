"""Requests to the coordinator of a group, or of a transactional id: looked up, asked, looked up again when it has moved.

Source: Kafka `AbstractCoordinator`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from headrace.client.engine.link import Lane, Message, Versions
from headrace.client.engine.requests import Requests
from headrace.client.engine.tasks import REQUEST_TIMEOUT_S, Ask, Pause, Procedure, T, first_to_answer, retry_pause_s
from headrace.client.failures import ConnectionFailed, error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, NO_GENERATION, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

KEY_TYPE_GROUP: Final = 0
KEY_TYPE_TRANSACTION: Final = 1
_KEYS: Final = {KEY_TYPE_GROUP: "group", KEY_TYPE_TRANSACTION: "transactional id"}
TRIES: Final = 40  # with pauses up to a second each
COMMIT_STEP_S: Final = 0.01  # of a commit that waits for one before it
MOVED: Final = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)

Position = tuple[int, int, str]  # offset, leader epoch, metadata


class Committed(NamedTuple):
    """What is committed of a partition.

    leader_epoch   of the last record before the offset; -1: not known
    """

    offset: int
    metadata: str
    leader_epoch: int = NO_EPOCH


class GroupMetadata(NamedTuple):
    """A group's member, as it was when it was given the records whose offsets are committed.

    member_id   "": offsets of a group without members, or of one that is not to be checked
    """

    group_id: str
    generation: int = NO_GENERATION
    member_id: str = ""
    instance_id: str | None = None


class Coordinator:
    """The broker that has a group's state. What waits long there, a join, goes over a link of its own (Lane.GROUP).

    group_id    or a transactional id, as `key_type` says
    tries_max   of a request, where it is not said with it
    """

    def __init__(
        self, requests: Requests, group_id: str, tries_max: int = TRIES, key_type: int = KEY_TYPE_GROUP
    ) -> None:
        self.group_id = group_id
        self._key_type = key_type
        self._what = f"coordinator of {_KEYS[key_type]} {group_id}"
        self._tries_max = tries_max
        self._requests = requests
        self._node: int | None = None
        self._commits: deque[object] = deque()

    def in_turn(self, commit: Procedure[T]) -> Procedure[T]:
        """One commit after the other: a retry of an earlier one would take a later one back."""
        place = object()
        self._commits.append(place)
        try:
            while self._commits[0] is not place:
                yield Pause(COMMIT_STEP_S)
            return (yield from commit)
        finally:
            self._commits.remove(place)

    @property
    def node(self) -> int | None:
        """The broker that it was at last."""
        return self._node

    def forget(self) -> None:
        """Look it up again next time."""
        self._node = None

    def ask(
        self,
        api_key: int,
        versions: Versions,
        message: Message,
        code_of: Callable[[Any], int],
        timeout_s: float = REQUEST_TIMEOUT_S,
        tries_max: int | None = None,
        lane: Lane = Lane.GENERAL,
    ) -> Procedure[Any]:
        """The response, errors of the group included; asked again where the coordinator has moved, loads, or can't be reached.

        code_of   the group's error code in a response
        raises    KafkaError, ConnectionFailed after `tries_max` tries; UNSUPPORTED_VERSION at once
        """
        tries_max = tries_max or self._tries_max
        for tries in range(1, tries_max + 1):
            failure: HeadraceError
            try:
                node = yield from self.find()
                answer = yield Ask(node, api_key, versions, message, timeout_s, lane)
                code = code_of(answer)
                if code not in MOVED:
                    return answer
                failure = error_of(code, self._what)
                if code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    self.forget()
            except ConnectionFailed as failed:
                failure = failed
                self.forget()
            except KafkaError as failed:
                if failed.code not in MOVED:
                    raise
                failure = failed
                self.forget()
            if tries == tries_max:
                raise failure
            yield Pause(retry_pause_s(tries))
        raise AssertionError("unreachable")

    def find(self) -> Procedure[int]:
        """Its node id. raises KafkaError, ConnectionFailed"""
        if self._node is not None:
            return self._node
        kind = messages.FindCoordinatorRequest

        def message(version: int) -> Any:
            if version >= 4:
                return kind(key_type=self._key_type, coordinator_keys=[self.group_id])
            return kind(key=self.group_id, key_type=self._key_type)

        lowest = 0 if self._key_type == KEY_TYPE_GROUP else 1  # v0 finds groups alone
        answer = yield from first_to_answer(self._requests, ApiKey.FIND_COORDINATOR, (lowest, 4), message)
        row = answer.coordinators[0] if answer.coordinators else answer
        if row.error_code:
            raise error_of(row.error_code, self._what)
        self._requests.others[row.node_id] = (row.host, row.port)
        self._node = int(row.node_id)
        return self._node


def fetch_committed(
    coordinator: Coordinator, names: Sequence[TopicPartition] | None, is_stable: bool = True
) -> Procedure[dict[TopicPartition, Committed]]:
    """What is committed; partitions without are left out. raises KafkaError, ConnectionFailed

    names       None: all of the group's
    is_stable   offsets that a transaction is about to change are waited for
    """
    kind = messages.OffsetFetchRequest
    topics: list[Any] | None = None
    if names is not None:
        by_topic: dict[str, list[int]] = {}
        for name in names:
            by_topic.setdefault(name.topic, []).append(name.partition)
        topics = [kind.OffsetFetchRequestTopic(topic, indexes) for topic, indexes in by_topic.items()]
    request = kind(group_id=coordinator.group_id, topics=topics, groups=[], require_stable=is_stable)
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    for tries in range(1, TRIES + 1):
        answer = yield from coordinator.ask(
            ApiKey.OFFSET_FETCH, (1 if topics is not None else 2, 7), request, _code_of_fetch
        )
        if answer.error_code:
            raise error_of(answer.error_code, f"offsets of group {coordinator.group_id}")
        found = {}
        codes = set()
        for topic in answer.topics:
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                codes.add(row.error_code)
                if row.error_code and row.error_code != unstable:
                    raise error_of(row.error_code, f"offset of {name} in group {coordinator.group_id}")
                if row.committed_offset >= 0:
                    found[name] = Committed(row.committed_offset, row.metadata or "", row.committed_leader_epoch)
        if unstable not in codes:
            return found
        yield Pause(retry_pause_s(tries))
    raise error_of(unstable, f"offsets of group {coordinator.group_id}")


def store_committed(
    coordinator: Coordinator,
    offsets: Mapping[TopicPartition, Position],
    generation: int = NO_GENERATION,
    member_id: str = "",
    instance_id: str | None = None,
) -> Procedure[int]:
    """Commit; returns the group's error code where a rebalance or a fence refused it, 0: done.

    raises   KafkaError with the partition, for other errors; ConnectionFailed
    """
    kind = messages.OffsetCommitRequest
    topics: dict[str, list[Any]] = {}
    for name, (offset, epoch, metadata) in sorted(offsets.items()):
        row = kind.OffsetCommitRequestPartition(name.partition, offset, epoch, committed_metadata=metadata)
        topics.setdefault(name.topic, []).append(row)
    request = kind(
        group_id=coordinator.group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=[kind.OffsetCommitRequestTopic(topic, rows) for topic, rows in topics.items()],
    )
    answer = yield from coordinator.in_turn(coordinator.ask(ApiKey.OFFSET_COMMIT, (2, 8), request, _first_code))
    for topic in answer.topics:
        for row in topic.partitions:
            if row.error_code in REFUSED:
                return int(row.error_code)
            if row.error_code:
                raise error_of(
                    row.error_code,
                    f"commit of {TopicPartition(topic.name, row.partition_index)} in {coordinator.group_id}",
                )
    return 0


REFUSED: Final = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)


def _first_code(answer: Any) -> int:
    return next((row.error_code for topic in answer.topics for row in topic.partitions if row.error_code), 0)


def _code_of_fetch(answer: Any) -> int:
    """Before v2 each partition has the group's error."""
    if answer.error_code:
        return int(answer.error_code)
    return next((row.error_code for topic in answer.topics for row in topic.partitions if row.error_code in MOVED), 0)
