"""An answer is read as the codec reads it; what is not as most are is left to the codec."""

import random

import pytest

from headrace.errors import BadFrame
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_response
from headrace.workers.partition.replication.fetch_answer import answer_of, read_answer, read_plain

Response = messages.FetchResponse
Data = Response.PartitionData
IDS = [bytes([number]) * 16 for number in range(1, 4)]


def facts(answer):
    names = (
        "topic",
        "topic_id",
        "index",
        "error_code",
        "high_watermark",
        "log_start_offset",
        "diverging_epoch",
        "diverging_end",
    )
    parts = [(*(getattr(part, name) for name in names), bytes(part.records)) for part in answer.parts]
    return answer.throttle_ms, answer.error_code, answer.session_id, parts


def topic(number, *partitions):
    return Response.FetchableTopicResponse(topic_id=IDS[number], partitions=list(partitions))


def data(index, records=b"", **more):
    given = {
        "high_watermark": 1 << 40,
        "last_stable_offset": 7,
        "log_start_offset": 3,
        "aborted_transactions": None,
    } | more
    return Data(partition_index=index, records=records, **given)


def encoded(version, response):
    return memoryview(bytes(encode_response(ApiKey.FETCH, version, response)))


PLAIN = [
    Response(session_id=5),
    Response(session_id=5, throttle_time_ms=9, responses=[topic(0, data(2, b"x" * 300))]),
    Response(responses=[topic(0, data(0, None), data(1, b"ab")), topic(1), topic(2, data(9, b"y" * 70_000))]),
    Response(responses=[topic(0, *(data(index, b"z") for index in range(300)))]),
    Response(responses=[topic(0, data(0, aborted_transactions=[]))]),
]
OTHERS = [
    Response(error_code=70),
    Response(responses=[topic(0, data(0, error_code=6))]),
    Response(responses=[topic(0, data(0, diverging_epoch=Response.EpochEndOffset(epoch=3, end_offset=8)))]),
    Response(responses=[topic(0, data(0, current_leader=Response.LeaderIdAndEpoch(leader_id=3, leader_epoch=8)))]),
    Response(
        responses=[topic(0, data(0, aborted_transactions=[Response.AbortedTransaction(producer_id=1, first_offset=2)]))]
    ),
]


@pytest.mark.parametrize("version", range(13, 18))
@pytest.mark.parametrize(("response", "is_plain"), [*((one, True) for one in PLAIN), *((one, False) for one in OTHERS)])
def test_an_answer_is_what_the_codec_reads(version, response, is_plain):
    body = encoded(version, response)
    plain = read_plain(body)
    assert (plain is not None) is is_plain
    expected = facts(answer_of(decode_response(ApiKey.FETCH, version, body)))
    assert facts(read_answer(version, body)) == expected
    if plain is not None:
        assert facts(plain) == expected


def test_an_answer_of_an_older_version_names_topics():
    response = Response(responses=[Response.FetchableTopicResponse(topic="t", partitions=[data(4, b"r")])])
    (part,) = read_answer(12, encoded(12, response)).parts
    assert (part.topic, part.index, bytes(part.records)) == ("t", 4, b"r")


def verdict(read, *args):
    try:
        return facts(read(*args))
    except BadFrame:
        return None


def test_of_spoilt_bytes_the_quick_reader_takes_none_that_the_codec_refuses_and_reads_the_others_alike():
    chance = random.Random(11)
    taken = refused = 0
    for _ in range(4000):
        body = bytearray(encoded(17, chance.choice(PLAIN[:3] + OTHERS)))
        for _ in range(chance.randint(0, 3)):
            body[chance.randrange(len(body))] = chance.choice((0, 1, 2, 127, 128, 255))
        spoilt = memoryview(bytes(body[: chance.choice((len(body), chance.randint(0, len(body))))]))
        plain = read_plain(spoilt)
        if plain is None:
            refused += 1
            continue
        taken += 1
        assert facts(plain) == verdict(lambda body: answer_of(decode_response(ApiKey.FETCH, 17, body)), spoilt)
    assert taken > 300
    assert refused > 300
