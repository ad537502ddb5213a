"""Our group members against a node and against Apache Kafka: alone, together, beside other clients; offsets from outside."""

import re
import threading
import time
import uuid

import pytest
from confluent_kafka import Consumer as Librdkafka

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import LATEST, Cluster
from headrace.client.engine.coordinator import Coordinator
from headrace.client.kafka import Kafka
from headrace.client.offset_store import committed_offsets
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process

PARTITIONS = 4


@pytest.fixture
def cluster(group_server):
    with Cluster(group_server) as cluster:
        yield cluster


@pytest.fixture
def kafka(group_server):
    with Kafka(group_server) as made:
        yield made


@pytest.fixture
def topic(cluster):
    name = f"grouped-{uuid.uuid4().hex[:8]}"
    assert Admin(cluster).create_topics([NewTopic(name, PARTITIONS, 1)]) == {name: None}
    return name


@pytest.fixture
def new_member(kafka):
    def make(group, topic, **options):
        options = {"assignors": ["range", "roundrobin"], "heartbeat_interval_ms": 50, **options}
        return kafka.consumer(topic, group=group, start="earliest", session_timeout_ms=60_000, **options)

    return make


def all_of(topic, count=PARTITIONS):
    return tuple(TopicPartition(topic, index) for index in range(count))


def joined(member):
    """Its partitions, once the group has given it its share."""
    wait_until(lambda: member.poll(0.05) is not None and member.has_share, "the member has not joined")
    return member.assignment


def generation_of(member):
    return int(re.search(r"generation (-?\d+)", member.health()["group"])[1])


class Loop(threading.Thread):
    """A member's own loop, as a program has one; `shown` is its share and its generation after the last poll."""

    def __init__(self, member):
        super().__init__(daemon=True)
        self.member = member
        self.shown = ((), -1)
        self.is_stopping = threading.Event()
        self.start()

    def run(self):
        while not self.is_stopping.is_set():
            self.member.poll(0.02)
            self.shown = (self.member.assignment, generation_of(self.member))

    def stop(self):
        self.is_stopping.set()
        self.join(DEADLINE_S)
        assert not self.is_alive()


def until_dealt(loops, topic, counts):
    """Wait until every member has so many partitions, and all of them are in one generation."""

    def are_dealt():
        assert all(loop.is_alive() for loop in loops)
        shown = [loop.shown for loop in loops]
        partitions = sorted(name for share, _generation in shown for name in share)
        is_even = sorted(len(share) for share, _generation in shown) == counts
        return is_even and partitions == [*all_of(topic, sum(counts))] and len({one for _share, one in shown}) == 1

    wait_until(are_dealt, lambda: [loop.shown for loop in loops])


def test_a_member_alone_has_all_partitions_and_keeps_its_offsets(topic, new_member):
    offsets = {TopicPartition(topic, 1): 7, TopicPartition(topic, 3): 9}
    with new_member("alone-" + topic, topic) as member:
        assert joined(member) == all_of(topic)
        assert member.committed() == {}
        member.commit(offsets)
    with new_member("alone-" + topic, topic) as successor:
        assert joined(successor) == all_of(topic)
        assert {name: at.offset for name, at in successor.committed().items()} == offsets


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_members_share_the_partitions_and_take_over_those_of_one_that_leaves(topic, new_member, assignor):
    first, second = (new_member(f"{assignor}-{topic}", topic, assignors=[assignor]) for _ in range(2))
    loops = [Loop(first), Loop(second)]
    until_dealt(loops, topic, [2, 2])
    loops[1].stop()
    second.close()
    until_dealt(loops[:1], topic, [4])
    loops[0].stop()


def test_partitions_that_a_topic_gets_later_are_dealt_too(cluster, topic, new_member):
    loops = [Loop(new_member("grown-" + topic, topic, metadata_max_age_ms=50)) for _ in range(2)]
    until_dealt(loops, topic, [2, 2])
    generation = loops[0].shown[1]
    assert Admin(cluster).create_partitions({topic: 6}) == {topic: None}
    until_dealt(loops, topic, [3, 3])
    assert loops[0].shown[1] > generation
    for loop in loops:
        loop.stop()


def test_a_topic_that_does_not_grow_starts_no_rebalance(topic, new_member):
    with new_member("same-" + topic, topic, metadata_max_age_ms=50) as member:
        joined(member)
        generation = generation_of(member)
        for _ in range(10):
            member.poll(0.05)
        assert generation_of(member) == generation
        assert member.assignment == all_of(topic)


