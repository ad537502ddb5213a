"""A Fetch of a follower: up to the log's end, epochs compared, its offset reported to the owner, news of its session alone.

Runs in: a network worker; the owner's process is not asked, only told (FOLLOWER_FETCHED), where a follower fetches from another
offset than it was told last, or in another life, or the row is of another owner or leader epoch: one message an owner and request.
Before v15 a fetch tells no broker epoch: it counts for the one that the view has when it comes (KAFKA-14617).
A fetch without a log start offset compares a batch of a log that may have parted: its owner is not notified (NO_LOG_START, decision 015).

Order of what is checked of a partition, and what its answer is:

    who asks is a broker      CLUSTER_AUTHORIZATION_FAILED (CVE-2018-1288): nobody can show who he is, but who has no address of a
                              broker (`broker_addresses.py`), or is neither a replica nor alive in the view, is none
    it is led here            NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR
    in the epoch it names     FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH
    to a replica              UNKNOWN_LEADER_EPOCH where it named an epoch, else NOT_LEADER_OR_FOLLOWER (KAFKA-13837)
    in its present life       NOT_LEADER_OR_FOLLOWER (KIP-903)
    from an offset there is   OFFSET_OUT_OF_RANGE, also where its last epoch is older than all that is known (KAFKA-12996)
    with the same epochs      diverging epoch, no records (KIP-595)

It is answered at once where it does not want to wait or wants nothing, where an error or a diverging epoch is reported, where enough
bytes are there, where the log's start moved (who deletes records waits for it). The high watermark goes along with the next
answer: it wakes no follower, as in Kafka since 2.6.

Source: Kafka `Partition.fetchRecords`, `ReplicaManager.fetchMessages`, `FetchSession.IncrementalFetchContext`.
"""

from __future__ import annotations

import os
from typing import Final

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_LOG_START
from headrace.limits import FOLLOWED_PER_MESSAGE_MAX, OUTBOX_BYTES_MAX
from headrace.log.state.leader_epochs import end_offset_for
from headrace.protocol import messages
from headrace.shm.counters import FETCH_BYTES, PARKED_FETCHES
from headrace.shm.fence import fence
from headrace.shm.messages import FOLLOWER_FETCHED, FOLLOWER_FETCHED_ENTRY
from headrace.shm.partition_table import PartitionRow
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.connections.outbox import FilePart
from headrace.workers.network.context import Context
from headrace.workers.network.fetch.fetch_answer import (
    VERSION_OF_TOPIC_IDS,
    PartitionAnswer,
    TopicAnswer,
    answer_fetch,
    as_row,
    refusal,
)
from headrace.workers.network.fetch.fetch_sessions import NO_SESSION, FetchedPartition, FetchSession
from headrace.workers.network.fetch.partition_reads import SMALL_RANGE_BYTES, may_be_replica, refusal_of
from headrace.workers.network.routes import Route

VERSION_OLDEST: Final = 11  # of a broker that may be in our cluster


_pack_fetched: Final = FOLLOWER_FETCHED_ENTRY.pack


def handle(context: Context, exchange: Exchange, request: messages.FetchRequest, replica_id: int) -> None:
    """Answer at once where there is reason to; else wait."""
    if not context.broker_requests.is_of_broker(exchange.connection, exchange.api_key):
        _refuse(exchange, request)
        return
    has_ids = exchange.api_version >= VERSION_OF_TOPIC_IDS
    is_broker = replica_id in context.view.brokers and replica_id != context.node_id
    session = context.sessions.enter(
        exchange.connection, request, replica_id, context.now_ms, has_ids=has_ids, is_broker=is_broker
    )
    if isinstance(session, ErrorCode):
        answer_fetch(exchange, [], error=int(session))
        return
    broker = context.view.brokers.get(replica_id)
    session.take_epoch(request.replica_state.replica_epoch, -1 if broker is None else broker.epoch)
    fetch = _FollowerFetch(context, exchange, request, session)
    if request.max_wait_ms <= 0 or not session.partition_count:
        fetch.attempt(True)
        return
    if fetch.attempt(False):
        return
    context.seat.counters.add(PARKED_FETCHES, 1)
    wait_ms = request.max_wait_ms
    if fetch.is_held_back:
        wait_ms = min(wait_ms, context.throttle.owed_ms(context.now_ms))
    session.parked = context.fetches.park(exchange.connection, [], context.now_ms + wait_ms, fetch.attempt)


