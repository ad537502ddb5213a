"""The reader of Produce against the schema's codec: the same fields, the same refusals."""

import random
import re
import struct
import time
import tracemalloc

import pytest

from headrace.errors import BadFrame
from headrace.limits import DECODED_REQUEST_BYTES_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_request
from headrace.workers.network.produce.produce_request import LastName, read_produce
from tests.support import message_generator as generator

VERSIONS = range(10)
SEEDS = 120
MUTATIONS = 400


def requests(version):
    """(message, its bytes), many of them."""
    for seed in range(SEEDS):
        message = generator.MessageGenerator(seed * 31 + version).message("ProduceRequest", version)
        yield message, encode_request(ApiKey.PRODUCE, version, message)


def facts_of(found):
    """What the reader found, as plain values."""
    rows = [(row.topic, row.index, None if row.records is None else bytes(row.records)) for row in found.rows]
    return found.acks, found.timeout_ms, rows, found.topics


def facts_wanted(message):
    """The same of a decoded message."""
    rows = [
        (topic.name, row.index, None if row.records is None else bytes(row.records))
        for topic in message.topic_data
        for row in topic.partition_data
    ]
    topics = [(topic.name, [row.index for row in topic.partition_data]) for topic in message.topic_data]
    return message.acks, message.timeout_ms, rows, topics


@pytest.mark.parametrize("version", VERSIONS)
def test_it_reads_what_the_codec_reads(version):
    last, rows = LastName(), 0
    for _message, body in requests(version):
        found = facts_of(read_produce(version, memoryview(body), last))
        assert found == facts_wanted(decode_request(ApiKey.PRODUCE, version, memoryview(body)))
        rows += len(found[2])
    assert rows > SEEDS


@pytest.mark.parametrize("version", VERSIONS)
def test_it_refuses_what_the_codec_refuses(version):
    chance, refused = random.Random(version), 0
    for _message, body in requests(version):
        for _ in range(MUTATIONS // SEEDS):
            damaged = bytearray(body)
            for _ in range(chance.randint(1, 3)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            if chance.random() < 0.3:
                del damaged[chance.randrange(len(damaged)) :]
            try:
                wanted = facts_wanted(decode_request(ApiKey.PRODUCE, version, memoryview(damaged)))
            except BadFrame as refusal:
                refused += 1
                with pytest.raises(BadFrame, match=f"^{re.escape(str(refusal))}$"):  # the codec has said what is wrong
                    read_produce(version, memoryview(damaged), LastName())
            else:
                assert facts_of(read_produce(version, memoryview(damaged), LastName())) == wanted
    assert refused > SEEDS // 4


def test_a_name_that_comes_again_is_the_same_object():
    last = LastName()
    body = memoryview(b"..topic..topic..topik")
    first = last.text_of(body, 2, 7)
    assert first == "topic"
    assert last.text_of(body, 9, 14) is first
    assert last.text_of(body, 16, 21) == "topik"
    assert last.text_of(body, 16, 18) == "to"


def test_a_name_that_is_no_text_leaves_the_last_one():
    last = LastName()
    body = memoryview(b"good\xff\xfe..")
    last.text_of(body, 0, 4)
    with pytest.raises(UnicodeDecodeError):
        last.text_of(body, 4, 6)
    assert last.text_of(body, 0, 4) == "good"


@pytest.mark.parametrize("count", [2**31 - 1, 50_000_000])
def test_what_is_announced_takes_no_memory(count):
    """A frame full of empty topics, or of one that says it has many partitions."""
    body = struct.pack(">hhiih", -1, 1, 30_000, count, 1) + b"t" + struct.pack(">i", count) + bytes(64)
    tracemalloc.start()
    begun = time.perf_counter()
    with pytest.raises(BadFrame):
        read_produce(8, memoryview(body), LastName())
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
    assert time.perf_counter() - begun < 1


def test_more_topics_than_memory_is_given_for_are_refused():
    count = DECODED_REQUEST_BYTES_MAX // 300 + 1
    body = struct.pack(">hhii", -1, 1, 30_000, count) + struct.pack(">hi", 0, 0) * count
    with pytest.raises(BadFrame):
        read_produce(8, memoryview(body), LastName())
