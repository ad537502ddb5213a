"""`SimpleConsumer`: one broker, one connection, no state: each call says where to read.

A fetch of S bytes returns whole messages only as far as they fit. Where not even the first fits, S is doubled, up to
`max_buffer_size`, and the fetch sent again; larger messages raise `MessageSizeTooLarge`. (Brokers that serve no Fetch
below v3 return a first message of any size.)

An offset that the log doesn't have raises `OffsetOutOfRange`: the program resets, or fails. `auto_offset_reset`
resets to "smallest" or "largest".

Offsets of a group: `storage="zookeeper"` (OffsetCommit v0, which the broker writes to /consumers), or "kafka" by the
group's coordinator, which is looked up at this broker and connected to.

One thread at a time.

Source: Kafka 0.7 and 0.8.2 `kafka.consumer.SimpleConsumer`, `kafka.api.OffsetRequest`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from headrace.classic.errors import MessageSizeTooLarge, OffsetOutOfRange
from headrace.classic.message_set_reader import ByteBufferMessageSet
from headrace.classic.offset_requests import commit, committed, find_coordinator
from headrace.classic.old_brokers import connect
from headrace.client.cluster import EARLIEST, LATEST, error_of
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import BadFrame, ConfigError, ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import CLASSIC_BUFFER_BYTES_MAX, CLIENT_RETRIES_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

FETCH_OLD = (0, 2)  # a response ends in the middle of a message
FETCH_NEW = (4, 12)
SO_TIMEOUT_MS = 30_000
BUFFER_BYTES = 64 * 1024
MAX_WAIT_MS = 100
RETRY_PAUSE_S = 0.1
ZOOKEEPER, KAFKA = "zookeeper", "kafka"
T = TypeVar("T")

RESETS = {"smallest": EARLIEST, "largest": LATEST}


class OffsetRequest:
    """Times with a meaning, for `get_offsets_before`."""

    LATEST_TIME = LATEST
    EARLIEST_TIME = EARLIEST


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Where to read, and how much. max_size: None, the consumer's buffer."""

    topic: str
    partition: int
    offset: int
    max_size: int | None = None


class MultiFetchResponse:
    """The answers of a multifetch, in the order of its requests."""

    def __init__(self, sets: Sequence[ByteBufferMessageSet]) -> None:
        self.sets = tuple(sets)

    def __iter__(self) -> Iterator[ByteBufferMessageSet]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    def message_set(self, topic: str, partition: int) -> ByteBufferMessageSet:
        """raises   KeyError, for a partition that was not asked for"""
        for one in self.sets:
            if one.name == (topic, partition):
                return one
        raise KeyError(f"{topic}-{partition}")


