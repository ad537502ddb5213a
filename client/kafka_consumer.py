"""The blocking consumer: records one by one, in lists, or in batches for Arrow.

    for record in consumer: ...                      done when the next is asked for
    for batch in consumer.batches(5000): ...         done when it is committed, or the next is asked for
    records = consumer.poll(timeout=1.0)             done when it polls again

It drives its own engine while it is asked for records, and fetches ahead. A group's membership lives in a thread (`group_thread.py`);
what a rebalance asks for is done between two lists of records, never within one.

Positions. `position` of a partition is after the last record that is done. At least once: positions are committed every
`auto.commit.interval.ms`, before partitions go to another member, and at the end. At most once: before records are handed out. Exactly
once: never, `start_at` says where to begin.

Source: Kafka `KafkaConsumer`, `ConsumerCoordinator`.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from headrace.client.consumer_batch import ConsumerBatch
from headrace.client.consumer_options import ConsumerOptions, Delivery, OnError
from headrace.client.driving.blocking import BlockingDriver
from headrace.client.engine.coordinator import Coordinator, Position, fetch_committed, store_committed
from headrace.client.engine.engine import Engine
from headrace.client.engine.fetching import Chunk, Fetching, Subject
from headrace.client.engine.membership import Assigned, Event, Lost, Revoked
from headrace.client.engine.offsets import EARLIEST, LATEST, offsets_for
from headrace.client.engine.tasks import Procedure
from headrace.client.failures import error_of, is_retriable
from headrace.client.forks import ForkedClient, Forks
from headrace.client.group_thread import GroupThread
from headrace.client.offset_store import Committed
from headrace.client.reading import Run, decoder_of, runs_of
from headrace.client.records import Record
from headrace.client.serializers import Deserializer, UndecodableRecord
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, TopicPartition

K = TypeVar("K")
V = TypeVar("V")

WAIT_S: Final = 1.0  # of one turn, while records are waited for
COMMIT_S: Final = 30.0  # for a commit that is waited for
CLOSE_S: Final = 10.0  # for the last commit, and to leave the group

OnAssigned = Callable[[tuple[TopicPartition, ...]], Mapping[TopicPartition, int] | None]
OnRevoked = Callable[[tuple[TopicPartition, ...]], None]


class CommitFailed(KafkaError):
    """A commit was refused: the group has given the partitions to another member, or is about to."""


class _InHand:
    """Records that the caller has: one list of one partition.

    serial   of the subject's position; another one: the caller moved it meanwhile, and the list counts for nothing
    """

    __slots__ = ("end", "end_epoch", "iterator", "run", "serial", "subject")

    def __init__(self, subject: Subject, run: Run, end: int, end_epoch: int) -> None:
        self.subject = subject
        self.run = run
        self.end = end
        self.end_epoch = end_epoch
        self.serial = subject.serial
        self.iterator: Iterator[Any] | None = None


class KafkaConsumer(Generic[K, V]):
    """A consumer with an engine and connections of its own. One thread at a time."""

    def __init__(
        self,
        make_engine: Callable[[], Engine],
        options: ConsumerOptions,
        key: Deserializer[K] | None,
        value: Deserializer[V] | None,
        on_error: OnError = "raise",
        on_assigned: OnAssigned | None = None,
        on_revoked: OnRevoked | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self._clock_s = clock_s
        self._engine = make_engine()
        self._driver = BlockingDriver(self._engine, clock_s)
        self._fetching = Fetching(self._engine.requests, self._engine.tasks, self._engine.metadata, options.fetching)
        self._engine.parts.append(self._fetching)
        self._decode = decoder_of(key, value, on_error)
        self._on_assigned, self._on_revoked = on_assigned, on_revoked
        self._chunk: Chunk | None = None
        self._runs: Iterator[Run] = iter(())
        self._rest: Run = []  # of a run that was longer than max.poll.records
        self._undecodable: UndecodableRecord | None = None
        self._in_hand: list[_InHand] = []
        self._dirty: dict[TopicPartition, Position] = {}  # done, not committed
        self._start_at: dict[TopicPartition, int] = {}
        self._commit_due_s = clock_s() + options.auto_commit_s
        self._committing: Future[None] | None = None
        self._commit_failure: HeadraceError | None = None
        self._is_closed = False
        self._member: GroupThread | None = None
        self._coordinator = None if options.group is None else Coordinator(self._engine.requests, options.group)
        self._counts: dict[str, int] = {}  # partitions of topics that are read whole
        self._metadata_version = -1
        self._forks = Forks(self._abandon)
        if options.membership is not None:
            self._member = GroupThread(make_engine(), options.membership, self._driver.wake)
            self._member.do(lambda member: member.subscribe(options.topics, options.pattern))
        elif options.partitions is not None:
            self._begin(options.partitions)
        elif options.pattern is not None:
            self._engine.metadata.want_all()
            self._engine.metadata.mark_stale()
        else:
            self._engine.metadata.want(options.topics)
            self._engine.metadata.mark_stale()

    def __enter__(self) -> KafkaConsumer[K, V]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._all_done()
        self.close()

    # Reading

    def __iter__(self) -> Iterator[Record[K, V]]:
        """Records, for ever. One is done when the next is asked for; the caller's `break` leaves the last one undone, a clean end of
        `with` does not."""
        while not self._is_closed:
            if not self._in_hand:
                self._take_up(None, self.options.max_poll_records)
            in_hand = self._in_hand[0]
            if in_hand.iterator is None:
                in_hand.iterator = iter(in_hand.run)
            yield from in_hand.iterator
            if self._in_hand and self._in_hand[0] is in_hand:
                self._all_done()

    def poll(self, timeout: float = 0.0, max_records: int | None = None) -> list[Record[K, V]]:
        """Records of one partition, `max.poll.records` at most; an empty list if none come in so many seconds. Those of the last
        call are done.

        raises   KafkaError, LogTruncation, UndecodableRecord, CorruptRecord
        """
        self._all_done()
        if not self._take_up(timeout, max_records or self.options.max_poll_records):
            return []
        return self._in_hand[0].run

    def batches(self, max_records: int = 5_000, max_wait: float = 0.2) -> Iterator[ConsumerBatch[K, V]]:
        """Batches of all partitions: as many records as have come, at most `max_wait` seconds after the first. One is done when it is
        committed, or the next is asked for."""
        while not self._is_closed:
            self._all_done()
            self._take_up(None, max_records)
            deadline_s = self._clock_s() + max_wait
            count = len(self._in_hand[0].run)
            while count < max_records:
                left_s = deadline_s - self._clock_s()
                if left_s <= 0 or not self._take_up(left_s, max_records - count):
                    break
                count += len(self._in_hand[-1].run)
            yield ConsumerBatch(self, [one.run for one in self._in_hand])

    # Positions

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read now."""
        return tuple(sorted(self._fetching.subjects))

    def position(self, topic: str, partition: int) -> int:
        """The offset after the last record that is done; where none is yet, after it was looked up."""
        subject = self._subject(topic, partition)
        self._driver.wait_until(
            lambda: subject.position >= 0 or subject.failure is not None, COMMIT_S, f"position of {subject.name}"
        )
        return subject.position

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The positions that are known: to keep beside what was done with the records."""
        return {name: subject.position for name, subject in self._fetching.subjects.items() if subject.position >= 0}

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Read on at an offset."""
        if offset < 0:
            raise ValueError(f"offset: {offset}: expected 0 or more")
        self._seek(self._subject(topic, partition), offset)

    def start_at(self, positions: Mapping[TopicPartition | tuple[str, int], int]) -> None:
        """Where partitions begin, whatever is committed: positions kept beside the output. Those that are read already move there."""
        for name, offset in positions.items():
            partition = TopicPartition(*name)
            self._start_at[partition] = offset
            subject = self._fetching.subjects.get(partition)
            if subject is not None:
                self._seek(subject, offset)

    def seek_to_beginning(self) -> None:
        """Read all partitions from their starts."""
        for name in self.assignment:
            self._void(self._fetching.subjects[name])
            self._fetching.reset(name, EARLIEST)

    def seek_to_end(self) -> None:
        """Read all partitions from their ends, as of now."""
        for name in self.assignment:
            self._void(self._fetching.subjects[name])
            self._fetching.reset(name, LATEST)

    def pause(self, *names: TopicPartition | tuple[str, int]) -> None:
        for name in names:
            self._fetching.pause(self._subject(*name).name)

    def resume(self, *names: TopicPartition | tuple[str, int]) -> None:
        for name in names:
            self._fetching.resume(self._subject(*name).name)

    def offsets(
        self, at: int | datetime.datetime, names: Iterable[TopicPartition | tuple[str, int]] | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset at or after a time in milliseconds, EARLIEST or LATEST; -1: no record is that late.

        names   None: of the partitions that are read
        """
        wanted = self.assignment if names is None else tuple(TopicPartition(*name) for name in names)
        timestamp = int(at.timestamp() * 1000) if isinstance(at, datetime.datetime) else at
        self._check()
        found = self._driver.wait(
            self._engine.start(
                offsets_for(
                    self._engine.tasks,
                    self._engine.metadata,
                    dict.fromkeys(wanted, timestamp),
                    self.options.fetching.is_read_committed,
                ),
                "offsets",
            )
        )
        return {name: row.offset for name, row in found.items()}

    # Commits

    def commit(self, offsets: Mapping[TopicPartition | tuple[str, int], int] | None = None) -> None:
        """Commit, and wait until it is stored.

        offsets   next offsets; None: after all records that were handed out
        raises    CommitFailed, where the group has rebalanced; KafkaError; ConnectionFailed
        """
        self._check()
        if self.options.group is None:
            raise ValueError("commit: the consumer has no group")
        if offsets is None:
            self._all_done()
            wanted = self._dirty
        else:
            wanted = {TopicPartition(*name): (offset, NO_EPOCH, "") for name, offset in offsets.items()}
        self._commit_now(dict(wanted), COMMIT_S)
        if offsets is None:
            self._dirty.clear()

    def committed(
        self, names: Iterable[TopicPartition | tuple[str, int]] | None = None
    ) -> dict[TopicPartition, Committed]:
        """What is committed of these partitions; None: of those that are read. Those without are left out."""
        self._check()
        assert self._coordinator is not None, "the consumer has no group"
        wanted = list(self.assignment) if names is None else [TopicPartition(*name) for name in names]
        return self._driver.wait(
            self._engine.start(fetch_committed(self._coordinator, wanted), "committed offsets"), COMMIT_S
        )

    # The rest

    def health(self) -> dict[str, Any]:
        """Where each partition stands, and what every wait waits for."""
        subjects = self._fetching.subjects.values()
        return {
            "partitions": {
                str(one.name): {
                    "state": one.state.value,
                    "position": one.position,
                    "high_watermark": one.high_watermark,
                    "lag": max(0, one.high_watermark - one.position)
                    if one.high_watermark >= 0 <= one.position
                    else None,
                    "chunks": len(one.chunks),
                    "paused": one.is_paused,
                    "failure": None if one.failure is None else str(one.failure),
                }
                for one in subjects
            },
            "group": None if self._member is None else self._member.describe(),
            "not_committed": len(self._dirty),
            "commit_failure": None if self._commit_failure is None else str(self._commit_failure),
            "waits_for": list(self._engine.waits_for()),
        }

    def close(self) -> None:
        """Commit what is done, leave the group, close the connections. A second time does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._forks.forget()
        if self._forks.is_forked:
            return
        self._all_done(is_last_done=False)
        try:
            if self._dirty and self.options.delivery is Delivery.AT_LEAST_ONCE and self.options.group is not None:
                self._commit_now(dict(self._dirty), CLOSE_S)
        except HeadraceError as failure:
            self._commit_failure = failure  # the records come again, to who has the partitions now
        finally:
            if self._member is not None:
                try:
                    self._member.call(lambda member: member.leave()).result(CLOSE_S)
                except (HeadraceError, TimeoutError):
                    pass  # the session timeout says the same
                self._member.stop()
            self._driver.close()

    # Inside: taking records

    def _take_up(self, timeout: float | None, max_records: int) -> bool:
        """Wait for a list of records, and have it in hand."""
        deadline_s = float("inf") if timeout is None else self._clock_s() + timeout
        while True:
            self._check()
            self._look_after()
            found = self._next_run(max_records)
            if found is not None:
                if self.options.delivery is Delivery.AT_MOST_ONCE:
                    self._commit_now({found.subject.name: (found.end, found.end_epoch, "")}, COMMIT_S)
                self._in_hand.append(found)
                return True
            if timeout is not None and self._clock_s() >= deadline_s:
                return False
            self._driver.turn(max(0.0, min(WAIT_S, deadline_s - self._clock_s())))

    def _next_run(self, max_records: int) -> _InHand | None:
        """The next list of records that is here. raises what a partition failed with"""
        while True:
            chunk = self._chunk
            if chunk is not None and chunk.serial != chunk.subject.serial:
                chunk = self._chunk = None  # moved, or another member's by now
                self._rest, self._undecodable = [], None
            if chunk is None:
                chunk = self._chunk = self._fetching.take()
                if chunk is None:
                    return None
                self._runs = runs_of(chunk)
            if self._rest:
                return self._hand_out(chunk, self._rest, max_records)
            if self._undecodable is not None:
                raise self._undecodable
            run = next(self._runs, None)
            if run is None:
                self._chunk = None
                if not self._in_hand:
                    self._moved(chunk.subject, chunk.next_offset, chunk.subject.position_epoch, chunk.serial)
                continue
            if self._decode is not None:
                last = run[-1]
                run, self._undecodable = self._decode(run)
                if not run:
                    if self._undecodable is None:  # all were skipped
                        self._moved(chunk.subject, last.offset + 1, _epoch(last), chunk.serial)
                    continue
            self._engine.tasks.now_s = self._clock_s()
            return self._hand_out(chunk, run, max_records)

    def _hand_out(self, chunk: Chunk, run: Run, max_records: int) -> _InHand:
        if len(run) > max_records:
            run, self._rest = run[:max_records], run[max_records:]
        else:
            self._rest = []
        last = run[-1]
        return _InHand(chunk.subject, run, last.offset + 1, _epoch(last))

    def _all_done(self, is_last_done: bool = True) -> None:
        """What was handed out is done; of a list that the caller goes through, as far as it has come.

        is_last_done   whether the record, or the list, that it got last is done too
        """
        in_hand, self._in_hand = self._in_hand, []
        for one in in_hand:
            if one.iterator is None:
                if is_last_done:
                    self._moved(one.subject, one.end, one.end_epoch, one.serial)
                continue
            left = one.iterator.__length_hint__()  # type: ignore[attr-defined]  # a list's iterator has it
            done = len(one.run) - left - (not is_last_done)
            if done > 0:
                last = one.run[done - 1]
                self._moved(one.subject, last.offset + 1, _epoch(last), one.serial)
            if left:
                self._in_hand.append(one)

    def _moved(self, subject: Subject, offset: int, epoch: int, serial: int) -> None:
        if subject.serial != serial or offset <= subject.position:
            return
        subject.position, subject.position_epoch = offset, epoch
        if self.options.group is not None and self.options.delivery is Delivery.AT_LEAST_ONCE:
            self._dirty[subject.name] = (offset, epoch, "")

    # Inside: what goes on beside

    def _look_after(self) -> None:
        """Between two lists: rebalances, new partitions, commits that are due."""
        member = self._member
        if member is not None:
            member.polled()
            while (event := member.first_event) is not None:
                self._act_on(member, event)
            if member.failure is not None:
                raise member.failure
        elif self.options.partitions is None and self._engine.metadata.version != self._metadata_version:
            self._follow_topics()
        if self._dirty and self._clock_s() >= self._commit_due_s:
            self._commit_behind()

    def _act_on(self, member: GroupThread, event: Event) -> None:
        fetching = self._fetching
        if isinstance(event, Assigned):
            fetching.assign([*fetching.subjects, *event.partitions])
            self._begin(event.partitions)
        else:
            self._leave_behind(event)
        acknowledged = self._member_acknowledged(member)
        while not acknowledged.done():
            self._driver.turn(0.001)

    def _member_acknowledged(self, member: GroupThread) -> Future[None]:
        from headrace.client.engine.tasks import Task

        def command(membership: Any) -> Task[None]:
            membership.acknowledge()
            task: Task[None] = Task(None, None, "a word to the member")
            task.settle(None)
            return task

        return member.call(command)

    def _leave_behind(self, event: Revoked | Lost) -> None:
        """Partitions that are another member's soon, or already."""
        if self._on_revoked is not None:
            self._on_revoked(event.partitions)
        gone = set(event.partitions)
        due = {name: at for name, at in self._dirty.items() if name in gone}
        if due and isinstance(event, Revoked) and self.options.delivery is Delivery.AT_LEAST_ONCE:
            try:
                self._commit_now(due, COMMIT_S)
            except HeadraceError as failure:
                self._commit_failure = failure  # the records come again, to the next owner
        for name in gone:
            self._dirty.pop(name, None)
        self._in_hand = [one for one in self._in_hand if one.subject.name not in gone]
        self._fetching.assign([name for name in self._fetching.subjects if name not in gone])

    def _begin(self, names: Iterable[TopicPartition]) -> None:
        """Where partitions are read from: what the caller says, what is committed, `start`."""
        names = tuple(names)
        self._fetching.assign(dict.fromkeys([*self._fetching.subjects, *names]))
        chosen: dict[TopicPartition, int] = {}
        if self._on_assigned is not None:
            chosen.update({TopicPartition(*name): at for name, at in (self._on_assigned(names) or {}).items()})
        for name in names:
            if name in self._start_at:
                chosen[name] = self._start_at[name]
        left = [name for name in names if name not in chosen]
        known: dict[TopicPartition, Committed] = {}
        if self._coordinator is not None and left and self.options.delivery is not Delivery.EXACTLY_ONCE:
            known = self._driver.wait(self._engine.start(fetch_committed(self._coordinator, left), "committed offsets"))
        for name, offset in chosen.items():
            if name in self._fetching.subjects:
                self._fetching.seek(name, offset)
        for name in left:
            at = known.get(name)
            if at is not None:
                self._fetching.seek(name, at.offset, at.leader_epoch)
            else:
                self._fetching.reset(name, self.options.start_ms)

    def _follow_topics(self) -> None:
        """Without a group: all partitions of the topics, those that are added from their starts."""
        metadata, options = self._engine.metadata, self.options
        self._metadata_version = metadata.version
        for topic, state in list(metadata.topics.items()):
            if options.pattern is not None and (state.is_internal or not options.pattern.fullmatch(topic)):
                continue
            if options.pattern is None and topic not in options.topics:
                continue
            if state.failure is not None and not is_retriable(state.failure) and topic in options.topics:
                raise state.failure
            before, now = self._counts.get(topic), len(state.partitions)
            if now <= (before or 0):
                continue
            self._counts[topic] = now
            new = [TopicPartition(topic, index) for index in range(before or 0, now)]
            self._begin(new)
            if before is not None:
                for name in new:
                    if name not in self._start_at:
                        self._fetching.reset(name, EARLIEST)

    def _commit_behind(self) -> None:
        """Commit what is done, without waiting."""
        self._commit_due_s = self._clock_s() + self.options.auto_commit_s
        if self._committing is not None:
            if not self._committing.done():
                return
            failure = self._committing.exception()
            self._commit_failure = failure if isinstance(failure, HeadraceError) else None
        offsets, self._dirty = self._dirty, {}
        if self._member is not None:
            self._committing = self._member.call(lambda member: member.commit(offsets))
            return
        assert self._coordinator is not None
        future: Future[None] = Future()
        task = self._engine.start(self._stored(offsets), "commit")
        task.on_done(lambda done: future.set_exception(done.failure) if done.failure else future.set_result(None))
        self._committing = future

    def _commit_now(self, offsets: Mapping[TopicPartition, Position], timeout_s: float) -> None:
        if not offsets:
            return
        self._commit_due_s = self._clock_s() + self.options.auto_commit_s
        try:
            if self._member is not None:
                self._member.polled()
                future = self._member.call(lambda member: member.commit(offsets))
                deadline_s = self._clock_s() + timeout_s
                while not future.done() and self._clock_s() < deadline_s:
                    self._driver.turn(0.001)
                future.result(0)
            else:
                self._driver.wait(self._engine.start(self._stored(offsets), "commit"), timeout_s)
        except TimeoutError:
            text = f"commit in group {self.options.group}: not answered within {timeout_s:g} s"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, text) from None
        except KafkaError as failure:
            if failure.code in (
                ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
            ):  # fmt: skip
                raise CommitFailed(failure.code, failure.message) from None
            raise

    def _stored(self, offsets: Mapping[TopicPartition, Position]) -> Procedure[None]:
        assert self._coordinator is not None
        code = yield from store_committed(self._coordinator, offsets)
        if code:
            raise error_of(code, f"commit in group {self.options.group}")

    def _seek(self, subject: Subject, offset: int) -> None:
        self._void(subject)
        self._fetching.seek(subject.name, offset)

    def _void(self, subject: Subject) -> None:
        self._in_hand = [one for one in self._in_hand if one.subject is not subject]
        self._dirty.pop(subject.name, None)

    def _subject(self, topic: str, partition: int) -> Subject:
        subject = self._fetching.subjects.get(TopicPartition(topic, partition))
        if subject is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition} is not read by this consumer")
        return subject

    def _check(self) -> None:
        if self._forks.is_forked:
            raise ForkedClient("this consumer was made before a fork: make one in the child")
        if self._is_closed:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the consumer is closed")

    def _abandon(self) -> None:
        self._driver.abandon()
        if self._member is not None:
            self._member.abandon()


def _epoch(record: Record[Any, Any]) -> int:
    return NO_EPOCH if record.leader_epoch is None else record.leader_epoch
