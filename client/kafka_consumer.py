"""The blocking consumer: records one by one, in lists, or in batches for Arrow.

    for record in consumer: ...                      done when the next is asked for
    for batch in consumer.batches(5000): ...         done when it is committed, or the next is asked for
    records = consumer.poll(timeout=1.0)             done when it polls again

It drives its own engine while it is asked for records, and fetches ahead. A group's membership lives in a thread (`group_thread.py`);
what a rebalance asks for is done between two lists of records, never within one. What it has in hand, its positions and commits:
`consuming.py`, which the asyncio consumer shares.

Source: Kafka `KafkaConsumer`.
"""

from __future__ import annotations

import datetime
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from headrace.client.consumer_batch import ConsumerBatch
from headrace.client.consumer_options import ConsumerOptions, OnError
from headrace.client.consuming import CLOSE_S, INTERRUPTED_S, CommitFailed, Consuming, Name
from headrace.client.driving.blocking import BlockingDriver
from headrace.client.engine.coordinator import Committed, GroupMetadata
from headrace.client.engine.engine import Engine
from headrace.client.engine.offsets import EARLIEST, LATEST
from headrace.client.forks import ForkedClient, Forks
from headrace.client.records import Named, Record
from headrace.client.serializers import Deserializer
from headrace.client.transforming import group_metadata_of, read_on_at_committed, take_together
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition

K = TypeVar("K")
V = TypeVar("V")

OnAssigned = Callable[[tuple[TopicPartition, ...]], Mapping[TopicPartition, int] | None]
OnRevoked = Callable[[tuple[TopicPartition, ...]], None]


