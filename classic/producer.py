"""`Producer`: one interface to the sync and the async producer, as `producer.type` says.

    with Producer({"broker.list": "kafka:9092", "serializer.class": "kafka.serializer.StringEncoder"}) as producer:
        producer.send(ProducerData("clicks", "user-7", ["first", "second"]))

`ProducerData` is 0.7's: a topic, a key, and a list of values. `KeyedMessage` is 0.8's: one message, whose `part_key`
places it if it is not the key itself. A sync send returns when the messages are acknowledged as
`request.required.acks` says, or raises; an async one when they are queued.

Source: Kafka 0.7 and 0.8.2 `kafka.producer.Producer`, `ProducerData`, `KeyedMessage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.classic.async_producer import AsyncProducer, OnFailure, QueueOptions
from headrace.classic.broker_pool import BrokerPool
from headrace.classic.config import ProducerConfig
from headrace.classic.discovery import BrokerList, Discovery, ZooKeeperBrokers
from headrace.classic.errors import ProducerClosed
from headrace.classic.handlers import (
    CallbackHandler,
    DefaultEventHandler,
    EventHandler,
    QueueItem,
    callback_handler_of,
    event_handler_of,
)
from headrace.classic.partitioner import Partitioner, partitioner_of
from headrace.classic.serializer import Encoder, encoder_of
from headrace.classic.sync_producer import ANY_PARTITION

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ProducerData(Generic[K, V]):
    """Values for one topic and key; a key of None: each send anywhere."""

    topic: str
    key: K | None
    data: Sequence[V]


@dataclass(frozen=True, slots=True)
class KeyedMessage(Generic[K, V]):
    """One message. `part_key` chooses the partition, by default the key does."""

    topic: str
    message: V
    key: K | None = None
    part_key: Any = None


Sendable = ProducerData[K, V] | KeyedMessage[K, V]


class Producer(Generic[K, V]):
    """Any thread may send."""

    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        partitioner: Partitioner[K] | None = None,
        encoder: Encoder[V] | None = None,
        event_handler: EventHandler | None = None,
        callback_handler: CallbackHandler | None = None,
        on_failure: OnFailure | None = None,
        discovery: Discovery | None = None,
    ) -> None:
        """
        partitioner        and the three after it: in place of what the config names
        on_failure         called by the send thread with a batch that failed; async alone
        discovery          in place of broker.list and zk.connect
        raises             ConfigError; ZooKeeperUnavailable
        """
        self.config = config if isinstance(config, ProducerConfig) else ProducerConfig.of(config)
        config = self.config
        self._partitioner = partitioner or partitioner_of("partitioner.class", config.partitioner_class)
        self._encoder = encoder or encoder_of("serializer.class", config.serializer_class)
        self._event_handler = event_handler or self._event_handler_of(config)
        callbacks = callback_handler
        if callbacks is None and config.callback_handler is not None:
            callbacks = callback_handler_of("callback.handler", config.callback_handler)
        self._pool = BrokerPool(config, discovery or _discovery_of(config))
        self._is_closed = False
        self._async: AsyncProducer | None = None
        if config.producer_type == "async":
            self._async = AsyncProducer(
                QueueOptions(
                    config.queue_buffering_max_ms,
                    config.queue_buffering_max_messages,
                    config.queue_enqueue_timeout_ms,
                    config.batch_num_messages,
                ),
                self._pool,
                self._event_handler,
                self._encoder,
                callbacks,
                on_failure,
                config.event_handler_props,
                config.callback_handler_props,
            )
        else:
            self._event_handler.init(config.event_handler_props)

    def __enter__(self) -> Producer[K, V]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: Sendable[K, V] | Iterable[Sendable[K, V]]) -> None:
        """Send one, or a list.

        raises   sync: SendFailed, MessageSizeTooLarge, and what the encoder raises; async: QueueFull. Both: KafkaError, for an
                 unknown topic, if there is a key to place; ProducerClosed
        """
        if self._is_closed:
            raise ProducerClosed("the producer is closed")
        many = [data] if isinstance(data, ProducerData | KeyedMessage) else data
        items = [item for one in many for item in self._items(one)]
        if self._async is None:
            if items:
                self._event_handler.handle(items, self._pool, self._encoder)
            return
        for item in items:
            self._async.send(item)

    def close(self) -> None:
        """Send what is queued, and close the connections. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._async is not None:
            self._async.close()
        else:
            self._event_handler.close()
        self._pool.close()

    def _items(self, data: Sendable[K, V]) -> list[QueueItem]:
        if isinstance(data, KeyedMessage):
            placing = data.key if data.part_key is None else data.part_key
            return [QueueItem(data.topic, data.message, data.key, self._partition(data.topic, placing))]
        partition = self._partition(data.topic, data.key)
        return [QueueItem(data.topic, value, data.key, partition) for value in data.data]

    def _partition(self, topic: str, key: Any) -> int:
        if key is None:
            return ANY_PARTITION
        index = self._partitioner.partition(key, self._pool.num_partitions(topic))
        return self._pool.partition_at(topic, index)

    @staticmethod
    def _event_handler_of(config: ProducerConfig) -> EventHandler:
        if config.event_handler is not None:
            return event_handler_of("event.handler", config.event_handler)
        if config.key_serializer_class is None:
            return DefaultEventHandler()
        return DefaultEventHandler(encoder_of("key.serializer.class", config.key_serializer_class))


def _discovery_of(config: ProducerConfig) -> Discovery:
    if config.zookeeper_connect:
        timeouts = (config.zookeeper_session_timeout_ms, config.zookeeper_connection_timeout_ms)
        return ZooKeeperBrokers(config.zookeeper_connect, *timeouts)
    interval_ms = config.topic_metadata_refresh_interval_ms
    return BrokerList(config.metadata_broker_list, config.request_timeout_ms, config.client_id, interval_ms)
