"""The blocking producer: `send` writes a record into its batch, and returns what becomes of it.

    with kafka.producer(value=Json(Order)) as producer:
        producer.send("orders", order, key=order.id)            # waits where the buffer is full: that is the back-pressure
        producer.send("orders", order).result()                 # waits until it is acknowledged

Batches leave inside `send`, `poll` and `flush`, without a thread; with `sender_thread=True` also while the caller does other things.

What a record costs: a route by topic, a partition, the kernel's `append` into the batch, a clock. The engine is turned when a batch is
closed or old enough, not for each record.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from headrace.client.delivery import Delivery
from headrace.client.driving.blocking import BlockingDriver
from headrace.client.engine.batches import RECORD_OVERHEAD_BYTES, Batch
from headrace.client.engine.coordinator import Committed, GroupMetadata
from headrace.client.engine.engine import Engine
from headrace.client.engine.identity import GivenIdentity
from headrace.client.engine.producing import OnStored
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.routes import Route
from headrace.client.engine.transactions import Transactions
from headrace.client.forks import ForkedClient, Forks
from headrace.client.lookups import LookupNeeded
from headrace.client.records import Header, Named
from headrace.client.send_path import SendPath
from headrace.client.sending import CLOSE_ON_ERROR_S, K_in, Sending, V_in, producer_closed
from headrace.client.serializers import Serializer
from headrace.client.steps import Steps
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    import pyarrow

SENDER_STEP_S: Final = 1.0  # of a sender thread that has nothing to do
SENDER_STEP_MIN_S: Final = 0.001
SENDER_STEP_MAX_S: Final = 0.05  # with a long linger.ms: a full batch does not wait for it
_HEADER_BYTES: Final = 10  # at most: the two lengths of a header

_new = tuple.__new__


class KafkaProducer(Sending[K_in, V_in]):
    """A producer with an engine and connections of its own. One thread at a time, unless it has a sender thread.

    given       an identity of the caller's own making: the sink's, by which attempts of a task store each row once
    on_stored   called for each batch that was acknowledged
    """

    def __init__(
        self,
        engine: Engine,
        options: ProducingOptions,
        key: Serializer[K_in] | None,
        value: Serializer[V_in] | None,
        max_block_s: float = 60.0,
        sender_thread: bool = False,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        given: GivenIdentity | None = None,
        on_stored: OnStored | None = None,
    ) -> None:
        path = SendPath(Delivery, self, self._send, options.batch_size)
        super().__init__(engine, options, key, value, max_block_s, clock_s, path, given, on_stored)
        self._driver = BlockingDriver(engine, clock_s)
        self._forks = Forks(self._abandon)
        if key is None and value is None:
            self.send = self._path.send  # type: ignore[method-assign]  # nothing stands between
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._has_work = threading.Event()
        if sender_thread:
            self._thread = threading.Thread(target=self._send_on, name="headrace-sender", daemon=True)
            self._thread.start()

    def __enter__(self) -> KafkaProducer[K_in, V_in]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        with contextlib.suppress(HeadraceError):  # the caller's own failure, or Ctrl-C, is what is to be seen
            self.close(CLOSE_ON_ERROR_S if issubclass(kind, Exception) else 0.0)

    # Sending

    def send(
        self,
        topic: str,
        value: V_in | None = None,
        key: K_in | None = None,
        *,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Add a record to its batch; waits while `buffer.memory` is used up, `max.block.ms` at most.

        partition      None: by the key, as Java's client does; without one by batches, in turn
        timestamp_ms   None: now
        raises         KafkaError, for an unknown topic or partition, or a record that is too large; WaitTimedOut
        """
        data: Any = value
        key_data: Any = key
        try:
            if self._serialize_value is not None and value is not None:
                data = self._serialize_value(topic, value)
            if self._serialize_key is not None and key is not None:
                key_data = self._serialize_key(topic, key)
        except LookupNeeded:
            with self._lock:
                self._check()
                data, key_data = self._driver.run(self._serialized_pair(topic, value, key))
        if partition is None and timestamp_ms is None and not headers:
            found: Delivery = self._path.send(topic, data, key_data)
            return found
        return self._send(topic, data, key_data, headers=headers, partition=partition, timestamp_ms=timestamp_ms)

    def _send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        *,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """The slow way: what the kernel's `SendPath` leaves."""
        with self._lock:
            try:
                return self._append(topic, value, key, headers, partition, timestamp_ms)
            except BaseException as failure:
                self._driver.note_interruption(failure)
                raise

    def _append(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Delivery:
        if not self._has_work.is_set():
            self._has_work.set()
        producing = self._producing
        now_s = self._clock_s()
        self._check()
        if producing.is_due or now_s >= self._next_turn_s:
            self._turn()
        if producing.is_full:
            self._wait_for_room()
        self._raise_ended()
        route = self._routes.get(topic)
        if route is None:
            route = self._learn(topic)
        queue = self._queue(route, key, partition)
        size = RECORD_OVERHEAD_BYTES + len(value or b"") + len(key or b"")
        if headers:
            size += sum(_HEADER_BYTES + 4 * len(name) + len(content or b"") for name, content in headers)
        batch = queue.open
        if batch is None or batch.builder.size_bytes + size > self._batch_size:  # type: ignore[union-attr]
            batch = producing.open_batch(queue, size, now_s)
        builder = batch.builder
        assert builder is not None
        before = builder.size_bytes
        milliseconds = int((now_s + self._wall_offset_s) * 1000) if timestamp_ms is None else timestamp_ms
        producing.path.add(builder.append(milliseconds, key, value, headers) - before)
        return _new(Delivery, (self, batch, builder.count - 1))

    def send_many(
        self,
        topic: str,
        values: Iterable[V_in | None] | pyarrow.Table | pyarrow.RecordBatch,
        keys: Iterable[K_in | None] | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> int:
        """Send many records at once; returns how many. What becomes of them `flush` says.

        values   or an Arrow table with a column `value`, and `key` where there are keys: binary or string
        raises   as `send`
        """
        with self._lock:
            self._check()
            sent = self._driver.run(self._many(topic, values, keys, partition, timestamp_ms))
            self._has_work.set()
            return sent

    # Transactions

    def init_transactions(self, timeout: float | None = None) -> None:
        """Once, before the first transaction: earlier producers of this transactional id are fenced, and what they left open is aborted.

        timeout   seconds; None: max.block.ms. After WaitTimedOut call it again
        raises    ProducerFenced, KafkaError; ConnectionFailed; WaitTimedOut
        """
        self._end_by(self._ended(Transactions.init, timeout))

    def begin_transaction(self) -> None:
        """raises   KafkaError INVALID_TXN_STATE, where one is open; what the producer has failed with"""
        with self._lock:
            self._check()
            self._begun()

    def commit_transaction(self, timeout: float | None = None) -> None:
        """Store what was sent, and have it count, with its offsets.

        raises   TransactionAbortable: call `abort_transaction`; ProducerFenced, KafkaError: close the producer; WaitTimedOut,
                 ConnectionFailed: it is not known, call it again
        """
        self._end_by(self._ended(Transactions.commit, timeout))

    def abort_transaction(self, timeout: float | None = None) -> None:
        """Nothing of it counts. raises ProducerFenced, KafkaError: close the producer; WaitTimedOut, ConnectionFailed: call it again"""
        self._end_by(self._ended(Transactions.abort, timeout))

    def send_offsets_to_transaction(
        self, offsets: Mapping[Named, int | Committed], group: GroupMetadata | str, timeout: float | None = None
    ) -> None:
        """Commit a group's offsets with the transaction.

        offsets   the next ones to read
        group     `consumer.group_metadata()`, by which members that have lost their partitions are refused; or a group's name
        raises    TransactionAbortable: call `abort_transaction`; ProducerFenced, KafkaError; WaitTimedOut
        """
        self._end_by(self._offsets_sent(offsets, group, timeout))

    # Waiting

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has. raises KafkaError, where there is no such topic; ConnectionFailed"""
        with self._lock:
            self._check()
            return self._learn(topic).count

    def poll(self, timeout: float = 0.0) -> None:
        """Send what is due and take what was answered; waits for something of that for at most that long."""
        with self._lock:
            self._check()
            self._driver.turn(timeout)
            self._note_turn()

    def flush(self, timeout: float | None = None) -> None:
        """Return when every record sent before is acknowledged.

        raises   DeliveryFailed, where some were not and no caller asked for their deliveries; WaitTimedOut
        """
        with self._lock:
            self._check()
            self._driver.run(self._flushed(timeout))
            self._note_turn()
            self._raise_unseen()

    def wait_for(self, batch: Batch, timeout: float | None) -> None:
        """Until a batch is done. raises WaitTimedOut"""
        with self._lock:
            if batch.is_done:
                return
            self._check()
            self._driver.run(self._delivered(batch, timeout))
            self._note_turn()

    def close(self, timeout: float | None = None) -> None:
        """Flush, and close. A second time does nothing.

        timeout   seconds for what is buffered; what is not acknowledged by then fails
        raises    DeliveryFailed
        """
        if self._is_closed:
            return
        with self._lock:
            self._is_closed = True
            if not self._forks.is_forked:
                try:
                    self._driver.run(self._closing(timeout))
                finally:
                    self._path.close()
                    self._driver.wake()
                    self._driver.close()
                    self._forks.forget()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._raise_unseen()

    # Inside

    def _end_by(self, steps: Steps[None]) -> None:
        with self._lock:
            self._check()
            self._driver.run(steps)
            self._note_turn()

    def _turn(self) -> None:
        self._driver.turn()
        self._note_turn()

    def _note_turn(self) -> None:
        now_s = self._clock_s()
        next_s = max(now_s + 0.0005, self._engine.next_s(now_s))
        self._turn_at(now_s, min(next_s, now_s + self._producing.options.linger_ms / 1000 + 0.0005))

    def _check(self) -> None:
        if self._forks.is_forked:
            raise ForkedClient("this producer was created before a fork: create one in the child")
        if self._is_closed and self._driver.is_closed:
            raise producer_closed()
        self._driver.check()
        self._raise_ended()

    def _learn(self, topic: str) -> Route:
        self._check()
        return self._driver.run(self._learned(topic))

    def _wait_for_room(self) -> None:
        self._driver.wait_until(*self._room())
        self._note_turn()

    def _abandon(self) -> None:
        self._lock, self._has_work = threading.RLock(), threading.Event()  # the sender thread may have had them
        self._path.next_turn_ns = 0  # the next record takes the slow way, which checks
        self._driver.abandon()

    def _send_on(self) -> None:
        """The sender thread: turns while the caller does other things, as long as there is something to send."""
        while not self._is_closed:
            with self._lock:
                if self._is_closed:
                    return
                if not self._producing.outstanding:
                    self._has_work.clear()
                self._driver.turn()
                self._note_turn()
            if self._has_work.is_set():
                time.sleep(min(max(SENDER_STEP_MIN_S, self._producing.options.linger_ms / 2000), SENDER_STEP_MAX_S))
            else:
                self._has_work.wait(SENDER_STEP_S)
