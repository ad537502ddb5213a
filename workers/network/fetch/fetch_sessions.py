"""Fetch sessions of followers (KIP-227): what a follower fetches is remembered, and which of it has news.

Runs in: a network worker. A session lives as long as the connection that made it: a follower that connects again, maybe to
another worker, is told FETCH_SESSION_ID_NOT_FOUND and begins with a full fetch. Clients get none, which is legal.

    full request      a new session (or none: epoch -1): all of its partitions are read and answered
    next request      names what is another than in the one before; epochs count up, so that none is lost or done twice
    answer to it      only partitions with news: records, an error, a diverging epoch, another high watermark or log start

A partition is read when it may have news: it was named; its row said something new since it was read (the wait bytes of all
partitions of a session are set while it lives, so the owner tells each time); the view has another leader or place for it; the
last read found records or an error. So a fetch of thousands of idle partitions costs nothing for each. The order that loses
no news is that of `fetch_purgatory.py`: wait byte set, fence, row read.

Bounds: max.incremental.fetch.session.cache.slots over all network workers, shared out evenly; SESSION_PARTITIONS_MAX partitions
of a session. Who finds no room is served without a session, and so is who is no broker of the view; the session that was used
least lately gives way once it was idle for SESSION_IDLE_MS_MIN, so that connections which nobody ends hold no slot for ever.

Source: Kafka `FetchSession`, `FetchManager.newContext`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import SESSION_IDLE_MS_MIN, SESSION_PARTITIONS_MAX
from headrace.protocol import messages
from headrace.shm.partition_table import WAITS_FOR_END, PartitionTable
from headrace.workers.network.connections.connection import Connection
from headrace.workers.network.fetch.fetch_purgatory import ParkedFetch
from headrace.workers.network.routes import Route

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
NO_SESSION_EPOCH: Final = -1
_LAST_INT: Final = 2**31 - 1
_NONE: Final[dict[FetchedPartition, FetchSession]] = {}

TopicKey = str | bytes  # its name, from Fetch v13 on its id


class FetchedPartition:
    """One partition of a session.

    topic       its name or id
    wanted      as it was asked for last
    slot        whose wait byte says that we want news; -1: not hosted here
    told        what its owner was told last: offset, log start; to whom: generation and leader epoch of the row; and in which life
    answered    (high watermark, log start offset) of the last answer
    route       where it lies, None: nowhere; and
    is_replica  whether the follower is one of its replicas: both as of `view_version`
    """

    __slots__ = ("answered", "is_replica", "route", "slot", "told", "topic", "view_version", "wanted")

    def __init__(self, topic: TopicKey, wanted: messages.FetchRequest.FetchPartition) -> None:
        self.topic = topic
        self.wanted = wanted
        self.slot = -1
        self.told: tuple[int, int, int, int, int] | None = None
        self.answered = (-1, -1)
        self.route: Route | None = None
        self.is_replica = False
        self.view_version = -1


class FetchSession:
    """What one follower fetches over one connection.

    session_id    0: of one request only
    broker_epoch  that its last request told, -1 before v15
    life          the same; where it told none, what the view had when the request came
    used_ms       when its last request came
    topics        its partitions by index, by topic
    news          partitions that are to be read, those that wait longest first
    parked        its fetch, while that waits
    """

    __slots__ = (
        "broker_epoch", "connection", "epoch", "has_ids", "life", "news", "parked", "partition_count", "replica_id",
        "session_id", "topics", "used_ms",
    )  # fmt: skip

    def __init__(self, connection: Connection, replica_id: int, session_id: int, *, has_ids: bool) -> None:
        self.connection = connection
        self.replica_id = replica_id
        self.broker_epoch = -1
        self.life = -1
        self.used_ms = 0
        self.session_id = session_id
        self.epoch = FIRST_EPOCH + 1
        self.has_ids = has_ids
        self.topics: dict[TopicKey, dict[int, FetchedPartition]] = {}
        self.partition_count = 0
        self.news: dict[FetchedPartition, None] = {}
        self.parked: ParkedFetch | None = None

    def take_epoch(self, told: int, known: int) -> None:
        """A request comes under a broker epoch: where that is another, owners are notified of all partitions again.

        told, known   by the request, and by the view; -1: not
        """
        self.broker_epoch = told
        life = told if told >= 0 else known
        if life != self.life:
            self.life = life
            self.news.update(dict.fromkeys(self))

    def name(self, request: messages.FetchRequest) -> bool:
        """Take what a request names; False, where that would be more than a session may have."""
        news, has_ids = self.news, self.has_ids
        for topic in request.topics:
            name = topic.topic_id if has_ids else topic.topic
            for wanted in topic.partitions:
                partitions = self.topics.setdefault(name, {})
                known = partitions.get(wanted.partition)
                if known is None:
                    if self.partition_count >= SESSION_PARTITIONS_MAX:
                        return False
                    self.partition_count += 1
                    known = partitions[wanted.partition] = FetchedPartition(name, wanted)
                else:
                    known.wanted = wanted
                news[known] = None
        return True

    def forget(self, request: messages.FetchRequest) -> list[FetchedPartition]:
        """Take what a request fetches no more."""
        gone = []
        for topic in request.forgotten_topics_data:
            name = topic.topic_id if self.has_ids else topic.topic
            partitions = self.topics.get(name, {})
            for index in topic.partitions:
                known = partitions.pop(index, None)
                if known is not None:
                    self.partition_count -= 1
                    self.news.pop(known, None)
                    gone.append(known)
            if not partitions:
                self.topics.pop(name, None)
        return gone

    def __iter__(self) -> Iterator[FetchedPartition]:
        for partitions in self.topics.values():
            yield from partitions.values()


class FetchSessions:
    """The sessions of one network worker, and fetches of followers without one while they wait.

    sessions_max   of those with an id
    """

    def __init__(self, table: PartitionTable, network_worker: int, sessions_max: int, random: Random) -> None:
        self._table = table
        self._network_worker = network_worker
        self._sessions_max = sessions_max
        self._random = random
        self._by_id: dict[int, FetchSession] = {}  # those used least lately first
        self._by_connection: dict[Connection, dict[FetchSession, None]] = {}
        self._by_slot: dict[int, dict[FetchedPartition, FetchSession]] = {}
        self._by_topic: dict[TopicKey, dict[FetchSession, None]] = {}

    def __len__(self) -> int:
        """Sessions with an id."""
        return len(self._by_id)

    @property
    def has_any(self) -> bool:
        """Whether a follower fetches here."""
        return bool(self._by_connection)

    def enter(
        self,
        connection: Connection,
        request: messages.FetchRequest,
        replica_id: int,
        now_ms: int,
        *,
        has_ids: bool,
        is_broker: bool,
    ) -> FetchSession | ErrorCode:
        """The session that a request belongs to, a new one where it wants one; an error of the whole request.

        The session has taken what the request names and forgets.

        is_broker   whether who asks may have a session that lives on
        """
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (FIRST_EPOCH, NO_SESSION_EPOCH):
            old = self._by_id.get(session_id) if session_id else None
            if old is not None and old.connection is connection:
                self.close(old)
            may_live = is_broker and epoch == FIRST_EPOCH
            return self._begin(connection, request, replica_id, may_live, has_ids, now_ms)
        session = self._by_id.get(session_id)
        if session is None or session.connection is not connection or session.replica_id != replica_id:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.has_ids != has_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = epoch + 1 if epoch < _LAST_INT else FIRST_EPOCH + 1
        session.used_ms = now_ms
        self._by_id[session_id] = self._by_id.pop(session_id)
        for partition in session.forget(request):
            self.place(session, partition, -1)
            if partition.topic not in session.topics:
                self._leave_topic(session, partition.topic)
        if not session.name(request):
            self.close(session)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        self._index_topics(session, request)
        return session

    def _begin(
        self,
        connection: Connection,
        request: messages.FetchRequest,
        replica_id: int,
        is_wanted: bool,
        has_ids: bool,
        now_ms: int,
    ) -> FetchSession:
        count = sum(len(topic.partitions) for topic in request.topics)
        session_id = NO_SESSION
        if is_wanted and 0 < count <= SESSION_PARTITIONS_MAX and self._has_room(now_ms):
            while session_id == NO_SESSION or session_id in self._by_id:
                session_id = self._random.randint(1, _LAST_INT)
        session = FetchSession(connection, replica_id, session_id, has_ids=has_ids)
        session.used_ms = now_ms
        session.name(request)
        if session_id:
            self._by_id[session_id] = session
        self._by_connection.setdefault(connection, {})[session] = None
        self._index_topics(session, request)
        return session

    def _has_room(self, now_ms: int) -> bool:
        """Whether there may be one more session; of one that was idle for long, its place."""
        if len(self._by_id) < self._sessions_max:
            return True
        oldest = next(iter(self._by_id.values()), None)
        if oldest is None or now_ms - oldest.used_ms < SESSION_IDLE_MS_MIN:
            return False
        self.close(oldest)
        return True

    def _index_topics(self, session: FetchSession, request: messages.FetchRequest) -> None:
        for topic in request.topics:
            name = topic.topic_id if session.has_ids else topic.topic
            if name in session.topics:
                self._by_topic.setdefault(name, {})[session] = None

    def place(self, session: FetchSession, partition: FetchedPartition, slot: int) -> bool:
        """Ask for the news of the slot in which a partition lies now; True: fence, and read its row after that."""
        if partition.slot == slot:
            return False
        if partition.slot >= 0:
            waiting = self._by_slot[partition.slot]
            del waiting[partition]
            if not waiting:
                del self._by_slot[partition.slot]
                self._table.set_wait(partition.slot, self._network_worker, False, WAITS_FOR_END)
        partition.slot = slot
        if slot < 0:
            return False
        waiting_now = self._by_slot.get(slot)
        if waiting_now is None:
            waiting_now = self._by_slot[slot] = {}
            self._table.set_wait(slot, self._network_worker, True, WAITS_FOR_END)
        waiting_now[partition] = session
        return True

    def advance(self, slots: Iterable[int]) -> list[ParkedFetch]:
        """Owners say that rows are others; returns the fetches that wait for these."""
        found: dict[ParkedFetch, None] = {}
        if self._by_slot:
            for slot in slots:
                for partition, session in self._by_slot.get(slot, _NONE).items():
                    session.news[partition] = None
                    if session.parked is not None:
                        found[session.parked] = None
        return list(found)

    def note_marks(self, slots: Iterable[int]) -> None:
        """High watermarks moved: told with the next answer, which nobody is woken for."""
        if self._by_slot:
            for slot in slots:
                for partition, session in self._by_slot.get(slot, _NONE).items():
                    session.news[partition] = None

    def retry_all(self) -> list[ParkedFetch]:
        """An owner died, with what it was about to tell."""
        return self.advance(list(self._by_slot))

    def follow(self, changes: Mapping[TopicKey, frozenset[int] | None]) -> list[ParkedFetch]:
        """The view moved: partitions of these topics may have another leader, or lie elsewhere.

        changes   by name and by id: which partitions, None: all
        returns   the fetches that wait for some of them
        """
        found: dict[ParkedFetch, None] = {}
        for name, indexes in changes.items():
            for session in self._by_topic.get(name, ()):
                partitions = session.topics[name]
                for index in partitions if indexes is None else indexes:
                    if index in partitions:
                        session.news[partitions[index]] = None
                if session.parked is not None:
                    found[session.parked] = None
        return list(found)

    def _leave_topic(self, session: FetchSession, name: TopicKey) -> None:
        sessions = self._by_topic.get(name)
        if sessions is not None:
            sessions.pop(session, None)
            if not sessions:
                del self._by_topic[name]

    def close(self, session: FetchSession) -> None:
        """Nothing is remembered any more."""
        for partition in session:
            self.place(session, partition, -1)
        session.news.clear()
        self._by_id.pop(session.session_id, None)
        held = self._by_connection.get(session.connection)
        if held is not None:
            held.pop(session, None)
            if not held:
                del self._by_connection[session.connection]
        for name in session.topics:
            self._leave_topic(session, name)

    def drop(self, connection: Connection) -> None:
        """A connection was closed."""
        for session in list(self._by_connection.get(connection, ())):
            self.close(session)
