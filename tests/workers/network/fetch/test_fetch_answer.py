"""What is written of an answer is the frame that the codec would have made, records aside or among it."""

from random import Random

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import encode_response
from headrace.shm.partition_table import PartitionRow
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.connections.outbox import FilePart
from headrace.workers.network.fetch.fetch_answer import (
    INLINE_BYTES,
    VERSION_OF_STABLE_OFFSET,
    VERSION_OF_TAGS,
    PartitionAnswer,
    TopicAnswer,
    answer_fetch,
    as_row,
    refusal,
)

KINDS = messages.FetchResponse
LONGS = (-1, 0, 1, 2**40, 2**63 - 1, -(2**63))
SIZES = (0, 1, 126, 127, 128, 16_382, INLINE_BYTES, INLINE_BYTES + 1, 100_000)
NAMES = ("t", "x" * 249, "grüße", "y" * 127, "z" * 300)


class Held:
    """A connection that holds what its exchange was given."""

    def __init__(self):
        self.held = []

    def hold(self, memory_bytes):
        self.held.append(memory_bytes)


def partition_of(random, version):
    one = PartitionAnswer(random.choice((0, 7, 2**31 - 1)), random.choice((0, -1, 87)), *random.choices(LONGS, k=3))
    if version < VERSION_OF_STABLE_OFFSET or random.random() < 0.4:
        one.aborted = None
    else:
        one.aborted = [tuple(random.choices(LONGS, k=2)) for _ in range(random.choice((0, 1, 130)))]
    one.records = random.randbytes(random.choice(SIZES))
    one.preferred_read_replica = random.choice((-1, 0, 1001))
    if version >= VERSION_OF_TAGS and random.random() < 0.3:
        one.diverging_epoch, one.diverging_end = random.choice((-1, 0, 5)), random.choice(LONGS)
    return one


def as_message(topics, session_id, error):
    """The same, for the codec."""
    rows = []
    for topic in topics:
        partitions = [
            KINDS.PartitionData(
                partition_index=one.index,
                error_code=one.error_code,
                high_watermark=one.high_watermark,
                last_stable_offset=one.last_stable_offset,
                log_start_offset=one.log_start_offset,
                diverging_epoch=KINDS.EpochEndOffset(epoch=one.diverging_epoch, end_offset=one.diverging_end),
                aborted_transactions=None
                if one.aborted is None
                else [KINDS.AbortedTransaction(producer_id=id_, first_offset=first) for id_, first in one.aborted],
                preferred_read_replica=one.preferred_read_replica,
                records=one.records,
            )
            for one in topic.partitions
        ]
        rows.append(KINDS.FetchableTopicResponse(topic=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return KINDS(session_id=session_id, error_code=error, responses=rows)


def frame_of(version, topics, **others):
    held = Held()
    exchange = Exchange(held, ApiKey.FETCH, version, 0x01020304, version >= VERSION_OF_TAGS)
    answer_fetch(exchange, topics, **others)
    assert held.held == [sum(len(part) for part in exchange.parts if not isinstance(part, FilePart))]
    return exchange.parts


@pytest.mark.slow
@pytest.mark.parametrize("version", range(18))
def test_the_frame_is_that_of_the_codec(version):
    random = Random(version)
    for _ in range(60):
        topics = [
            TopicAnswer(
                random.choice(NAMES),
                random.randbytes(16),
                [partition_of(random, version) for _ in range(random.choice((0, 1, 1, 3, 140)))],
            )
            for _ in range(random.choice((0, 1, 1, 2)))
        ]
        session_id, error = random.choice(((0, 0), (2**31 - 1, 71)))
        body = encode_response(ApiKey.FETCH, version, as_message(topics, session_id, error))
        head = 0x01020304.to_bytes(4, "big") + bytes(response_header_version(ApiKey.FETCH, version))
        wanted = len(head + body).to_bytes(4, "big") + head + body
        assert b"".join(frame_of(version, topics, session_id=session_id, error=error)) == wanted


@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_a_range_of_a_file_is_a_part_of_its_own_and_no_memory(version):
    one = refusal(3, 0)
    one.records = FilePart(5, 1024, 1 << 20, None)
    head, records, *tail = frame_of(version, [TopicAnswer("t", bytes(16), [one])])
    assert records is one.records
    size = int.from_bytes(head[:4], "big")
    assert size == len(head) - 4 + (1 << 20) + sum(map(len, tail))


def test_a_row_is_told_as_it_is():
    row = PartitionRow(*range(100, 119))
    told = as_row(7, row)
    assert (told.index, told.error_code, told.aborted, told.records) == (7, 0, None, b"")
    wanted = (row.high_watermark, row.last_stable_offset, row.log_start_offset)
    assert (told.high_watermark, told.last_stable_offset, told.log_start_offset) == wanted
