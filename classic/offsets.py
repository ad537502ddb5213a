"""Where a group's offsets are kept: ZooKeeper, Kafka, or both while they move.

    offsets.storage   dual.commit.enabled   commits go to      the next offset is that of
    zookeeper         false (default)       ZooKeeper          ZooKeeper
    kafka             true (default)        both               whichever is further
    kafka             false                 Kafka              Kafka
    zookeeper         true                  both               whichever is further

Moving to Kafka, one member after the other: `kafka` with dual commit; when all have it, `kafka` without. Back:
`zookeeper` with dual commit; when all have it, `zookeeper` without. At each step any two members that run beside each
other have one store that both write and both read.

Both stores are written before a commit is done. One that fails fails the commit, which is repeated: offsets only
grow, so that the store that has it is not harmed.

Source: Kafka 0.8.2 `ZookeeperConsumerConnector.commitOffsets`, `fetchOffset`; the documentation's "Migrating offsets
from ZooKeeper to Kafka".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from headrace.classic import registry
from headrace.classic.discovery import Address
from headrace.classic.offset_requests import commit, committed, find_coordinator
from headrace.classic.old_brokers import connect
from headrace.classic.zookeeper import ZooKeeper
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import BadFrame, KafkaError
from headrace.ids import TopicPartition

T = TypeVar("T")


class OffsetStore(Protocol):
    """Any thread may call."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """raises   ZooKeeperUnavailable, ConnectionFailed, KafkaError"""

    def fetch(self, names: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Partitions without an offset are left out. Raises as `commit`; BadRegistration"""

    def close(self) -> None:
        """Idempotent."""


class ZooKeeperOffsets:
    """/consumers/G/offsets/T/P."""

    def __init__(self, zookeeper: ZooKeeper, group: str) -> None:
        self._zookeeper = zookeeper
        self._group = group

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        for name, offset in offsets.items():
            self._zookeeper.put(registry.offset_path(self._group, *name), str(offset).encode())

    def fetch(self, names: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        found = {}
        for name in names:
            path = registry.offset_path(self._group, *name)
            data = self._zookeeper.get(path)
            if data is not None:
                found[name] = registry.decode_offset(data, path)
        return found

    def close(self) -> None:
        """The session is the caller's."""


class KafkaOffsets:
    """The group's coordinator, found at any live broker, and looked up again when it moves.

    brokers       addresses of live brokers
    retries_max   of each call
    """

    def __init__(
        self,
        group: str,
        brokers: Callable[[], Iterable[Address]],
        timeout_ms: int = 10_000,
        retries_max: int = 5,
        backoff_ms: int = 1000,
        client_id: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._group = group
        self._brokers = brokers
        self._timeout_ms = timeout_ms
        self._retries_max = retries_max
        self._backoff_ms = backoff_ms
        self._client_id = client_id
        self._sleep = sleep
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        if offsets:
            with self._lock:
                self._retried(lambda at: commit(at, self._group, offsets, is_kafka=True))

    def fetch(self, names: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        if not names:
            return {}
        with self._lock:
            return self._retried(lambda at: committed(at, self._group, names, is_kafka=True))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _retried(self, ask: Callable[[Connection], T]) -> T:
        for tries_left in range(self._retries_max, -1, -1):
            try:
                return ask(self._coordinator())
            except (ConnectionFailed, BadFrame, KafkaError) as failure:
                self.close()
                if not tries_left or (isinstance(failure, KafkaError) and not failure.code.retriable):
                    raise
            self._sleep(self._backoff_ms / 1000)
        raise AssertionError("unreachable")

    def _coordinator(self) -> Connection:
        if self._connection is None or self._connection.fileno() < 0:
            self._connection = connect(*self._find(), self._timeout_ms, self._client_id)
        return self._connection

    def _find(self) -> tuple[str, int]:
        failures = []
        for host, port in self._brokers():
            try:
                connection = connect(host, port, self._timeout_ms, self._client_id)
                try:
                    return find_coordinator(connection, self._group)
                finally:
                    connection.close()
            except (ConnectionFailed, BadFrame) as failure:
                failures.append(str(failure))
        raise ConnectionFailed("no broker responded: " + ("; ".join(failures) or "none is registered"))


class DualOffsets:
    """Both: written to both, and read from the one that is further."""

    def __init__(self, first: OffsetStore, second: OffsetStore) -> None:
        self._stores = (first, second)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        for store in self._stores:
            store.commit(offsets)

    def fetch(self, names: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        first, second = (store.fetch(names) for store in self._stores)
        return {
            name: max(first.get(name, -1), second.get(name, -1)) for name in names if name in first or name in second
        }

    def close(self) -> None:
        for store in self._stores:
            store.close()


def offset_store(storage: str, is_dual: bool, zookeeper: OffsetStore, kafka: OffsetStore) -> OffsetStore:
    """The store that `offsets.storage` and `dual.commit.enabled` say."""
    if is_dual:
        return DualOffsets(zookeeper, kafka)
    return kafka if storage == "kafka" else zookeeper
