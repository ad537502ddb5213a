"""Topics by id: made with one, described by it, deleted by it, and by nothing else that is."""

import asyncio
import uuid

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from tests.support.waiting import DEADLINE_S, wait_until

NO_ID = bytes(16)
OTHER_ID = b"\x01" * 16
_Asked = messages.MetadataRequest.MetadataRequestTopic
_Deleted = messages.DeleteTopicsRequest.DeleteTopicState


@pytest.fixture
def connection(node):
    connection = Connection(*node.address)
    yield connection
    connection.close()


@pytest.fixture
def topic():
    return f"id-{uuid.uuid4().hex[:8]}"


def create(connection, name, version=7, **more):
    row = messages.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=2, replication_factor=1)
    request = messages.CreateTopicsRequest(topics=[row], timeout_ms=int(DEADLINE_S * 1000), **more)
    return connection.request(ApiKey.CREATE_TOPICS, version, request).topics[0]


def metadata(connection, version, *topics, **more):
    request = messages.MetadataRequest(topics=list(topics), allow_auto_topic_creation=False, **more)
    return connection.request(ApiKey.METADATA, version, request).topics


def delete(connection, *topics):
    request = messages.DeleteTopicsRequest(topics=list(topics), timeout_ms=int(DEADLINE_S * 1000))
    return connection.request(ApiKey.DELETE_TOPICS, 6, request).responses


def produce(connection, name, value, partition=0):
    records = bytes(build_batch([(None, value)]))
    row = messages.ProduceRequest.PartitionProduceData(index=partition, records=records)
    data = messages.ProduceRequest.TopicProduceData(name=name, partition_data=[row])
    request = messages.ProduceRequest(acks=-1, timeout_ms=int(DEADLINE_S * 1000), topic_data=[data])

    def is_taken():
        return connection.request(ApiKey.PRODUCE, 9, request).responses[0].partition_responses[0].error_code == 0

    wait_until(is_taken)


def fetch(*wanted, **more):
    """Of (topic id, partition, offset)."""
    topics = [
        messages.FetchRequest.FetchTopic(
            topic_id=topic_id,
            partitions=[
                messages.FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
            ],
        )
        for topic_id, index, offset in wanted
    ]
    return messages.FetchRequest(topics=topics, max_bytes=1 << 20, min_bytes=1, **more)


def fetched(response):
    """(topic id, partition, error, records) of each partition."""
    return [
        (topic.topic_id, row.partition_index, row.error_code, bytes(row.records or b""))
        for topic in response.responses
        for row in topic.partitions
    ]


