"""The compiled codec: every message and version there and back, and nothing but BadFrame from bytes that are wrong."""

import random

import message_generator as generator
import pytest

from headrace.errors import BadFrame
from headrace.protocol import codec, messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.protocol.field_tables import load_message, message_names

SEEDS = range(6)


@pytest.mark.parametrize("name", message_names())
def test_every_version_of_a_message_goes_there_and_back(name):
    schema = load_message(name)
    for version in range(schema.versions.low, schema.versions.high + 1):
        for seed in SEEDS:
            message = generator.MessageGenerator(seed).message(name, version)
            data = codec.encode_struct(name, version, message)
            found = codec.decode_struct(name, version, data)
            assert generator.plain(found) == generator.plain(message), (name, version, seed)


def test_mutated_bytes_raise_nothing_but_bad_frame():
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    names = [f"{key.api_name}Request" for key in map(ApiKey, ADVERTISED)]
    refused = 0
    for round_number in range(4000):
        name = chance.choice(names)
        low, high = ADVERTISED[ApiKey[_key_of(name)]]
        version = chance.randint(low, high)
        message = generator.MessageGenerator(round_number).message(name, version)
        data = bytearray(codec.encode_struct(name, version, message))
        for _ in range(chance.randint(1, 4)):
            kind = chance.randrange(4)
            if kind == 0 and data:
                data[chance.randrange(len(data))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
            elif kind == 1:
                del data[chance.randrange(len(data) + 1) :]
            elif kind == 2:
                data += chance.randbytes(chance.randint(1, 9))
            elif data:
                place = chance.randrange(len(data))
                data[place : place + 4] = chance.choice(
                    (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x80\x80\x80\x80\x80")
                )
        try:
            codec.decode_struct(name, version, bytes(data))
        except BadFrame:
            refused += 1
        except Exception as other:
            pytest.fail(f"seed {seed} round {round_number} {name} v{version}: {other!r}")
    assert refused > 1000


def _key_of(name):
    return next(key.name for key in ApiKey if f"{key.api_name}Request" == name)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"\x00\x00\x7f\xff\xff\xff", "topics"),  # v1 has no such field order; the count alone is what matters
        (b"\x7f\xff\xff\xff", "topics"),
        (b"\xff\xff\xff\xfe", "topics"),
    ],
)
def test_an_impossible_count_names_the_field(data, field):
    with pytest.raises(BadFrame, match="MetadataRequest v1"):
        codec.decode_struct("MetadataRequest", 1, data)


def test_unknown_tags_are_skipped():
    data = codec.encode_struct("ApiVersionsRequest", 3, messages.ApiVersionsRequest("name", "1"))
    tagged = data[:-1] + b"\x02" + b"\x07\x03abc" + b"\x63\x00"
    assert codec.decode_struct("ApiVersionsRequest", 3, tagged) == messages.ApiVersionsRequest("name", "1")


def test_records_are_not_copied():
    frame = memoryview(
        codec.encode_request(
            0,
            9,
            messages.ProduceRequest(
                topic_data=[
                    messages.ProduceRequest.TopicProduceData(
                        "t", [messages.ProduceRequest.PartitionProduceData(0, b"x" * 100)]
                    )
                ]
            ),
        )
    )
    records = codec.decode_request(0, 9, frame).topic_data[0].partition_data[0].records
    assert records.obj is frame.obj


def test_a_part_with_a_length_can_stand_for_records():
    class Range:
        def __len__(self):
            return 70_000

    response = messages.FetchResponse
    data = response.PartitionData(records=Range())
    parts = codec.encode_response_parts(
        1, 12, response(responses=[response.FetchableTopicResponse("t", partitions=[data])])
    )
    assert [type(part) for part in parts] == [bytes, Range, bytes]
