"""One member of a consumer group: joins, is assigned, sends heartbeats, leaves. Sans-IO: a procedure of the engine.

    UNJOINED --subscribe--> JOINING --sync--> STABLE --the group rebalances--> JOINING ...
                                                     --removed, fenced------> UNJOINED, what it had is lost

What the consumer has to do comes as events, in order. It does an event's part, and calls `acknowledge`:

    Revoked(partitions)    stop reading them; commit what was done with them
    Assigned(partitions)   begin to read them, beside what stays
    Lost(partitions)       stop reading; they are another member's already, commits are refused

Eager protocols revoke everything before each join. Cooperative ones (KIP-429) revoke what the new assignment takes away, after it, and
join again at once; reading continues meanwhile. A group is cooperative where all assignors that it offers are.

A consumer that was not heard of (`polled`) for `max.poll.interval.ms` leaves the group, until it is heard of again.

Source: Kafka `AbstractCoordinator`, `ConsumerCoordinator`; KIP-62, KIP-345 (static members), KIP-394 (member ids), KIP-429.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from headrace.client.engine.coordinator import REFUSED, Coordinator, Position, store_committed
from headrace.client.engine.link import Lane
from headrace.client.engine.metadata import Metadata
from headrace.client.engine.requests import Requests
from headrace.client.engine.tasks import Pause, Procedure, Task, Tasks, retry_pause_s
from headrace.client.failures import ConnectionFailed, error_of, is_retriable
from headrace.client.group_protocol import Protocol, assign, assignment_of, protocol_named, subscription_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_GENERATION, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

PROTOCOL_TYPE: Final = "consumer"
JOIN_EXTRA_S: Final = 10.0  # after the rebalance timeout, which a join may take
LEAVE_TIMEOUT_S: Final = 5.0
STEP_S: Final = 0.1  # between two checks of a member that waits for its consumer
TOPICS_S: Final = 1.0  # between two checks whether the topics have changed


@dataclass(frozen=True, slots=True)
class MembershipOptions:
    """Options of a group member, by Kafka's keys; times in milliseconds.

    assignors     names, the preferred one first (partition.assignment.strategy)
    instance_id   group.instance.id of a static member, None: a dynamic one
    """

    group_id: str
    assignors: tuple[str, ...] = ("range", "cooperative-sticky")
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    instance_id: str | None = None
    rack: str | None = None

    def __post_init__(self) -> None:
        if not self.group_id:
            raise ValueError("group.id: is empty")
        if not self.assignors:
            raise ValueError("partition.assignment.strategy: is empty: expected the name of an assignor")
        for name in self.assignors:
            protocol_named(name)
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ValueError(
                f"heartbeat.interval.ms: {self.heartbeat_interval_ms}: must be below session.timeout.ms ({self.session_timeout_ms})"
            )


@dataclass(frozen=True, slots=True)
class Revoked:
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Assigned:
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    partitions: tuple[TopicPartition, ...]


Event = Revoked | Assigned | Lost


class MemberState(Enum):
    UNJOINED = "not a member"
    JOINING = "joining"
    STABLE = "stable"
    LEFT = "left"


class Membership:
    """A member of one group.

    events       what the consumer has to do, in order
    partitions   that are ours now
    failure      an error that joining again does not cure: the member has ended
    """

    def __init__(self, requests: Requests, tasks: Tasks, metadata: Metadata, options: MembershipOptions) -> None:
        self.options = options
        self.events: deque[Event] = deque()
        self.partitions: tuple[TopicPartition, ...] = ()
        self.member_id = ""
        self.generation = NO_GENERATION
        self.state = MemberState.UNJOINED
        self.failure: HeadraceError | None = None
        self.coordinator = Coordinator(requests, options.group_id)
        self._tasks = tasks
        self._metadata = metadata
        self._topics: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._polled_s = 0.0
        self._has_rebalanced = False  # the group says so: join again
        self._is_stopping = False
        self._acknowledged: Task[None] | None = None
        self._running: Task[None] | None = None
        self._heart: Task[None] | None = None
        self._joined_topics: tuple[str, ...] = ()
        self._last: tuple[
            TopicPartition, ...
        ] = ()  # the last assignment, and its generation: what a sticky leader goes by
        self._last_generation = NO_GENERATION
        self._dealt: dict[str, int] | None = None  # partitions of each topic that we dealt as the leader
        self._offered = [protocol_named(name) for name in options.assignors]
        self._is_cooperative = all(protocol.is_cooperative for protocol in self._offered)

    # What the consumer calls

    def subscribe(self, topics: Sequence[str] = (), pattern: re.Pattern[str] | None = None) -> None:
        """Be a member that wants these topics, or those whose whole names match."""
        self._topics, self._pattern = tuple(sorted(set(topics))), pattern
        self._polled_s = self._tasks.now_s
        if pattern is not None:
            self._metadata.want_all()
        self._has_rebalanced = True
        if self._running is None or self._running.is_done:
            self._running = self._tasks.start(self._run(), f"membership of group {self.options.group_id}")

    def polled(self) -> None:
        """The consumer is alive."""
        self._polled_s = self._tasks.now_s

    def acknowledge(self) -> None:
        """The first event was acted on."""
        self.events.popleft()
        if not self.events and self._acknowledged is not None:
            self._acknowledged.settle(None)

    def commit(self, offsets: Mapping[TopicPartition, Position]) -> Task[None]:
        """Commit next offsets in this generation.

        raises   by the task: KafkaError REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID where they
                 are refused, and others; ConnectionFailed
        """
        return self._tasks.start(self._commit(offsets), f"commit in group {self.options.group_id}")

    def leave(self) -> Task[None]:
        """End the membership. A static member keeps its place for the session timeout."""
        self._is_stopping = True
        if self._running is not None:
            self._running.cancel()
        self._stop_heart()
        return self._tasks.start(self._leave("the consumer was closed"), f"leaving group {self.options.group_id}")

    # The life of a member

    def _run(self) -> Procedure[None]:
        tries = 0
        while not self._is_stopping:
            try:
                yield from self._wait_for_consumer()
                yield from self._rebalance()
                tries = 0
                yield from self._stay()
            except HeadraceError as failure:
                is_fenced = isinstance(failure, KafkaError) and failure.code is ErrorCode.FENCED_INSTANCE_ID
                if is_fenced or not is_retriable(failure):
                    self._stop_heart()
                    yield from self._lose()
                    self.failure = failure
                    self.state = MemberState.UNJOINED
                    return
                tries += 1
                yield Pause(retry_pause_s(tries))

    def _wait_for_consumer(self) -> Procedure[None]:
        """After `max.poll.interval.ms` without a word of it."""
        while self._is_silent:
            yield Pause(STEP_S)

    @property
    def _is_silent(self) -> bool:
        return self._tasks.now_s - self._polled_s >= self.options.max_poll_interval_ms / 1000

    def _stay(self) -> Procedure[None]:
        """A member, until there is a reason to join again."""
        topics_s = self._tasks.now_s
        while not self._has_rebalanced:
            yield Pause(STEP_S)
            if self._is_silent:
                self._stop_heart()
                if self.options.instance_id is None:
                    yield from self._leave("the consumer did not poll within max.poll.interval.ms")
                yield from self._lose()
                return
            if self._tasks.now_s - topics_s >= TOPICS_S:
                topics_s = self._tasks.now_s
                if self._has_other_topics():
                    return

    def _has_other_topics(self) -> bool:
        """Whether what we subscribe to, or dealt as the leader, is not what there is by now."""
        if self._dealt is not None:
            for topic, count in self._dealt.items():
                state = self._metadata.topics.get(topic)
                if state is not None and state.failure is None and len(state.partitions) != count:
                    return True
        return self._pattern is not None and self._matching() != self._joined_topics

    def _matching(self) -> tuple[str, ...]:
        if self._pattern is None:
            return self._topics
        return tuple(
            sorted(
                name
                for name, state in self._metadata.topics.items()
                if self._pattern.fullmatch(name) and not state.is_internal and state.partitions
            )
        )

    def _rebalance(self) -> Procedure[None]:
        """Join until an assignment holds."""
        tries = 0
        while not self._is_stopping:
            self.state = MemberState.JOINING
            if self._pattern is not None and not self._metadata.version:
                yield self._metadata.refresh()
            if not self._is_cooperative and self.partitions:
                yield from self._revoke(self.partitions)
            self._stop_heart()
            self._has_rebalanced = False  # after the last heartbeat of the generation before, which says that it has
            self._joined_topics = self._matching()
            had_id = bool(self.member_id)
            joined = yield from self._join()
            share = None if joined is None else (yield from self._sync(joined))
            if share is None:
                if had_id or not self.member_id:  # else we were given our id, to join with at once
                    tries += 1
                    yield Pause(retry_pause_s(tries))
                yield from self._wait_for_consumer()
                continue
            tries = 0
            generation = self.generation
            self._heart = self._tasks.start(self._beat(), f"heartbeats in group {self.options.group_id}")
            before, now = set(self.partitions), set(share)
            if gone := sorted(before - now):
                yield from self._revoke(gone)
            if self.generation != generation:
                continue  # removed meanwhile: this assignment is another member's
            self.partitions = self._last = tuple(sorted(now))
            self._last_generation = self.generation
            self.state = MemberState.STABLE
            yield from self._tell(Assigned(tuple(sorted(now - before))))
            if not gone:
                return
            if not self._has_rebalanced:
                self._has_rebalanced = True  # so that others get what we gave back

    def _revoke(self, names: Sequence[TopicPartition]) -> Procedure[None]:
        yield from self._tell(Revoked(tuple(names)))
        self.partitions = tuple(name for name in self.partitions if name not in set(names))

    def _lose(self) -> Procedure[None]:
        """Everything, without a word to the group."""
        self._forget_generation()
        lost, self.partitions = self.partitions, ()
        if lost:
            self.events.append(Lost(lost))
        return
        yield

    def _tell(self, event: Event) -> Procedure[None]:
        """Have the consumer act on an event, and wait until it has; one that is silent loses everything.

        raises   ConnectionFailed, where it was silent
        """
        self.events.append(event)
        acknowledged: Task[None] = Task(None, None, "the consumer to act on a rebalance")
        self._acknowledged = acknowledged
        while not acknowledged.is_done:
            yield Pause(STEP_S / 10)
            if self._is_silent:
                self._stop_heart()
                if self.options.instance_id is None:
                    yield from self._leave("the consumer did not poll within max.poll.interval.ms")
                yield from self._lose()
                yield acknowledged
                raise ConnectionFailed("the consumer did not respond to a rebalance")

    def _forget_generation(self) -> None:
        self.generation = NO_GENERATION
        self.member_id = ""
        self._dealt = None
        self._last, self._last_generation = (), NO_GENERATION

    # Requests

    def _join(self) -> Procedure[Any]:
        """The JoinGroup response, None if it must be retried."""
        kind, options = messages.JoinGroupRequest, self.options
        rows = [
            kind.JoinGroupRequestProtocol(
                protocol.name,
                subscription_of(
                    protocol, self._joined_topics, self.partitions, self._last, self._last_generation, options.rack
                ),
            )
            for protocol in self._offered
        ]
        request = kind(
            group_id=options.group_id,
            session_timeout_ms=options.session_timeout_ms,
            rebalance_timeout_ms=options.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=options.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=rows,
        )
        versions = (5 if options.instance_id is not None else 0, 9)
        wait_s = options.max_poll_interval_ms / 1000 + JOIN_EXTRA_S
        answer = yield from self.coordinator.ask(ApiKey.JOIN_GROUP, versions, request, _code, wait_s, lane=Lane.GROUP)
        code = answer.error_code
        if not code:
            self.member_id = answer.member_id
            return answer
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            yield from self._lose()
        elif code != ErrorCode.REBALANCE_IN_PROGRESS:
            raise error_of(code, f"joining group {options.group_id}")
        return None

    def _sync(self, joined: Any) -> Procedure[Any]:
        """Our assignment, None if the group is rebalancing again."""
        kind, options = messages.SyncGroupRequest, self.options
        rows = []
        self._dealt = None
        if joined.leader == joined.member_id and not joined.skip_assignment:
            shares = yield from self._deal(joined)
            rows = [kind.SyncGroupRequestAssignment(member, data) for member, data in shares.items()]
        request = kind(
            group_id=options.group_id,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            group_instance_id=options.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=rows,
        )
        versions = (3 if options.instance_id is not None else 0, 5)
        wait_s = options.max_poll_interval_ms / 1000 + JOIN_EXTRA_S
        answer = yield from self.coordinator.ask(ApiKey.SYNC_GROUP, versions, request, _code, wait_s, lane=Lane.GROUP)
        if not answer.error_code:
            self.generation = joined.generation_id
            return assignment_of(bytes(answer.assignment))
        if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            yield from self._lose()
        elif answer.error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            raise error_of(answer.error_code, f"group {options.group_id}")
        return None

    def _deal(self, joined: Any) -> Procedure[dict[str, bytes]]:
        """The leader's part: all assignments, by the protocol that the coordinator chose."""
        protocol = next((one for one in self._offered if one.name == joined.protocol_name), None)
        if protocol is None:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"assignor {joined.protocol_name!r} was not offered by this client",
            )
        members = [(one.member_id, one.group_instance_id, bytes(one.metadata)) for one in joined.members]
        topics = protocol.topics(members)
        self._metadata.want(topics)
        yield self._metadata.refresh()
        if self._metadata.want(topics):  # one that was asked before all of them were wanted
            yield self._metadata.refresh()
        counts = {}
        for topic in topics:
            state = self._metadata.topics.get(topic)
            counts[topic] = 0 if state is None else len(state.partitions)
        self._dealt = counts
        return assign(protocol, members, counts)

    def _beat(self) -> Procedure[None]:
        """Heartbeats of one generation, until something else is to be done."""
        options = self.options
        generation = self.generation
        request = messages.HeartbeatRequest(
            group_id=options.group_id,
            generation_id=generation,
            member_id=self.member_id,
            group_instance_id=options.instance_id,
        )
        versions = (3 if options.instance_id is not None else 0, 4)
        while True:
            yield Pause(options.heartbeat_interval_ms / 1000)
            try:
                answer = yield from self.coordinator.ask(
                    ApiKey.HEARTBEAT, versions, request, _code, options.session_timeout_ms / 1000, lane=Lane.GROUP
                )
            except HeadraceError as failure:
                if is_retriable(failure):
                    continue
                self._end(failure)
                return
            code = answer.error_code
            if code and generation != self.generation:
                return
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
                yield from self._lose()
            if code == ErrorCode.FENCED_INSTANCE_ID:
                yield from self._lose()
                text = f"group {options.group_id}: another member has group.instance.id {options.instance_id}"
                self._end(error_of(code, text))
            elif code and code != ErrorCode.REBALANCE_IN_PROGRESS and code not in REFUSED:
                self._end(error_of(code, f"group {options.group_id}"))
            if code:
                self._has_rebalanced = True
                if code != ErrorCode.REBALANCE_IN_PROGRESS:
                    return

    def _end(self, failure: HeadraceError) -> None:
        """No heartbeats any more, and no membership."""
        self.failure = failure
        self._is_stopping = self._has_rebalanced = True

    def _stop_heart(self) -> None:
        if self._heart is not None:
            self._heart.cancel()
            self._heart = None

    def _commit(self, offsets: Mapping[TopicPartition, Position]) -> Procedure[None]:
        options = self.options
        if self.generation == NO_GENERATION:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"group {options.group_id} has removed this consumer; it rejoins at the next poll",
            )
        code = yield from store_committed(
            self.coordinator, offsets, self.generation, self.member_id, options.instance_id
        )
        if not code:
            return
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._has_rebalanced = True
        raise error_of(code, f"commit in group {options.group_id}")

    def _leave(self, reason: str) -> Procedure[None]:
        if self.member_id and self.options.instance_id is None:
            kind = messages.LeaveGroupRequest
            request = kind(
                group_id=self.options.group_id,
                member_id=self.member_id,
                members=[kind.MemberIdentity(member_id=self.member_id, reason=reason)],
            )
            try:
                yield from self.coordinator.ask(
                    ApiKey.LEAVE_GROUP, (0, 5), request, _code, LEAVE_TIMEOUT_S, tries_max=1
                )
            except HeadraceError:
                pass  # the session timeout says the same
        self._forget_generation()
        self.state = MemberState.LEFT


def _code(answer: Any) -> int:
    return int(answer.error_code)


__all__ = ["Assigned", "Lost", "MemberState", "Membership", "MembershipOptions", "Protocol", "Revoked"]
