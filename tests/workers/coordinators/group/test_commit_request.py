"""The reader of OffsetCommit against the schema's codec: the same fields, the same refusals, the response it would write."""

import random
import time
import tracemalloc

import pytest

from headrace.errors import BadFrame
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, decode_struct, encode_request, encode_response
from headrace.protocol.varint import encode_uvarint
from headrace.workers.coordinators.group.commit_request import read_commit
from headrace.workers.coordinators.group.records import decode_offset, offset_value, read_suffix
from tests.support import message_generator as generator

VERSIONS = range(1, 9)
SEEDS = 120
TOPIC = messages.OffsetCommitResponse.OffsetCommitResponseTopic
PARTITION = messages.OffsetCommitResponse.OffsetCommitResponsePartition


def requests(version):
    """(message, its bytes), many of them."""
    for seed in range(SEEDS):
        message = generator.MessageGenerator(seed * 31 + version).message("OffsetCommitRequest", version)
        yield message, encode_request(ApiKey.OFFSET_COMMIT, version, message)


def answer(request, errors):
    """The response message, with an error for each partition in turn."""
    left = iter(errors)
    topics = [
        TOPIC(
            name=topic.name,
            partitions=[
                PARTITION(partition_index=row.partition_index, error_code=next(left)) for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return messages.OffsetCommitResponse(topics=topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_reads_what_the_codec_reads(version):
    rows_read = 0
    for message, body in requests(version):
        found = read_commit(version, memoryview(body))
        assert found.group_id == message.group_id
        assert found.generation == message.generation_id_or_member_epoch
        assert found.member_id == message.member_id
        assert found.instance_id == message.group_instance_id
        assert found.retention_ms == message.retention_time_ms
        assert decode_struct("OffsetCommitKey", 1, found.key_prefix[2:] + bytes(6)).group == message.group_id
        wanted = [(topic.name, row) for topic in message.topics for row in topic.partitions]
        assert [row.topic for row in found.rows] == [name for name, _row in wanted]
        for row, (name, said) in zip(found.rows, wanted, strict=True):
            assert (row.partition, row.stamp_ms) == (said.partition_index, said.commit_timestamp)
            assert read_suffix(row.suffix) == (name, said.partition_index)
            value = decode_offset(offset_value(row.place, row.metadata, 77, -1))
            assert value == (said.committed_offset, said.committed_leader_epoch, said.committed_metadata or "", 77, -1)
            rows_read += 1
    assert rows_read > SEEDS


@pytest.mark.parametrize("version", VERSIONS)
def test_it_writes_the_response_that_the_codec_writes(version):
    for message, body in requests(version):
        found = read_commit(version, memoryview(body))
        chance = random.Random(len(body))
        errors = [chance.choice((0, 3, 12, 25)) for _ in found.rows]
        for response, wanted in (
            (found.response(22), [22] * len(found.rows)),
            (found.response_of(errors), errors),
        ):
            assert response == encode_response(ApiKey.OFFSET_COMMIT, version, answer(message, wanted))
            assert decode_response(ApiKey.OFFSET_COMMIT, version, response)


@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_bytes_are_read_as_the_codec_reads_them_or_refused(version):
    outcomes = {True: 0, False: 0}
    for seed, (_message, body) in enumerate(requests(version)):
        chance = random.Random(seed)
        for _ in range(20):
            bad = generator.damaged(body, chance)
            try:
                wanted = decode_request(ApiKey.OFFSET_COMMIT, version, memoryview(bad))
            except BadFrame:
                with pytest.raises(BadFrame, match=f"OffsetCommitRequest v{version}"):
                    read_commit(version, memoryview(bad))
                outcomes[False] += 1
                continue
            found = read_commit(version, memoryview(bad))
            assert (found.group_id, found.member_id) == (wanted.group_id, wanted.member_id)
            rows = [(topic.name, row.partition_index) for topic in wanted.topics for row in topic.partitions]
            assert [(row.topic, row.partition) for row in found.rows] == rows
            outcomes[True] += 1
    assert min(outcomes.values()) > 20, outcomes


def test_a_string_that_is_null_or_longer_than_the_rest_is_refused_with_the_name_of_its_field():
    message = messages.OffsetCommitRequest(group_id="g", member_id="m")
    body = bytearray(encode_request(ApiKey.OFFSET_COMMIT, 7, message))
    body[0:2] = b"\xff\xff"
    with pytest.raises(BadFrame, match="group_id"):
        read_commit(7, memoryview(body))
    body[0:2] = b"\x7f\xff"
    with pytest.raises(BadFrame, match="group_id"):
        read_commit(7, memoryview(body))


def head_of_v8():
    """Group "g", no generation, member, instance id."""
    return b"\2g" + (-1).to_bytes(4, "big", signed=True) + b"\1\0"


@pytest.mark.slow
def test_topics_without_partitions_cost_no_more_each_when_there_are_many():
    small, large = 10_000, 200_000
    row = b"\0\0\0\7" + bytes(12) + b"\1\0"

    def body_of(count):
        topics = encode_uvarint(count + 3) + b"\2t\2" + row + b"\0" + b"\1\1\0" * count + b"\2t\2" + row + b"\0"
        return memoryview(head_of_v8() + topics + b"\0")

    def cost_of_each(count):
        """The least of some runs: others take the processor, and its caches."""
        body, costs = body_of(count), []
        for _ in range(5):
            started = time.thread_time()
            read_commit(8, body)
            costs.append(time.thread_time() - started)
        return min(costs) / count

    body = body_of(large)
    found, peak_bytes = traced(lambda: read_commit(8, body))
    wanted = answer(decode_request(ApiKey.OFFSET_COMMIT, 8, body), [3, 5])
    assert found.response_of([3, 5]) == encode_response(ApiKey.OFFSET_COMMIT, 8, wanted)
    assert peak_bytes < 4 * len(body)
    assert cost_of_each(large) < 4 * cost_of_each(small)  # 9 times, where the response is copied for each


@pytest.mark.parametrize("version", VERSIONS)
def test_a_long_topic_name_is_not_kept_for_each_of_its_partitions(version):
    """It can't exist; a request of 1 MiB would take 1 GiB."""
    row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
    topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    rows = [row(partition_index=each, committed_metadata="") for each in range(1_000)]
    request = messages.OffsetCommitRequest(group_id="g", topics=[topic(name="t" * 32_000, partitions=rows)])
    body = memoryview(encode_request(ApiKey.OFFSET_COMMIT, version, request))
    found, peak_bytes = traced(lambda: read_commit(version, body))
    assert [row.partition for row in found.rows] == list(range(1_000))
    assert found.response(3) == encode_response(ApiKey.OFFSET_COMMIT, version, answer(request, [3] * 1_000))
    assert peak_bytes < 1 << 20


def traced(call):
    """(its result, bytes that it had allocated at most)"""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
