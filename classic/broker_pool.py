"""The pool of a producer: a `SyncProducer` for each live broker, and messages to the leaders of their partitions.

It is elastic: a broker that came has a connection with the first message for it, one that went has none.

Each request of `multi_send` is sent again where it failed with something that passes, with fresh metadata,
`message.send.max.retries` times. A message without a partition gets one at random: of those with a live leader, or of
all, where the brokers are a fixed list. It stays there for all tries: with a fixed list the send fails while that
broker is down.

`partition.list=broker` numbers partitions as 0.7 did: the id is an index into the list of (leader, partition), sorted. Leaders move, and
with them the partition of a key: it is for programs that send to fixed brokers.

Source: Kafka 0.8.2 `ProducerPool`, `DefaultEventHandler`; 0.7 `Producer.getPartitionListForTopic`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

from headrace.classic.config import ProducerConfig
from headrace.classic.discovery import Address, Discovery
from headrace.classic.errors import ProducerClosed, SendFailed
from headrace.classic.handlers import ProducerRequest
from headrace.classic.rebalance import sorted_by_broker
from headrace.classic.sync_producer import ANY_PARTITION, SyncProducer, SyncProducerConfig
from headrace.classic.zookeeper import ZooKeeperUnavailable
from headrace.client.connection import ConnectionFailed
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_LEADER, TopicPartition


class BrokerPool:
    """Any thread may send."""

    def __init__(
        self,
        config: ProducerConfig,
        discovery: Discovery,
        chance: random.Random | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._config = config
        self._discovery = discovery
        self._chance = chance or random.Random()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._producers: dict[int, tuple[Address, SyncProducer]] = {}
        self._is_closed = False

    def num_partitions(self, topic: str) -> int:
        """raises   KafkaError, for an unknown topic; ConnectionFailed, ZooKeeperUnavailable"""
        return len(self._retried(topic))

    def partition_at(self, topic: str, index: int) -> int:
        """The partition that an id of a partitioner stands for. raises KafkaError, if there is none"""
        leaders = self._retried(topic)
        if self._config.partition_list == "broker":
            listed = [partition for _broker, partition in sorted_by_broker(leaders)]
        else:
            listed = sorted(leaders)
        if not 0 <= index < len(listed):
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"partitioner chose {index} for {topic}, which has {len(listed)} partitions",
            )
        return listed[index]

    def multi_send(self, requests: Sequence[ProducerRequest]) -> None:
        """raises   SendFailed, with what failed last by partition; ProducerClosed"""
        due = list(requests)
        failures: dict[TopicPartition, HeadraceError] = {}
        tries = self._config.message_send_max_retries + 1
        for tries_left in range(tries - 1, -1, -1):
            if self._is_closed:
                raise ProducerClosed("the producer is closed")
            due, failures = self._try(due)
            if not due or not tries_left:
                break
            for topic in {request.topic for request in due}:
                self._discovery.refresh(topic)
            self._sleep(self._config.retry_backoff_ms / 1000)
        if failures:
            raise SendFailed(failures, tries)

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._is_closed = True
            producers = [producer for _address, producer in self._producers.values()]
            self._producers.clear()
        for producer in producers:
            producer.close()
        self._discovery.close()

    def _try(
        self, requests: list[ProducerRequest]
    ) -> tuple[list[ProducerRequest], dict[TopicPartition, HeadraceError]]:
        """(what is worth another try, why it or others failed); what can't succeed is in the failures alone and ends the call."""
        failures: dict[TopicPartition, HeadraceError] = {}
        by_broker: dict[int, list[ProducerRequest]] = {}
        again: list[ProducerRequest] = []
        for request in requests:
            try:
                placed = self._placed(request)
                leader = self._discovery.leaders(request.topic).get(placed.partition, NO_LEADER)
            except (KafkaError, ConnectionFailed, ZooKeeperUnavailable) as failure:
                failures[TopicPartition(request.topic, request.partition)] = failure
                again.append(request)
                continue
            if leader == NO_LEADER or self._discovery.address(leader) is None:
                name = TopicPartition(placed.topic, placed.partition)
                failures[name] = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(name))
                again.append(placed)
                continue
            by_broker.setdefault(leader, []).append(placed)
        for leader, batch in by_broker.items():
            again += self._send_to(leader, batch, failures)
        lasting = {name: why for name, why in failures.items() if not _is_passing(why)}
        if lasting:
            raise SendFailed(lasting | failures, 1)
        return again, failures

    def _send_to(
        self, leader: int, batch: list[ProducerRequest], failures: dict[TopicPartition, HeadraceError]
    ) -> list[ProducerRequest]:
        names = {TopicPartition(request.topic, request.partition): request for request in batch}
        try:
            self._producer(leader).multi_send(batch)
            return []
        except SendFailed as failure:
            failures |= failure.failures
            return [request for name, request in names.items() if name in failure.failures]
        except (ConnectionFailed, BadFrame, KafkaError) as failure:
            failures |= dict.fromkeys(names, failure)
            return list(batch)

    def _placed(self, request: ProducerRequest) -> ProducerRequest:
        if request.partition != ANY_PARTITION:
            return request
        leaders = self._discovery.leaders(request.topic)
        live = [number for number, leader in leaders.items() if leader != NO_LEADER]
        choices = sorted(leaders) if self._discovery.is_placed_anywhere() else sorted(live)
        if not choices:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"no partition of {request.topic} has a live leader")
        return ProducerRequest(request.topic, self._chance.choice(choices), request.messages)

    def _retried(self, topic: str) -> dict[int, int]:
        for tries_left in range(self._config.message_send_max_retries, -1, -1):
            try:
                return dict(self._discovery.leaders(topic))
            except (KafkaError, ConnectionFailed, ZooKeeperUnavailable) as failure:
                if not tries_left or not _is_passing(failure):
                    raise
            self._discovery.refresh(topic)
            self._sleep(self._config.retry_backoff_ms / 1000)
        raise AssertionError("unreachable")

    def _producer(self, broker_id: int) -> SyncProducer:
        """raises   ConnectionFailed, if the broker is gone; ProducerClosed"""
        live = self._discovery.live_brokers()
        with self._lock:
            if self._is_closed:
                raise ProducerClosed("the producer is closed")
            gone = [one for one, (address, _) in self._producers.items() if live.get(one) != address]
            for one in gone:
                self._producers.pop(one)[1].close()
            if broker_id not in live:
                raise ConnectionFailed(f"broker {broker_id} no longer exists")
            if broker_id not in self._producers:
                address = live[broker_id]
                self._producers[broker_id] = (address, SyncProducer(_config_of(self._config, address)))
            return self._producers[broker_id][1]


def _is_passing(failure: HeadraceError) -> bool:
    return not isinstance(failure, KafkaError) or failure.code.retriable


def _config_of(config: ProducerConfig, address: Address) -> SyncProducerConfig:
    return SyncProducerConfig(
        host=address.host,
        port=address.port,
        client_id=config.client_id,
        request_required_acks=config.request_required_acks,
        request_timeout_ms=config.request_timeout_ms,
        connect_timeout_ms=config.connect_timeout_ms,
        reconnect_interval=config.reconnect_interval,
        reconnect_time_interval_ms=config.reconnect_time_interval_ms,
        compression_codec=config.compression_codec,
        compressed_topics=config.compressed_topics,
        max_message_size=config.max_message_size,
    )
