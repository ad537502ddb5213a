"""What a blocking and an asyncio producer do alike: many records at once, flushes, failures that the caller did not ask for.

Each has a `send` of its own: it is what a record costs. The rest that waits is written as steps (`steps.py`), which a driver runs.

`send_many` turns the engine once for several batches, and does not run far ahead of the brokers: a batch that is done leaves its memory
to the next one, which is cheaper than memory that was not used before. This wait is short. Where brokers take longer, or none can be
reached, the buffer fills up, as it does by `send`.

Source: Kafka `KafkaProducer`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from headrace.client.engine.batches import RECORD_OVERHEAD_BYTES, Batch
from headrace.client.engine.coordinator import Committed, GroupMetadata, Position
from headrace.client.engine.engine import Engine
from headrace.client.engine.identity import GivenIdentity
from headrace.client.engine.producing import OnStored, Producing
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.routes import Queue, Route
from headrace.client.engine.tasks import Task
from headrace.client.engine.transaction_states import State
from headrace.client.engine.transactions import Transactions
from headrace.client.failures import DeliveryFailed, SerializerUnavailable, WaitTimedOut
from headrace.client.lookups import LookupNeeded, bound, looked_up
from headrace.client.partitioner import partition_of
from headrace.client.records import Named
from headrace.client.serializers import Serializer
from headrace.client.steps import Done, Pass, Steps, Until
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.limits import CLIENT_AHEAD_WAIT_S_MAX, CLIENT_HURRY_S_MAX, CLIENT_TURN_BYTES_MAX, LOOKUP_TRIES_MAX
from headrace.protocol.batch_builder import Column

if TYPE_CHECKING:
    import pyarrow

K_in = TypeVar("K_in", contravariant=True)
V_in = TypeVar("V_in", contravariant=True)

CLOSE_ON_ERROR_S: Final = 5.0  # for what is buffered, where the caller's block failed

Extend = Callable[
    [Batch, int, int], int
]  # (batch, milliseconds, from which record on) -> from which one on it has no room


class Sending(ABC, Generic[K_in, V_in]):
    """The producing half of an engine, with serializers and a clock."""

    def __init__(
        self,
        engine: Engine,
        options: ProducingOptions,
        key: Serializer[K_in] | None,
        value: Serializer[V_in] | None,
        max_block_s: float,
        clock_s: Callable[[], float],
        path: Any,
        given: GivenIdentity | None = None,
        on_stored: OnStored | None = None,
    ) -> None:
        self._engine = engine
        self._path = path
        half = engine.requests, engine.tasks, engine.metadata, options
        self._transactions: Transactions | None = None
        self._producing: Producing
        if options.transactional_id is None:
            self._producing = Producing(*half, path=path, given=given, on_stored=on_stored)
        else:
            from headrace.client.engine.transactional_producing import TransactionalProducing  # few producers have one

            assert given is None
            self._producing = transactional = TransactionalProducing(*half, path=path, on_stored=on_stored)
            self._transactions = transactional.transactions
        engine.parts.append(self._producing)
        self._routes = self._producing.routes
        self._serialize_key = None if key is None else bound(key, "key", may_block=False).serialize
        self._serialize_value = None if value is None else bound(value, "value", may_block=False).serialize
        self._max_block_s = max_block_s
        self._batch_size = options.batch_size
        self._clock_s = clock_s
        self._has_kernel_clock = clock_s is time.monotonic  # the kernel reads that one itself
        self._next_turn_s = 0.0
        self._hurry_until_s = 0.0  # brokers are slow: nothing is gained by waiting for them
        self._wall_offset_s = time.time() - clock_s()
        self._is_closed = False

    @property
    def acknowledged(self) -> int:
        """Records, so far."""
        return self._producing.acknowledged

    @property
    def acknowledged_bytes(self) -> int:
        """Of them, uncompressed."""
        return self._producing.acknowledged_bytes

    def health(self) -> dict[str, Any]:
        """What is not acknowledged, and what it waits for."""
        producing = self._producing
        return {
            "buffered_bytes": producing.buffered_bytes,
            "batches": producing.outstanding,
            "acknowledged": producing.acknowledged,
            "waits_for": list(self._engine.waits_for()),
        }

    # Transactions

    @property
    def transaction_state(self) -> State:
        """Where this producer is with its transactions. raises ValueError, where it has no transactional.id"""
        return self._transactional().state

    def _transactional(self) -> Transactions:
        if self._transactions is None:
            raise ValueError("transactional.id: is not set: create the producer with transactional_id=...")
        self._engine.tasks.now_s = self._clock_s()  # of what is started now
        return self._transactions

    def _begun(self) -> None:
        self._transactional().begin()

    def _ended(self, call: Callable[[Transactions], Task[None]], timeout: float | None) -> Steps[None]:
        """Until a call of the transaction is done. raises what it raises; WaitTimedOut: it goes on, and the same call waits for it"""
        task = call(self._transactional())
        yield Done(task, self._max_block_s if timeout is None else timeout)

    def _offsets_sent(
        self, offsets: Mapping[Named, int | Committed], group: GroupMetadata | str, timeout: float | None
    ) -> Steps[None]:
        metadata = GroupMetadata(group) if isinstance(group, str) else group
        places: dict[TopicPartition, Position] = {
            TopicPartition(*name): (at, NO_EPOCH, "")
            if isinstance(at, int)
            else (at.offset, at.leader_epoch, at.metadata)
            for name, at in offsets.items()
        }
        if places:
            yield from self._ended(lambda transactions: transactions.send_offsets(places, metadata), timeout)

    def _given_up(self, timeout: float | None) -> Steps[None]:
        """The producer is closed: an open transaction is aborted, one that is about to end goes on."""
        transactions = self._transactional()
        try:
            if transactions.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.ABORTING):
                yield from self._ended(Transactions.abort, timeout)
            elif transactions.state is State.COMMITTING:
                yield from self._ended(Transactions.commit, timeout)
        except HeadraceError:
            pass  # the coordinator aborts it after transaction.timeout.ms, or with the next producer of this id

    # Steps

    def _learned(self, topic: str) -> Steps[Route]:
        """raises   KafkaError, WaitTimedOut"""
        asked = self._engine.start(self._producing.learn(topic), f"metadata of topic {topic}")
        route: Route = yield Done(asked, self._max_block_s)
        return route

    def _many(
        self,
        topic: str,
        values: Iterable[V_in | None] | pyarrow.Table | pyarrow.RecordBatch,
        keys: Iterable[K_in | None] | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Steps[int]:
        """Send many records; returns how many."""
        if hasattr(values, "column_names"):
            return (yield from self._table(topic, values, partition, timestamp_ms))
        listed: Any = values if isinstance(values, list | tuple) else list(values)
        listed_keys: Any = None if keys is None else keys if isinstance(keys, list | tuple) else list(keys)
        if listed_keys is not None and len(listed_keys) != len(listed):
            raise ValueError(f"keys: {len(listed_keys)} keys for {len(listed)} values")
        route = self._routes.get(topic) or (yield from self._learned(topic))
        if self._serialize_value is not None:
            listed = yield from self._serialized(self._serialize_value, topic, listed)
        if listed_keys is not None and self._serialize_key is not None:
            listed_keys = yield from self._serialized(self._serialize_key, topic, listed_keys)
        if listed_keys is None or partition is not None:
            yield from self._list(route, listed, listed_keys, partition, timestamp_ms)
            return len(listed)
        spread = self._path.spread

        def put(milliseconds: int, at: int) -> int:
            taken: int = spread(route.fast, listed, listed_keys, milliseconds, at)
            return taken

        yield from self._spread(route, len(listed), timestamp_ms, put, listed_keys.__getitem__)
        return len(listed)

    def _serialized(
        self, serialize: Callable[[str, Any], bytes | None], topic: str, listed: Iterable[Any]
    ) -> Steps[list[bytes | None]]:
        """Keys or values, after what their serializer has to look up first. raises what it raises; WaitTimedOut"""
        for _ in range(LOOKUP_TRIES_MAX):
            try:
                return [None if one is None else serialize(topic, one) for one in listed]
            except LookupNeeded as needed:
                lookup = needed
            yield from looked_up(lookup, self._max_block_s)
        raise SerializerUnavailable(f"{lookup.what}: still unknown after {LOOKUP_TRIES_MAX} lookups")

    def _serialized_pair(self, topic: str, value: Any, key: Any) -> Steps[tuple[Any, Any]]:
        """The value and the key of one record, the same."""
        if self._serialize_value is not None:
            value = (yield from self._serialized(self._serialize_value, topic, [value]))[0]
        if self._serialize_key is not None:
            key = (yield from self._serialized(self._serialize_key, topic, [key]))[0]
        return value, key

    def _list(
        self, route: Route, values: Any, keys: Any, partition: int | None, timestamp_ms: int | None
    ) -> Steps[None]:
        limit = self._batch_size

        def extend(batch: Batch, milliseconds: int, at: int) -> int:
            assert batch.builder is not None
            return batch.builder.extend(values, keys, milliseconds, at, limit)

        yield from self._run_of(route, len(values), partition, timestamp_ms, extend)

    def _table(self, topic: str, table: Any, partition: int | None, timestamp_ms: int | None) -> Steps[int]:
        route = self._routes.get(topic) or (yield from self._learned(topic))
        for name in table.column_names if hasattr(table, "column_names") else table.schema.names:
            if name not in ("value", "key"):
                raise ValueError(f"column {name!r} of the table is unknown: expected 'value' or 'key'")
        for rows in table.to_batches() if hasattr(table, "to_batches") else [table]:
            values = rows.column("value")
            keys = rows.column("key") if "key" in rows.schema.names else None
            columns = Column.of(values), None if keys is None else Column.of(keys)
            yield from self._columns(route, *columns, len(values), partition, timestamp_ms)
        return int(table.num_rows)

    def _columns(
        self,
        route: Route,
        values: Column,
        keys: Column | None,
        total: int,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Steps[None]:
        limit = self._batch_size
        if keys is not None and partition is None:
            spread, rows_keys = self._path.spread_columns, keys

            def put(milliseconds: int, at: int) -> int:
                taken: int = spread(route.fast, values, rows_keys, milliseconds, at, total)
                return taken

            yield from self._spread(route, total, timestamp_ms, put, rows_keys.row)
            return

        def extend(batch: Batch, milliseconds: int, at: int) -> int:
            assert batch.builder is not None
            return batch.builder.extend_columns(values, keys, milliseconds, at, total, limit)

        yield from self._run_of(route, total, partition, timestamp_ms, extend)

    def _run_of(
        self, route: Route, total: int, partition: int | None, timestamp_ms: int | None, extend: Extend
    ) -> Steps[None]:
        """Records that all go to one partition, or in turn where none is given."""
        producing = self._producing
        at = 0
        while at < total:
            now_s = self._clock_s()
            queue = producing.sticky_queue(route) if partition is None else producing.queue(route, partition)
            batch = queue.open or producing.open_batch(queue, RECORD_OVERHEAD_BYTES, now_s)
            assert batch.builder is not None
            before = batch.builder.size_bytes
            try:
                at = extend(batch, self._time_ms(now_s, timestamp_ms), at)
            finally:
                producing.path.add(batch.builder.size_bytes - before)
            if at < total:
                producing.close_full(queue)
            yield from self._continue(now_s, at == total)

    def _spread(
        self,
        route: Route,
        total: int,
        timestamp_ms: int | None,
        put: Callable[[int, int], int],
        key_of: Callable[[int], Any],
    ) -> Steps[None]:
        """Records that go to partitions by their keys.

        put   puts them into open batches from one on: (milliseconds, that one) -> the first that has no room
        """
        producing = self._producing
        at = 0
        while at < total:
            now_s = self._clock_s()
            at = put(self._time_ms(now_s, timestamp_ms), at)
            if at < total and not producing.is_full:
                producing.open_batch(self._queue(route, key_of(at), None), RECORD_OVERHEAD_BYTES, now_s)
            yield from self._continue(now_s, at == total)

    def _time_ms(self, now_s: float, timestamp_ms: int | None) -> int:
        return int((now_s + self._wall_offset_s) * 1000) if timestamp_ms is None else timestamp_ms

    def _continue(self, now_s: float, is_last: bool) -> Steps[None]:
        """Turn the engine where that is due, once for several batches; wait where there is no room, or brokers lag behind."""
        producing = self._producing
        is_due = producing.due_bytes >= CLIENT_TURN_BYTES_MAX or (is_last and producing.is_due)
        if is_due or now_s >= self._next_turn_s:
            self._turn()
        if producing.is_full:
            yield self._room()
        elif is_due and not is_last and now_s >= self._hurry_until_s and producing.is_ahead:
            is_near = yield Until(lambda: not producing.is_ahead, CLIENT_AHEAD_WAIT_S_MAX, "")
            if not is_near:
                self._hurry_until_s = now_s + CLIENT_HURRY_S_MAX
        elif self._holds_up(now_s):
            yield Pass()

    def _room(self) -> Until:
        return Until(lambda: not self._producing.is_full, self._max_block_s, "room in buffer.memory")

    def _delivered(self, batch: Batch, timeout: float | None) -> Steps[None]:
        """Until a batch is done. raises WaitTimedOut"""
        if not batch.is_closed:
            self._producing.turn(self._clock_s(), is_flushing=True)
        yield Until(lambda: batch.is_done, timeout, f"delivery to {batch.name}")

    def _flushed(self, timeout: float | None) -> Steps[None]:
        """Until every record sent before is acknowledged, or is out where nothing is. raises WaitTimedOut"""
        producing, requests = self._producing, self._engine.requests
        pending = producing.unfinished()
        producing.turn(self._clock_s(), is_flushing=True)

        def is_done() -> bool:
            while pending and pending[-1].is_done:
                pending.pop()
            return not pending and not requests.has_unsent

        yield Until(is_done, timeout, "flush")

    def _closing(self, timeout: float | None) -> Steps[None]:
        """What is not acknowledged in time fails."""
        try:
            if self._transactions is not None and (timeout is None or timeout > 0):
                yield from self._given_up(timeout)
            if timeout is None or timeout > 0:
                yield from self._flushed(timeout)
        except WaitTimedOut as failure:
            self._producing.fail_all(failure)
        finally:
            self._producing.fail_all(producer_closed())

    # Inside

    @abstractmethod
    def _turn(self) -> None:
        """Of the engine."""

    def _holds_up(self, _now_s: float) -> bool:
        """Whether others are to have a turn of an event loop."""
        return False

    def _turn_at(self, now_s: float, next_s: float) -> None:
        """Records take the slow way, which turns the engine, from a time on; and what the time of the day is now."""
        self._wall_offset_s = time.time() - now_s
        self._next_turn_s = next_s
        if self._has_kernel_clock:
            self._path.wall_offset_ns = int(self._wall_offset_s * 1e9)
            self._path.next_turn_ns = 0 if self._producing.is_due else int(next_s * 1e9)

    def _queue(self, route: Route, key: bytes | None, partition: int | None) -> Queue:
        if partition is not None:
            return self._producing.queue(route, partition)
        if key is not None:
            return self._producing.queue(route, partition_of(key, route.count))
        return self._producing.sticky_queue(route)

    def _raise_unseen(self) -> None:
        unseen = self._producing.take_unseen()
        if unseen is not None:
            failure, records = unseen
            raise self._producing.ended or DeliveryFailed(records, failure)

    def _raise_ended(self) -> None:
        """raises   DeliveryFailed, where a failure has ended the producer"""
        if self._producing.ended is not None:
            self._producing.take_unseen()
            raise self._producing.ended


def producer_closed() -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the producer is closed")
