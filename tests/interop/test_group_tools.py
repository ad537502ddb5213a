"""kafka-consumer-groups against a node, unmodified: list, describe, state, members, resets, delete-offsets, delete."""

import uuid

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.group_member import GroupMember
from headrace.client.producer import Producer
from headrace.ids import TopicPartition

pytestmark = pytest.mark.interop

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def cluster(node):
    with Cluster(node.bootstrap) as cluster:
        yield cluster


@pytest.fixture
def group(node, cluster, topic):
    """A group that has read 3 of 10 records of one partition."""
    name = f"tools-{uuid.uuid4().hex[:8]}"
    admin = Admin(cluster)
    assert admin.create_topics([NewTopic(topic, 2)]) == {topic: None}
    with Producer(Cluster(node.bootstrap)) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    admin.alter_group_offsets(name, {TopicPartition(topic, 0): 3})
    return name


@pytest.fixture
def groups_tool(node, tools):
    def run(*options):
        return tools.run(GROUPS, "--bootstrap-server", node.bootstrap, *options).decode()

    return run


def test_groups_are_listed_and_described(groups_tool, topic, group):
    assert group in groups_tool("--list").split()
    described = groups_tool("--describe", "--group", group)
    [row] = [line.split() for line in described.splitlines() if line.startswith(group)]
    assert row[1:6] == [topic, "0", "3", "10", "7"]
    assert "Empty" in groups_tool("--describe", "--group", group, "--state")
    assert group in groups_tool("--list", "--state", "Empty")


def test_members_are_described(groups_tool, cluster, topic, group):
    member = GroupMember(cluster, group, [topic])
    member.join()
    described = groups_tool("--describe", "--group", group, "--members", "--verbose")
    assert "(0,1)" in described
    assert member.member_id in described
    state = groups_tool("--describe", "--group", group, "--state")
    assert "Stable" in state
    assert "range" in state
    member.leave()


def test_offsets_are_reset_and_deleted_and_groups_too(groups_tool, cluster, topic, group):
    of_group = ["--group", group, "--topic", topic]
    shown = groups_tool("--reset-offsets", *of_group, "--to-earliest", "--dry-run")
    words = shown.split()[4:]
    assert sorted([words[:4], words[4:]]) == [[group, topic, "0", "0"], [group, topic, "1", "0"]]
    admin = Admin(cluster)
    assert admin.group_offsets(group) == {TopicPartition(topic, 0): 3}
    groups_tool("--reset-offsets", *of_group, "--to-offset", "5", "--execute")
    assert admin.group_offsets(group)[TopicPartition(topic, 0)] == 5
    groups_tool("--reset-offsets", *of_group, "--shift-by", "-2", "--execute")
    assert admin.group_offsets(group)[TopicPartition(topic, 0)] == 3
    groups_tool("--delete-offsets", *of_group)
    assert admin.group_offsets(group) == {}
    assert f"('{group}') was successful" in groups_tool("--delete", "--group", group)
    assert group not in groups_tool("--list").split()