class KafkaConsumer(Generic[K, V]):
    """A consumer with an engine and connections of its own. One thread at a time."""

    def __init__(
        self,
        make_engine: Callable[[], Engine],
        options: ConsumerOptions,
        key: Deserializer[K] | None,
        value: Deserializer[V] | None,
        on_error: OnError = "raise",
        on_assigned: OnAssigned | None = None,
        on_revoked: OnRevoked | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self._clock_s = clock_s
        engine = make_engine()
        self._driver = driver = BlockingDriver(engine, clock_s)
        self._state = Consuming(
            make_engine, engine, options, key, value, on_error, on_assigned, on_revoked, clock_s, driver.turn, driver.wake
        )  # fmt: skip
        self._is_closed = False
        self._forks = Forks(self._abandon)
        if self._state.member is not None:
            weakref.finalize(self, self._state.member.stop_soon)  # of a consumer that was left without `close`
        elif options.partitions is not None:
            driver.run(self._state.act())

    def __enter__(self) -> KafkaConsumer[K, V]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._state.all_done()
        self._close(CLOSE_S if kind is None or issubclass(kind, Exception) else INTERRUPTED_S)

    # Reading

    def __iter__(self) -> Iterator[Record[K, V]]:
        """Records, for ever. One is done when the next is asked for; the caller's `break` leaves the last one undone, a clean end of
        `with` does not."""
        state = self._state
        while not self._is_closed:
            if not state.in_hand:
                self._take_up(None, self.options.max_poll_records)
            in_hand = state.in_hand[0]
            if in_hand.iterator is None:
                in_hand.iterator = iter(in_hand.run)
            yield from in_hand.iterator
            if state.in_hand and state.in_hand[0] is in_hand:
                state.all_done()

    def poll(self, timeout: float = 0.0, max_records: int | None = None) -> list[Record[K, V]]:
        """Records of one partition, `max.poll.records` at most; an empty list if none come in that time. Those of the last
        call are done.

        raises   KafkaError, LogTruncation, DecodingFailed, CorruptRecord
        """
        self._state.all_done()
        if not self._take_up(timeout, max_records or self.options.max_poll_records):
            return []
        return self._state.in_hand[-1].run

    def batches(self, max_records: int = 5_000, max_wait: float = 0.2) -> Iterator[ConsumerBatch[K, V]]:
        """Batches of all partitions: as many records as have come, at most `max_wait` seconds after the first. One is done when it is
        committed, or the next is asked for."""
        state = self._state
        while not self._is_closed:
            self._check()
            state.all_done()
            state.in_hand += self._driver.run(state.gather(max_records, max_wait))
            yield ConsumerBatch(self, [one.run for one in state.in_hand])

    # Positions

    @property
    def has_share(self) -> bool:
        """Whether its group has given it its share of the partitions, which may be none."""
        return self._state.has_share

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read now."""
        return self._state.assignment

    def position(self, topic: str, partition: int) -> int:
        """The offset after the last record that is done; where none is yet, after it was looked up."""
        self._check()
        return self._driver.run(self._state.position(topic, partition))

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The positions that are known: to keep beside what was done with the records."""
        return self._state.positions

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Read on at an offset."""
        self._state.seek(topic, partition, offset)

    def start_at(self, positions: Mapping[Named, int]) -> None:
        """Where partitions begin, whatever is committed: positions kept beside the output. Those that are read already move there."""
        self._state.start_at(positions)

    def seek_to_beginning(self) -> None:
        """Read all partitions from their starts."""
        self._state.reset(EARLIEST)

    def seek_to_end(self) -> None:
        """Read all partitions from their ends, as of now."""
        self._state.reset(LATEST)

    def pause(self, *names: Name) -> None:
        self._state.pause(names)

    def resume(self, *names: Name) -> None:
        self._state.resume(names)

    def offsets(self, at: int | datetime.datetime, names: Iterable[Name] | None = None) -> dict[TopicPartition, int]:
        """The first offset at or after a time in milliseconds, EARLIEST or LATEST; -1: no record is that late.

        names   None: of the partitions that are read
        """
        self._check()
        return self._driver.run(self._state.offsets(at, names))

    # Commits

    def commit(self, offsets: Mapping[Named, int] | None = None) -> None:
        """Commit, and wait until it is stored.

        offsets   next offsets; None: after all records that were handed out
        raises    CommitFailed, where the group has rebalanced; KafkaError; ConnectionFailed
        """
        self._check()
        self._driver.run(self._state.commit(offsets))

    def committed(self, names: Iterable[Name] | None = None) -> dict[TopicPartition, Committed]:
        """What is committed of these partitions; None: of those that are read. Those without are left out."""
        self._check()
        return self._driver.run(self._state.committed(names))

    # Transactions

    def group_metadata(self) -> GroupMetadata:
        """Who commits, for `send_offsets_to_transaction`. raises KafkaError UNKNOWN_MEMBER_ID, where its group has removed it"""
        return group_metadata_of(self._state)

    def rewind(self) -> None:
        """Read on at what is committed: after a transaction was aborted. raises KafkaError, ConnectionFailed"""
        self._check()
        self._driver.run(read_on_at_committed(self._state))

    def poll_together(self, timeout: float = 0.0, max_records: int = 500) -> list[Record[K, V]]:
        """As `poll`, with records of several partitions. raises as `poll`"""
        self._check()
        self._state.all_done()
        found = self._driver.run(take_together(self._state, timeout, max_records))
        return [record for one in found for record in one.run]

    # The rest

    def health(self) -> dict[str, Any]:
        """Where each partition stands, and what every wait waits for."""
        return self._state.health() | {"waits_for": list(self._state.engine.waits_for())}

    def close(self) -> None:
        """Commit what is done, leave the group, close the connections. A second time does nothing."""
        self._close(CLOSE_S)

    # Inside

    def _close(self, timeout_s: float) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._forks.forget()
        if self._forks.is_forked:
            return
        try:
            self._driver.run(self._state.close(timeout_s))
        finally:
            if self._state.member is not None:
                self._state.member.stop()
            self._driver.close()

    def _take_up(self, timeout: float | None, max_records: int) -> bool:
        """Wait for a list of records, and have it in hand."""
        self._check()
        found = self._driver.run(self._state.take_up(timeout, max_records))
        if found is not None:
            self._state.in_hand.append(found)
        return found is not None

    def _check(self) -> None:
        if self._forks.is_forked:
            raise ForkedClient("this consumer was created before a fork: create one in the child")
        if self._is_closed:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the consumer is closed")

    def _abandon(self) -> None:
        self._driver.abandon()
        if self._state.member is not None:
            self._state.member.abandon()


__all__ = ["CommitFailed", "KafkaConsumer", "OnAssigned", "OnRevoked"]
