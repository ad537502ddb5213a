"""Configs: keys of both generations, the nearest name of an unknown one, values refused with key, value and reason."""

import pytest

from headrace.classic.config import CONSUMER, PRODUCER, ConsumerConfig, ProducerConfig
from headrace.errors import ConfigError

CONSUMER_MINIMUM = {"zk.connect": "zk:2181", "groupid": "g"}


def test_defaults_are_those_of_0_8_2():
    producer = ProducerConfig.of({"broker.list": "a:9092"})
    assert (producer.producer_type, producer.batch_num_messages, producer.queue_buffering_max_ms) == ("sync", 200, 5000)
    assert (producer.queue_buffering_max_messages, producer.queue_enqueue_timeout_ms) == (10_000, -1)
    assert (producer.request_required_acks, producer.message_send_max_retries, producer.retry_backoff_ms) == (0, 3, 100)
    consumer = ConsumerConfig.of(CONSUMER_MINIMUM)
    assert (consumer.fetch_message_max_bytes, consumer.queued_max_message_chunks) == (1 << 20, 2)
    assert (consumer.rebalance_max_retries, consumer.rebalance_backoff_ms) == (4, 2000)
    assert (consumer.auto_commit_interval_ms, consumer.auto_offset_reset) == (60_000, "largest")
    assert (consumer.zookeeper_session_timeout_ms, consumer.offsets_storage) == (6000, "zookeeper")


def test_dual_commit_is_the_default_of_offsets_in_kafka_alone():
    assert not ConsumerConfig.of(CONSUMER_MINIMUM).dual_commit_enabled
    assert ConsumerConfig.of({**CONSUMER_MINIMUM, "offsets.storage": "kafka"}).dual_commit_enabled
    off = {**CONSUMER_MINIMUM, "offsets.storage": "kafka", "dual.commit.enabled": "false"}
    assert not ConsumerConfig.of(off).dual_commit_enabled


def test_both_generations_say_the_same():
    old = ProducerConfig.of({"zk.connect": "zk:2181", "queue.time": "7", "batch.size": "3", "queue.size": 5})
    new = {"zookeeper.connect": "zk:2181", "queue.buffering.max.ms": 7, "batch.num.messages": 3}
    assert ProducerConfig.of({**new, "queue.buffering.max.messages": 5}) == old
    old_consumer = {**CONSUMER_MINIMUM, "autooffset.reset": "smallest", "autocommit.enable": "false", "fetch.size": "9"}
    found = ConsumerConfig.of(old_consumer)
    assert (found.auto_offset_reset, found.auto_commit_enable, found.fetch_message_max_bytes) == ("smallest", False, 9)
    assert ConsumerConfig.of({**CONSUMER_MINIMUM, "auto.offset.reset": "earliest"}).auto_offset_reset == "smallest"


@pytest.mark.parametrize(
    ("kind", "config", "complaint"),
    [
        (
            ProducerConfig,
            {"broker.lst": "a:1"},
            r"'a:1' for broker.lst: not a key of a producer; the nearest is broker.list",
        ),
        (ConsumerConfig, {"group.idd": "g"}, "the nearest is group.id"),
        (ConsumerConfig, {"rebalance_backoff_ms": "1"}, "the nearest is rebalance.backoff.ms"),
        (ProducerConfig, {}, "broker.list or zk.connect: is required"),
        (ProducerConfig, {"broker.list": "a:1", "zk.connect": "b:2"}, "can't be combined"),
        (
            ProducerConfig,
            {"broker.list": "a:1", "batch.size": "many"},
            "'many' for batch.size: expected a whole number",
        ),
        (ProducerConfig, {"broker.list": "a:1", "batch.size": 0}, "0 for batch.size: expected 1 to 2147483647"),
        (ProducerConfig, {"broker.list": "a:1", "batch.size": True}, "expected a whole number"),
        (
            ProducerConfig,
            {"broker.list": "a:1", "producer.type": "fast"},
            "'fast' for producer.type: expected one of sync, async",
        ),
        (ProducerConfig, {"broker.list": 7}, "7 for broker.list: expected names"),
        (
            ProducerConfig,
            {"broker.list": "a:1", "queue.time": 1, "queue.buffering.max.ms": 2},
            "queue.time is the same setting",
        ),
        (
            ProducerConfig,
            {"broker.list": "a:1", "producer.type": "async", "queue.size": 5, "batch.size": 6},
            r"6 for batch.size: a batch is larger than the queue \(5\)",
        ),
        (ConsumerConfig, {"zk.connect": "zk:1"}, r"group.id: is required \(0.7: groupid\)"),
        (ConsumerConfig, {"groupid": "g"}, "zookeeper.connect: is required"),
        (ConsumerConfig, {**CONSUMER_MINIMUM, "groupid": "a/b"}, "must not contain a slash"),
        (
            ConsumerConfig,
            {**CONSUMER_MINIMUM, "autocommit.enable": "yes"},
            "'yes' for autocommit.enable: expected true or false",
        ),
        (ConsumerConfig, {**CONSUMER_MINIMUM, "socket.timeout.ms": 50}, "must be above fetch.wait.max.ms"),
        (ConsumerConfig, {**CONSUMER_MINIMUM, "client.id": 1}, "1 for client.id: expected a string"),
    ],
)
def test_what_is_invalid_is_refused_with_key_value_and_reason(kind, config, complaint):
    with pytest.raises(ConfigError, match=complaint):
        kind.of(config)


def test_a_setting_under_both_names_is_fine_where_they_agree():
    assert (
        ProducerConfig.of({"broker.list": "a:1", "queue.time": "2", "queue.buffering.max.ms": 2}).queue_buffering_max_ms
        == 2
    )


def test_every_name_is_accepted_by_its_table():
    assert {"zk.connect", "queue.enqueueTimeout.ms", "callback.handler"} <= set(PRODUCER.names)
    assert {"groupid", "queuedchunks.max", "mirror.consumer.numthreads", "dual.commit.enabled"} <= set(CONSUMER.names)
