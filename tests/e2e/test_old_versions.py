"""Requests of old clients: Produce v0 to v2, Fetch v0 to v3, ListOffsets v0, in every codec; kafka-python's old encoder is the client."""

import time
import uuid
import zlib

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.errors import ErrorCode
from headrace.protocol.message_set import encode_message
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from tests.support.old_client import NOW_MS, OldClient, entries, old_set, read_old

CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4"}
RECORDS = [(b"key", b"value"), (None, b"no key"), (b"no value", None), (b"", b""), (b"k" * 300, b"v" * 5_000)]


@pytest.fixture
def topic(node):
    """A topic with settings: `topic(compression_type="gzip")`."""
    admin = AdminClient({"bootstrap.servers": node.bootstrap})

    def make(**configs):
        name = f"old-{uuid.uuid4().hex[:8]}"
        made = admin.create_topics([NewTopic(name, 1, 1, config={k.replace("_", "."): v for k, v in configs.items()})])
        made[name].result(15)
        return name

    return make


@pytest.fixture
def old_client(node):
    client = OldClient(*node.address)
    yield client
    client.connection.close()


def expected(magic, records=RECORDS, has_times=True, first=0):
    return [
        (magic, first + index, (NOW_MS + index if has_times else -1) if magic else None, key, value)
        for index, (key, value) in enumerate(records)
    ]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("produce_version", [0, 1, 2])
def test_what_an_old_producer_writes_old_and_new_readers_read(node, topic, old_client, produce_version, codec):
    magic = 1 if produce_version == 2 else 0
    name = topic()
    result = old_client.produce(produce_version, name, old_set(RECORDS, magic, codec))
    assert (result.error_code, result.base_offset) == (0, 0)
    assert old_client.produce(produce_version, name, old_set(RECORDS, magic, codec)).base_offset == len(RECORDS)
    for version in range(4):
        target = 0 if version < 2 else 1
        records = bytes(old_client.fetch(version, name).records)
        first = expected(target, has_times=bool(magic))
        assert read_old(records) == first + expected(target, has_times=bool(magic), first=len(RECORDS))
        assert {data[17] & 7 for data in entries(records)} == {codec}
    (batch, _second) = [batch for _position, _header, batch in iterate_batches(old_client.fetch(4, name).records)]
    assert [(one.key, one.value) for one in iterate_records(batch)] == RECORDS
    assert read_new(node, name, 10) == [
        (index, NOW_MS + index % 5 if magic else -1, *RECORDS[index % 5]) for index in range(10)
    ]


@pytest.mark.parametrize("codec", CODECS.values())
def test_what_a_new_producer_writes_old_readers_read(node, topic, old_client, codec):
    name = topic()
    producer = Producer({"bootstrap.servers": node.bootstrap, "compression.type": codec, "linger.ms": 50})
    for index, (key, value) in enumerate(RECORDS):
        producer.produce(name, value, key=key, headers=[("h", b"x")], timestamp=NOW_MS + index)
    assert producer.flush(15) == 0
    for version in range(4):
        assert read_old(old_client.fetch(version, name).records) == expected(0 if version < 2 else 1)


def test_zstd_is_not_for_old_readers(node, topic, old_client):
    name, named = topic(), topic(compression_type="zstd")
    for one, codec in ((name, "zstd"), (named, "none")):
        producer = Producer({"bootstrap.servers": node.bootstrap, "compression.type": codec})
        producer.produce(one, b"v" * 1000)
        assert producer.flush(15) == 0
        for version in range(4):
            assert old_client.fetch(version, one).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert old_client.fetch(9, named).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert not old_client.fetch(10, named).error_code


def test_a_message_above_the_limit_comes_whole_in_v3_and_is_reached_by_doubling_before(topic, old_client):
    name = topic()
    assert not old_client.produce(2, name, old_set([(None, b"v" * 50_000)], 1)).error_code
    assert not old_client.produce(2, name, old_set([(None, b"w")], 1)).error_code
    assert [one[1] for one in read_old(old_client.fetch(3, name, limit=100).records)] == [0]
    assert [one[1] for one in read_old(old_client.fetch(3, name, max_bytes=100).records)] == [0]
    for version in range(3):
        limit = 1_000
        while not read_old(records := old_client.fetch(version, name, limit=limit).records):
            assert len(records) == limit, "a partial message, which tells the client that there is one"
            limit *= 2
        assert limit == 64_000
        assert [one[1] for one in read_old(records)] == [0, 1]


