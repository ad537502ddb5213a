"""A fetch session from the follower's side: a request names what changed since the last one (KIP-227).

    first request    id 0, epoch 0: all partitions       the leader answers with the id of a session, or 0: it keeps none
    those after it   id n, epoch 1, 2, ...               partitions whose offset or epochs moved, or that are new; those that
                                                         are to be forgotten by name. An answer has those with news
    after a failure  id n, epoch 0: all of them          the leader ends session n, and begins another
    it has no such   id 0, epoch 0

What it costs is what changed: with ten thousand partitions of which ten have records, ten are named. From Fetch 13 on topics go
by id. One without an id has all of them go by name; the other way of naming is another session.

Pure. Source: Kafka `FetchSessionHandler`, `FetchMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, NamedTuple, TypeVar

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.messages import ZERO_UUID
from headrace.workers.partition.replication.fetch_answer import FetchAnswer

NO_SESSION: Final = 0
FULL_EPOCH: Final = 0
_EPOCH_LAST: Final = 2**31 - 1

_Topic = messages.FetchRequest.FetchTopic
_Partition = messages.FetchRequest.FetchPartition
_Forgotten = messages.FetchRequest.ForgottenTopic

Name = tuple[str | bytes, int]  # of a partition on the wire: topic or topic id, index


class Wish(NamedTuple):
    """What a request says of a partition."""

    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int  # -1: not said
    log_start_offset: int  # NO_LOG_START: a batch is compared, and what the follower has is not said
    bytes_max: int = 0  # of records; 0: as many as any partition gets


class Subject:
    """A partition that may be fetched. `Followed` is one."""

    __slots__ = ("asked", "index", "topic", "topic_id")

    def __init__(self, topic: str, topic_id: bytes, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id  # ZERO_UUID: it has none
        self.index = index
        self.asked: Wish | None = None  # what the leader was told last; None: nothing

    def name(self, is_by_id: bool) -> Name:
        return (self.topic_id if is_by_id else self.topic, self.index)


AnySubject = TypeVar("AnySubject", bound=Subject)


class FetchSession(Generic[AnySubject]):
    """With one leader. What became of a request is said before the next one is built.

    session_id, epoch   of the next request
    """

    def __init__(self, partition_bytes_max: int) -> None:
        self.session_id = NO_SESSION
        self.epoch = FULL_EPOCH
        self._partition_bytes_max = partition_bytes_max
        self._wanted: dict[AnySubject, Wish] = {}  # in the order in which they should have their turn
        self._without_id = 0  # of them
        self._changed: dict[AnySubject, None] = {}
        self._known: dict[Name, AnySubject] = {}  # those that the leader has been notified of in this session
        self._left: dict[Name, AnySubject] = {}  # of these, those that are no longer wanted
        self._is_by_id = False

    def __len__(self) -> int:
        """Partitions that are wanted."""
        return len(self._wanted)

    def __bool__(self) -> bool:
        """Whether there is something to ask."""
        return bool(self._wanted or (self._left and self.epoch != FULL_EPOCH))

    @property
    def changed_count(self) -> int:
        """Partitions that the next incremental request names."""
        return len(self._changed)

    def want(self, subject: AnySubject, wish: Wish) -> None:
        """Fetch a partition, or fetch it from elsewhere."""
        if subject not in self._wanted:
            self._without_id += subject.topic_id == ZERO_UUID
            self._left.pop(subject.name(self._is_by_id), None)
        self._wanted[subject] = wish
        if wish != subject.asked:
            self._changed[subject] = None

    def put_last(self, subject: AnySubject) -> None:
        """It had its turn: a full request names it after the others."""
        wish = self._wanted.pop(subject, None)
        if wish is not None:
            self._wanted[subject] = wish

    def drop(self, subject: AnySubject) -> None:
        """Fetch it no longer."""
        if self._wanted.pop(subject, None) is None:
            return
        self._without_id -= subject.topic_id == ZERO_UUID
        self._changed.pop(subject, None)
        subject.asked = None
        name = subject.name(self._is_by_id)
        if self._known.get(name) is subject:
            self._left[name] = subject

    def can_go_by_id(self) -> bool:
        """Whether every topic that the next request may name has an id."""
        return not self._without_id

    def build(self, is_by_id: bool) -> tuple[list[_Topic], list[_Forgotten]]:
        """What the next request names, and what it has the leader forget; it counts as told from now on."""
        if is_by_id != self._is_by_id:
            self._is_by_id = is_by_id
            self.reset()
        named: Iterable[AnySubject]
        if self.epoch == FULL_EPOCH:
            self._known.clear()
            self._left.clear()
            named = self._wanted
        else:
            named = self._changed
        rows: dict[str, list[_Partition]] = {}
        ids: dict[str, bytes] = {}
        for subject in self._take(named):
            wish = self._wanted[subject]
            row = _Partition(
                partition=subject.index,
                current_leader_epoch=wish.leader_epoch,
                fetch_offset=wish.fetch_offset,
                last_fetched_epoch=wish.last_fetched_epoch,
                log_start_offset=wish.log_start_offset,
                partition_max_bytes=wish.bytes_max or self._partition_bytes_max,
            )
            rows.setdefault(subject.topic, []).append(row)
            ids[subject.topic] = subject.topic_id
        topics = [_Topic(topic=topic, topic_id=ids[topic], partitions=part) for topic, part in rows.items()]
        return topics, self._forget()

    def changes(self) -> list[AnySubject] | None:
        """The partitions that the next request names by id; they count as told from now on. None where `build` has to say it:
        a full request, partitions to forget, topics by name."""
        if not self._is_by_id or self.epoch == FULL_EPOCH or self._left:
            return None
        return self._take(self._changed)

    def find(self, topic: str, topic_id: bytes, index: int) -> AnySubject | None:
        """The partition that an answer is about; None where the session has none of that name."""
        return self._known.get((topic_id if self._is_by_id else topic, index))

    def answered(self, answer: FetchAnswer) -> str:
        """What the session is after an answer.

        returns   why nothing in it may be used; empty: all of it may
        """
        is_full = self.epoch == FULL_EPOCH
        error = answer.error_code
        if error:
            self.reset(is_known=error != ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return ErrorCode(error).name if error in _CODES else str(error)
        is_by_id = self._is_by_id
        names = {(part.topic_id if is_by_id else part.topic, part.index) for part in answer.parts}
        known = self._known
        strange = [name for name in names if name not in known]
        if is_full and not names and answer.throttle_ms > 0:  # KIP-219: not an answer, a request to wait
            self.reset(is_known=False)
            return "throttled"
        if strange or (is_full and len(names) < len(self._known)):
            self.reset(is_known=not is_full)
            return f"{len(strange)} partitions that were not requested, {len(self._known) - len(names)} missing"
        if answer.session_id == NO_SESSION:
            self.reset(is_known=False)
        elif is_full:
            self.session_id, self.epoch = answer.session_id, 1
        else:
            self.epoch = 1 if self.epoch == _EPOCH_LAST else self.epoch + 1
        return ""

    def reset(self, *, is_known: bool = True) -> None:
        """The next request names everything.

        is_known   the leader may have the session: it ends it
        """
        self.epoch = FULL_EPOCH
        if not is_known:
            self.session_id = NO_SESSION

    def _take(self, named: Iterable[AnySubject]) -> list[AnySubject]:
        """These are told now, as they are wanted."""
        taken = list(named)
        for subject in taken:
            subject.asked = self._wanted[subject]
            self._known[subject.name(self._is_by_id)] = subject
        self._changed.clear()
        return taken

    def _forget(self) -> list[_Forgotten]:
        """Partitions that are no longer wanted, but for those whose name another one has now."""
        if not self._left:
            return []
        topics: dict[str | bytes, tuple[str, bytes, list[int]]] = {}
        for (name, index), subject in self._left.items():
            if self._known.get((name, index)) is subject:
                del self._known[name, index]
                topics.setdefault(name, (subject.topic, subject.topic_id, []))[2].append(index)
        self._left.clear()
        return [
            _Forgotten(topic=topic, topic_id=topic_id, partitions=part) for topic, topic_id, part in topics.values()
        ]


_CODES: Final = frozenset(int(code) for code in ErrorCode)
