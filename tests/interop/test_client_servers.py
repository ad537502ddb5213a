"""Our client against Apache Kafka's servers from 0.10.2 to 4.1: produce, consume, groups, exact.

Each record is stored once and read once, in order by partition, with its key, headers where the release has them, and time. A group's
offsets are where it stopped. A rebalance of two members loses and doubles nothing.
"""

import threading
import time

import pytest

from headrace.client import EARLIEST, LATEST, DeliveryFailed, Kafka
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from tests.interop.kafka_servers import RELEASES, serve

pytestmark = pytest.mark.interop
RECORDS = 3_000


@pytest.fixture(scope="module", params=RELEASES)
def server(request, tmp_path_factory):
    with serve(request.param, tmp_path_factory.mktemp(request.param)) as bootstrap, Kafka(bootstrap) as kafka:
        wait_for_broker(kafka)
        yield request.param, kafka


def wait_for_broker(kafka):
    deadline = time.monotonic() + 60
    while True:
        with kafka.admin() as admin:
            try:
                if admin.brokers():
                    return
            except (KafkaError, Exception):
                if time.monotonic() > deadline:
                    raise
        time.sleep(0.5)


@pytest.fixture
def topic(server, request):
    _release, kafka = server
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    with kafka.admin() as admin:
        admin.create_topic(name, 3, 1)
    return name


def read_all(consumer, count, seconds=60):
    found, deadline = [], time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        found += consumer.poll(1.0, 1000)
    return found


def can(release, feature):
    return {"headers": release != "kafka-0.10.2", "zstd": release not in ("kafka-0.10.2", "kafka-0.11")}[feature]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back_as_they_were_sent(server, topic, codec):
    release, kafka = server
    if codec == "zstd" and not can(release, "zstd"):
        pytest.skip("zstd is of Kafka 2.1")
    headers = [("a", b"1"), ("b", None)] if can(release, "headers") else []
    now_ms = int(time.time() * 1000)
    sent = [(b"k%d" % (index % 7) if index % 3 else None, b"v%d" % index, now_ms + index) for index in range(RECORDS)]
    with kafka.producer(compression=codec) as producer:
        deliveries = [producer.send(topic, value, key, headers=headers, timestamp_ms=when) for key, value, when in sent]
        producer.flush(60)
        places = [delivery.result(1) for delivery in deliveries]
    assert len({(place.partition, place.offset) for place in places}) == RECORDS
    with kafka.consumer(topic, start="earliest") as consumer:
        found = read_all(consumer, RECORDS)
        assert not consumer.poll(1.0)
    assert {(one.partition, one.offset): (one.key, one.value, one.timestamp_ms) for one in found} == {
        (place.partition, place.offset): record for place, record in zip(places, sent, strict=True)
    }
    assert all(list(one.headers) == headers for one in found)
    for partition in range(3):
        offsets = [one.offset for one in found if one.partition == partition]
        assert offsets == list(range(len(offsets)))


def test_offsets_by_time(server, topic):
    _release, kafka = server
    with kafka.producer() as producer:
        for index in range(10):
            producer.send(topic, b"v", partition=0, timestamp_ms=1_600_000_000_000 + 1000 * index).result(30)
    name = TopicPartition(topic, 0)
    with kafka.consumer(partitions=[name], start="earliest") as consumer:
        assert consumer.offsets(EARLIEST) == {name: 0}
        assert consumer.offsets(LATEST) == {name: 10}
        if _release != "kafka-0.10.2":
            assert consumer.offsets(1_600_000_004_500) == {name: 5}


def test_a_group_goes_on_where_it_stopped(server, topic):
    _release, kafka = server
    with kafka.producer() as producer:
        producer.send_many(topic, [b"v%d" % index for index in range(RECORDS)])
    with kafka.consumer(topic, group=f"g-{topic}", start="earliest") as consumer:
        first = read_all(consumer, RECORDS // 2)
        consumer.commit()
    with kafka.consumer(topic, group=f"g-{topic}", start="earliest") as consumer:
        second = read_all(consumer, RECORDS - len(first))
        assert not consumer.poll(1.0)
        assert sum(at.offset for at in consumer.committed().values()) >= len(first)
    assert len(first) + len(second) == RECORDS
    assert {one.value for one in first + second} == {b"v%d" % index for index in range(RECORDS)}


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_two_members_share_the_partitions(server, topic, assignor):
    _release, kafka = server
    group = f"g-{topic}"
    found, stop = [], threading.Event()

    def member():
        with kafka.consumer(
            topic, group=group, start="earliest", assignors=assignor, heartbeat_interval_ms=500
        ) as consumer:
            while not stop.is_set():
                got = consumer.poll(0.2)
                found.extend((one.partition, one.offset) for one in got)
                shares[threading.current_thread()] = consumer.assignment

    shares = {}
    threads = [threading.Thread(target=member) for _ in range(2)]
    threads[0].start()
    with kafka.producer() as producer:
        for index in range(300):
            producer.send(topic, b"v%d" % index, partition=index % 3).result(30)
            if index == 100:
                threads[1].start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (
        len(set(found)) < 300 or len(shares) < 2 or sorted(len(names) for names in shares.values()) != [1, 2]
    ):
        time.sleep(0.1)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert set(found) == {(partition, offset) for partition in range(3) for offset in range(100)}
    assert len(found) == len(set(found)), "a rebalance without a failure doubles nothing"
    assert sorted(len(names) for names in shares.values()) == [1, 2], shares


def test_a_topic_that_is_not_there_is_reported(server):
    _release, kafka = server
    with kafka.producer(max_block_ms=5_000) as producer, pytest.raises(KafkaError) as failed:
        producer.send("no-such-topic", b"v")
    assert failed.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_headers_are_refused_by_old_releases(server, topic):
    release, kafka = server
    if can(release, "headers"):
        pytest.skip("it has headers")
    producer = kafka.producer()
    producer.send(topic, b"v", headers=[("a", b"1")])
    with pytest.raises(DeliveryFailed, match=r"before Kafka 0\.11"):
        producer.close()
