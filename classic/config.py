"""Configs of the classic clients: the keys of Kafka 0.7 and of 0.8, and what they mean.

`ProducerConfig.of({...})`, `ConsumerConfig.of({...})` take dotted keys of either generation. Defaults are those of 0.8.2's documentation.

Source: Kafka's documentation, "Producer Configs" and "Consumer Configs" of 0.7, 0.8.1, 0.8.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from headrace.classic.config_table import (
    JAVA_INT,
    JAVA_LONG,
    Key,
    Table,
    as_given,
    boolean,
    choice,
    integer,
    names,
    text,
)
from headrace.client.producer_options import CODECS
from headrace.errors import ConfigError

_CODEC_NUMBERS = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4"}
_KIND = choice("sync", "async")
_STORAGE = choice("zookeeper", "kafka")
_RESET = choice("smallest", "largest", "anything", synonyms={"earliest": "smallest", "latest": "largest"})
_ACKS = integer(-1, JAVA_INT)
_ZOOKEEPER = (
    Key("zookeeper.connect", "", text, ("zk.connect",)),
    Key("zookeeper.session.timeout.ms", 6000, integer(1), ("zk.sessiontimeout.ms",)),
    Key("zookeeper.connection.timeout.ms", 6000, integer(1), ("zk.connectiontimeout.ms",)),
    Key("zookeeper.sync.time.ms", 2000, integer(0), ("zk.synctime.ms",)),
)

PRODUCER = Table(
    "producer",
    (
        *_ZOOKEEPER,
        Key("metadata.broker.list", (), names, ("broker.list", "bootstrap.servers")),
        Key("producer.type", "sync", _KIND),
        Key("client.id", "", text),
        Key("serializer.class", "kafka.serializer.DefaultEncoder", as_given),
        Key("key.serializer.class", None, as_given),
        Key("partitioner.class", "kafka.producer.DefaultPartitioner", as_given),
        Key("partition.list", "partition", choice("partition", "broker")),
        Key("event.handler", None, as_given),
        Key("event.handler.props", None, as_given),
        Key("callback.handler", None, as_given),
        Key("callback.handler.props", None, as_given),
        Key("queue.buffering.max.ms", 5000, integer(0), ("queue.time",)),
        Key("queue.buffering.max.messages", 10_000, integer(1), ("queue.size",)),
        Key("queue.enqueue.timeout.ms", -1, integer(-1), ("queue.enqueueTimeout.ms",)),
        Key("batch.num.messages", 200, integer(1), ("batch.size",)),
        Key("request.required.acks", 0, _ACKS, ("acks",)),
        Key("request.timeout.ms", 10_000, integer(1), ("socket.timeout.ms",)),
        Key("connect.timeout.ms", 5000, integer(1)),
        Key("reconnect.interval", 30_000, integer(1)),
        Key("reconnect.time.interval.ms", -1, integer(-1)),
        Key("message.send.max.retries", 3, integer(0), ("num.retries",)),
        Key("retry.backoff.ms", 100, integer(0)),
        Key("topic.metadata.refresh.interval.ms", 600_000, integer(-1)),
        Key("compression.codec", "none", choice(*CODECS, synonyms=_CODEC_NUMBERS), ("compression.type",)),
        Key("compressed.topics", (), names),
        Key("max.message.size", 1_000_000, integer(1)),
        Key("send.buffer.bytes", 102_400, integer(1), ("buffer.size",)),
    ),
)

CONSUMER = Table(
    "consumer",
    (
        *_ZOOKEEPER,
        Key("group.id", "", text, ("groupid",)),
        Key("consumer.id", "", text, ("consumerid",)),
        Key("client.id", "", text),
        Key("socket.timeout.ms", 30_000, integer(1)),
        Key("socket.receive.buffer.bytes", 65_536, integer(1), ("socket.buffersize",)),
        Key("fetch.message.max.bytes", 1 << 20, integer(1), ("fetch.size", "max.partition.fetch.bytes")),
        Key("fetch.min.bytes", 1, integer(0)),
        Key("fetch.wait.max.ms", 100, integer(0), ("fetch.max.wait.ms",)),
        Key("num.consumer.fetchers", 1, integer(1)),
        Key("queued.max.message.chunks", 2, integer(1), ("queuedchunks.max",)),
        Key("auto.commit.enable", True, boolean, ("autocommit.enable", "enable.auto.commit")),
        Key("auto.commit.interval.ms", 60_000, integer(1), ("autocommit.interval.ms",)),
        Key("auto.offset.reset", "largest", _RESET, ("autooffset.reset",)),
        Key("consumer.timeout.ms", -1, integer(-1, JAVA_LONG)),
        Key("rebalance.max.retries", 4, integer(1), ("rebalance.retries.max",)),
        Key("rebalance.backoff.ms", 2000, integer(0)),
        Key("refresh.leader.backoff.ms", 200, integer(0)),
        Key("offsets.storage", "zookeeper", _STORAGE),
        Key("offsets.channel.backoff.ms", 1000, integer(0)),
        Key("offsets.channel.socket.timeout.ms", 10_000, integer(1)),
        Key("offsets.commit.max.retries", 5, integer(0)),
        Key("dual.commit.enabled", None, boolean),
        Key("exclude.internal.topics", True, boolean),
        Key("partition.assignment.strategy", "range", choice("range")),
        Key("backoff.increment.ms", 1000, integer(0)),
        Key("mirror.consumer.numthreads", 4, integer(1)),
    ),
)


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """What a producer was asked for; fields are the keys of 0.8 with underscores for dots."""

    zookeeper_connect: str
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int
    metadata_broker_list: tuple[str, ...]
    producer_type: str
    client_id: str
    serializer_class: Any
    key_serializer_class: Any
    partitioner_class: Any
    partition_list: str
    event_handler: Any
    event_handler_props: Any
    callback_handler: Any
    callback_handler_props: Any
    queue_buffering_max_ms: int
    queue_buffering_max_messages: int
    queue_enqueue_timeout_ms: int
    batch_num_messages: int
    request_required_acks: int
    request_timeout_ms: int
    connect_timeout_ms: int
    reconnect_interval: int
    reconnect_time_interval_ms: int
    message_send_max_retries: int
    retry_backoff_ms: int
    topic_metadata_refresh_interval_ms: int
    compression_codec: str
    compressed_topics: tuple[str, ...]
    max_message_size: int
    send_buffer_bytes: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ProducerConfig:
        """raises   ConfigError, which names key, value and reason"""
        found = PRODUCER.read(config)
        has_zookeeper, has_list = bool(found["zookeeper.connect"]), bool(found["metadata.broker.list"])
        if has_zookeeper == has_list:
            reason = "is required" if not has_list else "can't be combined with zk.connect: give one of them"
            raise ConfigError("broker.list or zk.connect", None if not has_list else config, reason)
        if found["producer.type"] == "async" and found["batch.num.messages"] > found["queue.buffering.max.messages"]:
            limit = found["queue.buffering.max.messages"]
            raise ConfigError("batch.size", found["batch.num.messages"], f"a batch is larger than the queue ({limit})")
        return cls(**_fields_of(cls, found))


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """What a consumer was asked for."""

    zookeeper_connect: str
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int
    group_id: str
    consumer_id: str
    client_id: str
    socket_timeout_ms: int
    socket_receive_buffer_bytes: int
    fetch_message_max_bytes: int
    fetch_min_bytes: int
    fetch_wait_max_ms: int
    num_consumer_fetchers: int
    queued_max_message_chunks: int
    auto_commit_enable: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    consumer_timeout_ms: int
    rebalance_max_retries: int
    rebalance_backoff_ms: int
    refresh_leader_backoff_ms: int
    offsets_storage: str
    offsets_channel_backoff_ms: int
    offsets_channel_socket_timeout_ms: int
    offsets_commit_max_retries: int
    dual_commit_enabled: bool
    exclude_internal_topics: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ConsumerConfig:
        """raises   ConfigError, which names key, value and reason"""
        found = CONSUMER.read(config)
        for key, other in (("zookeeper.connect", "zk.connect"), ("group.id", "groupid")):
            if not found[key]:
                raise ConfigError(key, None, f"is required (0.7: {other})")
        if "/" in found["group.id"] or "/" in found["consumer.id"]:
            raise ConfigError("group.id", found["group.id"], "becomes the name of a znode and must not contain a slash")
        if found["socket.timeout.ms"] <= found["fetch.wait.max.ms"]:
            wait_ms = found["fetch.wait.max.ms"]
            raise ConfigError(
                "socket.timeout.ms", found["socket.timeout.ms"], f"must be above fetch.wait.max.ms ({wait_ms})"
            )
        if found["dual.commit.enabled"] is None:
            found["dual.commit.enabled"] = found["offsets.storage"] == "kafka"
        return cls(**_fields_of(cls, found))


def _fields_of(cls: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Values by field. Keys that no field has are accepted for old configs, and have no meaning here."""
    return {field.name: found[field.name.replace("_", ".")] for field in fields(cls)}
