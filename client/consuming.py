"""What a blocking and an asyncio consumer do alike: records in hand, positions, commits, what a rebalance asks for.

    chunk --decoded--> a list of records --handed out--> in hand --done--> position moves --committed-->

A list is of one partition. Lists that were taken and not handed out are kept in `_taken`, and come next. What waits is written as steps
(`steps.py`), which a driver runs.

Positions. `position` of a partition is after the last record that is done. At least once: positions are committed every
`auto.commit.interval.ms`, before partitions go to another member, and at the end. At most once: before records are handed out. Exactly
once: never, `start_at` says where to begin. A position stays to be committed until a commit of it has succeeded.

Source: Kafka `KafkaConsumer`, `ConsumerCoordinator`.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from headrace.client.chunk_reader import ChunkReader
from headrace.client.consumer_options import ConsumerOptions, Delivery, OnError
from headrace.client.decoding import decoding_of
from headrace.client.engine.coordinator import Committed, Coordinator, Position, fetch_committed, store_committed
from headrace.client.engine.engine import Engine
from headrace.client.engine.fetching import Fetching, Subject
from headrace.client.engine.membership import Assigned, Lost, Revoked
from headrace.client.engine.metadata import UNKNOWN_TOPIC_S
from headrace.client.engine.offsets import EARLIEST, offsets_for
from headrace.client.engine.tasks import Procedure, Task
from headrace.client.failures import WaitTimedOut, error_of, is_retriable
from headrace.client.group_thread import GroupThread
from headrace.client.in_hand import BackgroundCommit, InHand, epoch_of
from headrace.client.records import Named
from headrace.client.serializers import Deserializer
from headrace.client.steps import Call, Done, Heard, Step, Steps, Until, Whole
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, TopicPartition

WAIT_S: Final = 1.0  # of one wait, while records are waited for: the group hears as often that the consumer is alive
COMMIT_S: Final = 30.0  # for a commit that is waited for
CLOSE_S: Final = 10.0  # for the last commit, and as long to leave the group
INTERRUPTED_S: Final = 1.0  # the same, after Ctrl-C

Name = TopicPartition | tuple[str, int]


class CommitFailed(KafkaError):
    """A commit was refused: the group has given the partitions to another member, or is about to."""


class Consuming:
    """One consumer, except how its callers wait.

    in_hand          what the caller has
    commit_failure   of the last commit that nothing waited for
    turn             of the driver: asks for the next chunk while this one is read
    wake             of the driver, for the group's thread
    """

    def __init__(
        self,
        make_engine: Callable[[], Engine],
        engine: Engine,
        options: ConsumerOptions,
        key: Deserializer[Any] | None,
        value: Deserializer[Any] | None,
        on_error: OnError,
        on_assigned: Callable[[Any], Any] | None,
        on_revoked: Callable[[Any], Any] | None,
        clock_s: Callable[[], float],
        turn: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        self.options = options
        self.engine = engine
        engine.metadata.max_age_s = options.metadata_max_age_s
        self.fetching = Fetching(engine.requests, engine.tasks, engine.metadata, options.fetching)
        engine.parts.append(self.fetching)
        self.in_hand: list[InHand] = []
        self.commit_failure: HeadraceError | None = None
        self.member: GroupThread | None = None
        self._clock_s = clock_s
        self._turn = turn
        self._decoding = decoding_of(key, value, on_error, engine, options, clock_s, wake)
        self._on_assigned, self._on_revoked = on_assigned, on_revoked
        self._readers: deque[ChunkReader] = deque()  # of several partitions, where some were paused meanwhile
        self._taken: deque[InHand] = deque()
        self._gathering: list[InHand] = []  # for a batch
        self._failure: HeadraceError | None = None  # to be raised once a batch before it was handed out
        self._is_taking = False
        self._is_decoding = False  # the next list is not decoded yet
        self._dirty: dict[TopicPartition, Position] = {}  # done, not committed
        self._start_at: dict[TopicPartition, int] = {}
        self._to_begin: dict[TopicPartition, None] = {}  # read, but not from where they are to begin yet
        self._commit_due_s = clock_s() + options.auto_commit_s
        self._committing: BackgroundCommit | None = None
        self.coordinator = None if options.group is None else Coordinator(engine.requests, options.group)
        self._counts: dict[str, int] = {}  # partitions of topics that are read whole
        self.has_share = False  # the group has given us ours, which may be none
        self._unknown: dict[str, float] = {}  # topics that no broker knows, and since when
        self._unknown_version = -1
        self._metadata_version = -1
        if options.membership is not None:
            self.member = GroupThread(make_engine(), options.membership, wake, options.metadata_max_age_s)
            self.member.do(lambda member: member.subscribe(options.topics, options.pattern))
        elif options.partitions is not None:
            self._to_begin = dict.fromkeys(options.partitions)
            self.fetching.assign(options.partitions)
        elif options.pattern is not None:
            engine.metadata.want_all()
            engine.metadata.mark_stale()
        else:
            engine.metadata.want(options.topics)
            engine.metadata.mark_stale()

    # Taking records

    def take_up(self, timeout: float | None, max_records: int) -> Steps[InHand | None]:
        """The next list of records, not in hand yet; None: there was none in that time.

        raises   KafkaError, LogTruncation, DecodingFailed, CorruptRecord
        """
        if self._is_taking:
            raise RuntimeError("two callers are waiting for records of the same consumer: use one consumer per caller")
        self._is_taking = True
        try:
            deadline_s = float("inf") if timeout is None else self._clock_s() + timeout
            has_looked = False
            while True:
                has_acted = True
                if self.has_to_act:
                    has_acted = yield Whole(self.act, min(WAIT_S, max(0.0, deadline_s - self._clock_s())))
                self._look_after()
                found = (yield from self._next_run(max_records, deadline_s)) if has_acted else None
                if found is not None:
                    if self.options.delivery is Delivery.AT_MOST_ONCE:
                        yield from self._commit_before(found)
                    if found.serial == found.subject.serial:
                        return found
                    continue
                left_s = deadline_s - self._clock_s()
                if left_s <= 0 and has_looked:
                    return None
                has_looked = True
                self._turn()
                if self._is_decoding:  # and has waited for it
                    self._is_decoding = False
                elif has_acted:
                    yield Until(self._has_news, min(WAIT_S, max(0.0, left_s)), "")
        finally:
            self._is_taking = False

    def gather(self, max_records: int, max_wait: float) -> Steps[list[InHand]]:
        """Lists of all partitions, at least one: what comes within `max_wait` seconds of the first."""
        gathered = self._gathering
        try:
            first = yield from self.take_up(None, max_records)
            assert first is not None
            gathered.append(first)
            count = len(first.run)
            deadline_s = self._clock_s() + max_wait
            while count < max_records and (left_s := deadline_s - self._clock_s()) > 0:
                try:
                    found = yield from self.take_up(left_s, max_records - count)
                except HeadraceError as failure:
                    self._failure = failure  # after what comes before it
                    break
                if found is None:
                    break
                gathered.append(found)
                count += len(found.run)
        except BaseException:
            self._taken.extendleft(reversed(gathered))
            raise
        finally:
            self._gathering = []
        return gathered

    def _commit_before(self, found: InHand) -> Steps[None]:
        """At most once: what is handed out is committed."""
        self._taken.appendleft(found)  # in case the caller is interrupted, or the commit fails
        yield from self.commit_now({found.subject.name: (found.end, found.end_epoch, "")}, COMMIT_S)
        if self._taken and self._taken[0] is found:
            self._taken.popleft()

    def _has_news(self) -> bool:
        """Whether there may be records, or something to do, that was not there before."""
        return self.fetching.has_something or self.has_to_act or (self.member is not None and self.member.has_failed)

    def _next_run(self, max_records: int, until_s: float) -> Steps[InHand | None]:
        """The next list of records that is here, and decoded by then. raises what a partition failed with"""
        taken = self._taken
        while True:
            for found in [one for one in taken if not one.subject.is_paused]:
                taken.remove(found)
                if found.serial == found.subject.serial:
                    return self._first_of(found, max_records)
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            reader = self._reader()
            if reader is None:
                return None
            chunk, run = reader.chunk, reader.next_run()
            if run is None:
                self._readers.remove(reader)
                if not self.in_hand and not self._gathering:
                    self._moved(chunk.subject, chunk.next_offset, chunk.subject.position_epoch, chunk.serial)
                continue
            last = run[-1]
            if self._decoding is not None:
                decoded = yield from self._decoding.decode(reader, min(until_s, self._clock_s() + WAIT_S))
                if decoded is None:
                    self._is_decoding = True
                    return None
                run = decoded.found
                if not run and decoded.failure is None and not self.in_hand and not self._gathering:  # all were skipped
                    self._moved(chunk.subject, last.offset + 1, epoch_of(last), chunk.serial)
                if not run or reader.is_void:
                    continue
            reader.run = None
            return self._first_of(InHand(chunk.subject, run, chunk.serial), max_records)

    def _reader(self) -> ChunkReader | None:
        """The chunk that records come from next; None: there is none."""
        for reader in list(self._readers):
            if reader.is_void:
                self._readers.remove(reader)
            elif not reader.chunk.subject.is_paused:
                return reader
        self.engine.tasks.now_s = self._clock_s()
        chunk = self.fetching.take()
        if chunk is None:
            return None
        reader = ChunkReader(chunk)
        self._readers.append(reader)
        self._turn()
        return reader

    def _first_of(self, found: InHand, max_records: int) -> InHand:
        """As many as are wanted; the rest comes next."""
        run = found.run
        if len(run) <= max_records:
            return found
        self._taken.appendleft(InHand(found.subject, run[max_records:], found.serial))
        return InHand(found.subject, run[:max_records], found.serial)

    def all_done(self, is_last_done: bool = True) -> None:
        """What was handed out is done; of a list that the caller goes through, as far as it has come.

        is_last_done   whether the record, or the list, that it got last is done too
        """
        in_hand, self.in_hand = self.in_hand, []
        for one in in_hand:
            if one.iterator is None:
                if is_last_done:
                    self._moved(one.subject, one.end, one.end_epoch, one.serial)
                continue
            if self._gone_through(one, is_last_done):
                self.in_hand.append(one)

    def _gone_through(self, one: InHand, is_last_done: bool) -> int:
        """The records of a list that the caller has come past are done; returns how many are left."""
        left: int = one.iterator.__length_hint__()  # type: ignore[union-attr]  # a list's iterator has it
        done = len(one.run) - left - (not is_last_done)
        if done > 0:
            last = one.run[done - 1]
            self._moved(one.subject, last.offset + 1, epoch_of(last), one.serial)
        return left

    def note_progress(self) -> None:
        """Positions are as of now, also in the middle of a list: before the record that the caller has."""
        for one in self.in_hand:
            if one.iterator is not None:
                self._gone_through(one, is_last_done=False)

    def _moved(self, subject: Subject, offset: int, epoch: int, serial: int) -> None:
        if subject.serial != serial or offset <= subject.position:
            return
        subject.position, subject.position_epoch = offset, epoch
        if self.options.group is not None and self.options.delivery is Delivery.AT_LEAST_ONCE:
            self._dirty[subject.name] = (offset, epoch, "")

    # Positions

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted(self.fetching.subjects))

    @property
    def positions(self) -> dict[TopicPartition, int]:
        self.note_progress()
        return {name: subject.position for name, subject in self.fetching.subjects.items() if subject.position >= 0}

    def position(self, topic: str, partition: int) -> Steps[int]:
        subject = self.subject(topic, partition)
        self.note_progress()
        if subject.name in self._to_begin:
            yield Whole(self.act, COMMIT_S)
        yield Until(
            lambda: subject.position >= 0 or subject.failure is not None, COMMIT_S, f"position of {subject.name}"
        )
        return subject.position

    def subject(self, topic: str, partition: int) -> Subject:
        subject = self.fetching.subjects.get(TopicPartition(topic, partition))
        if subject is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition} is not read by this consumer")
        return subject

    def seek(self, topic: str, partition: int, offset: int) -> None:
        if offset < 0:
            raise ValueError(f"offset: {offset}: expected 0 or more")
        subject = self.subject(topic, partition)
        self.void(subject)
        self.fetching.seek(subject.name, offset)

    def start_at(self, positions: Mapping[Named, int]) -> None:
        for name, offset in positions.items():
            partition = TopicPartition(*name)
            if offset < 0:
                raise ValueError(f"offset: {offset} of {partition}: expected 0 or more")
            self._start_at[partition] = offset
            if partition in self.fetching.subjects:
                self.seek(partition.topic, partition.partition, offset)

    def reset(self, timestamp: int) -> None:
        """Read all partitions from EARLIEST or LATEST."""
        for name, subject in self.fetching.subjects.items():
            self.void(subject)
            self.fetching.reset(name, timestamp)

    def pause(self, names: Iterable[Name]) -> None:
        for name in names:
            self.fetching.pause(self.subject(*name).name)

    def resume(self, names: Iterable[Name]) -> None:
        for name in names:
            self.fetching.resume(self.subject(*name).name)

    def offsets(self, at: int | datetime.datetime, names: Iterable[Name] | None) -> Steps[dict[TopicPartition, int]]:
        """The first offset at or after a time of each partition; None: of those that are read."""
        wanted = self.assignment if names is None else tuple(TopicPartition(*name) for name in names)
        timestamp = int(at.timestamp() * 1000) if isinstance(at, datetime.datetime) else at
        asked = offsets_for(
            self.engine.tasks,
            self.engine.metadata,
            dict.fromkeys(wanted, timestamp),
            self.options.fetching.is_read_committed,
        )
        found = yield Done(self.engine.start(asked, "offsets"))
        return {name: row.offset for name, row in found.items()}

    def void(self, subject: Subject) -> None:
        """What was read of it counts for nothing, it is about to be moved."""
        for one in self.in_hand:
            if one.subject is subject and one.iterator is not None:
                one.run.clear()  # the caller gets no more of it
        self.in_hand = [one for one in self.in_hand if one.subject is not subject]
        self._dirty.pop(subject.name, None)
        self._to_begin.pop(subject.name, None)

    # Commits

    def commit(self, offsets: Mapping[Named, int] | None) -> Steps[None]:
        """These, or what is done and was not committed, with what is in hand."""
        if self.options.group is None:
            raise ValueError("commit: the consumer has no group")
        if offsets is None:
            self.all_done()
            yield from self.commit_now(dict(self._dirty), COMMIT_S)
        else:
            wanted = {TopicPartition(*name): (offset, NO_EPOCH, "") for name, offset in offsets.items()}
            yield from self.commit_now(wanted, COMMIT_S)

    def committed(self, names: Iterable[Name] | None) -> Steps[dict[TopicPartition, Committed]]:
        if self.coordinator is None:
            raise ValueError("committed: the consumer has no group")
        wanted = list(self.assignment) if names is None else [TopicPartition(*name) for name in names]
        asked = self.engine.start(fetch_committed(self.coordinator, wanted), "committed offsets")
        found: dict[TopicPartition, Committed] = yield Done(asked, COMMIT_S)
        return found

    def commit_now(self, offsets: dict[TopicPartition, Position], timeout_s: float) -> Steps[None]:
        """raises   CommitFailed, where the group has rebalanced; KafkaError, ConnectionFailed"""
        if not offsets:
            return
        self._commit_due_s = self._clock_s() + self.options.auto_commit_s
        if self.member is not None:
            self.member.polled()
        stored = self._store(offsets)
        text = f"commit in group {self.options.group}"
        step: Step = Done(stored, timeout_s) if isinstance(stored, Task) else Heard(stored, timeout_s, text)
        try:
            yield step
        except WaitTimedOut:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{text}: not answered within {timeout_s:g} s") from None
        except KafkaError as failure:
            if failure.code in (
                ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
            ):  # fmt: skip
                raise CommitFailed(failure.code, failure.message) from None
            raise
        self._is_committed(offsets)

    def _store(self, offsets: dict[TopicPartition, Position]) -> Task[None] | Future[None]:
        if self.member is not None:
            return self.member.call(lambda member: member.commit(offsets))
        return self.engine.start(self._stored(offsets), "commit")

    def _stored(self, offsets: Mapping[TopicPartition, Position]) -> Procedure[None]:
        assert self.coordinator is not None
        code = yield from store_committed(self.coordinator, offsets)
        if code:
            raise error_of(code, f"commit in group {self.options.group}")

    def _is_committed(self, offsets: Mapping[TopicPartition, Position]) -> None:
        for name, at in offsets.items():
            if self._dirty.get(name) == at:
                del self._dirty[name]

    def _commit_behind(self) -> None:
        """Commit what is done, without waiting; one at a time."""
        committing = self._committing
        if committing is not None:
            if not committing.is_done:
                return
            failure = committing.failure
            self.commit_failure = failure if isinstance(failure, HeadraceError) else None
            if failure is None:
                self._is_committed(committing.offsets)
            self._committing = None
        if self._dirty and self._clock_s() >= self._commit_due_s:
            self._commit_due_s = self._clock_s() + self.options.auto_commit_s
            offsets = dict(self._dirty)
            self._committing = BackgroundCommit(offsets, self._store(offsets))

    # What goes on beside

    @property
    def has_to_act(self) -> bool:
        """Whether a rebalance, or another number of partitions, waits for us."""
        if self.member is not None:
            return self.member.first_event is not None
        if self.options.partitions is not None:
            return bool(self._to_begin)
        return self.engine.metadata.version != self._metadata_version

    def act(self) -> Steps[None]:
        """Do what `has_to_act` is about. Interrupted or failed, it is done again."""
        member = self.member
        if member is None:
            if self.options.partitions is not None:
                yield from self._begin(tuple(self._to_begin))
                self._to_begin.clear()
            else:
                yield from self._follow_topics()
            return
        while (event := member.first_event) is not None:
            if isinstance(event, Assigned):
                yield from self._begin(event.partitions)
                self.has_share = True
            else:
                yield from self._leave_behind(event)
            yield Heard(member.acknowledge(event), CLOSE_S, "the group's thread")

    def _look_after(self) -> None:
        """Between two lists: the group hears of us, commits that are due."""
        member = self.member
        if member is not None:
            member.polled()
            if member.failure is not None:
                raise member.failure
        else:
            self._raise_for_unknown_topics()
        if self._dirty or self._committing is not None:
            self._commit_behind()

    def _raise_for_unknown_topics(self) -> None:
        """Without a group: a topic that no broker knows for a while is not there, or was deleted. raises KafkaError"""
        metadata, now_s = self.engine.metadata, self._clock_s()
        if metadata.version != self._unknown_version:
            self._unknown_version = metadata.version
            self._unknown = {
                topic: self._unknown.get(topic, now_s)
                for topic, state in metadata.topics.items()
                if state.failure is not None and state.failure.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            }
        for topic, since_s in self._unknown.items():
            if now_s - since_s >= UNKNOWN_TOPIC_S and self.options.pattern is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}: does not exist on any broker")

    def _leave_behind(self, event: Revoked | Lost) -> Steps[None]:
        """Partitions that are another member's soon, or already."""
        if self._on_revoked is not None:
            yield Call(self._on_revoked, event.partitions)
        gone = set(event.partitions)
        due = {name: at for name, at in self._dirty.items() if name in gone}
        if due and isinstance(event, Revoked) and self.options.delivery is Delivery.AT_LEAST_ONCE:
            try:
                yield from self.commit_now(due, COMMIT_S)
            except HeadraceError as failure:
                self.commit_failure = failure  # the records come again, to the next owner
        for name in gone:
            self._dirty.pop(name, None)
        self.in_hand = [one for one in self.in_hand if one.subject.name not in gone]
        self.fetching.assign([name for name in self.fetching.subjects if name not in gone])

    def _begin(self, names: tuple[TopicPartition, ...]) -> Steps[None]:
        """Where partitions are read from: what the caller says, what is committed, `start`."""
        self.fetching.assign(dict.fromkeys([*self.fetching.subjects, *names]))
        unmoved = self._to_begin
        if self.options.partitions is None:
            unmoved.update(dict.fromkeys(names))
        chosen: dict[TopicPartition, int] = {}
        if self._on_assigned is not None:
            said = (yield Call(self._on_assigned, names)) or {}
            chosen.update({TopicPartition(*name): at for name, at in said.items()})
        chosen.update({name: self._start_at[name] for name in names if name in self._start_at})
        left = [name for name in names if name not in chosen]
        known: dict[TopicPartition, Committed] = {}
        if self.coordinator is not None and left and self.options.delivery is not Delivery.EXACTLY_ONCE:
            known = yield Done(self.engine.start(fetch_committed(self.coordinator, left), "committed offsets"))
        for name in names:
            if name not in unmoved or name not in self.fetching.subjects:
                continue  # the caller moved it while this waited
            del unmoved[name]
            at = known.get(name)
            if name in chosen:
                self.fetching.seek(name, chosen[name])
            elif at is not None:
                self.fetching.seek(name, at.offset, at.leader_epoch)
            else:
                self.fetching.reset(name, self.options.start_ms)

    def _follow_topics(self) -> Steps[None]:
        """Without a group: all partitions of the topics, those that are added from their starts."""
        metadata, options = self.engine.metadata, self.options
        version = metadata.version
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
            new = tuple(TopicPartition(topic, index) for index in range(before or 0, now))
            yield from self._begin(new)
            if before is not None:
                for name in new:
                    if name not in self._start_at:
                        self.fetching.reset(name, EARLIEST)
            self._counts[topic] = now
        self._metadata_version = version

    # The rest

    def health(self) -> dict[str, Any]:
        """Where each partition stands."""
        self.note_progress()
        return {
            "partitions": {str(one.name): one.describe() for one in self.fetching.subjects.values()},
            "group": None if self.member is None else self.member.describe(),
            "decoding": None if self._decoding is None else self._decoding.waits_for,
            "not_committed": len(self._dirty),
            "commit_failure": None if self.commit_failure is None else str(self.commit_failure),
        }

    def close(self, timeout_s: float) -> Steps[None]:
        """Commit what is done, and leave the group; as long for each as `timeout_s` says."""
        self.all_done(is_last_done=False)
        if self._dirty and self.options.delivery is Delivery.AT_LEAST_ONCE and self.options.group is not None:
            try:
                yield from self.commit_now(dict(self._dirty), timeout_s)
            except HeadraceError as failure:
                self.commit_failure = failure  # the records are delivered again, to the present owner of the partitions
        member = self.member
        if member is not None:
            try:
                yield Heard(member.call(lambda membership: membership.leave()), timeout_s, "leaving the group")
                member.stop_soon()
                yield Heard(member.ended, timeout_s, "the group's thread to end")
            except HeadraceError:
                pass  # the session timeout says the same
