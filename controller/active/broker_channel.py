"""What one broker is told in a term: names that wait, and one request in flight.

Runs in: the controller process of the active node; a task, while something waits. What waits is taken as a round, in Kafka's order:

    UpdateMetadata   live brokers; to one that came, of all partitions
    StopReplica      of replicas that were to be stopped, and are told to follow since
    LeaderAndIsr     whose leaders are known by then: an Apache follower refuses one that it does not know
    UpdateMetadata   of topics that are gone since they were told to go; of partitions
    StopReplica      of the others

What is told meanwhile is the next round's. Each request names NOTICE_PARTITIONS_MAX partitions at most, and says what the
known cluster has of them when it leaves; until it is answered it is made and sent again, for as long as the broker lives
and the term lasts (`close`). An answer of a broker that has seen a newer controller, or was restarted, counts: who comes is
told everything anyway.

Source: Kafka `RequestSendThread`, `AbstractControllerBrokerRequestBatch`; KIP-380 for the broker epoch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from headrace.controller.active.broker_requests import (
    StoppedReplica,
    leaders_request,
    metadata_request,
    stop_request,
)
from headrace.controller.active.notices import OnStopped
from headrace.controller.active.term import RETRY_MS, Term
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper.znodes import Registration
from headrace.errors import BadFrame, ErrorCode, error_of
from headrace.limits import NOTICE_PARTITIONS_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import InterBroker
from headrace.protocol.codec import decode_response
from headrace.runtime.tasks import Future

Replica = tuple[str, int]  # topic, partition
Stops = dict[Replica, tuple[StoppedReplica, list[OnStopped]]]

# Errors of a whole request after which it is not asked again
_TOLD = frozenset((ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.STALE_BROKER_EPOCH))

_Heard = TypeVar("_Heard")

_log = logging.getLogger(__name__)


class Connection(Protocol):
    """The way to a broker."""

    def ask(self, api_key: int, version: int, message: Any, on_reply: Callable[[bytes | None], None]) -> bool:
        """Ask, one request at a time; `on_reply` gets the answer's body, None: done or not. False: not now."""

    def knock(self, on_heard: Callable[[bool], None]) -> bool:
        """Find out whether it answers at all, by as little as possible; False: not now."""

    def close(self) -> None:
        """For good; an answer may still be told from within."""


class Waiting:
    """Names of what a broker is to be sent."""

    __slots__ = ("first", "is_first", "leaders", "left", "metadata", "stops", "stops_before")

    def __init__(self) -> None:
        self.is_first = False  # the live brokers, before anything else
        self.first: dict[str, set[int] | None] = {}  # partitions with them; None: all of the topic
        self.leaders: dict[str, dict[int, bool]] = {}  # topic -> partition -> is new
        self.metadata: dict[str, set[int] | None] = {}
        self.left: dict[str, Topic] = {}  # of these, topics that were being deleted: they may be gone when it is sent
        self.stops: Stops = {}
        self.stops_before: Stops = {}

    def __bool__(self) -> bool:
        return bool(self.is_first or self.leaders or self.metadata or self.stops or self.stops_before)


