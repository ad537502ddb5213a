"""A producer without threads: records gather in batches, one request is in flight to each leader.

    send    -> the partition's open batch; a batch that is full, or older than linger_ms, is due
    turn    -> handle responses; send each leader without a request in flight one, with the first due batch of
               each of its partitions
    flush   -> turns, until nothing is left

One request a leader keeps the order of a partition, retries included. With idempotence every batch carries producer id and
sequence, so a retry of a request that succeeded is stored once.

A batch that can't be delivered ends the producer: the current call raises `ProduceFailed`, and what was not
acknowledged by then is not sent. Nothing after a lost record is sent unnoticed.

Source: Kafka `KafkaProducer`, `Sender`, `RecordAccumulator`; KIP-98 for sequences.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from headrace.client.cluster import Cluster, error_of
from headrace.client.connection import Connection, ConnectionFailed, wait_for_answers
from headrace.client.partitioner import StickyPartitions, partition_of
from headrace.client.producer_batch import Batch, record_bytes
from headrace.client.producer_options import ACKS_NONE, ProducerOptions
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_PRODUCER_ID, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import HEADER_BYTES, SEQUENCE_MASK, Header, Record, build_batch

REQUEST_BYTES = 4 << 20  # of records in one request; one batch always fits
RETRY_PAUSE_FIRST_S = 0.05
RETRY_PAUSE_MAX_S = 1.0
ANSWER_EXTRA_S = 2.0  # after request_timeout_ms, which the broker may use up
WAIT_MAX_S = 0.5  # for a response, between two checks of deadlines

# Called for each batch that was acknowledged: partition, offset of its first record (-1: not told), number of records.
OnDelivered = Callable[[TopicPartition, int, int], None]


class ProduceFailed(HeadraceError):
    """Records were not acknowledged.

    partition   of the batch that failed
    lost        records that were not acknowledged, of all partitions (the broker may have some of them)
    cause       KafkaError or ConnectionFailed
    record      the one that a broker refused, numbered from 0 in the order of `send`; None, if it is not a single one
    """

    def __init__(
        self, partition: TopicPartition, lost: int, tries: int, cause: HeadraceError, record: int | None = None
    ) -> None:
        super().__init__(f"{cause} (partition {partition}, after {tries} tries; {lost} records were not acknowledged)")
        self.partition = partition
        self.lost = lost
        self.cause = cause
        self.record = record


class Identity(NamedTuple):
    """A producer id of the caller's own making, in place of one that the cluster hands out.

    Producers with the same identity and the same records append them once, however many there are: a partition takes a batch only
    with the sequence that comes next in it. Ids from 2^62 on are never handed out.

    sequences   the next one of each partition; 0 where it is not named
    """

    producer_id: int
    epoch: int
    sequences: dict[TopicPartition, int]


class _Request(NamedTuple):
    """A request in flight: the first batch of each of these partitions."""

    connection: Connection
    batches: dict[TopicPartition, Batch]
    deadline_s: float


class Producer:
    """A producer with exclusive use of a `Cluster`, whose connections it closes."""

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions | None = None,
        on_delivered: OnDelivered | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        identity: Identity | None = None,
    ) -> None:
        self.options = options or ProducerOptions()
        assert identity is None or self.options.is_idempotent
        self.acknowledged = 0  # records; with acks 0: sent
        self.acknowledged_bytes = 0
        self._taken = 0  # records
        self._cluster = cluster
        self._on_delivered = on_delivered
        self._clock_s = clock_s
        self._queues: dict[TopicPartition, deque[Batch]] = {}
        self._buffered_bytes = 0
        self._requests: dict[int, _Request] = {}  # by node id of the leader
        self._sticky = StickyPartitions()
        self._partitions: dict[str, tuple[int, tuple[int, ...]]] = {}  # topic -> (count, those with a leader)
        self._sequences: dict[TopicPartition, int] = {} if identity is None else dict(identity.sequences)
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, -1
        self._is_own_id = identity is not None
        if identity is not None:
            self._producer_id, self._producer_epoch = identity.producer_id, identity.epoch
        self._is_stale = False
        self._refresh_at_s = 0.0
        self._next_turn_s = float("inf")
        self._failure: ProduceFailed | None = None

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.flush()
        self._cluster.close()

    @property
    def outstanding(self) -> int:
        """Number of records not yet acknowledged."""
        return sum(len(batch.records) for queue in self._queues.values() for batch in queue)

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Queue a record; waits while the buffer is full.

        partition      None: by the key, without one chosen by the producer
        timestamp_ms   None: now
        raises         KafkaError, for an unknown topic or partition, or a record larger than the buffer;
                       ProduceFailed, for any record sent before
        """
        if self._failure is not None:
            raise self._failure
        size = record_bytes(key, value, headers)
        if size > self.options.buffer_bytes:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of {size} bytes for {topic} is larger than buffer_bytes ({self.options.buffer_bytes})",
            )
        name = self._place(topic, key, partition)
        while self._buffered_bytes + size > self.options.buffer_bytes:
            self._turn(is_flushing=True)
            self._wait()
        now_s = self._clock_s()
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = deque()
        batch = queue[-1] if queue else None
        is_full = False
        if batch is None or batch.tries or (batch.records and batch.size + size > self.options.batch_bytes):
            is_full = batch is not None
            batch = Batch(now_s)
            queue.append(batch)
            if partition is None and key is None and is_full:
                self._sticky.move_on(topic, self._partitions[topic][1])
            self._next_turn_s = min(self._next_turn_s, now_s + self.options.linger_ms / 1000)
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        batch.records.append(Record(len(batch.records), timestamp_ms, key, value, tuple(headers)))
        batch.numbers.append(self._taken)
        self._taken += 1
        batch.size += size
        self._buffered_bytes += size
        if is_full or now_s >= self._next_turn_s:
            self._turn()

    def poll(self) -> None:
        """Send due batches and handle responses, for a caller without a record to send. Raises ProduceFailed."""
        if self._queues:
            self._turn()

    def flush(self) -> None:
        """Return when every record is acknowledged; raises ProduceFailed."""
        while self._queues:
            self._turn(is_flushing=True)
            self._wait()

    def close(self) -> None:
        """Flush, and close the connections; raises ProduceFailed."""
        try:
            self.flush()
        finally:
            self._cluster.close()

    # Placing

    def _place(self, topic: str, key: bytes | None, partition: int | None) -> TopicPartition:
        known = self._partitions.get(topic)
        if known is None:
            known = self._learn(topic)
        count, available = known
        if partition is not None:
            if not 0 <= partition < count:
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"{topic} has partitions 0 to {count - 1}, no partition {partition}",
                )
            return TopicPartition(topic, partition)
        if key is not None:
            return TopicPartition(topic, partition_of(key, count))
        return TopicPartition(topic, self._sticky.current(topic, available))

    def _learn(self, topic: str) -> tuple[int, tuple[int, ...]]:
        self._cluster.refresh([topic])
        self._note_partitions()
        return self._partitions[topic]

    def _note_partitions(self) -> None:
        """All partitions of the topics in use, and those that have a leader (all, if none has)."""
        found: dict[str, list[tuple[int, bool]]] = {}
        for name, row in self._cluster.partitions.items():
            found.setdefault(name.topic, []).append((name.partition, row.leader in self._cluster.brokers))
        for topic, rows in found.items():
            led = tuple(sorted(index for index, has_leader in rows if has_leader))
            self._partitions[topic] = (len(rows), led or tuple(sorted(index for index, _ in rows)))

    # Turns

    def _turn(self, is_flushing: bool = False) -> None:
        """Handle responses, send due batches; with `is_flushing` all batches."""
        if self._failure is not None:
            raise self._failure
        for node_id in self._answered(0):
            self._take_answer(node_id)
        now_s = self._clock_s()
        self._give_up_silent(now_s)
        self._give_up_old(now_s)
        if self._is_stale and now_s >= self._refresh_at_s:
            self._refresh(now_s)
        for node_id, batches in self._due(now_s, is_flushing).items():
            self._send(node_id, batches)
        self._next_turn_s = now_s + self.options.linger_ms / 1000 if self._queues else float("inf")

    def _due(self, now_s: float, is_flushing: bool) -> dict[int, dict[TopicPartition, Batch]]:
        """The first batch of each partition, by leader, if it is due and the leader has no request in flight."""
        due: dict[int, dict[TopicPartition, Batch]] = {}
        sizes: dict[int, int] = {}
        linger_s = self.options.linger_ms / 1000
        for name in list(self._queues):
            queue = self._queues[name]
            batch = queue[0]
            if not (is_flushing or len(queue) > 1 or batch.tries or now_s >= batch.created_s + linger_s):
                continue
            if now_s < batch.retry_at_s:
                continue
            try:
                leader = self._cluster.leader(name)
            except KafkaError as failure:
                self._try_again(name, batch, failure)
                continue
            if leader in self._requests or (due.get(leader) and sizes[leader] + batch.size > REQUEST_BYTES):
                continue
            due.setdefault(leader, {})[name] = batch
            sizes[leader] = sizes.get(leader, 0) + batch.size
        return due

    def _send(self, node_id: int, batches: dict[TopicPartition, Batch]) -> None:
        kind = messages.ProduceRequest
        options = self.options
        topics: dict[str, list[messages.ProduceRequest.PartitionProduceData]] = {}
        try:
            if options.is_idempotent and self._producer_id == NO_PRODUCER_ID:
                self._take_producer_id()
            for name, batch in batches.items():
                batch.tries += 1
                topics.setdefault(name.topic, []).append(
                    kind.PartitionProduceData(name.partition, self._encoded(name, batch))
                )
            connection = self._cluster.connection(node_id)
            version = connection.version(ApiKey.PRODUCE, 3, 9)
            if options.codec == Codec.ZSTD:
                version = connection.version(ApiKey.PRODUCE, 7, 9)
            request = kind(
                transactional_id=None,
                acks=options.acks,
                timeout_ms=options.request_timeout_ms,
                topic_data=[kind.TopicProduceData(topic, rows) for topic, rows in topics.items()],
            )
            connection.send(ApiKey.PRODUCE, version, request, is_answered=options.acks != ACKS_NONE)
        except (ConnectionFailed, KafkaError) as failure:
            for name, batch in batches.items():
                batch.tries = max(1, batch.tries)
                self._settle_failure(name, batch, failure)
            return
        if options.acks == ACKS_NONE:
            for name, batch in batches.items():
                self._acknowledge(name, batch, -1)
        else:
            deadline_s = self._clock_s() + options.request_timeout_ms / 1000 + ANSWER_EXTRA_S
            self._requests[node_id] = _Request(connection, batches, deadline_s)

    def _encoded(self, name: TopicPartition, batch: Batch) -> bytes:
        if self.options.is_idempotent and batch.sequence < 0:
            batch.sequence = self._sequences.get(name, 0)
            self._sequences[name] = (batch.sequence + len(batch.records)) & SEQUENCE_MASK
        return build_batch(
            batch.records,
            codec=self.options.codec,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=batch.sequence,
        )

    def _take_producer_id(self) -> None:
        request = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        answer = self._cluster.ask_any(ApiKey.INIT_PRODUCER_ID, (0, 4), request)
        if answer.error_code:
            raise error_of(answer.error_code, "no producer id assigned yet")
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch

    def _answered(self, wait_s: float) -> list[int]:
        """Leaders with a response to read; waits at most `wait_s`."""
        if not self._requests:
            return []
        return wait_for_answers(((node_id, request.connection) for node_id, request in self._requests.items()), wait_s)

    def _take_answer(self, node_id: int) -> None:
        connection, batches, _deadline_s = self._requests.pop(node_id)
        open_batches = dict(batches)
        try:
            answer: messages.ProduceResponse = connection.receive()
            for topic in answer.responses:
                for row in topic.partition_responses:
                    name = TopicPartition(topic.name, row.index)
                    batch = open_batches.pop(name, None)
                    if batch is not None:
                        self._take_result(name, batch, row)
            for name, batch in open_batches.items():
                self._settle_failure(
                    name, batch, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{name} is missing in the response")
                )
        except (ConnectionFailed, BadFrame) as failure:
            for name, batch in open_batches.items():
                self._settle_failure(name, batch, failure)

    def _take_result(
        self, name: TopicPartition, batch: Batch, row: messages.ProduceResponse.PartitionProduceResponse
    ) -> None:
        is_there = (
            row.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER and not self._is_own_id
        )  # else perhaps another's
        if row.error_code == ErrorCode.NONE or is_there:
            self._acknowledge(name, batch, -1 if row.error_code else row.base_offset)
        elif row.error_code == ErrorCode.UNKNOWN_PRODUCER_ID and batch.sequence > 0 and not self._is_own_id:
            # The partition forgot us: idle for a day, or the topic was recreated. One batch is in flight at a time, and it
            # is not there, so its sequences restart at 0.
            batch.sequence, self._sequences[name] = -1, 0
            self._try_again(name, batch, error_of(row.error_code, row.error_message or str(name)))
        elif row.error_code == ErrorCode.MESSAGE_TOO_LARGE and len(batch.records) > 1:
            self._split(name, batch)
        else:
            self._settle_failure(name, batch, error_of(row.error_code, row.error_message or str(name)))

    def _acknowledge(self, name: TopicPartition, batch: Batch, base_offset: int) -> None:
        self._drop(name, batch)
        self.acknowledged += len(batch.records)
        self.acknowledged_bytes += batch.size
        if self._on_delivered is not None:
            self._on_delivered(name, base_offset, len(batch.records))

    def _drop(self, name: TopicPartition, batch: Batch) -> None:
        queue = self._queues[name]
        assert queue[0] is batch
        queue.popleft()
        if not queue:
            del self._queues[name]
        self._buffered_bytes -= batch.size - HEADER_BYTES

    def _split(self, name: TopicPartition, batch: Batch) -> None:
        """The broker refused a batch of this size: replace it by two halves."""
        queue = self._queues[name]
        queue.popleft()
        if batch.sequence >= 0:
            self._sequences[name] = batch.sequence
        queue.extendleft(reversed(batch.halves()))

    # Failures

    def _settle_failure(self, name: TopicPartition, batch: Batch, failure: HeadraceError) -> None:
        is_final = isinstance(failure, KafkaError) and not failure.code.retriable
        if is_final:
            self._fail(name, batch, failure)
        self._try_again(name, batch, failure)

    def _try_again(self, _name: TopicPartition, batch: Batch, failure: HeadraceError) -> None:
        batch.failure = failure
        batch.tries = max(1, batch.tries)
        pause_s = min(RETRY_PAUSE_FIRST_S * 2 ** min(batch.tries - 1, 10), RETRY_PAUSE_MAX_S)
        batch.retry_at_s = self._clock_s() + pause_s
        self._is_stale = True

    def _give_up_silent(self, now_s: float) -> None:
        """A leader that does not respond: close its connection, retry its batches."""
        for node_id in [node_id for node_id, request in self._requests.items() if now_s >= request.deadline_s]:
            connection, batches, _deadline_s = self._requests.pop(node_id)
            connection.close()
            for name, batch in batches.items():
                self._settle_failure(name, batch, ConnectionFailed(f"{connection.address}: no response in time"))

    def _give_up_old(self, now_s: float) -> None:
        for name, queue in self._queues.items():
            batch = queue[0]
            if now_s < batch.created_s + self.options.delivery_timeout_ms / 1000 or not batch.tries:
                continue
            if any(batch in request.batches.values() for request in self._requests.values()):
                continue  # its answer has a deadline of its own
            cause = batch.failure or KafkaError(ErrorCode.REQUEST_TIMED_OUT, str(name))
            self._fail(name, batch, cause)

    def _fail(self, name: TopicPartition, batch: Batch, cause: HeadraceError) -> None:
        is_refused = isinstance(cause, KafkaError) and not cause.code.retriable and len(batch.numbers) == 1
        record = batch.numbers[0] if is_refused else None
        self._failure = ProduceFailed(name, self.outstanding, batch.tries, cause, record)
        self._queues.clear()
        self._requests.clear()
        self._buffered_bytes = 0
        self._cluster.close()
        raise self._failure

    def _refresh(self, now_s: float) -> None:
        """Refresh metadata; if no broker responds, the batches wait for the next attempt."""
        self._refresh_at_s = now_s + RETRY_PAUSE_FIRST_S
        try:
            self._cluster.refresh(sorted({name.topic for name in self._queues}))
        except (ConnectionFailed, KafkaError) as failure:
            if isinstance(failure, KafkaError) and not failure.code.retriable:
                name, queue = next(iter(self._queues.items()))
                self._fail(name, queue[0], failure)
            self._refresh_at_s = now_s + RETRY_PAUSE_MAX_S
            return
        self._note_partitions()
        self._is_stale = False

    def _wait(self) -> None:
        """Wait until a response arrives, or the next retry is due."""
        if not self._queues:
            return
        wait_s = WAIT_MAX_S
        now_s = self._clock_s()
        retries = [queue[0].retry_at_s for queue in self._queues.values() if queue[0].retry_at_s > now_s]
        if self._is_stale:
            retries.append(self._refresh_at_s)
        if retries:
            wait_s = max(0.0, min(wait_s, min(retries) - now_s))
        if self._requests:
            for node_id in self._answered(wait_s):
                self._take_answer(node_id)
        elif retries:
            select.select((), (), (), wait_s)
