"""Topics changed under clients: more partitions, other settings; and what refusals look like on the wire."""

import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from tests.support.waiting import DEADLINE_S, wait_until

NOW_MS = 1_700_000_000_000


@pytest.fixture
def admin(node):
    return AdminClient({"bootstrap.servers": node.bootstrap})


@pytest.fixture
def topic(admin):
    name = f"altered-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(DEADLINE_S)
    return name


def incremental(name, *changes):
    entries = [ConfigEntry(key, value, incremental_operation=operation) for key, operation, value in changes]
    return ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)


def described(admin, name):
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    return admin.describe_configs([resource])[resource].result(DEADLINE_S)


@pytest.fixture
def connection(node):
    connection = Connection(*node.address)
    yield connection
    connection.close()


def produce(connection, topic, partition, batch, version=8):
    kind = messages.ProduceRequest
    data = kind.TopicProduceData(topic, [kind.PartitionProduceData(partition, batch)])
    answer = connection.request(ApiKey.PRODUCE, version, kind(acks=-1, timeout_ms=5_000, topic_data=[data]))
    return answer.responses[0].partition_responses[0]


def fetch(connection, topic, partition, offset, version=11):
    kind = messages.FetchRequest
    row = kind.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = kind(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[kind.FetchTopic(topic=topic, partitions=[row])],
    )
    return connection.request(ApiKey.FETCH, version, request).responses[0].partitions[0]


def test_new_partitions_take_records(node, admin, topic):
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(DEADLINE_S)
    failures = []
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for partition in range(5):
        producer.produce(topic, b"v", partition=partition, on_delivery=lambda e, _m: e and failures.append(e))
    assert producer.flush(DEADLINE_S) == 0
    assert not failures


def test_a_topic_does_not_shrink(admin, topic):
    with pytest.raises(Exception, match="has 3 partitions"):
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(DEADLINE_S)


def test_a_changed_setting_holds_in_every_partition(admin, connection, topic):
    resource = incremental(topic, ("message.timestamp.type", AlterConfigOpType.SET, "LogAppendTime"))
    batch = build_batch([(None, b"v")], timestamp_ms=NOW_MS)
    assert [produce(connection, topic, index, batch).log_append_time_ms for index in range(3)] == [-1, -1, -1]
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    for index in range(3):  # the workers take it over when they see the view
        wait_until(
            lambda index=index: produce(connection, topic, index, batch).log_append_time_ms > 0,
            f"partition {index} still keeps the producer's time",
        )


def test_dynamic_values_and_their_source_are_shown(admin, topic):
    resource = incremental(
        topic, ("retention.ms", AlterConfigOpType.SET, "1000"), ("cleanup.policy", AlterConfigOpType.APPEND, "compact")
    )
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    configs = described(admin, topic)
    assert (configs["retention.ms"].value, configs["retention.ms"].source) == ("1000", 1)
    assert configs["cleanup.policy"].value == "delete,compact"
    assert configs["segment.ms"].source == 5
    resource = incremental(topic, ("retention.ms", AlterConfigOpType.DELETE, None))
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    assert described(admin, topic)["retention.ms"].is_default


def test_a_bad_value_is_refused_with_its_key(admin, topic):
    resource = incremental(topic, ("retention.ms", AlterConfigOpType.SET, "soon"))
    with pytest.raises(Exception, match=r"soon.*retention\.ms"):
        admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)


def test_overrides_outlive_the_node(node_factory):
    first = node_factory("kept")
    admin = AdminClient({"bootstrap.servers": first.bootstrap})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(DEADLINE_S)
    resource = incremental("t", ("retention.ms", AlterConfigOpType.SET, "12345"))
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    admin.create_partitions([NewPartitions("t", 4)])["t"].result(DEADLINE_S)
    assert first.stop() == 0
    admin = AdminClient({"bootstrap.servers": node_factory("kept").bootstrap})
    assert described(admin, "t")["retention.ms"].value == "12345"
    assert len(admin.list_topics("t", timeout=DEADLINE_S).topics["t"].partitions) == 4


def test_a_refused_batch_tells_no_offset_at_all(connection, topic):
    batch = bytearray(build_batch([(None, b"v")], timestamp_ms=NOW_MS))
    batch[17] ^= 0xFF  # the checksum
    answer = produce(connection, topic, 0, bytes(batch))
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (ErrorCode.CORRUPT_MESSAGE, -1, -1)


def test_a_producer_that_is_unknown_may_begin_with_any_sequence(connection, topic):
    batch = build_batch([(None, b"v")], timestamp_ms=NOW_MS, producer_id=77_777, producer_epoch=0, base_sequence=5)
    answer = produce(connection, topic, 0, bytes(batch))
    assert answer.error_code == ErrorCode.NONE


@pytest.mark.parametrize("offset", [-1, 1_000])
def test_a_fetch_out_of_range_tells_no_offset_at_all(connection, topic, offset):
    answer = fetch(connection, topic, 0, offset)
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (-1, -1, -1)
    assert answer.aborted_transactions is None


def test_a_fetch_of_an_unknown_topic_has_an_empty_list_of_aborted_transactions(connection):
    answer = fetch(connection, "absent", 0, 0)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.aborted_transactions == []
