"""The asyncio producer: `await send` writes a record into its batch, and returns what becomes of it.

    async with kafka.producer(value=Json(Order)) as producer:
        done = await producer.send("orders", order, key=order.id)     # waits where the buffer is full: that is the back-pressure
        meta = await done                                             # waits until it is acknowledged

Batches leave when they are full, or `linger.ms` old; one whose delivery is awaited leaves at the end of this iteration of the loop,
where nothing of its partition is in flight. Where there is room, `await send` does not go through the loop; a caller that never has to
wait lets other tasks have a turn every few milliseconds.

A caller that is cancelled in `send` has not sent its record; one that is cancelled while it awaits a delivery has.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from headrace.aio.delivery import Delivery
from headrace.client.driving.event_loop import PASS_S, EventLoopDriver
from headrace.client.engine.batches import RECORD_OVERHEAD_BYTES, Batch
from headrace.client.engine.coordinator import Committed, GroupMetadata
from headrace.client.engine.engine import Engine
from headrace.client.engine.producing_options import ProducingOptions
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

_HEADER_BYTES: Final = 10  # at most: the two lengths of a header
_new = tuple.__new__


class KafkaProducer(Sending[K_in, V_in]):
    """A producer with an engine and connections of its own, in the loop that it was made in. Any tasks of it may send."""

    def __init__(
        self,
        engine: Engine,
        options: ProducingOptions,
        key: Serializer[K_in] | None,
        value: Serializer[V_in] | None,
        max_block_s: float = 60.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        path = SendPath(Delivery, self, None, options.batch_size)
        super().__init__(engine, options, key, value, max_block_s, clock_s, path)
        self._driver = EventLoopDriver(engine, clock_s)
        self._forks = Forks(self._abandon)
        self._hasty: dict[Batch, None] = {}  # open, and awaited
        self._turn_at(clock_s(), 0.0)

    async def __aenter__(self) -> KafkaProducer[K_in, V_in]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
            return
        with contextlib.suppress(HeadraceError):  # the caller's own failure, or a cancellation, is what is to be seen
            await self.close(CLOSE_ON_ERROR_S if issubclass(kind, Exception) else 0.0)

    # Sending

    async def send(
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
            self._check()
            data, key_data = await self._driver.run(self._serialized_pair(topic, value, key))
        if partition is None and timestamp_ms is None and not headers:
            found: Delivery | None = self._path.send(topic, data, key_data)
            if found is not None:
                return found
        return await self._send(topic, data, key_data, headers, partition, timestamp_ms)

    async def _send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Delivery:
        """The slow way: what the kernel's `SendPath` leaves."""
        producing = self._producing
        self._check()
        now_s = self._clock_s()
        if producing.is_due:
            self._turn()
        if now_s >= self._next_turn_s:
            if self._driver.holds_up(now_s):
                await asyncio.sleep(0)
                now_s = self._clock_s()
            self._turn_at(now_s, now_s + PASS_S)
        while producing.is_full:
            await self._driver.run(self._has_room())
        route = self._routes.get(topic)
        if route is None:
            route = await self._driver.run(self._learned(topic))
        self._check()
        queue = self._queue(route, key, partition)
        size = RECORD_OVERHEAD_BYTES + len(value or b"") + len(key or b"")
        if headers:
            size += sum(_HEADER_BYTES + 4 * len(name) + len(content or b"") for name, content in headers)
        batch = queue.open
        if batch is None or batch.builder.size_bytes + size > self._batch_size:  # type: ignore[union-attr]
            batch = producing.open_batch(queue, size, self._clock_s())
            self._driver.turn_soon()  # which sets the timer for its end
        builder = batch.builder
        assert builder is not None
        before = builder.size_bytes
        milliseconds = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        producing.path.add(builder.append(milliseconds, key, value, headers) - before)
        return _new(Delivery, (self, batch, builder.count - 1))

    async def send_many(
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
        self._check()
        sent = await self._driver.run(self._many(topic, values, keys, partition, timestamp_ms))
        self._driver.turn_soon()
        return sent

    # Transactions

    async def init_transactions(self, timeout: float | None = None) -> None:
        """Once, before the first transaction: earlier producers of this transactional id are fenced, and what they left open is aborted.

        timeout   seconds; None: max.block.ms. After WaitTimedOut call it again
        raises    ProducerFenced, KafkaError; ConnectionFailed; WaitTimedOut
        """
        await self._end_by(self._ended(Transactions.init, timeout))

    async def begin_transaction(self) -> None:
        """raises   KafkaError INVALID_TXN_STATE, where one is open; what the producer has failed with"""
        self._check()
        self._begun()

    async def commit_transaction(self, timeout: float | None = None) -> None:
        """Store what was sent, and have it count, with its offsets.

        raises   TransactionAbortable: call `abort_transaction`; ProducerFenced, KafkaError: close the producer; WaitTimedOut,
                 ConnectionFailed: it is not known, call it again
        """
        await self._end_by(self._ended(Transactions.commit, timeout))

    async def abort_transaction(self, timeout: float | None = None) -> None:
        """Nothing of it counts. raises ProducerFenced, KafkaError: close the producer; WaitTimedOut, ConnectionFailed: call it again"""
        await self._end_by(self._ended(Transactions.abort, timeout))

    async def send_offsets_to_transaction(
        self, offsets: Mapping[Named, int | Committed], group: GroupMetadata | str, timeout: float | None = None
    ) -> None:
        """Commit a group's offsets with the transaction.

        offsets   the next ones to read
        group     `consumer.group_metadata()`, by which members that have lost their partitions are refused; or a group's name
        raises    TransactionAbortable: call `abort_transaction`; ProducerFenced, KafkaError; WaitTimedOut
        """
        await self._end_by(self._offsets_sent(offsets, group, timeout))

    # Waiting

    async def partitions(self, topic: str) -> int:
        """How many partitions a topic has. raises KafkaError, where there is no such topic; ConnectionFailed"""
        self._check()
        route = await self._driver.run(self._learned(topic))
        return route.count

    async def flush(self, timeout: float | None = None) -> None:
        """Return when every record sent before is acknowledged.

        raises   DeliveryFailed, where some were not and no caller asked for their deliveries; WaitTimedOut
        """
        self._check()
        await self._driver.run(self._flushed(timeout))
        self._raise_unseen()

    async def wait_for(self, batch: Batch, timeout: float | None = None) -> None:
        """Until a batch is done. raises WaitTimedOut"""
        self._check()
        if not batch.is_closed:
            if not self._hasty:
                self._driver.loop.call_soon(self._hasten)
            self._hasty[batch] = None
        await self._driver.settled(batch.on_done, timeout, f"delivery to {batch.name}")

    async def close(self, timeout: float | None = None) -> None:
        """Flush, and close. A second time does nothing.

        timeout   seconds for what is buffered; what is not acknowledged by then fails
        raises    DeliveryFailed
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._path.next_turn_ns = 0
        if not self._forks.is_forked:
            try:
                await self._driver.run(self._closing(timeout))
            finally:
                self._driver.close()
                self._forks.forget()
            await asyncio.sleep(0)  # the connections close
        self._raise_unseen()

    def health(self) -> dict[str, Any]:
        """What is not acknowledged, and what it waits for."""
        return super().health() | {"waits_for": self._driver.waits_for()}

    # Inside

    async def _end_by(self, steps: Steps[None]) -> None:
        self._check()
        self._driver.turn_soon()
        await self._driver.run(steps)

    def _turn(self) -> None:
        self._driver.turn()
        now_s = self._clock_s()
        self._turn_at(now_s, self._next_turn_s if self._next_turn_s > now_s else now_s + PASS_S)

    def _holds_up(self, now_s: float) -> bool:
        return self._driver.holds_up(now_s)

    def _has_room(self) -> Steps[None]:
        yield self._room()

    def _hasten(self) -> None:
        """Batches whose deliveries are awaited leave, where nothing of their partitions is in flight: else they grow meanwhile."""
        hasty, self._hasty = self._hasty, {}
        for batch in hasty:
            queue = self._routes[batch.name.topic].queues[batch.name.partition]
            if queue is not None and queue.open is batch and not queue.in_flight and not queue.waiting:
                self._producing.close_full(queue)
        self._driver.turn()

    def _check(self) -> None:
        if self._forks.is_forked:
            raise ForkedClient("this producer was created before a fork: create one in the child")
        if self._is_closed:
            raise producer_closed()
        self._raise_ended()

    def _abandon(self) -> None:
        self._path.next_turn_ns = 0  # so that the next record is refused
        self._driver.abandon()
