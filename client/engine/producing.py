"""The producing half of the engine: records to batches, batches to leaders, answers to what waits for them.

    append   -> the open batch of a partition; closed when it is full, or `linger.ms` old
    turn     -> each leader gets the first closed batch of each of its partitions, `max.in.flight.requests.per.connection` at once
    response -> the batch is done, or goes back to the front of its partition

Order. A partition's batches are sent in order. After a failed one, its partition waits until nothing of it is in flight, and then sends
one at a time until those that failed are through. Without idempotence one batch of a partition is in flight at any time; and with it
until the first one is acknowledged, as a broker takes any sequence of a producer that it does not know.

Idempotence. Batches are numbered under a producer id, by partition: a retry of a batch that was stored is stored once. A broker
that says that a batch does not follow what it has (OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID for the first one that was not
acknowledged, none before it waits to be sent again) has neither this batch nor later ones: that partition continues under a new
producer id, others keep theirs.

An identity of the caller's own making (`GivenIdentity`) is never replaced, and what a broker says of its sequences is an error: perhaps
another producer of that identity has written. One batch of a partition is in flight at any time then, so that what is refused
has nothing after it.

Failure. A batch that is refused, or older than `delivery.timeout.ms`, fails for good; later ones of its partition are sent on. It may
have been stored, where its last request had no answer. With `ends_at_failure`, and with a given identity, the first failure ends the
producer: all that is not acknowledged by then fails with it, and no more records are taken.

Source: Kafka `RecordAccumulator`, `Sender`, `TransactionManager`; KIP-98, KIP-360, KIP-480 (sticky partitions).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from headrace.client.engine.batches import VERSION_OF_BATCHES, Batch, failure_of
from headrace.client.engine.builders import Builders
from headrace.client.engine.identity import GivenIdentity, Identity, new_identity
from headrace.client.engine.link import Answer
from headrace.client.engine.metadata import Metadata, TopicState
from headrace.client.engine.produce_request import produce_request
from headrace.client.engine.producing_options import ACKS_ALL, ACKS_NONE, ProducingOptions
from headrace.client.engine.requests import Requests
from headrace.client.engine.routes import Queue, Route
from headrace.client.engine.tasks import Pause, Procedure, Task, Tasks, retry_pause_s
from headrace.client.failures import ConnectionFailed, DeliveryFailed, is_retriable
from headrace.client.send_path import SendPath
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_LEADER, NO_PRODUCER_ID, TopicPartition
from headrace.limits import CLIENT_BATCHES_AHEAD_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import HEADER_BYTES, NO_SEQUENCE, SEQUENCE_MASK

PRODUCE_VERSIONS: Final = (2, 11)
ZSTD_VERSION: Final = 7
ANSWER_EXTRA_S: Final = 2.0  # after request.timeout.ms, which the broker may use up
EXPIRY_STEP_S: Final = 0.1  # between two scans for batches that are too old
_NOT_THERE: Final = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH}
)


# Partition, offset of the batch's first record (-1: the broker did not say), number of records.
OnStored = Callable[[TopicPartition, int, int], None]


class Producing:
    """All that one producer has not seen acknowledged.

    routes           by topic; made by `learn`
    path             counts the bytes of open batches, and takes records the fast way
    outstanding      batches that are not done, open ones too
    acknowledged     records; `acknowledged_bytes` of them, uncompressed
    is_due           a batch was closed since the last turn
    due_bytes        of such batches
    ended            why no more records are taken; None: they are
    given            the caller's own identity, in place of one that the cluster hands out
    on_stored        called for each batch that was acknowledged
    """

    def __init__(
        self,
        requests: Requests,
        tasks: Tasks,
        metadata: Metadata,
        options: ProducingOptions,
        path: Any = None,
        given: GivenIdentity | None = None,
        on_stored: OnStored | None = None,
    ) -> None:
        self.options = options
        self.routes: dict[str, Route] = {}
        self.path = path or SendPath(tuple, None, None, options.batch_size)
        self.path.allowance = options.buffer_memory
        self.outstanding = 0
        self.acknowledged = 0
        self.acknowledged_bytes = 0
        self.is_due = False
        self.due_bytes = 0
        self.unseen: HeadraceError | None = (
            None  # the first failure since the last flush that the caller does not know of
        )
        self.unseen_records = 0
        self._builders = Builders()
        self.ended: DeliveryFailed | None = None
        self._failed_records = 0
        self._closed_bytes = 0  # of batches that are not open
        self._requests = requests
        self._tasks = tasks
        self._metadata = metadata
        self._metadata_version = -1
        self._order = 0
        self._chance = requests.chance
        self._is_idempotent = options.is_idempotent if options.is_idempotent is not None else options.acks == ACKS_ALL
        assert given is None or self._is_idempotent
        self._given = given
        self._ends_at_failure = options.ends_at_failure or given is not None
        self._on_stored = on_stored
        self._identity = None if given is None else Identity(given.producer_id, given.epoch)
        self._asking_identity: Task[Identity] | None = None
        self._lingering: deque[tuple[Queue, Batch]] = deque()  # open batches, the oldest first
        self._ready: dict[Queue, None] = {}  # with closed batches to send
        self._node_requests: dict[int, int] = {}  # in flight, by node
        self._expire_at_s = 0.0
        self._linger_s = options.linger_ms / 1000

    # Taking records

    def learn(self, topic: str) -> Procedure[Route]:
        """The route of a topic. raises KafkaError, where there is no such topic; ConnectionFailed"""
        state = yield from self._metadata.known(topic)
        return self._route(state)

    def queue(self, route: Route, partition: int) -> Queue:
        """raises   KafkaError UNKNOWN_TOPIC_OR_PARTITION"""
        if not 0 <= partition < route.count:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{route.topic} has partitions 0 to {route.count - 1}, no partition {partition}",
            )
        queue = route.queues[partition]
        if queue is None:
            queue = route.queues[partition] = Queue(TopicPartition(route.topic, partition))
            route.fast.place(partition, queue.target)
            if self._identity is not None:
                sequence = 0 if self._given is None else self._given.sequences.get(queue.name, 0)
                queue.identity = Identity(self._identity.producer_id, self._identity.epoch, sequence)
        return queue

    def sticky_queue(self, route: Route) -> Queue:
        """Where records without a key go until the batch there is full."""
        if route.sticky is None:
            route.sticky = self.queue(route, route.available[int(self._chance() * len(route.available))])
            route.fast.stick(route.sticky.target)
        return route.sticky

    def open_batch(self, queue: Queue, record_bytes: int, now_s: float) -> Batch:
        """A new open batch of a queue, where the next record does not fit into the one there is.

        record_bytes   of that record, at most
        raises         KafkaError MESSAGE_TOO_LARGE, where no batch has room for it; DeliveryFailed, where the producer has ended
        """
        if self.ended is not None:
            raise self.ended
        if record_bytes > self.options.buffer_memory:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of {record_bytes} bytes for {queue.name} is larger than buffer.memory ({self.options.buffer_memory})",
            )
        if queue.open is not None:
            if not queue.open.builder.count:  # type: ignore[union-attr]  # an open batch has one
                return queue.open
            self._close(queue)
        self._order += 1
        batch = queue.open = Batch(queue.name, now_s, self._order, self._builders)
        self.outstanding += 1
        self._lingering.append((queue, batch))
        queue.target.open(batch.builder, batch)
        return batch

    def close_full(self, queue: Queue) -> None:
        """The next record does not fit."""
        if queue.open is not None and queue.open.builder.count:  # type: ignore[union-attr]
            self._close(queue)

    @property
    def buffered_bytes(self) -> int:
        """Of records that are not acknowledged."""
        return int(self._closed_bytes + self.path.open_bytes)

    @property
    def is_ahead(self) -> bool:
        """Whether more batches wait than brokers take soon: one more would be written into memory that was not used before."""
        batches = sum(self._node_requests.values()) + CLIENT_BATCHES_AHEAD_MAX
        return self._closed_bytes > batches * self.options.batch_size

    @property
    def is_full(self) -> bool:
        """Whether the next record has to wait."""
        return bool(self.path.open_bytes >= self.path.allowance)

    # Turns

    def turn(self, now_s: float, is_flushing: bool = False) -> None:
        """Close what is due, send what can be sent, give up what is too old."""
        self.is_due, self.due_bytes = False, 0
        lingering = self._lingering
        until_s = float("inf") if is_flushing else now_s - self._linger_s
        while lingering:
            queue, batch = lingering[0]
            if queue.open is batch:
                if batch.created_s > until_s:
                    break
                if batch.builder.count:  # type: ignore[union-attr]  # an open batch has one
                    self._close(queue)
                else:
                    self._discard(queue, batch)
            lingering.popleft()
        if self._metadata.version != self._metadata_version:
            self._follow_metadata()
        if now_s >= self._expire_at_s:
            self._expire_at_s = now_s + EXPIRY_STEP_S
            self._expire(now_s)
        has_sent = True
        while has_sent and self._ready:  # until what is in flight is all that may be; without acks what is sent is done
            has_sent = self._send(now_s)

    def next_s(self, now_s: float) -> float:
        """When `turn` has something to do at the latest."""
        times = [float("inf")]
        if self._lingering:
            times.append(self._lingering[0][1].created_s + self._linger_s)
        if self._ready:
            times.append(self._expire_at_s)
            times += [queue.retry_at_s for queue in self._ready if queue.retry_at_s > now_s]
        return min(times)

    def unfinished(self) -> list[Batch]:
        """The batches that are not done."""
        queues = [queue for route in self.routes.values() for queue in route.queues if queue is not None]
        found = [batch for queue in queues for batch in (*queue.in_flight, *queue.waiting)]
        return found + [queue.open for queue in queues if queue.open is not None]

    def fail_all(self, failure: HeadraceError) -> None:
        """The producer is closed without waiting."""
        for route in self.routes.values():
            for queue in route.queues:
                if queue is not None:
                    if queue.open is not None:
                        self._close(queue)
                    for batch in [*queue.in_flight, *queue.waiting]:
                        self._settle(queue, batch, failure)
                    queue.in_flight.clear()
                    queue.waiting.clear()
        self._ready.clear()

    def take_unseen(self) -> tuple[HeadraceError, int] | None:
        """(the first failure of batches that the caller does not know of, how many records they had), once."""
        failure, records = self.unseen, self.unseen_records
        self.unseen, self.unseen_records = None, 0
        return None if failure is None else (failure, records)

    # Routes

    def _route(self, state: TopicState) -> Route:
        route = self.routes.get(state.name)
        if route is None:
            route = self.routes[state.name] = Route(state.name)
        self._fill(route, state)
        return route

    def _fill(self, route: Route, state: TopicState) -> None:
        if len(state.partitions) > route.count:
            route.queues += [None] * (len(state.partitions) - route.count)
            route.count = len(state.partitions)
            route.fast.resize(route.count)
            self.path.routes[route.topic] = route.fast
        led = [index for index, one in enumerate(state.partitions) if one.leader in self._metadata.brokers]
        route.available = led or list(range(route.count))
        if route.sticky is not None and route.sticky.name.partition not in route.available:
            self._unstick(route)

    def _unstick(self, route: Route) -> None:
        """Records without a key go to another partition from now on."""
        route.sticky = None
        route.fast.stick(None)

    def _hold(self, size: int) -> None:
        """Closed batches take this many bytes more, or less."""
        self._closed_bytes += size
        self.path.allowance = self.options.buffer_memory - self._closed_bytes

    def _follow_metadata(self) -> None:
        self._metadata_version = self._metadata.version
        for topic, route in self.routes.items():
            state = self._metadata.topics.get(topic)
            if state is not None and state.partitions:
                self._fill(route, state)

    # Sending

    def _close(self, queue: Queue) -> None:
        batch = queue.open
        assert batch is not None
        queue.target.close()
        batch.close()
        self.path.add(HEADER_BYTES - batch.size)
        self._hold(batch.size)
        queue.open = None
        queue.waiting.append(batch)
        self._ready[queue] = None
        route = self.routes[queue.name.topic]
        if route.sticky is queue and len(route.available) > 1:
            self._unstick(route)
        self.is_due = True
        self.due_bytes += batch.size
        self.path.next_turn_ns = 0

    def _discard(self, queue: Queue, batch: Batch) -> None:
        """An open batch whose first record was refused: nothing is to be waited for."""
        queue.target.close()
        queue.open = None
        self.outstanding -= 1
        batch.settle(None)

    def _send(self, now_s: float) -> bool:
        """One request to each leader, with the first batch of each of its partitions. Returns whether there was one."""
        if self._is_idempotent and self._identity is None:
            self._ask_identity()
            return False
        by_node: dict[int, list[tuple[Queue, Batch]]] = {}
        sizes: dict[int, int] = {}
        is_stale = False
        in_flight_max = self.options.max_in_flight
        for queue in list(self._ready):
            if not queue.waiting:
                del self._ready[queue]
                continue
            if now_s < queue.retry_at_s or queue.is_renewing:
                continue
            if queue.in_flight and (len(queue.in_flight) >= in_flight_max or not self._may_pipeline(queue)):
                continue
            node = self._metadata.leader(queue.name)
            if node == NO_LEADER:
                self._note_no_leader(queue, now_s)
                is_stale = True
                continue
            if self._node_requests.get(node, 0) >= in_flight_max:
                continue
            batch = queue.waiting[0]
            if node in by_node and sizes[node] + batch.size > self.options.max_request_size:
                continue
            by_node.setdefault(node, []).append((queue, batch))
            sizes[node] = sizes.get(node, 0) + batch.size
        for node, chosen in by_node.items():
            self._send_to(node, chosen, now_s)
        if is_stale:
            self._metadata.mark_stale()
        return bool(by_node)

    def _may_pipeline(self, queue: Queue) -> bool:
        """Whether a batch may be sent before the one before it was acknowledged."""
        return self._is_idempotent and self._given is None and not queue.is_recovering and queue.identity.is_known

    def _send_to(self, node: int, chosen: list[tuple[Queue, Batch]], now_s: float) -> None:
        options = self.options
        for queue, batch in chosen:
            queue.waiting.popleft()
            queue.in_flight.append(batch)
            batch.attempts += 1
            if self._is_idempotent and batch.sequence < 0:
                batch.number(queue.identity)
            if not queue.waiting:
                self._ready.pop(queue, None)

        refused: dict[Batch, HeadraceError] = {}

        self._node_requests[node] = self._node_requests.get(node, 0) + 1
        low, high = PRODUCE_VERSIONS
        if self._is_idempotent:
            low = VERSION_OF_BATCHES
        if options.codec == Codec.ZSTD:
            low = ZSTD_VERSION
        self._requests.ask(
            node,
            ApiKey.PRODUCE,
            (low, high),
            lambda version: produce_request(version, chosen, options, refused),
            lambda answer: self._answered(node, chosen, answer, refused),
            now_s,
            options.request_timeout_ms / 1000 + ANSWER_EXTRA_S,
            is_answered=options.acks != ACKS_NONE,
        )

    def _answered(
        self, node: int, chosen: list[tuple[Queue, Batch]], answer: Answer, refused: dict[Batch, HeadraceError]
    ) -> None:
        self._node_requests[node] -= 1
        rows: dict[TopicPartition, Any] = {}
        if answer.failure is None and answer.body is not None:
            for topic in answer.body.responses:
                for row in topic.partition_responses:
                    rows[TopicPartition(topic.name, row.index)] = row
        for queue, batch in chosen:
            if batch.is_done:
                continue
            if batch in refused:
                self._take_failure(queue, batch, refused[batch])
            elif answer.failure is not None:
                self._take_failure(queue, batch, answer.failure)
            elif self.options.acks == ACKS_NONE:
                self._acknowledge(queue, batch, None)
            elif queue.name not in rows:
                failure = KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, f"{queue.name} is missing in the response of broker {node}"
                )
                self._take_failure(queue, batch, failure)
            else:
                self._take_row(queue, batch, rows[queue.name])

    def _take_row(self, queue: Queue, batch: Batch, row: Any) -> None:
        code = row.error_code
        is_own = self._given is None  # else what is stored may be another producer's
        if code == ErrorCode.NONE or (code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER and is_own):
            self._acknowledge(queue, batch, row)
            return
        failure = failure_of(queue.name, row)
        leader = getattr(row, "current_leader", None)
        if leader is not None and leader.leader_id >= 0:
            self._metadata.moved(queue.name, leader.leader_id, leader.leader_epoch)
        if self._is_idempotent and is_own and failure.code in _NOT_THERE:
            is_first = queue.in_flight[0] is batch and not (queue.waiting and queue.waiting[0].order < batch.order)
            self._go_back(queue, batch, failure)
            if is_first and not queue.is_renewing:
                queue.is_renewing = True
                self._tasks.start(self._renew(queue), f"a new producer id for {queue.name}")
        elif code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            self._split(queue, batch)
        else:
            self._take_failure(queue, batch, failure)

    def _acknowledge(self, queue: Queue, batch: Batch, row: Any) -> None:
        queue.in_flight.remove(batch)
        if row is not None and not row.error_code:
            batch.base_offset = row.base_offset
            batch.log_append_time_ms = row.log_append_time_ms
        self.acknowledged += batch.count
        self.acknowledged_bytes += batch.size
        queue.identity.is_known = True
        if queue.is_recovering and not queue.in_flight and not any(one.attempts for one in queue.waiting):
            queue.is_recovering = False
        self._settle(queue, batch, None)
        if self._on_stored is not None:
            self._on_stored(queue.name, batch.base_offset, batch.count)

    def _settle(self, queue: Queue, batch: Batch, failure: HeadraceError | None) -> None:
        """The batch is in none of the queue's lists any more."""
        self._hold(-batch.size)
        self.outstanding -= 1
        batch.settle(failure)
        if failure is not None:
            self._failed_records += batch.count
            if not batch.is_watched:
                self.unseen = self.unseen or failure
                self.unseen_records += batch.count
        if queue.waiting:
            self._ready[queue] = None

    # Failures

    def _take_failure(self, queue: Queue, batch: Batch, failure: HeadraceError) -> None:
        if self._has_no_idempotence(failure) and self.options.codec != Codec.ZSTD:
            self._end_idempotence()
            self._go_back(queue, batch, failure)
            return
        if is_retriable(failure):
            self._metadata.mark_stale()
            self._go_back(queue, batch, failure)
            return
        queue.in_flight.remove(batch)
        self._fail(queue, batch, failure)

    def _fail(self, queue: Queue, batch: Batch, failure: HeadraceError) -> None:
        """The batch, in none of the queue's lists any more, has failed for good."""
        self._settle(queue, batch, failure)
        if self._ends_at_failure:
            self._end(failure)

    def _end(self, failure: HeadraceError) -> None:
        """Nothing is sent from now on."""
        if self.ended is None:
            self.fail_all(failure)
            self.ended = DeliveryFailed(self._failed_records, failure)

    def _go_back(self, queue: Queue, batch: Batch, failure: HeadraceError) -> None:
        """To the front of those that wait, in the order in which they were sent."""
        queue.in_flight.remove(batch)
        batch.last_failure = failure
        if not self._is_idempotent:
            batch.sequence = NO_SEQUENCE
        self._put_back(queue, [batch])
        queue.retry_at_s = self._tasks.now_s + retry_pause_s(batch.attempts)

    def _put_back(self, queue: Queue, batches: list[Batch]) -> None:
        """These wait, before all that were sent after them."""
        waiting, place = queue.waiting, 0
        while place < len(waiting) and waiting[place].order < batches[0].order:
            place += 1
        for batch in reversed(batches):
            waiting.insert(place, batch)
        queue.is_recovering = True
        self._ready[queue] = None

    def _split(self, queue: Queue, batch: Batch) -> None:
        """The broker refused a batch of this size: two halves in its place."""
        queue.in_flight.remove(batch)
        halves = batch.halves()
        sequence = batch.sequence
        for half in halves:
            if sequence >= 0:
                half.sequence, sequence = sequence, (sequence + half.count) & SEQUENCE_MASK
        self._hold(sum(half.size for half in halves) - batch.size)
        self.outstanding += len(halves) - 1
        self._put_back(queue, halves)

    def _note_no_leader(self, queue: Queue, now_s: float) -> None:
        batch = queue.waiting[0]
        state = self._metadata.topics.get(queue.name.topic)
        failure = (state and state.failure) or KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(queue.name))
        batch.last_failure = failure
        queue.retry_at_s = now_s + retry_pause_s(5)

    def _expire(self, now_s: float) -> None:
        """Batches that wait for longer than `delivery.timeout.ms`; those in flight have the deadline of their request."""
        limit_s = self.options.delivery_timeout_ms / 1000
        for queue in list(self._ready):
            while queue.waiting and now_s - queue.waiting[0].created_s >= limit_s:
                batch = queue.waiting.popleft()
                cause = batch.last_failure or ConnectionFailed(f"leader of {queue.name} can't be reached")
                text = f"{queue.name}: not acknowledged within delivery.timeout.ms ({limit_s:g} s), after {batch.attempts} tries: {cause}"
                self._fail(queue, batch, KafkaError(ErrorCode.REQUEST_TIMED_OUT, text))

    # Identity

    def _has_no_idempotence(self, failure: HeadraceError) -> bool:
        """Whether a broker said so, and the caller leaves it to us."""
        is_unsupported = isinstance(failure, KafkaError) and failure.code is ErrorCode.UNSUPPORTED_VERSION
        return is_unsupported and self._is_idempotent and self.options.is_idempotent is None

    def _end_idempotence(self) -> None:
        """A broker before 0.11 has none: nothing is numbered from now on."""
        self._is_idempotent = False
        for route in self.routes.values():
            for queue in route.queues:
                if queue is not None:
                    queue.identity = Identity()
                    for batch in queue.waiting:
                        batch.sequence = NO_SEQUENCE

    def _ask_identity(self) -> None:
        if self._asking_identity is not None and not self._asking_identity.is_done:
            return
        self._asking_identity = self._tasks.start(new_identity(self._requests), "a producer id")
        self._asking_identity.on_done(self._take_identity)

    def _take_identity(self, task: Task[Identity]) -> None:
        if task.failure is None:
            assert task.result is not None
            self._identity = task.result
            for route in self.routes.values():
                for queue in route.queues:
                    if queue is not None and queue.identity.producer_id == NO_PRODUCER_ID:
                        queue.identity = Identity(self._identity.producer_id, self._identity.epoch)
            return
        if self._has_no_idempotence(task.failure):
            self._end_idempotence()
            return
        if not is_retriable(task.failure):
            self.fail_all(task.failure)
            if self._ends_at_failure:
                self._end(task.failure)
        for queue in self._ready:
            for batch in queue.waiting:
                batch.last_failure = task.failure

    def _renew(self, queue: Queue) -> Procedure[None]:
        """Another producer id for a partition whose broker does not know where the last one was."""
        try:
            while queue.in_flight:
                yield Pause(EXPIRY_STEP_S / 10)
            identity = yield from new_identity(self._requests)
        except HeadraceError:
            queue.is_renewing = False
            return
        queue.identity = identity
        for batch in queue.waiting:
            batch.sequence = NO_SEQUENCE
        queue.is_renewing = False
        self._ready[queue] = None


__all__ = ["OnStored", "Producing", "Queue", "Route"]
