"""A broker of Kafka 0.10: the versions it has are spoken, and no topic is created by asking for it."""

import pytest

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.offset_store import committed, committed_offsets, store_offsets
from headrace.client.range_reader import read_ranges
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record
from tests.support import fake_broker
from tests.support.fake_broker import CLUSTER_ID

KAFKA_0_10_0 = {
    ApiKey.PRODUCE: (0, 2),
    ApiKey.FETCH: (0, 2),
    ApiKey.LIST_OFFSETS: (0, 0),
    ApiKey.METADATA: (0, 1),
    ApiKey.OFFSET_COMMIT: (0, 2),
    ApiKey.OFFSET_FETCH: (0, 1),
    ApiKey.FIND_COORDINATOR: (0, 0),
    ApiKey.API_VERSIONS: (0, 0),
}


@pytest.fixture
def clicks(log, monkeypatch):
    """Three messages of v1, at a broker that has Kafka 0.10.0's versions alone."""
    monkeypatch.setattr(fake_broker, "SERVED", KAFKA_0_10_0)
    name = log.create("clicks")
    log.append_bytes(name, build_message_set([Record(offset, 1_000, b"k", b"v%d" % offset) for offset in range(3)], 1))
    log.ends[name] = 3
    log.create("other")
    return name


@pytest.fixture
def cluster(clicks, broker):
    with Cluster(broker.address) as cluster:
        yield cluster


def test_records_are_read(broker, clicks):
    with Kafka(broker.address) as kafka:
        found = [record.value for records in read_ranges(kafka, {clicks: 0}, {clicks: 3}) for record in records]
    assert found == [b"v0", b"v1", b"v2"]


def test_offsets_come_in_the_old_form(cluster, clicks):
    assert cluster.offsets({clicks: LATEST}) == {clicks: 3}
    assert cluster.offsets({clicks: EARLIEST}) == {clicks: 0}


def test_no_topic_is_named_to_a_broker_that_would_create_it(cluster, broker, monkeypatch):
    asked = []
    answer = broker._metadata
    monkeypatch.setattr(
        broker, "_metadata", lambda request, error: (asked.append(request.topics), answer(request, error))[1]
    )
    assert cluster.refresh(["clicks"]) == ["clicks"]
    with pytest.raises(KafkaError, match="clacks") as refused:
        cluster.refresh(["clacks"])
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert asked == [None, None]


def test_metadata_of_no_topic_stays_that(cluster):
    assert cluster.refresh([]) == []
    assert cluster.cluster_id in ("", CLUSTER_ID)
    assert sorted(cluster.refresh(None)) == ["clicks", "other"]


def test_offsets_of_a_group_are_stored_and_found(cluster, clicks, broker):
    store_offsets(cluster, "g", {clicks: 2})
    assert committed_offsets(cluster, "g", [clicks]) == {clicks: 2}


def test_all_offsets_of_a_group_can_not_be_asked_for(cluster):
    with pytest.raises(KafkaError, match="OffsetFetch v2 to v7 is required"):
        committed(cluster, "g")


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_coordinator_that_moved_is_looked_up_again(cluster, clicks, broker, code):
    broker.committed["g", clicks] = (1, "")
    broker.fail[ApiKey.OFFSET_FETCH, code] = 1
    assert committed_offsets(cluster, "g", [TopicPartition("clicks", 0)]) == {clicks: 1}
    assert broker.asked[ApiKey.FIND_COORDINATOR] == (2 if code is ErrorCode.NOT_COORDINATOR else 1)
