"""Requests that name the same thing again and again: the answer and the work grow with what there is, not with what is said."""

import uuid

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch, iterate_batches

REPEATS = 20_000
RECORDS = 3


@pytest.fixture
def connection(node):
    connection = Connection(*node.address)
    yield connection
    connection.close()


@pytest.fixture
def topic(node, connection):
    """Two partitions with records in the first."""
    name = f"named-{uuid.uuid4().hex[:8]}"
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(name, 2)]) == {name: None}
    kind = messages.ProduceRequest
    batch = bytes(build_batch([(None, b"%d" % number) for number in range(RECORDS)]))
    data = kind.TopicProduceData(name, [kind.PartitionProduceData(0, batch)])
    answer = connection.request(ApiKey.PRODUCE, 8, kind(acks=-1, timeout_ms=5_000, topic_data=[data]))
    assert answer.responses[0].partition_responses[0].error_code == 0
    return name


@pytest.mark.parametrize("version", [3, 4, 11, 12])
def test_a_fetch_answers_each_partition_once_from_its_last_mention(connection, topic, version):
    kind = messages.FetchRequest

    def asked(partition, offset):
        row = kind.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        return kind.FetchTopic(topic=topic, partitions=[row])

    named = [asked(0, 99), asked(1, 0), *[asked(0, RECORDS)] * REPEATS, asked(0, 0)]
    request = kind(max_wait_ms=0, max_bytes=1 << 20, session_epoch=-1, topics=named)
    [answer] = connection.request(ApiKey.FETCH, version, request).responses
    first, second = answer.partitions
    assert (answer.topic, first.partition_index, second.partition_index) == (topic, 0, 1)
    assert (first.error_code, second.error_code, len(second.records or b"")) == (0, 0, 0)
    if version > 3:
        assert [header.record_count for _, header, _ in iterate_batches(bytes(first.records))] == [RECORDS]


@pytest.mark.parametrize("version", [0, 1, 7])
def test_list_offsets_refuses_a_partition_that_is_named_again(connection, topic, version):
    kind = messages.ListOffsetsRequest

    def asked(partition):
        return kind.ListOffsetsPartition(partition_index=partition, timestamp=-1, max_num_offsets=1)

    rows = [asked(1), *[asked(0)] * REPEATS]
    request = kind(replica_id=-1, topics=[kind.ListOffsetsTopic(name=topic, partitions=rows)])
    [answer] = connection.request(ApiKey.LIST_OFFSETS, version, request).topics
    assert [row.error_code for row in answer.partitions] == [0, *[ErrorCode.INVALID_REQUEST] * REPEATS]


def test_the_end_of_an_epoch_is_told_each_time(connection, topic):
    kind = messages.OffsetForLeaderEpochRequest
    rows = [kind.OffsetForLeaderPartition(partition=0, leader_epoch=0)] * REPEATS
    request = kind(replica_id=-1, topics=[kind.OffsetForLeaderTopic(topic=topic, partitions=rows)])
    [answer] = connection.request(ApiKey.OFFSET_FOR_LEADER_EPOCH, 3, request).topics
    assert {(row.error_code, row.end_offset) for row in answer.partitions} == {(0, RECORDS)}
    assert len(answer.partitions) == REPEATS


def test_a_resource_is_described_once(connection, topic):
    kind = messages.DescribeConfigsRequest
    one = kind.DescribeConfigsResource(resource_type=2, resource_name=topic, configuration_keys=None)
    other = one._replace(resource_name="absent")
    request = kind(resources=[one, other] * REPEATS, include_documentation=True)
    first, second = connection.request(ApiKey.DESCRIBE_CONFIGS, 4, request).results
    assert (first.resource_name, first.error_code) == (topic, 0)
    assert "retention.ms" in {config.name for config in first.configs}
    assert (second.resource_name, second.error_code) == ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