def test_records_are_fetched_by_the_id_of_their_topic(connection, topic):
    names = [topic, f"{topic}-2"]
    ids = [create(connection, name).topic_id for name in names]
    for name in names:
        produce(connection, name, name.encode())
        produce(connection, name, b"other", partition=1)
    wanted = [(ids[0], 0, 0), (OTHER_ID, 0, 0), (ids[1], 0, 0), (ids[0], 1, 0), (NO_ID, 0, 0), (ids[0], 7, 0)]
    rows = fetched(connection.request(ApiKey.FETCH, 13, fetch(*wanted, max_wait_ms=0)))
    assert [row[:3] for row in rows] == [
        (ids[0], 0, 0),
        (OTHER_ID, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (ids[1], 0, 0),
        (ids[0], 1, 0),
        (NO_ID, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (ids[0], 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [row[3].count(name.encode()) for row, name in zip((rows[0], rows[2]), names, strict=True)] == [1, 1]


def test_of_a_partition_that_is_named_twice_by_id_the_last_mention_counts(connection, topic):
    topic_id = create(connection, topic).topic_id
    produce(connection, topic, b"one")
    wanted = [(topic_id, 0, 99), (OTHER_ID, 0, 0), (topic_id, 0, 0)]
    rows = fetched(connection.request(ApiKey.FETCH, 13, fetch(*wanted, max_wait_ms=0)))
    assert [row[:3] for row in rows] == [(topic_id, 0, 0), (OTHER_ID, 0, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert b"one" in rows[0][3]


def test_a_fetch_that_waits_by_id_never_gets_another_topic_of_the_name(node, connection, topic):
    """The fetch waits at the end of the first topic; the second one has a record at that very offset."""
    first = create(connection, topic).topic_id
    produce(connection, topic, b"one")
    waiting = Connection(*node.address)
    waiting.send(ApiKey.FETCH, 13, fetch((first, 0, 1), max_wait_ms=int(DEADLINE_S * 1000)))
    delete(connection, _Deleted(name=topic))
    created = create(connection, topic)
    assert not created.error_code, created.error_message
    second = created.topic_id
    for value in (b"two", b"three"):
        produce(connection, topic, value)
    (row,) = fetched(waiting.receive(DEADLINE_S))
    waiting.close()
    assert row[2] in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER)  # as its log was closed
    assert row[3] == b""
    old, new = fetched(connection.request(ApiKey.FETCH, 13, fetch((first, 0, 1), (second, 0, 1), max_wait_ms=0)))
    assert old == (first, 0, ErrorCode.UNKNOWN_TOPIC_ID, b"")
    assert new[2] == 0
    assert b"three" in new[3]


def test_a_topic_is_found_by_the_id_that_its_creation_told(connection, topic):
    made = create(connection, topic)
    assert made.error_code == 0
    assert made.topic_id != NO_ID
    for version in (10, 11, 12):
        (row,) = metadata(connection, version, _Asked(name=topic))
        assert (row.error_code, row.topic_id, len(row.partitions)) == (0, made.topic_id, 2)
    (row,) = metadata(connection, 12, _Asked(topic_id=made.topic_id, name=None))
    assert (row.error_code, row.name, row.topic_id) == (0, topic, made.topic_id)


def test_a_topic_that_was_only_tried_has_no_id(connection, topic):
    tried = create(connection, topic, validate_only=True)
    assert (tried.error_code, tried.topic_id) == (0, NO_ID)


def test_an_id_that_no_topic_has_is_told_without_a_name(connection, topic):
    create(connection, topic)
    (row,) = metadata(connection, 12, _Asked(topic_id=OTHER_ID, name=None), _Asked(name=topic))
    assert (row.error_code, row.name, row.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, OTHER_ID)


def test_ids_come_and_go_with_their_topics(connection, topic):
    names = [topic, f"{topic}-2"]
    ids = []
    for name in names:
        ids.append(create(connection, name).topic_id)
        (row,) = metadata(connection, 12, _Asked(topic_id=ids[-1], name=None))
        assert row.name == name
    delete(connection, _Deleted(name=None, topic_id=ids[0]))
    rows = metadata(connection, 12, *(_Asked(topic_id=each, name=None) for each in ids))
    assert [row.name for row in rows] == [None, names[1]]


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        (10, _Asked(topic_id=OTHER_ID, name="t")),
        (11, _Asked(topic_id=OTHER_ID, name=None)),
        (11, _Asked(name=None)),
        (12, _Asked(name=None)),
    ],
)
def test_metadata_refuses_what_names_no_topic_in_its_version(connection, version, asked):
    (row,) = metadata(connection, version, asked)
    assert (row.error_code, row.name) == (ErrorCode.INVALID_REQUEST, asked.name or "")


def test_a_topic_is_deleted_by_its_id_alone(connection, topic):
    made = create(connection, topic)
    refused = delete(
        connection,
        _Deleted(name=None, topic_id=OTHER_ID),
        _Deleted(name=topic, topic_id=made.topic_id),
        _Deleted(name=None),
    )
    assert [(row.error_code, row.name) for row in refused] == [
        (ErrorCode.UNKNOWN_TOPIC_ID, None),
        (ErrorCode.INVALID_REQUEST, topic),
        (ErrorCode.INVALID_REQUEST, None),
    ]
    assert metadata(connection, 12, _Asked(name=topic))[0].error_code == 0
    rows = delete(connection, _Deleted(name=None, topic_id=made.topic_id), _Deleted(name=topic))
    assert [(row.error_code, row.name, row.topic_id) for row in rows] == [(0, topic, made.topic_id)]
    again = create(connection, topic)
    assert again.topic_id not in (NO_ID, made.topic_id)
    (row,) = delete(connection, _Deleted(name=None, topic_id=made.topic_id))
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert metadata(connection, 12, _Asked(name=topic))[0].topic_id == again.topic_id


def test_librdkafka_and_aiokafka_see_the_same_topic(node, topic):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(DEADLINE_S)
    from confluent_kafka import TopicCollection

    described = admin.describe_topics(TopicCollection([topic]))[topic].result(DEADLINE_S)
    assert described.topic_id.get_least_significant_bits() or described.topic_id.get_most_significant_bits()

    async def describe():
        client = AIOKafkaAdminClient(bootstrap_servers=node.bootstrap)
        await client.start()
        try:
            return await client.describe_topics([topic])
        finally:
            await client.close()

    (row,) = asyncio.run(describe())
    assert (row["error_code"], row["topic"]) == (0, topic)
