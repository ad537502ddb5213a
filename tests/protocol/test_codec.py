"""The compiled codec: every message and version there and back, and nothing but BadFrame from bytes that are wrong."""

import random
import struct

import pytest

from headrace.errors import BadFrame
from headrace.protocol import codec, messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from tests.support import message_generator as generator
from tools.codec.field_tables import load_message, message_names

SEEDS = range(6)
DAMAGED_PER_MESSAGE = 150


def versions_of(name):
    schema = load_message(name)
    return range(schema.versions.low, schema.versions.high + 1)


def produce_request(records, version=9):
    request = messages.ProduceRequest
    data = request.TopicProduceData("t", [request.PartitionProduceData(0, records)])
    return codec.encode_request(ApiKey.PRODUCE, version, request(topic_data=[data]))


@pytest.mark.parametrize("name", message_names())
def test_every_version_of_a_message_goes_there_and_back(name):
    for version in versions_of(name):
        for seed in SEEDS:
            message = generator.MessageGenerator(seed).message(name, version)
            data = codec.encode_struct(name, version, message)
            found = codec.decode_struct(name, version, data)
            assert generator.plain(found) == generator.plain(message), (name, version, seed)
            assert codec.encode_struct(name, version, found) == data, (name, version, seed)


@pytest.mark.parametrize("name", message_names())
def test_a_message_of_defaults_goes_there_and_back(name):
    for version in versions_of(name):
        message = messages.class_of(name)()
        found = codec.decode_struct(name, version, codec.encode_struct(name, version, message))
        assert generator.plain(found) == generator.plain(message), (name, version)


def test_both_directions_of_an_api_by_its_key():
    for key, (low, high) in ADVERTISED.items():
        for version in range(low, high + 1):
            request = generator.MessageGenerator(7).message(codec.request_name(key), version)
            body = codec.encode_request(key, version, request)
            assert generator.plain(codec.decode_request(key, version, memoryview(body))) == generator.plain(request)
            response = generator.MessageGenerator(8).message(codec.response_name(key), version)
            body = codec.encode_response(key, version, response)
            assert generator.plain(codec.decode_response(key, version, body)) == generator.plain(response)
            assert b"".join(codec.encode_response_parts(key, version, response)) == body


@pytest.mark.slow
@pytest.mark.parametrize("name", message_names())
def test_damaged_bytes_raise_nothing_but_bad_frame(name):
    """What is still read has to be a message of that version: it can be written again."""
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    for number in range(DAMAGED_PER_MESSAGE):
        version = chance.choice(versions_of(name))
        whole = codec.encode_struct(name, version, generator.MessageGenerator(number).message(name, version))
        data = generator.damaged(whole, chance)
        try:
            found = codec.decode_struct(name, version, data)
            codec.encode_struct(name, version, found)
        except BadFrame:
            pass
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {name} v{version}, {data.hex()}: {other!r}")


@pytest.mark.parametrize("name", ["ProduceRequest", "FetchRequest", "MetadataRequest", "CreateTopicsRequest"])
def test_bytes_cut_anywhere_are_refused(name):
    for version in versions_of(name):
        message = generator.MessageGenerator(3, with_tags=False).message(name, version)
        data = codec.encode_struct(name, version, message)
        for size in range(len(data)):
            with pytest.raises(BadFrame):
                codec.decode_struct(name, version, data[:size])


@pytest.mark.parametrize(
    ("version", "data", "reason"),
    [
        (1, b"\x7f\xff\xff\xff", "MetadataRequest v1 at topics: 2147483647 elements announced, 0 bytes remain"),
        (1, b"\xff\xff\xff\xfe", "at topics: length -2"),
        (0, b"\xff\xff\xff\xff", "at topics: invalid length -1"),
        (1, b"\0\0\0\1\0\4ab", "at topics.name: 4 bytes announced, 2 remain"),
        (1, b"\0\0\0\1\xff\xff", "at topics.name: invalid length -1"),
        (1, b"\0\0\0\1\0\2\xff\xfe", "at topics.name: 'utf-8' codec can't decode"),
        (9, b"\xff\xff\xff\xff\x0f", "at topics: 4294967294 elements announced"),
        (9, b"\xff\xff\xff\xff\x1f", "at topics: varint 8589934591 has more than 32 bits"),
        (9, b"\x80\x80\x80\x80\x80\x00", "at topics: overlong varint"),
        (9, b"\2\0\0", "at topics.name: invalid length -1"),
        (9, b"\2\x81\x80\x02" + b"a" * 40_000, "at topics.name: length 32768"),
        (9, b"\2\2a\0\1\0", "at allow_auto_topic_creation to tags: unpack_from requires"),
        (9, b"\2\2a\xff\xff\3", "at topics.tags: 65535 announced"),
        (9, b"\2\2a\1\0\5ab", "at topics.tags: 5 bytes announced for tag 0, 2 remain"),
        (9, b"\2\2a", "at topics.tags: index out of bounds"),
    ],
)
def test_a_refusal_names_the_field_and_the_numbers(version, data, reason):
    with pytest.raises(BadFrame) as refused:
        codec.decode_struct("MetadataRequest", version, data)
    assert reason in str(refused.value)


