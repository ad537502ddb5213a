"""Where a producer's brokers and partitions are: a fixed list that is asked for metadata, or ZooKeeper with its watches.

    BrokerList        broker.list=host:port,...; 0.7's id:host:port,... as well. Every partition counts, also one whose leader is down:
                      what is sent to it fails
    ZooKeeperBrokers  zk.connect=host:port/chroot. Four changes are noticed by watches: a broker came, a broker went, a topic is new, a
                      partition of a topic moved to another broker. Partitions without a live leader are left out

Source: Kafka 0.7 `ConfigBrokerPartitionInfo`, `ZKBrokerPartitionInfo`; the documentation's "Automatic producer load balancing".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from headrace.classic import registry
from headrace.classic.old_brokers import connect
from headrace.classic.zookeeper import ZooKeeper
from headrace.client.cluster import error_of
from headrace.client.connection import ConnectionFailed
from headrace.errors import BadFrame, ConfigError, ErrorCode, KafkaError
from headrace.ids import NO_LEADER
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

METADATA_VERSIONS = (0, 9)


class Address(NamedTuple):
    host: str
    port: int


class Discovery(Protocol):
    """What a producer asks; any thread may."""

    def leaders(self, topic: str) -> Mapping[int, int]:
        """Leader by partition, NO_LEADER where there is none. raises KafkaError, for an unknown topic; ConnectionFailed"""

    def address(self, broker_id: int) -> Address | None:
        """Where a live broker listens."""

    def live_brokers(self) -> Mapping[int, Address]:
        """All live brokers."""

    def is_placed_anywhere(self) -> bool:
        """Whether a message without a key may go to a partition without a live leader, and fails there."""

    def refresh(self, topic: str) -> None:
        """Forget what is known of a topic: something failed."""

    def close(self) -> None:
        """Idempotent."""


class Metadata(NamedTuple):
    """What a broker said."""

    brokers: dict[int, Address]
    leaders: dict[int, int]


def ask_metadata(addresses: list[Address], topic: str, timeout_ms: int, client_id: str) -> Metadata:
    """Metadata of a topic, from the first broker that responds. raises KafkaError, for an unknown topic; ConnectionFailed"""
    failures = []
    for host, port in addresses:
        try:
            connection = connect(host, port, timeout_ms, client_id)
            try:
                version = connection.version(ApiKey.METADATA, *METADATA_VERSIONS)
                kind = messages.MetadataRequest
                request = kind(topics=[kind.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
                return read_metadata(connection.request(ApiKey.METADATA, version, request), topic)
            finally:
                connection.close()
        except (ConnectionFailed, BadFrame) as failure:
            failures.append(str(failure))
    raise ConnectionFailed("no broker responded: " + ("; ".join(failures) or "none is known"))


def read_metadata(answer: messages.MetadataResponse, topic: str) -> Metadata:
    """raises   KafkaError, for an unknown topic"""
    brokers = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
    row = next((one for one in answer.topics if one.name == topic), None)
    if row is None or row.error_code:
        raise error_of(row.error_code if row else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}")
    return Metadata(brokers, {one.partition_index: one.leader_id for one in row.partitions})


class BrokerList:
    """A fixed list of brokers."""

    def __init__(
        self,
        entries: tuple[str, ...],
        timeout_ms: int,
        client_id: str = "",
        refresh_interval_ms: int = 600_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """raises   ConfigError, for an entry that is not host:port or id:host:port"""
        self._addresses = [_address_of(entry) for entry in entries]
        self._timeout_ms = timeout_ms
        self._client_id = client_id
        self._refresh_s = refresh_interval_ms / 1000 if refresh_interval_ms >= 0 else float("inf")
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._brokers: dict[int, Address] = {}
        self._known: dict[str, tuple[float, dict[int, int]]] = {}  # by topic: when it was asked, leaders

    def leaders(self, topic: str) -> Mapping[int, int]:
        with self._lock:
            known = self._known.get(topic)
            if known is not None and self._clock_s() - known[0] < self._refresh_s:
                return known[1]
            addresses = [*self._brokers.values(), *self._addresses]
            found = ask_metadata(addresses, topic, self._timeout_ms, self._client_id)
            self._brokers = found.brokers
            self._known[topic] = (self._clock_s(), found.leaders)
            return found.leaders

    def address(self, broker_id: int) -> Address | None:
        with self._lock:
            return self._brokers.get(broker_id)

    def live_brokers(self) -> Mapping[int, Address]:
        with self._lock:
            return dict(self._brokers)

    def is_placed_anywhere(self) -> bool:
        return True

    def refresh(self, topic: str) -> None:
        with self._lock:
            self._known.pop(topic, None)

    def close(self) -> None:
        pass


class ZooKeeperBrokers:
    """What ZooKeeper says of brokers and topics, read again after each change."""

    def __init__(self, connect: str, session_timeout_ms: int, connection_timeout_ms: int) -> None:
        """raises   ConfigError, ZooKeeperUnavailable"""
        self._changed = threading.Event()
        self._lock = threading.Lock()
        self._brokers: dict[int, Address] = {}
        self._topics: set[str] = set()
        self._leaders: dict[str, dict[int, int]] = {}
        self._changed.set()
        self._zookeeper = ZooKeeper(connect, session_timeout_ms, connection_timeout_ms, self._changed.set)

    def leaders(self, topic: str) -> Mapping[int, int]:
        """raises   ZooKeeperUnavailable, BadRegistration as well"""
        with self._lock:
            self._follow()
            if topic not in self._leaders:
                self._leaders[topic] = self._read_topic(topic)
            return {
                partition: leader if leader in self._brokers else NO_LEADER
                for partition, leader in self._leaders[topic].items()
            }

    def address(self, broker_id: int) -> Address | None:
        with self._lock:
            self._follow()
            return self._brokers.get(broker_id)

    def live_brokers(self) -> Mapping[int, Address]:
        with self._lock:
            self._follow()
            return dict(self._brokers)

    def topics(self) -> set[str]:
        """The topics that exist."""
        with self._lock:
            self._follow()
            return set(self._topics)

    def is_placed_anywhere(self) -> bool:
        return False

    def refresh(self, topic: str) -> None:
        self._changed.set()

    def close(self) -> None:
        self._zookeeper.close()

    def _follow(self) -> None:
        """Read everything again, if a watch has fired. The flag goes down first: a change during the read is read next time."""
        if not self._changed.is_set():
            return
        self._changed.clear()
        try:
            names = self._zookeeper.children(registry.BROKER_IDS, is_watched=True) or []
            brokers = {}
            for name in names:
                path = registry.broker_path(int(name))
                data = self._zookeeper.get(path)
                if data is not None:
                    brokers[int(name)] = Address(*registry.decode_broker(data, path))
            self._topics = set(self._zookeeper.children(registry.TOPICS, is_watched=True) or ())
            self._brokers = brokers
            self._leaders.clear()
        except BaseException:
            self._changed.set()
            raise

    def _read_topic(self, topic: str) -> dict[int, int]:
        """Leaders by partition, with a watch on each: one that moves to another broker is noticed."""
        path = registry.topic_path(topic)
        data = self._zookeeper.get(path, is_watched=True)
        if data is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}")
        found = {}
        for partition in registry.decode_topic(data, path):
            state = registry.state_path(topic, partition)
            content = self._zookeeper.get(state, is_watched=True)
            found[partition] = NO_LEADER if content is None else registry.decode_leader(content, state)
        return found


def _address_of(entry: str) -> Address:
    head, _, port = entry.rpartition(":")
    broker_id, has_id, host = head.partition(":")
    if not has_id or not broker_id.isdecimal():
        host = head
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise ConfigError("broker.list", entry, "expected host:port, or id:host:port as in 0.7")
    return Address(host.strip("[]"), int(port))
