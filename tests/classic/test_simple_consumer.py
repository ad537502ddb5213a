"""The low-level consumer against a node: L1 to L9."""

import random

import pytest

from headrace.classic.errors import MessageSizeTooLarge, OffsetOutOfRange
from headrace.classic.message_set_reader import ByteBufferMessageSet
from headrace.classic.producer import Producer, ProducerData
from headrace.classic.simple_consumer import FetchRequest, MultiFetchResponse, OffsetRequest, SimpleConsumer
from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.errors import ConfigError, ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import CorruptRecord, Record, build_batch

pytestmark = pytest.mark.process


def records(count, first=0):
    return [Record(first + place, 1000 + place, None, b"value-%d" % (first + place)) for place in range(count)]


def offsets_of(found):
    return [one.offset for one in found]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_every_cut_of_a_set_is_read_as_far_as_messages_are_whole_l6(magic, codec):
    data = build_message_set(records(3), magic, codec) + build_message_set(records(2, 3), magic, codec)
    for size in range(len(data) + 1):
        found = ByteBufferMessageSet(TopicPartition("t", 0), data[:size], 0, 5)
        got = offsets_of(found)
        assert got == list(range(len(got)))
        assert found.next_offset == len(got)
        assert bool(found.wanted_bytes) == (size > 0 and not got)
        assert found.wanted_bytes > size or not found.wanted_bytes
        assert found.valid_bytes <= found.size_in_bytes == size
    assert len(got) == 5


def test_messages_before_the_offset_of_a_compressed_set_are_left_out_l2():
    data = build_message_set(records(5), 1, 1)
    found = ByteBufferMessageSet(TopicPartition("t", 0), data, 3, 5)
    assert [(one.offset, one.next_offset, one.message.payload) for one in found] == [
        (3, 4, b"value-3"),
        (4, 5, b"value-4"),
    ]
    assert [one.message.timestamp_ms for one in found] == [1003, 1004]


@pytest.mark.parametrize("data", [bytes(build_message_set(records(1), 0)), bytes(build_batch(records(1)))])
def test_a_checksum_that_is_wrong_is_raised(data):
    spoilt = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(CorruptRecord):
        list(ByteBufferMessageSet(TopicPartition("t", 0), spoilt, 0, 1))


def test_what_a_fetch_failed_with_is_raised_when_it_is_read():
    name = TopicPartition("t", 3)
    with pytest.raises(OffsetOutOfRange, match="t-3 at offset 7") as failure:
        list(ByteBufferMessageSet(name, b"", 7, -1, ErrorCode.OFFSET_OUT_OF_RANGE))
    assert (failure.value.topic, failure.value.partition, failure.value.offset) == ("t", 3, 7)
    with pytest.raises(KafkaError, match="NOT_LEADER"):
        list(ByteBufferMessageSet(name, b"", 7, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER))


@pytest.fixture
def simple(node):
    with SimpleConsumer(*node.address) as consumer:
        yield consumer


def produce(node, topic, values):
    with Producer({"broker.list": node.bootstrap, "acks": 1}) as producer:
        for value in values:
            producer.send(ProducerData(topic, None, [value]))


def read_all(simple, topic, offset=0):
    found = []
    while messages := list(simple.fetch(FetchRequest(topic, 0, offset))):
        found += [one.message.payload for one in messages]
        offset = messages[-1].next_offset
    return found


def test_one_broker_and_no_state_l1_l2_l8(node, new_topic, simple):
    topic = new_topic()
    produce(node, topic, [b"a", b"b", b"c"])
    assert read_all(simple, topic) == [b"a", b"b", b"c"]
    assert read_all(simple, topic) == [b"a", b"b", b"c"], "rewound"
    (end,) = simple.get_offsets_before(topic, 0, OffsetRequest.LATEST_TIME, 1)
    produce(node, topic, [b"d"])
    assert read_all(simple, topic, end) == [b"d"], "from right now"
    simple.close()
    assert read_all(simple, topic, 3) == [b"d"], "connected again"


def test_a_buffer_that_no_message_fits_is_doubled_up_to_its_limit_l6(node, new_topic):
    topic = new_topic()
    produce(node, topic, [b"x" * 5000, b"y"])
    with SimpleConsumer(*node.address, buffer_size=10) as consumer:
        assert read_all(consumer, topic) == [b"x" * 5000, b"y"]
    with (
        SimpleConsumer(*node.address, buffer_size=10, max_buffer_size=4096) as consumer,
        pytest.raises(MessageSizeTooLarge, match="max_buffer_size is 4096"),
    ):
        consumer.fetch(FetchRequest(topic, 0, 0))