def test_a_known_tag_whose_content_is_not_as_long_as_announced_is_refused():
    request = codec.encode_struct("FetchRequest", 12, messages.FetchRequest(cluster_id="abc"))
    assert request.endswith(b"\1\0\4\4abc")
    for size in (3, 5):
        lying = request[:-6] + bytes([0, size]) + b"\4abc\0\0"
        with pytest.raises(BadFrame, match=r"tags\.cluster_id: content and its size disagree"):
            codec.decode_struct("FetchRequest", 12, lying)


def test_unknown_tags_are_skipped():
    data = codec.encode_struct("ApiVersionsRequest", 3, messages.ApiVersionsRequest("name", "1"))
    tagged = data[:-1] + b"\x02" + b"\x07\x03abc" + b"\x63\x00"
    assert codec.decode_struct("ApiVersionsRequest", 3, tagged) == messages.ApiVersionsRequest("name", "1")


def test_bytes_behind_the_last_field_are_let_be():
    """librdkafka sends one too many in a Metadata v9 for all topics."""
    data = codec.encode_request(ApiKey.METADATA, 9, messages.MetadataRequest(topics=None))
    assert codec.decode_request(ApiKey.METADATA, 9, memoryview(data + b"\0")).topics is None


@pytest.mark.parametrize("version", [3, 9])
def test_records_are_views_of_the_frame(version):
    frame = memoryview(produce_request(b"x" * 100, version))
    records = codec.decode_request(ApiKey.PRODUCE, version, frame).topic_data[0].partition_data[0].records
    assert records.obj is frame.obj
    assert records == b"x" * 100


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_any_buffer_serves_as_records(make):
    assert produce_request(make(b"batch" * 20_000)) == produce_request(b"batch" * 20_000)


@pytest.mark.parametrize("version", [4, 11, 12])
def test_a_part_with_a_length_can_stand_for_records(version):
    class Range:
        def __len__(self):
            return 70_000

    response = messages.FetchResponse

    def parts_of(*records):
        partitions = [response.PartitionData(partition_index=index, records=one) for index, one in enumerate(records)]
        message = response(responses=[response.FetchableTopicResponse("t", partitions=partitions)])
        return codec.encode_response_parts(ApiKey.FETCH, version, message)

    one, other = Range(), Range()
    found = parts_of(one, b"small", other)
    assert [part for part in found if not isinstance(part, bytes)] == [one, other]
    stand_in = bytes(70_000)
    whole = b"".join(stand_in if isinstance(part, Range) else part for part in found)
    assert whole == b"".join(parts_of(stand_in, b"small", stand_in))


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (messages.MetadataRequest([messages.MetadataRequest.MetadataRequestTopic(name=7)]), "topics.name"),
        (messages.MetadataRequest([messages.MetadataRequest.MetadataRequestTopic(name="x" * 32_768)]), "topics.name"),
        (messages.MetadataRequest(5), "topics"),
        (messages.MetadataRequest([], allow_auto_topic_creation="maybe"), None),
    ],
)
def test_a_value_that_a_field_cannot_hold_is_our_mistake_and_names_it(message, place):
    if place is None:
        assert codec.encode_request(ApiKey.METADATA, 9, message)  # anything is true or false
        return
    with pytest.raises(ValueError, match=f"MetadataRequest v9 at {place}: "):
        codec.encode_request(ApiKey.METADATA, 9, message)


def test_null_where_none_may_be_is_not_written():
    with pytest.raises(ValueError, match="CreateTopicsRequest v5 at topics: "):
        codec.encode_request(ApiKey.CREATE_TOPICS, 5, messages.CreateTopicsRequest(topics=None))


@pytest.mark.parametrize(("key", "version"), [(0, 99), (0, -1), (99, 0), (-1, 0)])
def test_an_api_or_version_that_the_schema_lacks_is_a_key_error(key, version):
    with pytest.raises(KeyError):
        codec.decode_request(key, version, memoryview(b""))
    with pytest.raises(KeyError):
        codec.encode_response_parts(key, version, None)


def test_the_bytes_of_a_produce_request_are_those_of_the_protocol_guide():
    """One by one, as no oracle wrote them."""
    flexible = b"\0" + struct.pack(">hi", 0, 0) + b"\2" + b"\2t" + b"\2" + struct.pack(">i", 0) + b"\6batch" + b"\0\0\0"
    request = messages.ProduceRequest
    message = request(topic_data=[request.TopicProduceData("t", [request.PartitionProduceData(0, b"batch")])])
    assert codec.encode_request(ApiKey.PRODUCE, 9, message) == flexible
    classic = struct.pack(">hhiih1siii5s", -1, 0, 0, 1, 1, b"t", 1, 0, 5, b"batch")
    assert codec.encode_request(ApiKey.PRODUCE, 3, message) == classic
