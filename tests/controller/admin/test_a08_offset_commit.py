"""Offsets of old consumers in ZooKeeper, written and read back; the offsets topic as it is made on demand."""

import pytest

from headrace.controller.active.topics.internal_topics import plan_internal_topic
from headrace.controller.admin import a08_offset_commit, a09_offset_fetch, a19_create_topics
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.ids import OFFSETS_TOPIC
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.settings import Settings

Create = messages.CreateTopicsRequest


def make(node, name, partitions=2):
    row = Create.CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1 if partitions < 0 else 1)
    body = encode_request(ApiKey.CREATE_TOPICS, 4, Create(topics=[row], timeout_ms=1000))
    waiting = node.handle(a19_create_topics.handle, 4, memoryview(bytes(body)))
    node.owner.follow()
    (row,) = decode_response(ApiKey.CREATE_TOPICS, 4, memoryview(waiting.poll(0))).topics
    return ErrorCode(row.error_code)


def commit(node, group, topic, partition, offset, metadata=""):
    row = messages.OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )
    topics = [messages.OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[row])]
    body = encode_request(ApiKey.OFFSET_COMMIT, 0, messages.OffsetCommitRequest(group_id=group, topics=topics))
    waiting = node.handle(a08_offset_commit.handle, 0, memoryview(bytes(body)))
    answer = decode_response(ApiKey.OFFSET_COMMIT, 0, memoryview(waiting.poll(0)))
    return ErrorCode(answer.topics[0].partitions[0].error_code).name


def fetch(node, group, topic, partition):
    topics = [messages.OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])]
    body = encode_request(ApiKey.OFFSET_FETCH, 0, messages.OffsetFetchRequest(group_id=group, topics=topics))
    waiting = node.handle(a09_offset_fetch.handle, 0, memoryview(bytes(body)))
    row = decode_response(ApiKey.OFFSET_FETCH, 0, memoryview(waiting.poll(0))).topics[0].partitions[0]
    return row.committed_offset, ErrorCode(row.error_code).name


def test_an_offset_stands_where_old_consumers_look_for_it(new_node, ensemble):
    node = new_node()
    make(node, "t")
    assert fetch(node, "g", "t", 1) == (-1, "UNKNOWN_TOPIC_OR_PARTITION"), "what Kafka says where there is none"
    assert commit(node, "g", "t", 1, 41) == "NONE"
    assert commit(node, "g", "t", 1, 42) == "NONE"
    assert ensemble.data("/consumers/g/offsets/t/1") == b"42"
    assert fetch(node, "g", "t", 1) == (42, "NONE")


@pytest.mark.parametrize(
    ("group", "topic", "partition", "error"),
    [
        ("g", "nowhere", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("g", "t", 2, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("g", "t", -1, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("../../brokers", "t", 0, "INVALID_GROUP_ID"),
        ("..", "t", 0, "INVALID_GROUP_ID"),
        ("", "t", 0, "INVALID_GROUP_ID"),
        ("a\0b", "t", 0, "INVALID_GROUP_ID"),
    ],
)
def test_names_from_outside_cannot_leave_their_place(new_node, group, topic, partition, error):
    node = new_node()
    make(node, "t")
    assert commit(node, group, topic, partition, 1) == error
    assert fetch(node, group, topic, partition) == (-1, error)


def test_metadata_has_its_limit_here_too(new_node):
    node = new_node()
    make(node, "t")
    assert commit(node, "g", "t", 0, 1, "x" * 4_097) == "OFFSET_METADATA_TOO_LARGE"


def test_without_zookeeper_the_answer_is_retriable(new_node, ensemble):
    node = new_node()
    make(node, "t")

    def lost(_ordinal):
        raise ZkLost("gone")

    ensemble.on_write = lost
    assert commit(node, "g", "t", 0, 1) == "COORDINATOR_NOT_AVAILABLE"


def test_rubbish_in_a_node_is_an_error_not_an_offset(new_node):
    node = new_node()
    make(node, "t")
    node.run(node.zk.create("/consumers/g/offsets/t/0", b"many"))
    assert fetch(node, "g", "t", 0) == (-1, "UNKNOWN_SERVER_ERROR")


def test_the_offsets_topic_is_made_as_configured(new_node, caplog):
    node = new_node(**{"offsets.topic.num.partitions": "7"})
    assert make(node, OFFSETS_TOPIC, -1) is ErrorCode.NONE
    topic = node.view.topics[OFFSETS_TOPIC]
    assert topic.internal
    assert len(topic.partitions) == 7
    assert topic.configs == {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
    assert "internal topic created with fewer replicas" in caplog.text


@pytest.mark.parametrize(("live", "factor", "warns"), [(1, 1, True), (2, 2, True), (3, 3, False), (9, 3, False)])
def test_the_replication_factor_is_what_the_live_nodes_allow(live, factor, warns, caplog):
    plan = plan_internal_topic(Settings({}), OFFSETS_TOPIC, live)
    assert (plan.partitions, plan.replication_factor) == (50, factor)
    assert ("fewer replicas" in caplog.text) == warns


def test_any_other_topic_is_made_as_asked():
    assert plan_internal_topic(Settings({}), "t", 3) is None


def test_a_partition_that_is_named_again_and_again_is_written_and_read_once(new_node, ensemble, monkeypatch):
    node = new_node()
    make(node, "t")
    asked = []
    for name in ("set", "get"):
        call = getattr(node.zk, name)
        monkeypatch.setattr(
            node.zk, name, lambda path, *rest, call=call, **options: asked.append(path) or call(path, *rest, **options)
        )
    kind = messages.OffsetCommitRequest
    rows = [kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset) for offset in range(1_000)]
    topics = [kind.OffsetCommitRequestTopic(name="t", partitions=rows)]
    body = encode_request(ApiKey.OFFSET_COMMIT, 0, kind(group_id="g", topics=topics))
    waiting = node.handle(a08_offset_commit.handle, 0, memoryview(bytes(body)))
    [topic] = decode_response(ApiKey.OFFSET_COMMIT, 0, memoryview(waiting.poll(0))).topics
    assert [row.error_code for row in topic.partitions] == [0] * 1_000
    assert len(asked) == 1
    assert ensemble.data("/consumers/g/offsets/t/0") == b"999"
    kind = messages.OffsetFetchRequest
    topics = [kind.OffsetFetchRequestTopic(name="t", partition_indexes=[0] * 1_000)]
    body = encode_request(ApiKey.OFFSET_FETCH, 0, kind(group_id="g", topics=topics))
    waiting = node.handle(a09_offset_fetch.handle, 0, memoryview(bytes(body)))
    [topic] = decode_response(ApiKey.OFFSET_FETCH, 0, memoryview(waiting.poll(0))).topics
    assert [row.committed_offset for row in topic.partitions] == [999] * 1_000
    assert len(asked) == 2


def test_old_offsets_take_their_turn_with_other_requests(new_node, monkeypatch):
    node = new_node()
    make(node, "t")
    now_ms = iter(range(0, 1_000_000, 11_000))
    monkeypatch.setattr(node.agent, "monotonic_ms", lambda: next(now_ms))
    assert commit(node, "g", "t", 0, 1) == "COORDINATOR_NOT_AVAILABLE"  # the client commits again
    assert fetch(node, "g", "t", 0)[0] == -1
