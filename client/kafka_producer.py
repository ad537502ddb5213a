"""The blocking producer: `send` writes a record into its batch, and returns what becomes of it.

    with kafka.producer(value=Json(Order)) as producer:
        producer.send("orders", order, key=order.id)            # waits where the buffer is full: that is the back-pressure
        producer.send("orders", order).result()                 # waits until it is acknowledged

Batches leave inside `send`, `poll` and `flush`, without a thread; with `sender_thread=True` also while the caller does other things.

What a record costs: a route by topic, a partition, the kernel's `append` into the batch, a clock. The engine is turned when a batch is
closed or old enough, not for each record.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from headrace.client.delivery import Delivery, DeliveryFailed
from headrace.client.driving.blocking import BlockingDriver
from headrace.client.engine.batches import RECORD_OVERHEAD_BYTES, Batch
from headrace.client.engine.engine import Engine
from headrace.client.engine.producing import Producing, ProducingOptions, Queue, Route
from headrace.client.failures import WaitTimedOut
from headrace.client.forks import ForkedClient, Forks
from headrace.client.partitioner import partition_of
from headrace.client.records import Header
from headrace.client.send_path import SendPath
from headrace.client.serializers import Serializer
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.protocol.batch_builder import Column

if TYPE_CHECKING:
    import pyarrow

K_in = TypeVar("K_in", contravariant=True)
V_in = TypeVar("V_in", contravariant=True)

SENDER_STEP_S: Final = 1.0  # of a sender thread that has nothing to do
SENDER_STEP_MIN_S: Final = 0.001
CLOSE_ON_ERROR_S: Final = 5.0  # for what is buffered, where the caller's block failed
_HEADER_BYTES: Final = 10  # at most: the two lengths of a header

_new = tuple.__new__


class KafkaProducer(Generic[K_in, V_in]):
    """A producer with an engine and connections of its own. One thread at a time, unless it has a sender thread."""

    def __init__(
        self,
        engine: Engine,
        options: ProducingOptions,
        key: Serializer[K_in] | None,
        value: Serializer[V_in] | None,
        max_block_s: float = 60.0,
        sender_thread: bool = False,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = BlockingDriver(engine, clock_s)
        self._path = SendPath(Delivery, self, self._send, options.batch_size)
        self._producing = Producing(engine.requests, engine.tasks, engine.metadata, options, path=self._path)
        engine.parts.append(self._producing)
        self._engine = engine
        self._routes = self._producing.routes
        self._serialize_key = None if key is None else key.serialize
        self._serialize_value = None if value is None else value.serialize
        self._max_block_s = max_block_s
        self._batch_size = options.batch_size
        self._clock_s = clock_s
        self._has_kernel_clock = clock_s is time.monotonic  # the kernel looks at that one itself
        self._next_turn_s = 0.0
        self._wall_offset_s = time.time() - clock_s()
        self._is_closed = False
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
        elif issubclass(kind, Exception):
            try:
                self.close(CLOSE_ON_ERROR_S)
            except HeadraceError:
                pass  # the caller's own failure is what is to be seen
        else:
            self.close(0.0)

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
        if self._serialize_value is not None and value is not None:
            data = self._serialize_value(topic, value)
        if self._serialize_key is not None and key is not None:
            key_data = self._serialize_key(topic, key)
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
            if not self._has_work.is_set():
                self._has_work.set()
            producing = self._producing
            now_s = self._clock_s()
            self._check()
            if producing.is_due or now_s >= self._next_turn_s:
                self._turn()
            if producing.is_full:
                self._wait_for_room()
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
            if hasattr(values, "column_names"):
                return self._send_table(topic, values, partition, timestamp_ms)
            listed = values if isinstance(values, list | tuple) else list(values)
            listed_keys = None if keys is None else keys if isinstance(keys, list | tuple) else list(keys)
            if listed_keys is not None and len(listed_keys) != len(listed):
                raise ValueError(f"keys: {len(listed_keys)} for {len(listed)} values")
            route = self._routes.get(topic) or self._learn(topic)
            if self._serialize_value is not None:
                serialize = self._serialize_value
                listed = [None if one is None else serialize(topic, one) for one in listed]
            if listed_keys is not None and self._serialize_key is not None:
                serialize_key = self._serialize_key
                listed_keys = [None if one is None else serialize_key(topic, one) for one in listed_keys]
            if listed_keys is None or partition is not None:
                self._send_run(route, listed, listed_keys, partition, timestamp_ms)
                return len(listed)
            count = route.count
            groups: dict[int, tuple[list[Any], list[Any]]] = {}
            for value, key in zip(listed, listed_keys, strict=True):
                index = -1 if key is None else partition_of(key, count)
                group = groups.get(index)
                if group is None:
                    group = groups[index] = ([], [])
                group[0].append(value)
                group[1].append(key)
            for index, (some, some_keys) in groups.items():
                self._send_run(
                    route, some, some_keys if index >= 0 else None, index if index >= 0 else None, timestamp_ms
                )
            return len(listed)

    def _send_run(self, route: Route, values: Any, keys: Any, partition: int | None, timestamp_ms: int | None) -> None:
        """Records that all go to one partition, or in turn where none is given."""
        producing, limit = self._producing, self._batch_size
        at, total = 0, len(values)
        while at < total:
            now_s = self._clock_s()
            queue = producing.sticky_queue(route) if partition is None else producing.queue(route, partition)
            batch = queue.open or producing.open_batch(queue, RECORD_OVERHEAD_BYTES, now_s)
            milliseconds = int((now_s + self._wall_offset_s) * 1000) if timestamp_ms is None else timestamp_ms
            assert batch.builder is not None
            before = batch.builder.size_bytes
            at = batch.builder.extend(values, keys, milliseconds, at, limit)
            producing.path.add(batch.builder.size_bytes - before)
            if at < total:
                producing.close_full(queue)
            self._turn_for_run(now_s)

    def _send_table(self, topic: str, table: Any, partition: int | None, timestamp_ms: int | None) -> int:
        route = self._routes.get(topic) or self._learn(topic)
        for name in table.column_names:
            if name not in ("value", "key"):
                raise ValueError(f"column {name!r} of the table: only 'value' and 'key' are sent")
        batches = table.to_batches() if hasattr(table, "to_batches") else [table]
        for rows in batches:
            values = rows.column("value")
            keys = rows.column("key") if "key" in rows.schema.names else None
            if keys is not None and partition is None:
                self.send_many(topic, values.to_pylist(), keys.to_pylist(), timestamp_ms=timestamp_ms)
                continue
            self._send_columns(
                route,
                Column.of(values),
                None if keys is None else Column.of(keys),
                len(values),
                partition,
                timestamp_ms,
            )
        return int(table.num_rows)

    def _send_columns(
        self,
        route: Route,
        values: Column,
        keys: Column | None,
        total: int,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> None:
        producing, limit = self._producing, self._batch_size
        at = 0
        while at < total:
            now_s = self._clock_s()
            queue = producing.sticky_queue(route) if partition is None else producing.queue(route, partition)
            batch = queue.open or producing.open_batch(queue, RECORD_OVERHEAD_BYTES, now_s)
            milliseconds = int((now_s + self._wall_offset_s) * 1000) if timestamp_ms is None else timestamp_ms
            assert batch.builder is not None
            before = batch.builder.size_bytes
            at = batch.builder.extend_columns(values, keys, milliseconds, at, total, limit)
            producing.path.add(batch.builder.size_bytes - before)
            if at < total:
                producing.close_full(queue)
            self._turn_for_run(now_s)

    def _turn_for_run(self, now_s: float) -> None:
        if self._producing.is_due or now_s >= self._next_turn_s:
            self._turn()
        if self._producing.is_full:
            self._wait_for_room()

    # Waiting

    def poll(self, timeout: float = 0.0) -> None:
        """Send what is due and take what was answered; waits for something of that for at most so many seconds."""
        with self._lock:
            self._check()
            self._driver.turn(timeout)
            self._note_turn()

    def flush(self, timeout: float | None = None) -> None:
        """Return when every record sent before is acknowledged.

        raises   DeliveryFailed, where some were not and nobody asked for their deliveries; WaitTimedOut
        """
        with self._lock:
            self._check()
            self._flush(timeout)
            self._raise_unseen()

    def wait_for(self, batch: Batch, timeout: float | None) -> None:
        """Until a batch is done. raises WaitTimedOut"""
        with self._lock:
            if batch.is_done:
                return
            self._check()
            if not batch.is_closed:
                self._producing.turn(self._clock_s(), is_flushing=True)
            self._driver.wait_until(lambda: batch.is_done, timeout, f"delivery to {batch.name}")
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
                    if timeout is None or timeout > 0:
                        self._flush(timeout)
                except WaitTimedOut as failure:
                    self._producing.fail_all(failure)
                finally:
                    self._path.close()
                    self._producing.fail_all(_closed())
                    self._driver.wake()
                    self._driver.close()
                    self._forks.forget()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._raise_unseen()

    def health(self) -> dict[str, Any]:
        """What is not acknowledged, and what it waits for."""
        producing = self._producing
        return {
            "buffered_bytes": producing.buffered_bytes,
            "batches": producing.outstanding,
            "acknowledged": producing.acknowledged,
            "waits_for": list(self._engine.waits_for()),
        }

    @property
    def acknowledged(self) -> int:
        """Records, so far."""
        return self._producing.acknowledged

    # Inside

    def _turn(self) -> None:
        self._driver.turn()
        self._note_turn()

    def _note_turn(self) -> None:
        now_s = self._clock_s()
        self._wall_offset_s = time.time() - now_s
        self._next_turn_s = max(now_s + 0.0005, self._engine.next_s(now_s))
        self._next_turn_s = min(self._next_turn_s, now_s + self._producing.options.linger_ms / 1000 + 0.0005)
        if self._has_kernel_clock:
            self._path.wall_offset_ns = int(self._wall_offset_s * 1e9)
            self._path.next_turn_ns = 0 if self._producing.is_due else int(self._next_turn_s * 1e9)

    def _check(self) -> None:
        if self._forks.is_forked:
            raise ForkedClient("this producer was made before a fork: make one in the child")
        if self._is_closed and self._driver.is_closed:
            raise _closed()

    def _learn(self, topic: str) -> Route:
        self._check()
        task = self._engine.start(self._producing.learn(topic), f"metadata of topic {topic}")
        return self._driver.wait(task, self._max_block_s)

    def _queue(self, route: Route, key: bytes | None, partition: int | None) -> Queue:
        if partition is not None:
            return self._producing.queue(route, partition)
        if key is not None:
            return self._producing.queue(route, partition_of(key, route.count))
        return self._producing.sticky_queue(route)

    def _wait_for_room(self) -> None:
        self._driver.wait_until(lambda: not self._producing.is_full, self._max_block_s, "room in buffer.memory")
        self._note_turn()

    def _flush(self, timeout: float | None) -> None:
        def is_done() -> bool:
            self._producing.turn(self._clock_s(), is_flushing=True)
            return not self._producing.outstanding

        self._driver.wait_until(is_done, timeout, "flush")
        self._note_turn()

    def _raise_unseen(self) -> None:
        unseen = self._producing.take_unseen()
        if unseen is not None:
            failure, records = unseen
            raise DeliveryFailed(records, failure)

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
                time.sleep(max(SENDER_STEP_MIN_S, self._producing.options.linger_ms / 1000 / 2))
            else:
                self._has_work.wait(SENDER_STEP_S)


def _closed() -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the producer is closed")