def _refuse(exchange: Exchange, request: messages.FetchRequest) -> None:
    """No broker has the peer's address: each partition that is named says so, and no session begins."""
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    topics = [
        TopicAnswer(topic.topic, topic.topic_id, [refusal(wanted.partition, error) for wanted in topic.partitions])
        for topic in request.topics
    ]
    answer_fetch(exchange, topics, error=0 if topics else int(error))


class _FollowerFetch:
    """One request, tried until it is answered.

    is_held_back   whether a throttled partition got nothing for that reason (`leader_throttle.py`)
    """

    __slots__ = (
        "_context", "_exchange", "_is_early", "_is_full", "_is_last", "_notes", "_request", "_room", "_session",
        "_throttled_bytes", "_unread", "is_held_back",
    )  # fmt: skip

    def __init__(
        self, context: Context, exchange: Exchange, request: messages.FetchRequest, session: FetchSession
    ) -> None:
        self._context = context
        self._exchange = exchange
        self._session = session
        self._is_full = request.session_epoch <= 0
        self._request = request._replace(topics=[], forgotten_topics_data=[])  # the session has what they say
        self._is_last = False
        self._is_early = False  # the broker has started again since
        self._room = 0
        self._notes: dict[int, list[bytes]] = {}  # by owner
        self._unread: dict[FetchedPartition, None] = {}  # there are records, whether there is room for them or not
        self._throttled_bytes = 0
        self.is_held_back = False

    def attempt(self, is_last: bool) -> bool:
        """Read the partitions that may have news; answer if there is reason to, or it is the last try."""
        session, context, request = self._session, self._context, self._request
        self._is_last = is_last
        self._is_early = self._is_of_earlier_life()
        self._room = OUTBOX_BYTES_MAX - self._exchange.connection.unsent_bytes
        self._throttled_bytes = 0
        self.is_held_back = False
        self._place_news()
        budget = min(request.max_bytes, context.settings["fetch.max.bytes"])
        found: dict[FetchedPartition, PartitionAnswer] = {}
        self._unread = {}
        gathered = 0
        has_reason = is_last
        for partition in session.news:
            limit = min(partition.wanted.partition_max_bytes, budget - gathered)
            data, size = self._read(partition, limit, gathered == 0)
            gathered += size
            found[partition] = data
            has_reason = has_reason or data.error_code != 0 or data.diverging_epoch >= 0
            if not self._is_full and 0 <= partition.answered[1] < data.log_start_offset:
                has_reason = True
        self._tell_owners()
        if not has_reason and (not gathered or gathered < min(request.min_bytes, budget)):
            session.news = {one: None for one, data in found.items() if one in self._unread or self._is_new(one, data)}
            return False
        context.seat.counters.add(FETCH_BYTES, gathered)
        if self._throttled_bytes:
            context.throttle.sent(self._throttled_bytes)
        self._answer(found, budget - gathered)
        return True

    def _place_news(self) -> None:
        """Partitions that are new here, or lie elsewhere now: who is notified of them comes before the reading."""
        session, context = self._session, self._context
        view_version = context.view_version
        placed = False
        for partition in session.news:
            if partition.view_version == view_version:
                continue
            partition.view_version = view_version
            route = partition.route = self._route(partition)
            partition.is_replica = (
                route is not None
                and may_be_replica(context, route, session.replica_id)
                and session.replica_id in route.replicas
            )
            placed |= context.sessions.place(session, partition, -1 if route is None else route.slot)
        if placed:
            fence()

    def _route(self, partition: FetchedPartition) -> Route | None:
        topic = partition.topic
        name = self._context.topic_of_id(topic) if isinstance(topic, bytes) else topic
        return None if name is None else self._context.routes.partition(name, partition.wanted.partition)

    def _answer(self, found: dict[FetchedPartition, PartitionAnswer], left: int) -> None:
        """Tell what was found; a full answer has the others too, as they are."""
        session = self._session
        session.parked = None
        news = session.news = {}
        told = found
        if self._is_full:
            told = {}
            for partition in session:
                data = found.get(partition)
                told[partition] = self._read(partition, min(0, left), False)[0] if data is None else data
            self._tell_owners()
        by_topic: dict[str | bytes, list[PartitionAnswer]] = {}
        sent: list[FetchedPartition] = []
        for partition, data in told.items():
            if data.high_watermark < 0 and not data.error_code:  # its row is torn: there is nothing to tell of it yet
                news[partition] = None
                if not self._is_full:
                    continue
                data = refusal(partition.wanted.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            state = (data.high_watermark, data.log_start_offset)
            is_fault = data.error_code != 0 or data.diverging_epoch >= 0
            has_records = len(data.records) > 0
            if has_records:
                sent.append(partition)
            elif is_fault or partition in self._unread:
                news[partition] = None
            if self._is_full or has_records or is_fault or state != partition.answered:
                partition.answered = state
                by_topic.setdefault(partition.topic, []).append(data)
        news.update(dict.fromkeys(sent))  # after those that got nothing: they come first in the next answer
        session_id = session.session_id if session.partition_count else NO_SESSION
        topics = [
            TopicAnswer("", topic, rows) if isinstance(topic, bytes) else TopicAnswer(topic, messages.ZERO_UUID, rows)
            for topic, rows in by_topic.items()
        ]
        if not session_id:
            self._context.sessions.close(session)
        answer_fetch(self._exchange, topics, session_id)

    def _is_new(self, partition: FetchedPartition, data: PartitionAnswer) -> bool:
        """Whether a partition without records has something to tell with the next answer; a full answer has all in any case."""
        return not self._is_full and (data.high_watermark, data.log_start_offset) != partition.answered

    def _read(self, partition: FetchedPartition, limit: int, is_first: bool) -> tuple[PartitionAnswer, int]:
        """What there is of one partition, and the number of record bytes in it."""
        wanted, session, context = partition.wanted, self._session, self._context
        index = wanted.partition
        route = partition.route
        if route is None:
            is_by_id = isinstance(partition.topic, bytes) and context.topic_of_id(partition.topic) is None
            return refusal(index, ErrorCode.UNKNOWN_TOPIC_ID if is_by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 0
        if not partition.is_replica and not may_be_replica(context, route, session.replica_id):
            return refusal(index, ErrorCode.CLUSTER_AUTHORIZATION_FAILED), 0
        if self._exchange.api_version < VERSION_OLDEST:
            return refusal(index, ErrorCode.UNSUPPORTED_VERSION), 0
        row = context.seat.partitions.read(route.slot) if route.slot >= 0 else None
        if row is None:  # its writer died in the middle: its successor publishes it, and tells
            is_answer = self._is_last or route.slot < 0
            return refusal(index, ErrorCode.NOT_LEADER_OR_FOLLOWER if is_answer else ErrorCode.NONE), 0
        error = refusal_of(route, row, wanted.current_leader_epoch)
        if not error and not partition.is_replica:
            is_named = wanted.current_leader_epoch >= 0
            error = ErrorCode.UNKNOWN_LEADER_EPOCH if is_named else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not error and self._is_early:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error:
            return refusal(index, error), 0
        try:
            return self._read_log(partition, route, row, limit, is_first)
        except KafkaError as failure:
            return refusal(index, failure.code), 0
        except FileNotFoundError:  # deleted since the row was read
            row = context.seat.partitions.read(route.slot) or row
            is_deleted = wanted.fetch_offset < row.log_start_offset
            return refusal(index, ErrorCode.OFFSET_OUT_OF_RANGE if is_deleted else ErrorCode.KAFKA_STORAGE_ERROR), 0
        except (HeadraceError, OSError) as failure:
            context.note_unread(route, failure)
            return refusal(index, ErrorCode.KAFKA_STORAGE_ERROR), 0

    def _is_of_earlier_life(self) -> bool:
        """Whether the broker has started again since, as the view has it (KIP-903)."""
        told = self._session.broker_epoch
        broker = self._context.view.brokers.get(self._session.replica_id)
        return broker is not None and -1 < told < broker.epoch

    def _read_log(
        self, partition: FetchedPartition, route: Route, row: PartitionRow, limit: int, is_first: bool
    ) -> tuple[PartitionAnswer, int]:
        """What a leader answers to its follower. raises KafkaError, HeadraceError, OSError"""
        wanted = partition.wanted
        offset = wanted.fetch_offset
        if wanted.last_fetched_epoch >= 0:
            epoch, end_offset = self._end_of_epoch(route, row, wanted.last_fetched_epoch)
            if end_offset < 0 or offset < row.log_start_offset:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
            if epoch < wanted.last_fetched_epoch or end_offset < offset:
                data = as_row(wanted.partition, row)
                data.diverging_epoch, data.diverging_end = epoch, end_offset
                return data, 0
        if not row.log_start_offset <= offset <= row.log_end_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if wanted.log_start_offset != NO_LOG_START:
            self._note(partition, route, row)
        if offset >= row.log_end_offset:
            return as_row(wanted.partition, row), 0
        self._unread[partition] = None
        is_throttled = self._context.throttle.is_limited and self._context.throttle.holds(route.topic, route.index)
        if is_throttled and self._is_used_up(route):
            self.is_held_back = True
            return as_row(wanted.partition, row), 0
        data = as_row(wanted.partition, row)
        size = 0
        if limit > 0 or is_first:
            found = self._context.files.reader(route, row).locate(
                offset, max(limit, 0), row.end_segment, row.end_position, at_least_one=is_first,
                end_offset=row.log_end_offset,
            )  # fmt: skip
            if found is not None:
                size = found.length
                if size <= min(SMALL_RANGE_BYTES, self._room):
                    data.records = os.pread(found.fd, size, found.position)
                    size = len(data.records)
                    self._room -= size
                else:
                    data.records = FilePart(found.fd, found.position, size, found.segment)
        if is_throttled:
            self._throttled_bytes += size
        return data, size

    def _is_used_up(self, route: Route) -> bool:
        """Whether a throttled partition has nothing left for this follower: who is in sync is not held back."""
        context = self._context
        topic = context.view.topics.get(route.topic)
        isr = topic.partitions[route.index].isr if topic is not None and route.index < len(topic.partitions) else ()
        return self._session.replica_id not in isr and context.throttle.owed_ms(context.now_ms) > 0

    def _end_of_epoch(self, route: Route, row: PartitionRow, epoch: int) -> tuple[int, int]:
        """Where an epoch ended, see `end_offset_for`; of the present one no file has to tell."""
        if epoch == row.leader_epoch:
            return epoch, row.log_end_offset
        return end_offset_for(self._context.epochs.entries(route, row), epoch, row.log_end_offset)

    def _note(self, partition: FetchedPartition, route: Route, row: PartitionRow) -> None:
        """Where the follower is, if its owner was told otherwise."""
        wanted = partition.wanted
        session = self._session
        told = (wanted.fetch_offset, wanted.log_start_offset, row.generation, row.leader_epoch, session.life)
        if told == partition.told:
            return
        partition.told = told
        entry = _pack_fetched(
            route.slot, route.key, session.replica_id, wanted.current_leader_epoch, session.life,
            wanted.fetch_offset, wanted.log_start_offset,
        )  # fmt: skip
        self._notes.setdefault(route.owner, []).append(entry)

    def _tell_owners(self) -> None:
        if not self._notes:
            return
        notes, self._notes = self._notes, {}
        for owner, entries in notes.items():
            for first in range(0, len(entries), FOLLOWED_PER_MESSAGE_MAX):
                body = b"".join(entries[first : first + FOLLOWED_PER_MESSAGE_MAX])
                self._context.sender.send(self._exchange.connection, owner, FOLLOWER_FETCHED, body, None)
