"""Real clients against a real node: what one writes, every other reads, byte for byte."""

import asyncio
import os
import threading
import uuid

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.support.waiting import DEADLINE_S

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]

# (key, value, headers)
RECORDS = [
    (b"key", b"value", [("name", b"content"), ("empty", b""), ("null", None)]),
    (None, b"no key", []),
    (b"no value", None, []),
    (b"", b"", []),
    (b"k" * 300, b"v" * 5_000, [("h" * 100, b"x" * 1_000)]),
    (bytes(range(256)), bytes(range(255, -1, -1)), [("same", b"1"), ("same", b"2")]),
]


def topic_name(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def write_with_confluent(bootstrap, topic, codec, records, **settings):
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20, **settings})
    for key, value, headers in records:
        producer.produce(
            topic, value, key=key, headers=headers, partition=0, on_delivery=lambda e, _m: e and failures.append(e)
        )
    assert producer.flush(DEADLINE_S) == 0
    assert not failures


def read_with_confluent(bootstrap, topic, count, partition=0):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False,
                         "fetch.message.max.bytes": 4_000_000})  # fmt: skip
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), timeout=DEADLINE_S)
        assert messages, f"{len(found)} of {count} records came"
        for message in messages:
            assert not message.error(), message.error()
            found.append((message.key(), message.value(), message.headers() or []))
    consumer.close()
    return found


def read_with_kafka_python(bootstrap, topic, count):
    import kafka

    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, consumer_timeout_ms=1000 * DEADLINE_S
    )
    place = kafka.TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    found = []
    for message in consumer:
        found.append((message.key, message.value, [tuple(header) for header in message.headers]))
        if len(found) == count:
            break
    consumer.close()
    return found


def read_with_aiokafka(bootstrap, topic, count):
    import aiokafka

    async def read():
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        await consumer.start()
        try:
            place = aiokafka.TopicPartition(topic, 0)
            consumer.assign([place])
            await consumer.seek_to_beginning(place)
            found = []
            while len(found) < count:
                message = await asyncio.wait_for(consumer.getone(), DEADLINE_S)
                found.append((message.key, message.value, [tuple(header) for header in message.headers]))
            return found
        finally:
            await consumer.stop()

    return asyncio.run(read())


@pytest.mark.parametrize("codec", CODECS)
def test_what_librdkafka_writes_every_client_reads(node, codec):
    topic = topic_name(f"confluent-{codec}")
    write_with_confluent(node.bootstrap, topic, codec, RECORDS)
    assert read_with_confluent(node.bootstrap, topic, len(RECORDS)) == RECORDS
    assert read_with_kafka_python(node.bootstrap, topic, len(RECORDS)) == RECORDS
    assert read_with_aiokafka(node.bootstrap, topic, len(RECORDS)) == RECORDS


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_kafka_python_writes_librdkafka_reads(node, codec):
    import kafka

    topic = topic_name("kafka-python")
    producer = kafka.KafkaProducer(bootstrap_servers=node.bootstrap, compression_type=codec, acks="all", linger_ms=20)
    futures = [
        producer.send(
            topic, value=value, key=key, headers=[(name, content or b"") for name, content in headers], partition=0
        )
        for key, value, headers in RECORDS
    ]
    assert [future.get(DEADLINE_S).offset for future in futures] == list(range(len(RECORDS)))
    producer.close()
    wanted = [(key, value, [(name, content or b"") for name, content in headers]) for key, value, headers in RECORDS]
    assert read_with_confluent(node.bootstrap, topic, len(RECORDS)) == wanted


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_aiokafka_writes_librdkafka_reads(node, codec):
    import aiokafka

    topic = topic_name("aiokafka")

    async def write():
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=node.bootstrap, compression_type=codec, enable_idempotence=True
        )
        await producer.start()
        try:
            for key, value, headers in RECORDS:
                plain = [(name, content or b"") for name, content in headers]
                await producer.send_and_wait(topic, value, key=key, headers=plain, partition=0)
        finally:
            await producer.stop()

    asyncio.run(write())
    wanted = [(key, value, [(name, content or b"") for name, content in headers]) for key, value, headers in RECORDS]
    assert read_with_confluent(node.bootstrap, topic, len(RECORDS)) == wanted


def test_a_record_of_a_mebibyte_goes_through(node):
    topic = topic_name("large")
    large = os.urandom(1_048_000)
    write_with_confluent(node.bootstrap, topic, "none", [(b"k", large, [])], **{"message.max.bytes": 2_000_000})
    assert read_with_confluent(node.bootstrap, topic, 1) == [(b"k", large, [])]


def test_a_record_that_no_ring_message_holds_goes_through_beside_small_ones(node):
    """Rings take 4 MiB at a time here: the batch goes in three parts, while others write to the same worker."""
    topic, small = topic_name("larger"), topic_name("beside")
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    made = admin.create_topics([NewTopic(topic, 1, 1, config={"max.message.bytes": "10485760"}), NewTopic(small, 1, 1)])
    for future in made.values():
        future.result(DEADLINE_S)
    records = [(b"%d" % number, os.urandom(10_000_000), []) for number in range(3)]
    beside = [(None, b"%d" % number, []) for number in range(500)]
    writer = threading.Thread(target=write_with_confluent, args=(node.bootstrap, small, "none", beside))
    writer.start()
    write_with_confluent(node.bootstrap, topic, "none", records, **{"message.max.bytes": 20_000_000})
    writer.join(DEADLINE_S)
    assert read_with_confluent(node.bootstrap, topic, len(records)) == records
    assert read_with_confluent(node.bootstrap, small, len(beside)) == beside