class BrokerChannel:
    """One broker's, as long as it lives in this term."""

    def __init__(self, term: Term, broker: Registration, connection: Connection, versions: InterBroker) -> None:
        self._term = term
        self._broker = broker
        self._connection = connection
        self._versions = versions
        self._waiting = Waiting()
        self._rounds = 0  # that were begun
        self._is_running = False
        self._is_closed = False
        self._is_away = False  # it did not answer the last time

    def tell_brokers(self, names: Iterable[str] = ()) -> None:
        """The live brokers first of all, and with them all partitions of these topics."""
        self._waiting.is_first = True
        self._waiting.first.update(dict.fromkeys(names))
        self._run()

    def tell_leader(self, name: str, index: int, is_new: bool) -> None:
        waiting = self._waiting
        rows = waiting.leaders.setdefault(name, {})
        rows[index] = is_new or rows.get(index, False)
        stop = waiting.stops.pop((name, index), None) if waiting.stops else None
        if stop is not None:
            _add_stop(waiting.stops_before, (name, index), *stop)
        self._run()

    def tell_metadata(self, name: str, indexes: Collection[int] | None) -> None:
        """None: of all partitions"""
        _add_partitions(self._waiting.metadata, name, indexes)
        topic = self._term.leaving.get(name)
        if topic is not None:
            self._waiting.left[name] = topic
        self._run()

    def stop(self, name: str, index: int, stop: StoppedReplica, on_stopped: OnStopped | None) -> None:
        _add_stop(self._waiting.stops, (name, index), stop, [on_stopped] if on_stopped is not None else [])
        self._run()

    @property
    def is_done(self) -> bool:
        """Nothing waits, and nothing is being told."""
        return not self._is_running

    def heard(self) -> Callable[[], bool]:
        """Whether everything that waits now was sent, or the broker is gone: asked later."""
        last = self._rounds + bool(self._waiting)
        return lambda: self._is_closed or self._rounds > last or not self._is_running

    def move(self, broker: Registration, connection: Connection) -> None:
        """The same broker listens elsewhere: what is in flight is asked there."""
        self._broker = broker
        before, self._connection = self._connection, connection
        before.close()

    def close(self) -> None:
        """The broker went, or the term is over. What waits is forgotten, nothing is told any more."""
        self._is_closed = True
        self._waiting = Waiting()
        self._connection.close()

    # The task

    def _run(self) -> None:
        if not self._is_running and not self._is_closed and self._waiting:
            self._is_running = True
            self._term.start(self._tell_all(), self._ended)

    def _ended(self) -> None:
        self._is_running = False

    async def _tell_all(self) -> None:
        while self._waiting and not self._is_closed:
            waiting, self._waiting = self._waiting, Waiting()
            self._rounds += 1
            if waiting.is_first:
                await self._tell_metadata(waiting.first, is_first=True)
            await self._stop(waiting.stops_before)
            await self._tell_leaders(waiting.leaders)
            await self._tell_gone(waiting.left)
            known = self._term.known.topics
            metadata = {
                name: wanted for name, wanted in waiting.metadata.items() if name not in waiting.left or name in known
            }
            await self._tell_metadata(metadata)
            await self._stop(waiting.stops)

    async def _tell_metadata(self, wanted: Mapping[str, Collection[int] | None], is_first: bool = False) -> None:
        """is_first   the live brokers, if there is no partition too"""
        version = self._versions.update_metadata
        parts = list(_cut(wanted, self._partitions_of))
        for part in parts or [{}] * is_first:
            make = partial(metadata_request, self._term, self._broker.epoch, part)
            await self._exchange(ApiKey.UPDATE_METADATA, version, make)

    async def _tell_gone(self, left: Mapping[str, Topic]) -> None:
        """Topics that are deleted, as they were then: some may be gone by now, or become so while others are sent.

        Without ids the name of one that was made again would be taken for the old one.
        """
        known, has_ids = self._term.known.topics, self._versions.has_topic_ids

        def make(part: Mapping[str, Collection[int]]) -> Any:
            gone = {name: left[name] for name in part if has_ids or name not in known}
            wanted = {name: part[name] for name in gone}
            return metadata_request(self._term, self._broker.epoch, wanted, gone) if gone else None

        for part in _cut(dict.fromkeys(left), lambda name: range(len(left[name].states))):
            await self._exchange(ApiKey.UPDATE_METADATA, self._versions.update_metadata, partial(make, part))

    async def _tell_leaders(self, wanted: Mapping[str, Mapping[int, bool]]) -> None:
        version = self._versions.leader_and_isr
        for names in _cut(wanted, self._partitions_of):
            part = {name: {index: wanted[name][index] for index in indexes} for name, indexes in names.items()}
            make = partial(leaders_request, self._term, self._broker.epoch, part)
            asked, answer = await self._exchange(ApiKey.LEADER_AND_ISR, version, make)
            if answer is not None and not answer.error_code and not self._is_closed:
                self._term.take_answer(self._broker.node_id, asked, _errors_of(asked, answer))

    async def _stop(self, stops: Stops) -> None:
        version = self._versions.stop_replica
        left = iter(stops)
        while part := {replica: stops[replica][0] for replica in islice(left, NOTICE_PARTITIONS_MAX)}:
            make = partial(stop_request, self._term, self._broker.epoch, part)
            _asked, answer = await self._exchange(ApiKey.STOP_REPLICA, version, make)
            if answer is None or self._is_closed:
                return
            found = {(row.topic_name, row.partition_index): error_of(row.error_code) for row in answer.partition_errors}
            for replica in part:
                code = error_of(answer.error_code) or found.get(replica, ErrorCode.NONE)
                for on_stopped in stops[replica][1]:
                    on_stopped(self._broker.node_id, *replica, code)

    async def _exchange(self, api_key: int, version: int, make: Callable[[], Any]) -> tuple[Any, Any]:
        """Ask until it is answered. Who did not answer is knocked at, before a request of many partitions is made again.

        make      the request, as things are now; None: there is nothing to be told any more
        returns   the request and the answer; None, where there is none: nothing to send, or the end
        """
        while not self._is_closed:
            if self._is_away and not await self._knock():
                await self._term.tasks.sleep(RETRY_MS)
                continue
            message = make()
            if message is None:
                break
            reply: Future[bytes | None] = Future()
            if self._connection.ask(api_key, version, message, partial(_complete, reply)):
                body = await reply
                self._is_away = body is None
                answer = None if body is None else self._read(api_key, version, body)
                if answer is not None:
                    return message, answer
            if not self._is_closed:
                await self._term.tasks.sleep(RETRY_MS)
        return None, None

    async def _knock(self) -> bool:
        heard: Future[bool] = Future()
        return self._connection.knock(partial(_complete, heard)) and await heard

    def _read(self, api_key: int, version: int, body: bytes) -> Any:
        """An answer; None, where it is to be asked again."""
        try:
            answer = decode_response(api_key, version, memoryview(body))
        except BadFrame as failure:
            _log.warning(
                "response of a broker rejected broker=%d api=%d reason=%s", self._broker.node_id, api_key, failure
            )
            return None
        code = error_of(answer.error_code)
        if code not in _TOLD:
            _log.warning(
                "broker refused a request of the controller, retrying broker=%d api=%d error=%s",
                self._broker.node_id, api_key, code.name,
            )  # fmt: skip
            return None
        if code:
            _log.info(
                "broker reports a newer epoch broker=%d api=%d error=%s", self._broker.node_id, api_key, code.name
            )
        return answer

    def _partitions_of(self, name: str) -> Collection[int]:
        topic = self._term.find(name)
        return range(len(topic.states)) if topic is not None else ()


