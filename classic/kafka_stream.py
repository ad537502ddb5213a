"""`KafkaStream`: what one thread of a consumer iterates: messages of all partitions, of one or many topics, that its stream owns.

    fetcher threads -> chunks (a set of one partition's fetch) -> the stream's queue -> iterator

A message counts as consumed when its thread asks for the next one, or commits or shuts the connector down itself. So
a message that is being worked on is not committed by a timer or by a rebalance: it is read again by the partition's
next owner.

A stream takes chunks while it has fewer than `queued.max.message.chunks`; partitions of one fetch may bring it one more each.

Source: Kafka 0.8.2 `KafkaStream`, `ConsumerIterator`, `PartitionTopicInfo`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from headrace.classic.errors import ConsumerTimeout
from headrace.classic.message_set_reader import ByteBufferMessageSet, MessageAndOffset
from headrace.classic.serializer import Decoder
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class MessageAndMetadata(Generic[K, V]):
    """A message as a stream returns it. timestamp: milliseconds, -1 for none."""

    topic: str
    partition: int
    offset: int
    key: K
    message: V
    timestamp: int


class OwnedPartition:
    """A partition as its stream reads it. The stream's lock guards it.

    consumed_offset   the next offset to commit
    is_revoked        another member may read it: nothing more of it is returned
    """

    __slots__ = ("consumed_offset", "is_revoked", "name", "stream")

    def __init__(self, name: TopicPartition, stream: KafkaStream[Any, Any], offset: int) -> None:
        self.name = name
        self.stream = stream
        self.consumed_offset = offset
        self.is_revoked = False


class _Chunk(NamedTuple):
    """One fetch of one partition, or what reading it failed with."""

    partition: OwnedPartition
    messages: ByteBufferMessageSet | None
    failure: HeadraceError | None


class KafkaStream(Generic[K, V]):
    """An iterator; one thread at a time. It ends when the connector is shut down."""

    def __init__(
        self,
        name: str,
        key_decoder: Decoder[K],
        decoder: Decoder[V],
        timeout_ms: int,
        chunks_max: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._key_decoder = key_decoder
        self._decoder = decoder
        self._timeout_s = timeout_ms / 1000 if timeout_ms >= 0 else None
        self._chunks_max = chunks_max
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._chunks: deque[_Chunk] = deque()
        self._current: Iterator[MessageAndOffset] | None = None
        self._current_partition: OwnedPartition | None = None
        self._returned: tuple[OwnedPartition, int] | None = None  # and the offset after it
        self._thread = 0
        self._is_closed = False
        self.on_room: Callable[[], None] = lambda: None  # wakes fetchers

    def __iter__(self) -> KafkaStream[K, V]:
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        """The next message; waits for one.

        raises   ConsumerTimeout, after `consumer.timeout.ms`; OffsetOutOfRange, if `auto.offset.reset` is anything but smallest
                 and largest; MessageSizeTooLarge; CorruptRecord; what the decoder raises, after which the next message is returned
        """
        deadline_s = None if self._timeout_s is None else self._clock_s() + self._timeout_s
        with self._lock:
            self._thread = threading.get_ident()
            self._settle()
            while True:
                if self._is_closed:
                    raise StopIteration
                found = self._take()
                if found is not None:
                    break
                left_s = None if deadline_s is None else deadline_s - self._clock_s()
                if left_s is not None and left_s <= 0:
                    raise ConsumerTimeout(f"stream {self.name}: no message within {self._timeout_s} s")
                self._changed.wait(left_s)
            partition, (message, offset) = found
            self._returned = (partition, offset + 1)
        topic, number = partition.name
        key = self._key_decoder.to_event(message.key)
        value = self._decoder.to_event(message.payload)
        return MessageAndMetadata(topic, number, offset, key, value, message.timestamp_ms)

    # Used by the connector and its fetchers

    @property
    def has_room(self) -> bool:
        """Whether another chunk is wanted."""
        return len(self._chunks) < self._chunks_max

    def put(
        self, partition: OwnedPartition, messages: ByteBufferMessageSet | None, failure: HeadraceError | None = None
    ) -> bool:
        """Queue a chunk; False if the partition was revoked."""
        with self._lock:
            if partition.is_revoked or self._is_closed:
                return False
            self._chunks.append(_Chunk(partition, messages, failure))
            self._changed.notify()
            return True

    def revoke(self, partition: OwnedPartition) -> int:
        """Return nothing more of a partition; the next offset to commit."""
        with self._lock:
            partition.is_revoked = True
            self._chunks = deque(chunk for chunk in self._chunks if chunk.partition is not partition)
            if self._current_partition is partition:
                self._current = self._current_partition = None
            return partition.consumed_offset

    def settle_own(self) -> None:
        """The message returned last counts as consumed, if the calling thread is the one that iterates."""
        with self._lock:
            if self._thread == threading.get_ident():
                self._settle()

    def close(self) -> None:
        """The iterator ends."""
        with self._lock:
            self._is_closed = True
            self._chunks.clear()
            self._changed.notify_all()

    def _settle(self) -> None:
        if self._returned is not None:
            partition, offset = self._returned
            self._returned = None
            if not partition.is_revoked:
                partition.consumed_offset = offset

    def _take(self) -> tuple[OwnedPartition, MessageAndOffset] | None:
        """The next message that is here."""
        while True:
            if self._current is not None and self._current_partition is not None:
                partition = self._current_partition
                try:
                    found = next(self._current, None)
                except HeadraceError:
                    self._current = self._current_partition = None
                    raise
                if found is not None:
                    return partition, found
                self._current = self._current_partition = None
            if not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self.on_room()
            if chunk.failure is not None:
                raise chunk.failure
            assert chunk.messages is not None
            self._current, self._current_partition = iter(chunk.messages), chunk.partition
