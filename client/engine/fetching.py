"""The fetching half of the engine: where each partition is read on, one fetch in flight to each broker, chunks for the consumer.

    assigned -> RESETTING    the offset is looked up by a policy
             -> VALIDATING   the leader is asked whether the log still has what was read (KIP-320)
             -> FETCHING     wanted of the leader, or of the replica that it prefers for our rack (KIP-392)

A partition is asked for while it has fewer than CLIENT_CHUNKS_MAX chunks that were not taken. What the consumer has taken and what was
fetched are two positions: `Subject.position` is its own, moved by its caller; `fetch_offset` is where the next fetch begins.

A log that was truncated below what was read, or a topic that was deleted and created again, is reported as `LogTruncation`: never reset
in silence.
A failure of one partition is raised after its chunks are taken; others continue.

Source: Kafka `Fetcher`, `FetchCollector`, `SubscriptionState`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from headrace.client.engine.fetch_session import NO_SESSION, SESSION_EPOCH_NONE, FetchSession, Said, Wish
from headrace.client.engine.link import Answer, Lane
from headrace.client.engine.metadata import Metadata
from headrace.client.engine.offsets import (
    EARLIEST,
    LATEST,
    EpochEnd,
    Found,
    ask_leader,
    epochs_question,
    no_leader,
    offsets_question,
)
from headrace.client.engine.requests import Requests
from headrace.client.engine.subjects import (
    Chunk,
    LogTruncation,
    OffsetReset,
    Subject,
    SubjectState,
)
from headrace.client.engine.tasks import Procedure, Tasks
from headrace.client.failures import ConnectionFailed, error_of, is_retriable
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, NO_LEADER, TopicPartition
from headrace.limits import CLIENT_CHUNKS_MAX, CLIENT_FETCH_BYTES_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.record_batch import whole_entries

FETCH_VERSIONS: Final = (2, 16)
SESSION_VERSION: Final = 7
LAST_NAMES_VERSION: Final = 12  # topic ids from the next one on
ANSWER_EXTRA_S: Final = 10.0  # after fetch.max.wait.ms
RETRY_S: Final = 0.1
PREFERRED_S: Final = 300.0  # how long a preferred replica is read from (metadata.max.age.ms)
CONSUMER: Final = -1

_SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


@dataclass(frozen=True, slots=True)
class FetchingOptions:
    """Options of a consumer, by Kafka's keys. Sizes in bytes, times in milliseconds."""

    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 50 << 20
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1 << 20
    is_read_committed: bool = False
    rack: str = ""
    reset: OffsetReset = OffsetReset.LATEST


class _Node:
    """One broker that is read from."""

    __slots__ = ("is_busy", "retry_at_s", "session")

    def __init__(self) -> None:
        self.session = FetchSession()
        self.is_busy = False
        self.retry_at_s = 0.0