def test_offsets_within_a_set_are_found_and_outside_the_log_refused(topic, old_client):
    name = topic()
    for codec in (0, 1):
        assert not old_client.produce(1, name, old_set(RECORDS, 0, codec)).error_code
    for version in range(4):
        assert [one[1] for one in read_old(old_client.fetch(version, name, 3).records)][:2] == [3, 4]
        assert [one[1] for one in read_old(old_client.fetch(version, name, 7).records)] == [5, 6, 7, 8, 9]
        assert old_client.fetch(version, name, 10).records in (b"", None)
        assert old_client.fetch(version, name, 11).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (old_set(RECORDS, 0)[:-1], ErrorCode.CORRUPT_MESSAGE),
        (old_set([(b"k", b"v")], 1)[:-1] + b"x", ErrorCode.CORRUPT_MESSAGE),
        (old_set([(b"k", b"v")], 1, 1) * 2, ErrorCode.INVALID_RECORD),
        (old_set([(b"k", b"v")], 1) + old_set([(b"k", b"v")], 0), ErrorCode.INVALID_RECORD),
        (encode_message(0, 1, NOW_MS, None, b"no gzip", 1), ErrorCode.INVALID_RECORD),
        (encode_message(0, 1, NOW_MS, None, zlib.compress(bytes(80 << 20), wbits=31), 1), ErrorCode.MESSAGE_TOO_LARGE),
        (encode_message(0, 1, -2, None, b"v"), ErrorCode.INVALID_TIMESTAMP),
        (encode_message(0, 1, NOW_MS, None, bytes(1_048_588)), ErrorCode.MESSAGE_TOO_LARGE),
        (old_set([(b"k", bytes(500_000))] * 3, 1), ErrorCode.MESSAGE_TOO_LARGE),
        (b"", ErrorCode.INVALID_RECORD),
    ],
)
def test_bad_sets_are_refused_and_nothing_is_kept(topic, old_client, data, error):
    name = topic()
    assert old_client.produce(2, name, data).error_code == error
    assert old_client.fetch(4, name, 0).high_watermark == 0


def test_a_batch_of_today_in_an_old_version_is_taken(topic, old_client):
    name = topic()
    assert not old_client.produce(2, name, build_batch([(b"k", b"v")], timestamp_ms=NOW_MS)).error_code
    assert read_old(old_client.fetch(2, name).records) == [(1, 0, NOW_MS, b"k", b"v")]


def test_append_time_reaches_old_readers_and_old_producers_are_told(topic, old_client):
    name = topic(message_timestamp_type="LogAppendTime")
    for codec in CODECS:
        result = old_client.produce(2, name, old_set(RECORDS, 1, codec))
        assert not result.error_code
        assert abs(result.log_append_time_ms - time.time() * 1000) < 60_000
        data = old_client.fetch(2, name, result.base_offset).records
        assert {one[2] for one in read_old(data)} == {result.log_append_time_ms}
        assert all(entry[17] & 8 for entry in entries(data))


@pytest.mark.parametrize("kind", ["uncompressed", "gzip", "snappy", "lz4"])
def test_old_sets_are_stored_in_the_codec_of_the_topic(topic, old_client, kind):
    name = topic(compression_type=kind)
    for codec in CODECS:
        assert not old_client.produce(2, name, old_set(RECORDS, 1, codec)).error_code
    codecs = {header.codec for _position, header, _batch in iterate_batches(old_client.fetch(4, name).records)}
    assert codecs == {["uncompressed", "gzip", "snappy", "lz4"].index(kind)}
    assert len(read_old(old_client.fetch(0, name).records)) == 4 * len(RECORDS)


def test_a_topic_may_refuse_to_convert(topic, old_client):
    name = topic(message_downconversion_enable="false")
    assert not old_client.produce(2, name, old_set(RECORDS, 1)).error_code
    assert old_client.fetch(3, name).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert not old_client.fetch(4, name).error_code


def test_old_offset_requests_list_segments_newest_first(topic, old_client):
    name = topic(segment_bytes="10000")
    assert old_client.offsets(name, -1, 10) == [0]
    for _ in range(6):
        assert not old_client.produce(2, name, old_set([(None, b"v" * 4_000)], 1)).error_code
    assert old_client.offsets(name, -1, 10) == [6, 4, 2, 0]
    assert old_client.offsets(name, -1, 2) == [6, 4]
    assert old_client.offsets(name, -2, 10) == [0]
    assert old_client.offsets(name, -1, 0) == old_client.offsets(name, -1, -5) == []
    later_ms, earlier_ms = int(time.time() * 1000) + 60_000, int(time.time() * 1000) - 60_000
    assert old_client.offsets(name, later_ms, 10) == [6, 4, 2, 0]
    assert old_client.offsets(name, earlier_ms, 10) == []


def read_new(node, topic, count):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while len(found) < count:
        message = consumer.poll(15)
        assert message is not None, f"{len(found)} of {count} records came"
        assert not message.error(), message.error()
        found.append((message.offset(), message.timestamp()[1], message.key(), message.value()))
    consumer.close()
    return found
