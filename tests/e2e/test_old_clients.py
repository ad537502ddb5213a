"""librdkafka and kafka-python, told that they talk to an old broker: they send and want message formats v0 and v1."""

import uuid

import kafka
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.support.waiting import DEADLINE_S

# what the client believes -> whether its messages have timestamps
LIBRDKAFKA = {"0.8.2": False, "0.9.0": False, "0.10.0.0": True, "0.10.2": True}
KAFKA_PYTHON = {(0, 9): False, (0, 10, 0): True, (0, 10, 2): True}
RECORDS = [
    (b"key", b"value"),
    (None, b"no key"),
    (b"no value", None),
    (b"k" * 300, b"v" * 5_000),
    (b"last", b"x" * 40_000),
]
NOW_MS = 1_700_000_000_000


@pytest.fixture
def topic():
    return f"old-clients-{uuid.uuid4().hex[:8]}"


def believing(version):
    return {"api.version.request": False, "broker.version.fallback": version, "log_level": 0}


def write(node, topic, codec, **settings):
    failures = []
    producer = Producer(
        {"bootstrap.servers": node.bootstrap, "compression.type": codec, "linger.ms": 50, "log_level": 0, **settings}
    )
    for index, (key, value) in enumerate(RECORDS):
        producer.produce(
            topic,
            value,
            key=key,
            partition=0,
            timestamp=NOW_MS + index,
            on_delivery=lambda error, _m: error and failures.append(error),
        )
    assert producer.flush(DEADLINE_S) == 0
    assert not failures


def read(node, topic, **settings):
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "log_level": 0,
            **settings,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while len(found) < len(RECORDS):
        message = consumer.poll(DEADLINE_S)
        assert message is not None, f"{len(found)} records came"
        assert not message.error(), message.error()
        found.append((message.offset(), message.key(), message.value(), message.timestamp()[1]))
    consumer.close()
    return found


def expected(has_times):
    return [(index, key, value, NOW_MS + index if has_times else 0) for index, (key, value) in enumerate(RECORDS)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("version", LIBRDKAFKA)
def test_librdkafka_of_old_brokers_writes_and_reads(node, topic, version, codec):
    write(node, topic, codec, **believing(version))
    has_times = LIBRDKAFKA[version]
    assert read(node, topic, **believing(version)) == expected(has_times)
    assert [one[:3] for one in read(node, topic)] == [one[:3] for one in expected(True)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("version", LIBRDKAFKA)
def test_librdkafka_of_old_brokers_reads_what_a_new_one_wrote(node, topic, version, codec):
    write(node, topic, codec)
    assert read(node, topic, **believing(version)) == expected(LIBRDKAFKA[version])


@pytest.mark.parametrize("version", LIBRDKAFKA)
def test_a_message_above_its_limit_reaches_an_old_consumer(node, topic, version):
    write(node, topic, "none")
    assert read(node, topic, **believing(version), **{"fetch.message.max.bytes": 1_000}) == expected(
        LIBRDKAFKA[version]
    )


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("version", KAFKA_PYTHON)
def test_kafka_python_of_old_brokers_writes_and_reads(node, topic, version, codec):
    producer = kafka.KafkaProducer(bootstrap_servers=node.bootstrap, api_version=version, compression_type=codec)
    for index, (key, value) in enumerate(RECORDS):
        producer.send(topic, value, key=key, partition=0, timestamp_ms=NOW_MS + index)
    producer.flush(DEADLINE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=node.bootstrap, api_version=version, consumer_timeout_ms=1000 * DEADLINE_S
    )
    place = kafka.TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    found = []
    for message in consumer:
        found.append((message.offset, message.key, message.value, message.timestamp))
        if len(found) == len(RECORDS):
            break
    consumer.close()
    has_times = KAFKA_PYTHON[version]
    assert found == [(*one[:3], one[3] if has_times else None) for one in expected(True)]
