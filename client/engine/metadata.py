"""What the client knows of the cluster: brokers, topics, leaders. Asked for again when it is wrong, or old.

    wanted        topics that are in use; None: all of them
    refresh()     the task that asks; those that come meanwhile share it
    mark_stale()  a broker said that what is known is wrong: refreshed soon, `retry.backoff.ms` apart

A topic's id tells a topic from another of its name, deleted and created again. A leader of an older epoch than is known is not
believed (KAFKA-7738): brokers learn of a change at different times.

Metadata v0 to v12. v0 has no controller; an empty list of topics asks for all there, null from v1 on. Leader epochs count from v9 on:
brokers before Kafka 2.4 may report those of an earlier change (KAFKA-9212).

Source: Kafka `Metadata`, `MetadataCache`; KIP-516 for ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from headrace.client.engine.requests import Requests
from headrace.client.engine.tasks import Pause, Procedure, Task, Tasks, first_to_answer, retry_pause_s
from headrace.client.failures import ConnectionFailed, error_of
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_EPOCH, NO_LEADER, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import ZERO_UUID

VERSIONS: Final = (0, 12)
EPOCHS_VERSION: Final = 9  # from which on leader epochs are right
MAX_AGE_S: Final = 300.0  # metadata.max.age.ms
REFRESH_PAUSE_S: Final = 0.1  # retry.backoff.ms, between two refreshes
UNKNOWN_TOPIC_S: Final = (
    2.0  # a topic that brokers don't know for so long is not there; a new one may not have reached all of them
)
REFRESH_TRIES: Final = 10  # of one task, until it fails


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(slots=True)
class PartitionState:
    """A partition as the brokers describe it.

    leader         node id; -1: none now
    leader_epoch   -1: not known
    """

    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()


@dataclass(slots=True)
class TopicState:
    """A topic as the brokers describe it.

    topic_id   16 bytes; zeros: not known
    failure    why it can't be used now; None: it can
    """

    name: str
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionState] = field(default_factory=list)
    is_internal: bool = False
    failure: KafkaError | None = None


class Metadata:
    """The cluster as it was described last.

    version   grows with every refresh
    """

    def __init__(self, requests: Requests, tasks: Tasks) -> None:
        self.brokers: dict[int, Broker] = {}
        self.topics: dict[str, TopicState] = {}
        self.cluster_id = ""
        self.controller_id = -1
        self.version = 0
        self.max_age_s = MAX_AGE_S
        self.wanted: dict[str, None] | None = {}
        self._requests = requests
        self._tasks = tasks
        self._refreshing: Task[None] | None = None
        self._is_stale = False
        self._stale_tries = 0
        self._next_s = 0.0

    # Asking

    def want(self, topics: Iterable[str]) -> list[str]:
        """Keep these up to date from now on; returns those that are not known yet."""
        missing = []
        for topic in topics:
            if self.wanted is not None and topic not in self.wanted:
                self.wanted[topic] = None
            if topic not in self.topics:
                missing.append(topic)
        return missing

    def want_all(self) -> None:
        """Keep all topics up to date: for subscriptions by a pattern."""
        self.wanted = None

    def unwant(self, topics: Iterable[str]) -> None:
        if self.wanted is not None:
            for topic in topics:
                self.wanted.pop(topic, None)

    def mark_stale(self) -> None:
        """Refresh soon."""
        self._is_stale = True

    def refresh(self) -> Task[None]:
        """Ask now, or join those that wait for the answer already.

        raises   by the task: ConnectionFailed, where no broker responds
        """
        if self._refreshing is None or self._refreshing.is_done:
            self._refreshing = self._tasks.start(self._ask_until_answered(), "metadata of the cluster")
        return self._refreshing

    def known(self, topic: str) -> Procedure[TopicState]:
        """A topic with its partitions; a topic that no broker knows is asked for again for a short time.

        raises   KafkaError UNKNOWN_TOPIC_OR_PARTITION and others that are not retriable; ConnectionFailed
        """
        self.want([topic])
        give_up_s = self._tasks.now_s + UNKNOWN_TOPIC_S
        for tries in range(1, REFRESH_TRIES + 1):
            state = self.topics.get(topic)
            if state is not None and state.failure is None:
                return state
            if state is not None and state.failure is not None and not state.failure.code.retriable:
                raise state.failure
            is_unknown = (
                state is not None
                and state.failure is not None
                and state.failure.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            if is_unknown and self._tasks.now_s >= give_up_s:
                break
            if tries > 1:
                yield Pause(retry_pause_s(tries - 1))
            yield self.refresh()
        self.unwant([topic])
        state = self.topics.get(topic)
        if state is None or state.failure is not None:
            raise (state and state.failure) or KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}")
        return state

    def turn(self, now_s: float) -> None:
        """Refresh what is stale or old."""
        is_due = self._is_stale or (self.version > 0 and now_s >= self._next_s + self.max_age_s - REFRESH_PAUSE_S)
        if is_due and now_s >= self._next_s and (self._refreshing is None or self._refreshing.is_done):
            self.refresh()

    def next_s(self) -> float:
        if self._refreshing is not None and not self._refreshing.is_done:
            return float("inf")
        if self._is_stale:
            return self._next_s
        return self._next_s + self.max_age_s if self.version else float("inf")

    # Looking up

    def partition(self, name: TopicPartition) -> PartitionState | None:
        topic = self.topics.get(name.topic)
        if topic is None or not 0 <= name.partition < len(topic.partitions):
            return None
        return topic.partitions[name.partition]

    def leader(self, name: TopicPartition) -> int:
        """The leader's node id; -1: there is none that could be asked."""
        state = self.partition(name)
        return state.leader if state is not None and state.leader in self.brokers else NO_LEADER

    def moved(self, name: TopicPartition, leader: int, leader_epoch: int) -> None:
        """A broker named the present leader in its response (KIP-951)."""
        state = self.partition(name)
        if state is not None and leader_epoch > state.leader_epoch and leader in self.brokers:
            state.leader, state.leader_epoch = leader, leader_epoch

    # Procedures

    def _ask_until_answered(self) -> Procedure[None]:
        for tries in range(1, REFRESH_TRIES + 1):
            try:
                yield from self._ask()
                return
            except ConnectionFailed:
                if tries == REFRESH_TRIES:
                    self._is_stale = True  # what is wanted is wanted still
                    self._next_s = self._tasks.now_s + retry_pause_s(tries)
                    raise
            yield Pause(retry_pause_s(tries))

    def _ask(self) -> Procedure[None]:
        wanted = None if self.wanted is None else sorted(self.wanted)
        self._is_stale = False
        version, answer = yield from first_to_answer(
            self._requests, ApiKey.METADATA, VERSIONS, lambda version: _request(wanted, version), has_version=True
        )
        if not answer.brokers:  # one that has just started: what is known is better than nothing
            raise ConnectionFailed("metadata of the cluster: the response lists no brokers")
        self._take(answer, wanted, version >= EPOCHS_VERSION)
        in_use = self.topics if self.wanted is None else self.wanted
        if any(self._is_wrong(topic) for topic in in_use):  # a new topic, or one that is not ready: soon again
            self._stale_tries += 1
            self._is_stale = True
        else:
            self._stale_tries = 0
        self._next_s = self._tasks.now_s + max(REFRESH_PAUSE_S, retry_pause_s(max(1, self._stale_tries)))

    def _is_wrong(self, topic: str) -> bool:
        state = self.topics.get(topic)
        return state is None or (state.failure is not None and state.failure.code.retriable)

    def _take(self, answer: Any, wanted: list[str] | None, has_epochs: bool) -> None:
        self.brokers = {
            broker.node_id: Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in answer.brokers
        }
        self._requests.brokers = {broker.node_id: (broker.host, broker.port) for broker in self.brokers.values()}
        self.cluster_id = answer.cluster_id or ""
        self.controller_id = answer.controller_id
        found = {}
        for row in answer.topics:
            if row.name is not None:
                found[row.name] = self._topic(row, has_epochs)
        if wanted is None:
            self.topics = found
        else:
            self.topics.update(found)
        self.version += 1

    def _topic(self, row: Any, has_epochs: bool) -> TopicState:
        if row.error_code and not row.partitions:
            failure = error_of(row.error_code, f"topic {row.name}")
            old = self.topics.get(row.name)
            if old is not None and old.partitions and failure.code.retriable:
                return TopicState(row.name, old.topic_id, old.partitions, old.is_internal, failure)
            return TopicState(row.name, failure=failure)
        old = self.topics.get(row.name)
        is_same = old is not None and (old.topic_id == row.topic_id or ZERO_UUID in (old.topic_id, row.topic_id))
        partitions: list[PartitionState] = []
        for one in sorted(row.partitions, key=lambda partition: int(partition.partition_index)):
            index = one.partition_index
            while len(partitions) < index:
                partitions.append(PartitionState())
            leader_epoch = one.leader_epoch if has_epochs else NO_EPOCH
            state = PartitionState(one.leader_id, leader_epoch, tuple(one.replica_nodes), tuple(one.isr_nodes))
            if is_same and old is not None and index < len(old.partitions):
                before = old.partitions[index]
                if NO_EPOCH < state.leader_epoch < before.leader_epoch:
                    state.leader, state.leader_epoch = before.leader, before.leader_epoch
            partitions.append(state)
        return TopicState(row.name, row.topic_id, partitions, row.is_internal)


def _request(topics: list[str] | None, version: int) -> Any:
    kind = messages.MetadataRequest
    rows = None if topics is None else [kind.MetadataRequestTopic(name=name) for name in topics]
    if rows is None and version == 0:
        rows = []
    if rows == [] and topics is not None and version == 0:  # nothing is asked for, but v0 has no way to say so
        rows = [kind.MetadataRequestTopic(name="__consumer_offsets")]
    return kind(topics=rows, allow_auto_topic_creation=False)