class Fetching:
    """All partitions that one consumer reads.

    subjects   by name
    ready      subjects with chunks that may be taken, in turn
    """

    def __init__(self, requests: Requests, tasks: Tasks, metadata: Metadata, options: FetchingOptions) -> None:
        self.options = options
        self.subjects: dict[TopicPartition, Subject] = {}
        self.ready: dict[Subject, None] = {}
        self._requests = requests
        self._tasks = tasks
        self._metadata = metadata
        self._metadata_version = -1
        self._nodes: dict[int, _Node] = {}
        self._unplaced: dict[Subject, None] = {}  # fetching, in no session: no leader, or a pause after an error
        self._due: dict[Subject, None] = {}  # to be reset or validated
        self._failed: dict[Subject, None] = {}
        self._topic_names: dict[bytes, str] = {}

    # What is read

    def assign(self, names: Iterable[TopicPartition]) -> None:
        """Read these and no others. Those that stay keep where they are."""
        wanted = dict.fromkeys(names)
        for name in [name for name in self.subjects if name not in wanted]:
            self._remove(self.subjects.pop(name))
        new = [name for name in wanted if name not in self.subjects]
        for name in new:
            subject = self.subjects[name] = Subject(name)
            subject.bytes_max = self.options.max_partition_fetch_bytes
            self._due[subject] = None
        if self._metadata.want({name.topic for name in new}):
            self._metadata.mark_stale()

    def seek(self, name: TopicPartition, offset: int, leader_epoch: int = NO_EPOCH) -> None:
        """Continue at an offset; the leader epoch of the record before it, where that is known, has truncation noticed."""
        subject = self.subjects[name]
        self._withdraw(subject)
        subject.serial += 1
        subject.chunks.clear()
        self.ready.pop(subject, None)
        self._failed.pop(subject, None)
        subject.failure = None
        subject.reset_to = None
        subject.position = subject.fetch_offset = offset
        subject.position_epoch = subject.fetch_epoch = leader_epoch
        subject.leader_epoch = NO_EPOCH
        subject.topic_id = ZERO_UUID
        subject.preferred = -1
        subject.state = SubjectState.VALIDATING
        self._due[subject] = None

    def reset(self, name: TopicPartition, timestamp: int | None = None) -> None:
        """Continue at LATEST, EARLIEST, or a time; None: as `auto.offset.reset` says."""
        subject = self.subjects[name]
        self.seek(name, -1)
        subject.state = SubjectState.RESETTING
        subject.reset_to = timestamp

    def pause(self, name: TopicPartition) -> None:
        subject = self.subjects[name]
        subject.is_paused = True
        self.ready.pop(subject, None)
        self._withdraw(subject)

    def resume(self, name: TopicPartition) -> None:
        subject = self.subjects[name]
        subject.is_paused = False
        if subject.chunks:
            self.ready[subject] = None
        self._place(subject)

    def take(self) -> Chunk | None:
        """The next chunk, of each partition in turn; None: there is none.

        raises   the failure of a partition whose chunks were all taken; once, then it stays where it is until `seek` or `reset`
        """
        while self.ready:
            subject = next(iter(self.ready))
            del self.ready[subject]
            chunk = subject.chunks.popleft()
            if subject.chunks:
                self.ready[subject] = None
            elif subject.state is SubjectState.FAILED:
                self._failed[subject] = None
            self._place(subject)
            if chunk.serial == subject.serial:
                return chunk
        for subject in list(self._failed):
            del self._failed[subject]
            if subject.failure is not None:
                raise subject.failure
        return None

    @property
    def has_something(self) -> bool:
        """Whether `take` returns, or raises, something."""
        return bool(self.ready or self._failed)

    # Turns

    def turn(self, now_s: float) -> None:
        if self._metadata.version != self._metadata_version:
            self._follow_metadata()
        if self._due:
            self._look_up(now_s)
        if self._unplaced:
            for subject in [one for one in self._unplaced if one.retry_at_s <= now_s]:
                self._place(subject)
        for node_id, node in list(self._nodes.items()):
            if not node.is_busy and node.session.wanted and now_s >= node.retry_at_s:
                self._send(node_id, node, now_s)

    def next_s(self, now_s: float) -> float:
        times = [subject.retry_at_s for subject in self._unplaced if subject.retry_at_s > now_s]
        times += [subject.retry_at_s for subject in self._due if subject.retry_at_s > now_s]
        times += [node.retry_at_s for node in self._nodes.values() if not node.is_busy and node.session.wanted]
        return min(times, default=float("inf"))

    # Places

    def _place(self, subject: Subject) -> None:
        """Have it asked for where it is to be read, if it is to be asked for now."""
        self._unplaced.pop(subject, None)
        if (
            self.subjects.get(subject.name) is not subject
            or subject.state is not SubjectState.FETCHING
            or subject.is_paused
        ):
            self._withdraw(subject)
            return
        if len(subject.chunks) >= CLIENT_CHUNKS_MAX:
            self._withdraw(subject)
            return
        now_s = self._tasks.now_s
        node_id = self._metadata.leader(subject.name)
        if subject.preferred >= 0:
            if subject.preferred not in self._metadata.brokers:
                self._metadata.mark_stale()  # the leader knows a broker that we do not
                subject.preferred = -1
                subject.retry_at_s = now_s + RETRY_S
            elif now_s < subject.preferred_until_s:
                node_id = subject.preferred
            else:
                subject.preferred = -1
        if node_id == NO_LEADER or subject.retry_at_s > now_s:
            self._withdraw(subject)
            self._unplaced[subject] = None
            if node_id == NO_LEADER:
                subject.retry_at_s = now_s + RETRY_S
                self._metadata.mark_stale()
            return
        if subject.node != node_id:
            self._withdraw(subject)
            subject.node = node_id
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = _Node()
        wish = Wish(
            subject.fetch_offset,
            subject.leader_epoch,
            subject.fetch_epoch,
            subject.bytes_max,
            subject.topic_id,
            subject.serial,
        )
        if node.session.wanted.get(subject.name) != wish:
            node.session.want(subject.name, wish)

    def _withdraw(self, subject: Subject) -> None:
        if subject.node is not None:
            self._nodes[subject.node].session.forget(subject.name)
            subject.node = None

    def _remove(self, subject: Subject) -> None:
        self._withdraw(subject)
        subject.serial += 1
        subject.chunks.clear()
        for where in (self.ready, self._unplaced, self._due, self._failed):
            where.pop(subject, None)

    def _follow_metadata(self) -> None:
        """Leaders that moved: positions are validated with the new ones."""
        self._metadata_version = self._metadata.version
        for subject in self.subjects.values():
            if subject.state is not SubjectState.FETCHING:
                continue
            if self._fail_if_other_topic(subject):
                continue
            state = self._metadata.partition(subject.name)
            if state is not None and state.leader_epoch > subject.leader_epoch:
                if subject.fetch_epoch >= 0:
                    self._withdraw(subject)
                    subject.state = SubjectState.VALIDATING
                    self._due[subject] = None
                    continue
                subject.leader_epoch = state.leader_epoch
            self._place(subject)

    # Looking up

    def _look_up(self, now_s: float) -> None:
        """Resets and validations that are due, by a procedure for each leader: a partition that can't be asked about holds up no other."""
        by_leader: dict[int, list[Subject]] = {}
        for subject in [one for one in self._due if one.retry_at_s <= now_s]:
            del self._due[subject]
            if subject.state is SubjectState.RESETTING and self._reset_time(subject) is None:
                text = f"{subject.name}: no position, and auto.offset.reset is none"
                self._fail(subject, KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, text))
                continue
            leader = self._metadata.leader(subject.name)
            if leader == NO_LEADER:
                self._metadata.want([subject.name.topic])
                self._try_later(subject, no_leader(self._metadata, subject.name))
            else:
                by_leader.setdefault(leader, []).append(subject)
        for leader, subjects in by_leader.items():
            what = f"positions of {len(subjects)} partitions ({subjects[0].name}, ...) at broker {leader}"
            self._tasks.start(self._looked_up(leader, subjects), what)

    def _looked_up(self, leader: int, subjects: list[Subject]) -> Procedure[None]:
        serials = {subject: subject.serial for subject in subjects}
        resets: dict[TopicPartition, int] = {}
        checks: dict[TopicPartition, int] = {}
        for subject in subjects:
            timestamp = self._reset_time(subject)
            if subject.state is SubjectState.VALIDATING:
                if subject.fetch_epoch >= 0:
                    checks[subject.name] = subject.fetch_epoch
            elif timestamp is not None:
                resets[subject.name] = timestamp
        answers: dict[TopicPartition, Any] = {}
        failures: dict[TopicPartition, HeadraceError] = {}
        while resets:
            question = offsets_question(self._metadata, resets, self.options.is_read_committed)
            found, refused = yield from ask_leader(leader, list(resets), question)
            answers.update(found)
            failures.update(refused)
            # no record is that late: the end
            resets = {name: LATEST for name, at in found.items() if at.offset < 0 and resets[name] >= 0}
        if checks:
            question = epochs_question(self._metadata, checks)
            found, refused = yield from ask_leader(leader, list(checks), question)
            answers.update(found)
            failures.update({name: one for name, one in refused.items() if not _is_unsupported(one)})
        for subject in subjects:
            if subject.serial != serials[subject] or self.subjects.get(subject.name) is not subject:
                continue
            failure = failures.get(subject.name)
            answer = answers.get(subject.name)
            if failure is None and answer is None and subject.state is SubjectState.RESETTING:
                failure = ConnectionFailed(f"offsets of {subject.name}: not in the response of broker {leader}")
            if failure is not None:
                self._try_later(subject, failure)
            else:
                self._settle(subject, answer)

    def _try_later(self, subject: Subject, failure: HeadraceError) -> None:
        """Look it up again soon, where that may help."""
        if not is_retriable(failure):
            self._fail(subject, failure)
            return
        subject.retry_at_s = self._tasks.now_s + RETRY_S
        self._due[subject] = None
        self._metadata.mark_stale()

    def _reset_time(self, subject: Subject) -> int | None:
        if subject.reset_to is not None:
            return subject.reset_to
        return {OffsetReset.EARLIEST: EARLIEST, OffsetReset.LATEST: LATEST, OffsetReset.NONE: None}[self.options.reset]

    def _settle(self, subject: Subject, answer: Found | EpochEnd | None) -> None:
        """The position is known, or validated."""
        state = self._metadata.partition(subject.name)
        topic = self._metadata.topics.get(subject.name.topic)
        if isinstance(answer, Found):
            if answer.offset < subject.fetch_offset:
                subject.serial += 1  # what was taken lies after it: a log that lost its tail
            subject.position = subject.fetch_offset = max(0, answer.offset)
            subject.position_epoch = subject.fetch_epoch = NO_EPOCH
        elif answer is not None and (answer.epoch == NO_EPOCH or answer.end < subject.fetch_offset):
            self._fail(subject, LogTruncation(subject.name, subject.fetch_offset, answer.end, "the log was truncated"))
            return
        if self._fail_if_other_topic(subject):
            return
        subject.leader_epoch = NO_EPOCH if state is None else state.leader_epoch
        subject.topic_id = ZERO_UUID if topic is None else topic.topic_id
        self._topic_names[subject.topic_id] = subject.name.topic
        subject.state = SubjectState.FETCHING
        self._place(subject)

    def _fail_if_other_topic(self, subject: Subject) -> bool:
        """Whether its topic was deleted, and created again, since its position was found."""
        topic = self._metadata.topics.get(subject.name.topic)
        if topic is None or ZERO_UUID in (topic.topic_id, subject.topic_id) or topic.topic_id == subject.topic_id:
            return False
        text = "the topic was deleted and created again"
        self._fail(subject, LogTruncation(subject.name, subject.fetch_offset, -1, text))
        return True

    # Fetches

    def _send(self, node_id: int, node: _Node, now_s: float) -> None:
        options = self.options
        said = node.session.next_request()
        low, high = FETCH_VERSIONS
        node.is_busy = True

        def message(version: int) -> Any:
            return self._request(
                said if version >= SESSION_VERSION else Said(NO_SESSION, SESSION_EPOCH_NONE, node.session.known, {}),
                version,
            )

        self._requests.ask(
            node_id,
            ApiKey.FETCH,
            (low, LAST_NAMES_VERSION if node.session.without else high),
            message,
            lambda answer: self._answered(node_id, node, answer),
            now_s,
            options.fetch_max_wait_ms / 1000 + ANSWER_EXTRA_S,
            Lane.FETCH,
        )

    def _request(self, said: Said, version: int) -> Any:
        kind, options = messages.FetchRequest, self.options
        topics: dict[tuple[str, bytes], list[Any]] = {}
        for name, wish in said.wishes.items():
            row = kind.FetchPartition(
                partition=name.partition,
                current_leader_epoch=wish.leader_epoch,
                fetch_offset=wish.offset,
                last_fetched_epoch=wish.last_epoch,
                partition_max_bytes=wish.bytes_max,
            )
            topics.setdefault((name.topic, wish.topic_id), []).append(row)
        forgotten: dict[tuple[str, bytes], list[int]] = {}
        for name, wish in said.forgotten.items():
            forgotten.setdefault((name.topic, wish.topic_id), []).append(name.partition)
        return kind(
            replica_id=CONSUMER,
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=options.fetch_max_bytes,
            isolation_level=int(options.is_read_committed),
            session_id=said.session_id,
            session_epoch=said.epoch,
            topics=[
                kind.FetchTopic(topic=topic, topic_id=uuid, partitions=rows) for (topic, uuid), rows in topics.items()
            ],
            forgotten_topics_data=[
                kind.ForgottenTopic(topic=topic, topic_id=uuid, partitions=indexes)
                for (topic, uuid), indexes in forgotten.items()
            ],
            rack_id=options.rack,
        )

    def _answered(self, node_id: int, node: _Node, answer: Answer) -> None:
        node.is_busy = False
        now_s = self._tasks.now_s
        if answer.failure is not None:
            asked = [self.subjects[name] for name in node.session.known if name in self.subjects]
            node.session.reset()
            node.retry_at_s = now_s + RETRY_S
            if is_retriable(answer.failure):
                self._metadata.mark_stale()
                for one in asked:
                    if one.preferred == node_id:  # the leader may be reached
                        self._pause(one)
                return
            for one in asked:
                self._fail(one, answer.failure)
            return
        body = answer.body
        if body.error_code:
            node.session.reset()
            if body.error_code not in _SESSION_ERRORS:
                node.retry_at_s = now_s + RETRY_S
            self._metadata.mark_stale()
            return
        known = node.session.known
        if answer.version >= SESSION_VERSION:
            node.session.answered(body.session_id)
        for topic in body.responses:
            topic_name = (
                topic.topic if answer.version <= LAST_NAMES_VERSION else self._topic_names.get(topic.topic_id, "")
            )
            for row in topic.partitions:
                name = TopicPartition(topic_name, row.partition_index)
                subject = self.subjects.get(name)
                wish = known.get(name)
                if (
                    subject is None
                    or wish is None
                    or wish.serial != subject.serial
                    or subject.state is not SubjectState.FETCHING
                ):
                    continue  # assigned to others, or moved by hand meanwhile
                self._take_row(subject, node_id, wish, row)

    def _take_row(self, subject: Subject, node_id: int, wish: Wish, row: Any) -> None:
        if subject.fetch_offset != wish.offset:
            return
        if row.error_code:
            self._take_error(subject, node_id, row)
            return
        if row.diverging_epoch.epoch >= 0 or row.diverging_epoch.end_offset >= 0:
            end = row.diverging_epoch.end_offset
            self._fail(subject, LogTruncation(subject.name, subject.fetch_offset, end, "the log was truncated"))
            return
        subject.high_watermark = row.high_watermark
        subject.last_stable_offset = row.last_stable_offset
        if row.log_start_offset >= 0:
            subject.log_start_offset = row.log_start_offset
        if row.preferred_read_replica >= 0 and row.preferred_read_replica != node_id:
            subject.preferred = row.preferred_read_replica
            subject.preferred_until_s = self._tasks.now_s + PREFERRED_S
            self._place(subject)
            return
        data = memoryview(row.records or b"")
        size, next_offset, epoch = whole_entries(data)
        if not size:
            if len(data):  # a first entry that is larger than what was asked for: brokers before Fetch v3
                self._ask_for_more(subject)
            return
        told = row.aborted_transactions if self.options.is_read_committed else None
        aborted = (
            None if not self.options.is_read_committed else [(one.first_offset, one.producer_id) for one in told or ()]
        )
        next_offset = max(next_offset, wish.offset)
        subject.chunks.append(Chunk(subject, data[:size], wish.offset, next_offset, aborted, subject.serial))
        subject.fetch_offset = next_offset
        if epoch >= 0:
            subject.fetch_epoch = epoch
        if not subject.is_paused:
            self.ready[subject] = None
        self._place(subject)

    def _ask_for_more(self, subject: Subject) -> None:
        if subject.bytes_max >= CLIENT_FETCH_BYTES_MAX:
            text = f"{subject.name}: the message at offset {subject.fetch_offset} is larger than {CLIENT_FETCH_BYTES_MAX} bytes"
            self._fail(subject, KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text))
            return
        subject.bytes_max = min(2 * subject.bytes_max, CLIENT_FETCH_BYTES_MAX)
        self._place(subject)

    def _take_error(self, subject: Subject, node_id: int, row: Any) -> None:
        failure = error_of(row.error_code, f"{subject.name} at offset {subject.fetch_offset}")
        code = failure.code
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if node_id != self._metadata.leader(subject.name):
                subject.preferred = -1  # a follower that has less, or more: the leader decides
                self._place(subject)
                return
            if subject.chunks:
                self._pause(subject)  # what was fetched is taken first
                return
            if self._reset_time(subject) is None:
                self._fail(subject, failure)
                return
            self._withdraw(subject)
            subject.state = SubjectState.RESETTING
            self._due[subject] = None
            return
        if row.current_leader.leader_id >= 0:
            self._metadata.moved(subject.name, row.current_leader.leader_id, row.current_leader.leader_epoch)
        is_known = code in _SESSION_ERRORS or code is ErrorCode.OFFSET_NOT_AVAILABLE
        if not is_known and not code.retriable:
            self._fail(subject, failure)
            return
        if code is ErrorCode.FENCED_LEADER_EPOCH:
            subject.leader_epoch = NO_EPOCH
        self._metadata.mark_stale()
        self._pause(subject)

    def _pause(self, subject: Subject) -> None:
        """Ask for it again, of the leader, a little later."""
        subject.preferred = -1
        subject.retry_at_s = self._tasks.now_s + RETRY_S
        self._withdraw(subject)
        self._unplaced[subject] = None

    def _fail(self, subject: Subject, failure: HeadraceError) -> None:
        self._withdraw(subject)
        self._unplaced.pop(subject, None)
        self._due.pop(subject, None)
        subject.state = SubjectState.FAILED
        subject.failure = failure
        if not subject.chunks:
            self._failed[subject] = None


def _is_unsupported(failure: HeadraceError) -> bool:
    """Brokers before Kafka 2.1 can't be asked where leader epochs end."""
    return isinstance(failure, KafkaError) and failure.code is ErrorCode.UNSUPPORTED_VERSION


__all__ = ["Chunk", "Fetching", "FetchingOptions", "LogTruncation", "OffsetReset", "Subject", "SubjectState"]