class SimpleConsumer:
    """The low-level consumer."""

    def __init__(
        self,
        host: str,
        port: int,
        so_timeout: int = SO_TIMEOUT_MS,
        buffer_size: int = BUFFER_BYTES,
        client_id: str = "",
        *,
        max_buffer_size: int = CLASSIC_BUFFER_BYTES_MAX,
        auto_offset_reset: str | None = None,
        max_wait_ms: int = MAX_WAIT_MS,
        min_bytes: int = 1,
    ) -> None:
        """
        so_timeout          in milliseconds, for each response
        max_buffer_size     what the buffer doubles up to
        auto_offset_reset   "smallest" or "largest"; None: an offset out of range is raised
        max_wait_ms         that a fetch waits at the broker for `min_bytes`
        raises              ConfigError. The connection is made by the first call
        """
        if auto_offset_reset is not None and auto_offset_reset not in RESETS:
            raise ConfigError("auto.offset.reset", auto_offset_reset, "expected smallest or largest")
        if not 0 < buffer_size <= max_buffer_size <= CLASSIC_BUFFER_BYTES_MAX:
            reason = f"expected 1 to max_buffer_size ({max_buffer_size}), at most {CLASSIC_BUFFER_BYTES_MAX}"
            raise ConfigError("buffer_size", buffer_size, reason)
        self.host, self.port = host, port
        self._so_timeout_ms = so_timeout
        self._buffer_bytes = buffer_size
        self._buffer_bytes_max = max_buffer_size
        self._client_id = client_id
        self._reset = auto_offset_reset
        self._max_wait_ms = max_wait_ms
        self._min_bytes = min_bytes
        self._connection: Connection | None = None

    def __enter__(self) -> SimpleConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch(self, request: FetchRequest) -> ByteBufferMessageSet:
        """Messages of one partition from an offset on; none, where there is none yet.

        raises   OffsetOutOfRange, if it is not reset; KafkaError; MessageSizeTooLarge; ConnectionFailed
        """
        try:
            return self._whole(request)
        except OffsetOutOfRange:
            if self._reset is None:
                raise
        (offset,) = self.get_offsets_before(request.topic, request.partition, RESETS[self._reset], 1)
        return self._whole(replace(request, offset=offset))

    def multifetch(self, requests: Sequence[FetchRequest]) -> MultiFetchResponse:
        """Several partitions in one request. What one partition failed with, its set raises when it is read. Nothing is doubled or reset.

        raises   ConnectionFailed, BadFrame; ValueError, for a partition that is asked for twice
        """
        names = [TopicPartition(request.topic, request.partition) for request in requests]
        if len(set(names)) < len(names):
            raise ValueError("a multifetch lists a partition twice")
        if not requests:
            return MultiFetchResponse(())
        connection = self._connected()
        kind = messages.FetchRequest
        topics: dict[str, list[messages.FetchRequest.FetchPartition]] = {}
        for one in requests:
            size = one.max_size or self._buffer_bytes
            row = kind.FetchPartition(partition=one.partition, fetch_offset=one.offset, partition_max_bytes=size)
            topics.setdefault(one.topic, []).append(row)
        request = kind(
            max_wait_ms=self._max_wait_ms,
            min_bytes=self._min_bytes,
            session_epoch=-1,
            topics=[kind.FetchTopic(topic=topic, partitions=rows) for topic, rows in topics.items()],
        )
        answer = self._ask(connection, ApiKey.FETCH, _fetch_version(connection), request, self._max_wait_ms)
        if answer.error_code:
            raise error_of(answer.error_code, f"fetch at {connection.address}")
        rows = {
            TopicPartition(topic.topic, row.partition_index): row
            for topic in answer.responses
            for row in topic.partitions
        }
        sets = []
        for name, one in zip(names, requests, strict=True):
            found = rows.get(name)
            if found is None:
                raise BadFrame(f"{connection.address} returned nothing for {name}")
            data = bytes(found.records or b"")
            sets.append(ByteBufferMessageSet(name, data, one.offset, found.high_watermark, found.error_code))
        return MultiFetchResponse(sets)

    def get_offsets_before(self, topic: str, partition: int, time: int, max_num_offsets: int) -> list[int]:
        """Offsets that are valid before a time, at most so many, the latest first.

        time     milliseconds; OffsetRequest.LATEST_TIME, EARLIEST_TIME
        returns  segments' first offsets and the end of the log, where the broker serves ListOffsets v0; else one: the end, the
                 start, or the first offset whose record is not before the time
        raises   KafkaError, ConnectionFailed
        """
        if max_num_offsets < 1:
            raise ValueError(f"max_num_offsets {max_num_offsets}: expected 1 or more")
        connection = self._connected()
        kind = messages.ListOffsetsRequest
        version = connection.version(ApiKey.LIST_OFFSETS, 0, 5)
        try:
            version = connection.version(ApiKey.LIST_OFFSETS, 0, 0)
        except KafkaError:
            pass  # brokers of 4.0 and later
        row = kind.ListOffsetsPartition(partition_index=partition, timestamp=time, max_num_offsets=max_num_offsets)
        request = kind(replica_id=-1, topics=[kind.ListOffsetsTopic(name=topic, partitions=[row])])
        found = self._ask(connection, ApiKey.LIST_OFFSETS, version, request).topics[0].partitions[0]
        if found.error_code:
            raise error_of(found.error_code, f"{topic}-{partition}")
        if version == 0:
            return sorted(found.old_style_offsets, reverse=True)
        return [found.offset] if found.offset >= 0 else []

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int], storage: str = ZOOKEEPER, metadata: str = ""
    ) -> None:
        """Store offsets of a group that has no members. raises KafkaError with the first that was refused; ConnectionFailed"""
        self._with_coordinator(group, storage, lambda at: commit(at, group, offsets, storage == KAFKA, metadata))

    def fetch_offsets(
        self, group: str, names: Sequence[TopicPartition], storage: str = ZOOKEEPER
    ) -> dict[TopicPartition, int]:
        """Committed offsets; partitions without one are left out. raises KafkaError, ConnectionFailed"""
        found: dict[TopicPartition, int] = {}
        self._with_coordinator(group, storage, lambda at: found.update(committed(at, group, names, storage == KAFKA)))
        return found

    def close(self) -> None:
        """Idempotent; the next call connects again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _whole(self, request: FetchRequest) -> ByteBufferMessageSet:
        """A fetch with a buffer that its first message fits; raises MessageSizeTooLarge, OffsetOutOfRange, KafkaError."""
        size = request.max_size or self._buffer_bytes
        while True:
            (found,) = self.multifetch([replace(request, max_size=size)])
            found.check()
            if not found.wanted_bytes:
                return found
            if size >= self._buffer_bytes_max:
                raise MessageSizeTooLarge(
                    f"{found.name} at offset {request.offset}: a message of {found.wanted_bytes} bytes or more;"
                    f" max_buffer_size is {self._buffer_bytes_max}"
                )
            size = min(2 * size, self._buffer_bytes_max)

    def _with_coordinator(self, group: str, storage: str, ask: Callable[[Connection], None]) -> None:
        if storage not in (ZOOKEEPER, KAFKA):
            raise ConfigError("offsets.storage", storage, "expected zookeeper or kafka")
        if storage == ZOOKEEPER:
            ask(self._connected())
            return
        for tries_left in range(CLIENT_RETRIES_MAX, -1, -1):
            try:
                host, port = find_coordinator(self._connected(), group)
                coordinator = connect(host, port, self._so_timeout_ms, self._client_id)
                try:
                    ask(coordinator)
                finally:
                    coordinator.close()
                return
            except (KafkaError, ConnectionFailed) as failure:
                if not tries_left or (isinstance(failure, KafkaError) and not failure.code.retriable):
                    raise
            time.sleep(RETRY_PAUSE_S)

    def _ask(
        self, connection: Connection, api_key: int, version: int, request: messages.Request[T], extra_ms: int = 0
    ) -> T:
        """A response, whose connection is dropped if it does not come. raises ConnectionFailed, BadFrame"""
        try:
            return connection.request(api_key, version, request, (self._so_timeout_ms + extra_ms) / 1000)
        except (ConnectionFailed, BadFrame):
            self.close()
            raise

    def _connected(self) -> Connection:
        """raises   ConnectionFailed"""
        if self._connection is None or self._connection.fileno() < 0:
            self._connection = connect(self.host, self.port, self._so_timeout_ms, self._client_id)
        return self._connection


def _fetch_version(connection: Connection) -> int:
    """The newest of the old versions, else of the others. raises KafkaError UNSUPPORTED_VERSION"""
    try:
        return connection.version(ApiKey.FETCH, *FETCH_OLD)
    except KafkaError as failure:
        if failure.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
    return connection.version(ApiKey.FETCH, *FETCH_NEW)