@pytest.mark.parametrize("size", [1_500_000, 8_500_000], ids=["in a ring", "beyond a ring"])
def test_a_batch_above_the_limit_is_refused_and_the_connection_lives(node, size):
    topic = topic_name("too-large")
    failures = []
    producer = Producer(
        {"bootstrap.servers": node.bootstrap, "message.max.bytes": 9_000_000, "message.timeout.ms": 60_000}
    )
    producer.produce(topic, os.urandom(size), on_delivery=lambda e, _m: failures.append(e and e.name()))
    producer.flush(DEADLINE_S)
    producer.produce(topic, b"small", on_delivery=lambda e, _m: failures.append(e and e.name()))
    producer.flush(DEADLINE_S)
    assert failures == ["MSG_SIZE_TOO_LARGE", None]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks_setting_keeps_the_records(node, acks):
    topic = topic_name(f"acks-{acks}")
    records = [(None, b"%d" % number, []) for number in range(500)]
    write_with_confluent(node.bootstrap, topic, "none", records, acks=acks)
    assert read_with_confluent(node.bootstrap, topic, 500) == records


def test_topics_are_made_described_and_deleted(node):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    name = topic_name("admin")
    made = admin.create_topics([NewTopic(name, 3, 1, config={"segment.bytes": "100000"})])
    made[name].result(DEADLINE_S)
    assert len(admin.list_topics(name, timeout=DEADLINE_S).topics[name].partitions) == 3
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    found = admin.describe_configs([resource])[resource].result(DEADLINE_S)
    assert found["segment.bytes"].value == "100000"
    assert found["retention.ms"].is_default
    again = admin.create_topics([NewTopic(name, 1, 1)])
    with pytest.raises(Exception, match="already exists"):
        again[name].result(DEADLINE_S)
    deleted = admin.delete_topics([name])
    deleted[name].result(DEADLINE_S)
    assert name not in admin.list_topics(timeout=DEADLINE_S).topics
    assert not any(path.name.startswith(f"{name}-") and path.name[-1].isdigit() for path in node.log_dir.iterdir())


def test_a_bad_topic_configuration_names_key_and_value(node):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    name = topic_name("bad-config")
    made = admin.create_topics([NewTopic(name, 1, 1, config={"segment.bytes": "many"})])
    with pytest.raises(Exception, match=r"segment\.bytes"):
        made[name].result(DEADLINE_S)


def test_a_consumer_that_waits_is_woken_by_a_record(node):
    topic = topic_name("parked")
    write_with_confluent(node.bootstrap, topic, "none", [(None, b"first", [])])
    waits = {"fetch.wait.max.ms": 200_000, "socket.timeout.ms": 250_000}  # a poll is over long before
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none", **waits})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert consumer.poll(DEADLINE_S).value() == b"first"
    consumer.poll(0.2)  # now a fetch is parked
    write_with_confluent(node.bootstrap, topic, "none", [(None, b"second", [])])
    assert consumer.poll(DEADLINE_S).value() == b"second"
    consumer.close()


def test_offsets_for_times_find_the_first_record_that_late(node):
    topic = topic_name("times")
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number in range(100):
        producer.produce(topic, b"x", partition=0, timestamp=1_000_000 + number * 10)
        if number % 10 == 9:
            producer.flush(DEADLINE_S)
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none"})
    found = consumer.offsets_for_times([TopicPartition(topic, 0, 1_000_455)], timeout=DEADLINE_S)
    assert found[0].offset == 46
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=DEADLINE_S) == (0, 100)
    consumer.close()


def test_a_restart_on_the_same_directory_keeps_everything(node_factory):
    first = node_factory("same", "log.segment.bytes=20000")
    records = [(b"%d" % number, os.urandom(100), []) for number in range(1_000)]
    write_with_confluent(first.bootstrap, "kept", "none", records, **{"batch.num.messages": 20})
    assert first.stop() == 0
    assert (first.log_dir / ".kafka_cleanshutdown").exists()
    second = node_factory("same", "log.segment.bytes=20000")
    assert read_with_confluent(second.bootstrap, "kept", 1_000) == records
    write_with_confluent(second.bootstrap, "kept", "none", [(None, b"more", [])])
    assert read_with_confluent(second.bootstrap, "kept", 1_001)[-1] == (None, b"more", [])
    assert len(list((second.log_dir / "kept-0").glob("*.log"))) > 3


def test_nothing_is_left_in_shared_memory(node_factory):
    before = set(os.listdir("/dev/shm"))
    running = node_factory("shm")
    assert running.stop() == 0
    mine = {name for name in set(os.listdir("/dev/shm")) - before if name.startswith("headrace-0-")}
    from headrace.shm.region import region_prefix

    prefix = region_prefix(0, running.log_dir)
    assert not [name for name in mine if name.startswith(prefix)]