def test_chunks_of_every_size_give_the_same_messages_l6(node, new_topic):
    topic, chance = new_topic(), random.Random(3)
    wanted = [bytes(chance.randint(0, 300)) for _ in range(60)]
    with Producer({"broker.list": node.bootstrap, "acks": 1}) as producer:
        producer.send(ProducerData(topic, None, wanted))
    for size in (1, 50, 333, 1000, 65_536):
        with SimpleConsumer(*node.address, buffer_size=size) as consumer:
            assert read_all(consumer, topic) == wanted


def test_a_multifetch_answers_each_request_in_order_l3(node, new_topic, simple):
    first, second = new_topic(), new_topic(2)
    produce(node, first, [b"a"])
    requests = [
        FetchRequest(second, 1, 0),
        FetchRequest(first, 0, 0),
        FetchRequest("no-such-topic", 0, 0),
        FetchRequest(second, 0, 9),
    ]
    answer = simple.multifetch(requests)
    assert [one.name for one in answer] == [(second, 1), (first, 0), ("no-such-topic", 0), (second, 0)]
    assert [[m.message.payload for m in one] for one in answer.sets[:2]] == [[], [b"a"]]
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        list(answer.message_set("no-such-topic", 0))
    with pytest.raises(OffsetOutOfRange):
        list(answer.message_set(second, 0))
    with pytest.raises(KeyError):
        answer.message_set("other", 0)
    assert not len(simple.multifetch([]))
    assert isinstance(answer, MultiFetchResponse)
    with pytest.raises(ValueError, match="twice"):
        simple.multifetch([FetchRequest(first, 0, 0), FetchRequest(first, 0, 1)])


def test_offsets_before_a_time_come_latest_first_l4_l5(node, new_topic, simple):
    topic = new_topic()
    with Cluster(node.bootstrap) as cluster:
        Admin(cluster).alter_configs(topic, {"segment.bytes": "1000"})
    produce(node, topic, [b"x" * 400] * 9)
    (end,) = simple.get_offsets_before(topic, 0, OffsetRequest.LATEST_TIME, 1)
    assert end == 9
    assert simple.get_offsets_before(topic, 0, OffsetRequest.EARLIEST_TIME, 1) == [0]
    found = simple.get_offsets_before(topic, 0, OffsetRequest.LATEST_TIME, 100)
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1], len(found) > 2) == (9, 0, True)
    assert simple.get_offsets_before(topic, 0, OffsetRequest.LATEST_TIME, 2) == found[:2]
    assert simple.get_offsets_before(topic, 0, 1, 5) == []
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        simple.get_offsets_before("no-such-topic", 0, -1, 1)
    with pytest.raises(ValueError, match="expected 1 or more"):
        simple.get_offsets_before(topic, 0, -1, 0)
    assert (OffsetRequest.LATEST_TIME, OffsetRequest.EARLIEST_TIME) == (-1, -2)


@pytest.mark.parametrize(("policy", "found"), [("smallest", [b"a", b"b"]), ("largest", [])])
def test_an_offset_out_of_range_is_raised_or_reset_l7(node, new_topic, simple, policy, found):
    topic = new_topic()
    produce(node, topic, [b"a", b"b"])
    with pytest.raises(OffsetOutOfRange, match=f"{topic}-0 at offset 99"):
        simple.fetch(FetchRequest(topic, 0, 99))
    with SimpleConsumer(*node.address, auto_offset_reset=policy) as consumer:
        assert [one.message.payload for one in consumer.fetch(FetchRequest(topic, 0, 99))] == found


@pytest.mark.parametrize("storage", ["zookeeper", "kafka"])
def test_offsets_in_zookeeper_and_at_the_coordinator_l9(new_topic, group, simple, storage):
    topic = new_topic(2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    other = "kafka" if storage == "zookeeper" else "zookeeper"
    assert simple.fetch_offsets(group, [first, second], storage) == {}
    simple.commit_offsets(group, {first: 5}, storage)
    simple.commit_offsets(group, {first: 3}, storage)
    assert simple.fetch_offsets(group, [first, second], storage) == {first: 3}
    assert simple.fetch_offsets(group, [first, second], other) == {}
    with pytest.raises(ConfigError, match="expected zookeeper or kafka"):
        simple.commit_offsets(group, {first: 3}, "disk")


def test_options_are_checked():
    with pytest.raises(ConfigError, match=r"'first' for auto\.offset\.reset"):
        SimpleConsumer("a", 1, auto_offset_reset="first")
    for options in ({"buffer_size": 0}, {"max_buffer_size": 1}, {"max_buffer_size": 1 << 40}):
        with pytest.raises(ConfigError, match="buffer_size"):
            SimpleConsumer("a", 1, **options)