def test_beside_librdkafka_in_one_group(group_server, topic, new_member):
    group = "mixed-" + topic
    loop = Loop(new_member(group, topic))
    other = Librdkafka({"bootstrap.servers": group_server, "group.id": group, "session.timeout.ms": 60_000,
                        "partition.assignment.strategy": "range,roundrobin"})  # fmt: skip
    other.subscribe([topic])
    try:
        deadline, theirs = time.monotonic() + DEADLINE_S, []
        while time.monotonic() < deadline:
            other.poll(0.05)
            theirs = [TopicPartition(row.topic, row.partition) for row in other.assignment()]
            if len(theirs) == len(loop.shown[0]) == 2:
                break
        loop.stop()
        assert sorted([*theirs, *loop.shown[0]]) == [*all_of(topic)]
    finally:
        other.close()


def test_groups_are_listed_described_altered_and_deleted(cluster, kafka, topic, new_member):
    admin, group = Admin(cluster), "admin-" + topic
    with kafka.producer() as producer:
        producer.send(topic, b"v", partition=0)
    with new_member(group, topic, auto_commit_interval_ms=10**9, delivery="exactly_once") as member:
        joined(member)
        assert group in [row.group_id for row in admin.list_groups()]
        described = admin.describe_group(group)
        assert (described.state, described.protocol) == ("Stable", "range")
        assert [row.partitions for row in described.members] == [all_of(topic)]
        with pytest.raises(KafkaError):
            admin.alter_group_offsets(group, {TopicPartition(topic, 0): 1})
        assert admin.delete_groups([group])[group].code is ErrorCode.NON_EMPTY_GROUP
    admin.alter_group_offsets(group, {TopicPartition(topic, 0): 1})
    assert admin.group_offsets(group) == {TopicPartition(topic, 0): 1}
    assert committed_offsets(cluster, group, [TopicPartition(topic, 2)]) == {}
    assert admin.describe_group(group).state == "Empty"
    assert admin.delete_groups([group]) == {group: None}
    assert admin.describe_group(group).state == "Dead"
    assert admin.delete_groups([group])[group].code is ErrorCode.GROUP_ID_NOT_FOUND


def test_producer_and_admin(cluster, kafka, topic):
    admin = Admin(cluster)
    with kafka.producer() as producer:
        for number in range(1_000):
            producer.send(topic, b"%d" % number)
    cluster.refresh([topic])
    assert sum(cluster.offsets(dict.fromkeys(all_of(topic), LATEST)).values()) == 1_000
    admin.alter_configs(topic, {"retention.ms": "60000"})
    found = {config.name: config for config in admin.describe_configs([topic])[topic]}
    assert (found["retention.ms"].value, found["retention.ms"].source) == ("60000", "topic")
    assert admin.create_partitions({topic: 6}) == {topic: None}
    assert admin.delete_topics([topic]) == {topic: None}


def test_commits_that_no_member_may_make_are_refused_alike(cluster, topic):
    """Generation -1, or no member id, while the group has members: what Kafka 3.9 says to each."""
    group = f"refused-{uuid.uuid4().hex[:8]}"

    def ask(key, version, request):
        return cluster.run(
            lambda engine: Coordinator(engine.requests, group).ask(
                key, (version, version), request, lambda answer: getattr(answer, "error_code", 0)
            ),
            "a request to the coordinator",
        )

    def commit(member_id, generation, instance=None):
        row = messages.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        request = messages.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            topics=[messages.OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[row])],
        )
        answer = ask(ApiKey.OFFSET_COMMIT, 7, request)
        return ErrorCode(answer.topics[0].partitions[0].error_code).name

    join = messages.JoinGroupRequest
    joined = ask(
        ApiKey.JOIN_GROUP,
        3,
        join(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=[join.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
        ),
    )
    member = joined.member_id
    for state, of_member in (("CompletingRebalance", "REBALANCE_IN_PROGRESS"), ("Stable", "NONE")):
        assert {
            "tool": commit("", -1),
            "tool, other generation": commit("", -2),
            "generation alone": commit("", joined.generation_id),
            "member alone": commit(member, -1),
            "stranger": commit("stranger", -1),
            "instance": commit("", -1, "instance"),
            "member": commit(member, joined.generation_id),
        } == {
            "tool": "UNKNOWN_MEMBER_ID",
            "tool, other generation": "UNKNOWN_MEMBER_ID",
            "generation alone": "UNKNOWN_MEMBER_ID",
            "member alone": "ILLEGAL_GENERATION",
            "stranger": "UNKNOWN_MEMBER_ID",
            "instance": "UNKNOWN_MEMBER_ID",
            "member": of_member,
        }, state
        assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=b"")
        sync = messages.SyncGroupRequest(
            group_id=group, generation_id=joined.generation_id, member_id=member, assignments=[assignment]
        )
        assert ask(ApiKey.SYNC_GROUP, 3, sync).error_code == 0
    leave = messages.LeaveGroupRequest(group_id=group, member_id=member)
    assert ask(ApiKey.LEAVE_GROUP, 1, leave).error_code == 0
    assert commit("", -1) == "NONE"
