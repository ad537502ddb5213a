"""The fetcher threads of a consumer: `num.consumer.fetchers` for each broker that leads one of its partitions, and one that finds leaders.

    leaderless --leader finder--> fetcher of (broker, n) --error of the partition, or of the connection--> leaderless

A fetcher has one fetch in flight, for those of its partitions whose streams have room. A first message that doesn't
fit doubles what is fetched of its partition, up to CLASSIC_BUFFER_BYTES_MAX. An offset out of range is reset as
`auto.offset.reset` says, or raised by the stream.

Source: Kafka 0.8.2 `ConsumerFetcherManager`, `ConsumerFetcherThread`, `AbstractFetcherThread`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from zlib import crc32

from headrace.classic.config import ConsumerConfig
from headrace.classic.discovery import Address
from headrace.classic.errors import MessageSizeTooLarge, OffsetOutOfRange
from headrace.classic.kafka_stream import OwnedPartition
from headrace.classic.message_set_reader import ByteBufferMessageSet
from headrace.classic.simple_consumer import RESETS, FetchRequest, SimpleConsumer
from headrace.client.cluster import error_of
from headrace.client.connection import ConnectionFailed
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import CLASSIC_BUFFER_BYTES_MAX
from headrace.protocol.record_batch import CorruptRecord

IDLE_WAIT_S = 0.5  # between two checks of a fetcher that has nothing to fetch
JOIN_S = 5.0  # longer than a fetch waits at the broker, as a rule

_log = logging.getLogger(__name__)

# Where the leader of a partition listens, None if it has none now.
FindLeader = Callable[[TopicPartition], Address | None]


class Fetched:
    """A partition at its fetcher."""

    __slots__ = ("owned", "position", "size")

    def __init__(self, owned: OwnedPartition, position: int, size: int) -> None:
        self.owned = owned
        self.position = position
        self.size = size


class FetcherThread(threading.Thread):
    """Fetches from one broker until it is stopped, or the connection fails."""

    def __init__(
        self, address: Address, number: int, config: ConsumerConfig, give_back: Callable[[list[Fetched]], None]
    ) -> None:
        super().__init__(name=f"ConsumerFetcherThread-{address.host}:{address.port}-{number}", daemon=True)
        self.address = address
        self._config = config
        self._give_back = give_back
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._partitions: dict[TopicPartition, Fetched] = {}
        self._is_stopped = False
        self._consumer = SimpleConsumer(
            address.host,
            address.port,
            config.socket_timeout_ms,
            min(config.fetch_message_max_bytes, CLASSIC_BUFFER_BYTES_MAX),
            config.client_id,
            max_wait_ms=config.fetch_wait_max_ms,
            min_bytes=config.fetch_min_bytes,
        )

    def add(self, one: Fetched) -> bool:
        """Fetch a partition; False if this thread has ended."""
        with self._lock:
            if self._is_stopped:
                return False
            self._partitions[one.owned.name] = one
            self._changed.notify()
            return True

    def remove(self, names: Iterable[TopicPartition]) -> None:
        with self._lock:
            for name in names:
                self._partitions.pop(name, None)

    def wake(self) -> None:
        """A stream has room again."""
        with self._lock:
            self._changed.notify()

    def stop(self) -> None:
        """End after the fetch that is in flight."""
        with self._lock:
            self._is_stopped = True
            self._partitions.clear()
            self._changed.notify()

    def run(self) -> None:
        try:
            while (due := self._due()) is not None:
                if due:
                    self._fetch(due)
        except (ConnectionFailed, BadFrame, KafkaError) as failure:
            if not self._is_stopped:
                _log.warning("fetcher ended broker=%s:%d reason=%s", *self.address, failure)
        except Exception as failure:
            _log.error("fetcher failed broker=%s:%d reason=%r", *self.address, failure)
        finally:
            self._consumer.close()
            with self._lock:
                self._is_stopped = True
                left = list(self._partitions.values())
                self._partitions.clear()
            if left:
                self._give_back(left)

    def _due(self) -> list[Fetched] | None:
        """What to fetch now; [] after a while with nothing, None at the end."""
        with self._lock:
            if not self._is_stopped and not (due := self._with_room()):
                self._changed.wait(IDLE_WAIT_S)
                due = self._with_room()
            return None if self._is_stopped else due

    def _with_room(self) -> list[Fetched]:
        return [one for one in self._partitions.values() if one.owned.stream.has_room]

    def _fetch(self, due: list[Fetched]) -> None:
        requests = [FetchRequest(*one.owned.name, one.position, one.size) for one in due]
        for one, found in zip(due, self._consumer.multifetch(requests), strict=True):
            try:
                is_kept = self._take(one, found)
            except CorruptRecord as failure:
                is_kept = one.owned.stream.put(one.owned, None, failure)
            if not is_kept and self._has_removed(one) and not one.owned.is_revoked:
                self._give_back([one])

    def _has_removed(self, one: Fetched) -> bool:
        """Fetch it no more; False if it is not here. While its fetch was in flight, its member may have lost it and claimed it again."""
        with self._lock:
            is_here = self._partitions.get(one.owned.name) is one
            if is_here:
                del self._partitions[one.owned.name]
            return is_here

    def _take(self, one: Fetched, found: ByteBufferMessageSet) -> bool:
        """Hand on what was fetched of a partition; False: it is to be looked for elsewhere, or is no longer ours."""
        stream, name = one.owned.stream, one.owned.name
        if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return self._reset(one)
        if found.error_code:
            failure = error_of(found.error_code, str(name))
            if not failure.code.retriable:
                return stream.put(one.owned, None, failure)
            _log.info("partition moved partition=%s broker=%s:%d reason=%s", name, *self.address, failure)
            return False
        if found.wanted_bytes:
            if one.size >= CLASSIC_BUFFER_BYTES_MAX:
                reason = f"{name} at offset {one.position}: a message of {found.wanted_bytes} bytes or more; at most {one.size} are read"
                return stream.put(one.owned, None, MessageSizeTooLarge(reason))
            one.size = min(2 * one.size, CLASSIC_BUFFER_BYTES_MAX)
            return True
        if not found.valid_bytes:
            return True
        one.position = found.next_offset
        return stream.put(one.owned, found)

    def _reset(self, one: Fetched) -> bool:
        name = one.owned.name
        time = RESETS.get(self._config.auto_offset_reset)
        if time is None:
            return one.owned.stream.put(one.owned, None, OffsetOutOfRange(*name, one.position))
        (offset,) = self._consumer.get_offsets_before(*name, time, 1)
        _log.warning("offset out of range partition=%s offset=%d reset=%d", name, one.position, offset)
        one.position = offset
        return True


class Fetchers:
    """All fetchers of a connector. Any thread may call."""

    def __init__(self, config: ConsumerConfig, find_leader: FindLeader) -> None:
        self._config = config
        self._find_leader = find_leader
        self._lock = threading.Lock()
        self._leaderless: dict[TopicPartition, Fetched] = {}
        self._threads: dict[tuple[Address, int], FetcherThread] = {}
        self._wake = threading.Event()
        self._is_pausing = False
        self._is_stopped = threading.Event()
        self._finder = threading.Thread(target=self._find_leaders, name="ConsumerLeaderFinderThread", daemon=True)
        self._finder.start()

    def add(self, partitions: Iterable[tuple[OwnedPartition, int]]) -> None:
        """Fetch partitions, each from an offset on."""
        size = min(self._config.fetch_message_max_bytes, CLASSIC_BUFFER_BYTES_MAX)
        self._find([Fetched(owned, offset, size) for owned, offset in partitions])

    def remove(self, names: Iterable[TopicPartition]) -> None:
        """Fetch them no more; what is in flight is dropped by their streams, once they are revoked."""
        names = list(names)
        with self._lock:
            for name in names:
                self._leaderless.pop(name, None)
            threads = list(self._threads.values())
        for thread in threads:
            thread.remove(names)

    def wake(self) -> None:
        """A stream has room again."""
        with self._lock:
            threads = list(self._threads.values())
        for thread in threads:
            thread.wake()

    def stop(self) -> None:
        """End all threads, and wait for them. Idempotent."""
        self._is_stopped.set()
        self._wake.set()
        self._finder.join(JOIN_S)
        with self._lock:
            threads = list(self._threads.values())
            self._threads.clear()
            self._leaderless.clear()
        for thread in threads:
            thread.stop()
        for thread in threads:
            thread.join(JOIN_S + self._config.fetch_wait_max_ms / 1000)

    def _give_back(self, partitions: list[Fetched]) -> None:
        """A fetcher could not read these: their leaders are looked up after a pause."""
        self._is_pausing = True
        self._find(partitions)

    def _find(self, partitions: list[Fetched]) -> None:
        with self._lock:
            for one in partitions:
                if not one.owned.is_revoked and not self._is_stopped.is_set():
                    self._leaderless[one.owned.name] = one
        self._wake.set()

    def _find_leaders(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._is_pausing:
                self._is_pausing = False
                self._is_stopped.wait(self._config.refresh_leader_backoff_ms / 1000)
            if self._is_stopped.is_set():
                return
            with self._lock:
                due = list(self._leaderless.values())
            left = [one for one in due if not self._place(one)]
            if left:
                self._is_stopped.wait(self._config.refresh_leader_backoff_ms / 1000)
                self._wake.set()

    def _place(self, one: Fetched) -> bool:
        """Give a partition to the fetcher of its leader; False if it has none now."""
        name = one.owned.name
        try:
            address = self._find_leader(name)
        except HeadraceError as failure:
            _log.info("leader not found partition=%s reason=%s", name, failure)
            return False
        if address is None:
            return False
        number = crc32(str(name).encode()) % self._config.num_consumer_fetchers
        with self._lock:
            if self._leaderless.get(name) is not one:
                return True  # removed, or given back again
            thread = self._threads.get((address, number))
            if thread is None or not thread.add(one):
                thread = self._threads[address, number] = FetcherThread(address, number, self._config, self._give_back)
                thread.add(one)
                thread.start()
            del self._leaderless[name]
            return True
