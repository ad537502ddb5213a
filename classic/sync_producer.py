"""`SyncProducer`: messages to one broker over one connection, each send waited for.

A partition of -1 is any that this broker leads. The broker may be reached through a balancer that distributes TCP
connections: which broker has answered is found by asking, in one ListOffsets, for all of the topic's partitions;
those that it leads are the ones without an error. So a producer needs one connection, and no list of brokers.

`reconnect.interval` messages, or `reconnect.time.interval.ms`, after which the connection is made again, so that a
balancer can distribute again.

With `request.required.acks` 0 nothing is waited for, and nothing is known: a broker that refuses closes the
connection, which the next send sees.

Source: Kafka 0.7 and 0.8.2 `kafka.producer.SyncProducer`, `SyncProducerConfig`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.classic.config_table import JAVA_INT, Key, Table, choice, integer, names, text
from headrace.classic.discovery import METADATA_VERSIONS, read_metadata
from headrace.classic.errors import MessageSizeTooLarge, ProducerClosed, SendFailed
from headrace.classic.handlers import ProducerRequest
from headrace.classic.old_brokers import connect
from headrace.client.cluster import LATEST, error_of
from headrace.client.connection import Connection, ConnectionFailed
from headrace.client.engine.producing_options import ACKS_NONE
from headrace.client.producer_options import CODECS
from headrace.errors import BadFrame, ConfigError, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.message_set import MAGIC_V0, MAGIC_V1, build_message_set
from headrace.protocol.record_batch import Record, build_batch

ANY_PARTITION = -1
MESSAGE_OVERHEAD_BYTES = 26
PRODUCE_V1_SETS, PRODUCE_BATCHES, PRODUCE_ZSTD = 2, 3, 7  # versions from which a broker takes these
_CODEC_NUMBERS = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4"}

SYNC_PRODUCER = Table(
    "sync producer",
    (
        Key("host", "", text),
        Key("port", 9092, integer(1, 65_535)),
        Key("client.id", "", text),
        Key("request.required.acks", 1, integer(-1, JAVA_INT), ("acks",)),
        Key("request.timeout.ms", 10_000, integer(1), ("socket.timeout.ms",)),
        Key("connect.timeout.ms", 5000, integer(1)),
        Key("reconnect.interval", 30_000, integer(1)),
        Key("reconnect.time.interval.ms", -1, integer(-1)),
        Key("compression.codec", "none", choice(*CODECS, synonyms=_CODEC_NUMBERS), ("compression.type",)),
        Key("compressed.topics", (), names),
        Key("max.message.size", 1_000_000, integer(1)),
        Key("send.buffer.bytes", 102_400, integer(1), ("buffer.size",)),
    ),
)


@dataclass(frozen=True, slots=True)
class SyncProducerConfig:
    """What a sync producer was asked for."""

    host: str
    port: int
    client_id: str
    request_required_acks: int
    request_timeout_ms: int
    connect_timeout_ms: int
    reconnect_interval: int
    reconnect_time_interval_ms: int
    compression_codec: str
    compressed_topics: tuple[str, ...]
    max_message_size: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> SyncProducerConfig:
        """raises   ConfigError, which names key, value and reason"""
        found = SYNC_PRODUCER.read(config)
        if not found["host"]:
            raise ConfigError("host", None, "is required")
        found.pop("send.buffer.bytes")
        return cls(**{name.replace(".", "_"): value for name, value in found.items()})


class SyncProducer:
    """One broker, or what a balancer connects to. Any thread may send; sends take turns."""

    def __init__(
        self,
        config: SyncProducerConfig | Mapping[str, Any],
        chance: random.Random | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """raises   ConfigError. The connection is made by the first send"""
        self.config = config if isinstance(config, SyncProducerConfig) else SyncProducerConfig.of(config)
        self._chance = chance or random.Random()
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._connected_at_s = 0.0
        self._sent = 0  # messages over this connection
        self._led: dict[str, tuple[int, ...]] = {}  # partitions of a topic that the connected broker leads
        self._is_closed = False

    def __enter__(self) -> SyncProducer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
        self,
        topic: str,
        messages: Iterable[bytes | tuple[bytes | None, bytes | None] | None],
        partition: int = ANY_PARTITION,
    ) -> None:
        """Send messages, each a payload or (key, payload), as one set.

        raises   SendFailed, if the broker refused them; ConnectionFailed, MessageSizeTooLarge, ProducerClosed
        """
        pairs = [one if isinstance(one, tuple) else (None, one) for one in messages]
        self.multi_send([ProducerRequest(topic, partition, pairs)])

    def multi_send(self, requests: Sequence[ProducerRequest]) -> None:
        """Send sets for several partitions in one request. Raises as `send`; SendFailed names each partition that was refused."""
        limit = self.config.max_message_size
        for request in requests:
            for key, payload in request.messages:
                size = len(key or b"") + len(payload or b"") + MESSAGE_OVERHEAD_BYTES
                if size > limit:
                    raise MessageSizeTooLarge(
                        f"a message of {size} bytes for {request.topic}: max.message.size is {limit}"
                    )
        with self._lock:
            if self._is_closed:
                raise ProducerClosed(f"the producer of {self.config.host}:{self.config.port} is closed")
            self._send([request for request in requests if request.messages])

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._is_closed = True
            self._drop()

    def _send(self, requests: Sequence[ProducerRequest]) -> None:
        if not requests:
            return
        failures: dict[TopicPartition, HeadraceError] = {}
        sets: dict[TopicPartition, list[tuple[bytes | None, bytes | None]]] = {}
        connection = self._connected()
        for request in requests:
            try:
                name = TopicPartition(request.topic, self._placed(connection, request))
            except KafkaError as failure:
                failures[TopicPartition(request.topic, request.partition)] = failure
                continue
            sets.setdefault(name, []).extend(request.messages)
        if sets:
            failures |= self._produce(connection, sets)
        if failures:
            for name in failures:
                self._led.pop(name.topic, None)
            raise SendFailed(failures, 1)

    def _produce(
        self, connection: Connection, sets: Mapping[TopicPartition, list[tuple[bytes | None, bytes | None]]]
    ) -> dict[TopicPartition, HeadraceError]:
        """What failed, by partition; raises ConnectionFailed, KafkaError UNSUPPORTED_VERSION."""
        config, kind = self.config, messages.ProduceRequest
        is_zstd = any(self._codec(name.topic) == Codec.ZSTD for name in sets)
        version = connection.version(ApiKey.PRODUCE, PRODUCE_ZSTD if is_zstd else 0, 9)
        now_ms = int(time.time() * 1000)
        topics: dict[str, list[messages.ProduceRequest.PartitionProduceData]] = {}
        for name, pairs in sets.items():
            records = [Record(place, now_ms, key, payload, ()) for place, (key, payload) in enumerate(pairs)]
            data = _encoded(records, version, self._codec(name.topic))
            topics.setdefault(name.topic, []).append(kind.PartitionProduceData(name.partition, data))
        request = kind(
            transactional_id=None,
            acks=config.request_required_acks,
            timeout_ms=config.request_timeout_ms,
            topic_data=[kind.TopicProduceData(topic, rows) for topic, rows in topics.items()],
        )
        is_answered = config.request_required_acks != ACKS_NONE
        self._sent += sum(map(len, sets.values()))
        try:
            connection.send(ApiKey.PRODUCE, version, request, is_answered=is_answered)
            answer: messages.ProduceResponse | None = connection.receive() if is_answered else None
        except (ConnectionFailed, BadFrame):
            self._drop()
            raise
        failures: dict[TopicPartition, HeadraceError] = {}
        for topic in answer.responses if answer is not None else ():
            for row in topic.partition_responses:
                if row.error_code:
                    name = TopicPartition(topic.name, row.index)
                    failures[name] = error_of(row.error_code, str(name))
        return failures

    def _codec(self, topic: str) -> int:
        config = self.config
        is_compressed = not config.compressed_topics or topic in config.compressed_topics
        return CODECS[config.compression_codec] if is_compressed else Codec.NONE

    def _placed(self, connection: Connection, request: ProducerRequest) -> int:
        """The partition of a request; raises KafkaError, if the broker leads none of the topic's."""
        if request.partition != ANY_PARTITION:
            return request.partition
        led = self._led.get(request.topic)
        if not led:
            try:
                led = self._led[request.topic] = self._partitions_led(connection, request.topic)
            except (ConnectionFailed, BadFrame):
                self._drop()
                raise
        if not led:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{connection.address} leads no partition of {request.topic}"
            )
        return self._chance.choice(led)

    def _partitions_led(self, connection: Connection, topic: str) -> tuple[int, ...]:
        kind = messages.MetadataRequest
        asked = kind(topics=[kind.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        version = connection.version(ApiKey.METADATA, *METADATA_VERSIONS)
        known = read_metadata(connection.request(ApiKey.METADATA, version, asked), topic)
        listed = messages.ListOffsetsRequest
        rows = [listed.ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in known.leaders]
        request = listed(replica_id=-1, topics=[listed.ListOffsetsTopic(name=topic, partitions=rows)])
        version = connection.version(ApiKey.LIST_OFFSETS, 0, 5)
        answer = connection.request(ApiKey.LIST_OFFSETS, version, request)
        return tuple(
            sorted(row.partition_index for one in answer.topics for row in one.partitions if not row.error_code)
        )

    def _connected(self) -> Connection:
        """raises   ConnectionFailed"""
        config = self.config
        connection = self._connection
        if connection is not None and connection.fileno() >= 0:
            age_ms = (self._clock_s() - self._connected_at_s) * 1000
            is_old = 0 <= config.reconnect_time_interval_ms <= age_ms
            if self._sent < config.reconnect_interval and not is_old:
                return connection
        self._drop()
        wait_ms = max(config.connect_timeout_ms, config.request_timeout_ms)
        connection = self._connection = connect(config.host, config.port, wait_ms, config.client_id)
        self._connected_at_s = self._clock_s()
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._sent = 0
        self._led.clear()
        if connection is not None:
            connection.close()


def _encoded(records: list[Record], version: int, codec: int) -> bytes:
    """Records in the newest format that a version of Produce takes."""
    if version >= PRODUCE_BATCHES:
        return bytes(build_batch(records, codec=codec))
    return build_message_set(records, MAGIC_V1 if version >= PRODUCE_V1_SETS else MAGIC_V0, codec)