def _complete(reply: Future[_Heard], heard: _Heard) -> None:
    if not reply.is_done:
        reply.complete(heard)


def _add_partitions(waiting: dict[str, set[int] | None], name: str, indexes: Collection[int] | None) -> None:
    known = waiting.setdefault(name, set())
    if indexes is None:
        waiting[name] = None
    elif known is not None:
        known.update(indexes)


def _add_stop(waiting: Stops, replica: Replica, stop: StoppedReplica, on_stopped: list[OnStopped]) -> None:
    """The newest leader epoch; deleted, where one of them says so."""
    before = waiting.get(replica)
    if before is not None:
        stop = stop._replace(is_deleted=stop.is_deleted or before[0].is_deleted)
        on_stopped = [*before[1], *on_stopped]
    waiting[replica] = stop, on_stopped


def _cut(
    wanted: Mapping[str, Collection[int] | None], all_of: Callable[[str], Collection[int]]
) -> Iterator[dict[str, list[int]]]:
    """Parts of NOTICE_PARTITIONS_MAX partitions at most, in their order."""
    part: dict[str, list[int]] = {}
    room = NOTICE_PARTITIONS_MAX
    for name, indexes in wanted.items():
        left = iter(all_of(name) if indexes is None else indexes)
        while taken := list(islice(left, room)):
            part[name] = taken
            room -= len(taken)
            if not room:
                yield part
                part, room = {}, NOTICE_PARTITIONS_MAX
    if part:
        yield part


def _errors_of(asked: Any, answer: Any) -> dict[Replica, ErrorCode]:
    """An answer to LeaderAndIsr, by partition: up to v4 by the topic's name, then by its id."""
    names = {topic.topic_id: topic.topic_name for topic in asked.topic_states}
    rows = [(row.topic_name, row) for row in answer.partition_errors]
    rows += [(names.get(topic.topic_id, ""), row) for topic in answer.topics for row in topic.partition_errors]
    return {(name, row.partition_index): error_of(row.error_code) for name, row in rows}
