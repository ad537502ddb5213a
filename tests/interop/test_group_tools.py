"""Kafka's group tools and Java consumers against a node: list, describe, reset, delete; every assignor."""

import re
import subprocess
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

pytestmark = pytest.mark.interop

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
ASSIGNORS = ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"]
DEADLINE_S = 60


@pytest.fixture
def group():
    return f"group-{uuid.uuid4().hex[:8]}"


def make_topic(node, topic, count):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, 4, 1)])[topic].result(15)
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=number % 4)
    assert producer.flush(10) == 0


def groups_tool(tools, node, *arguments, check=True):
    return tools.run(GROUPS, "--bootstrap-server", node.bootstrap, *arguments, check=check).decode()


def commit(node, group, topic, offset):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, partition, offset) for partition in range(4)], asynchronous=False)
    consumer.close()


def committed(node, group, topic):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group})
    rows = consumer.committed([TopicPartition(topic, partition) for partition in range(4)], timeout=10)
    consumer.close()
    return [row.offset for row in rows]


def test_a_group_is_listed_described_reset_and_deleted(node, tools, topic, group):
    make_topic(node, topic, 40)
    commit(node, group, topic, 4)
    listed = groups_tool(tools, node, "--list", "--state")
    assert re.search(rf"{group}\s+Empty", listed)
    assert group not in groups_tool(tools, node, "--list", "--state", "stable")
    described = groups_tool(tools, node, "--describe", "--group", group)
    for partition in range(4):
        assert re.search(rf"{group}\s+{topic}\s+{partition}\s+4\s+10\s+6\s", described), described
    assert re.search(rf"{group}\s+.*Empty\s+0", groups_tool(tools, node, "--describe", "--state", "--group", group))
    reset = ["--reset-offsets", "--group", group, "--topic", topic]
    groups_tool(tools, node, *reset, "--to-earliest", "--dry-run")
    assert committed(node, group, topic) == [4] * 4
    groups_tool(tools, node, *reset, "--shift-by", "3", "--execute")
    assert committed(node, group, topic) == [7] * 4
    groups_tool(tools, node, "--delete-offsets", "--group", group, "--topic", f"{topic}:1")
    assert committed(node, group, topic)[1] < 0
    assert "was successful" in groups_tool(tools, node, "--delete", "--group", group)
    assert group not in groups_tool(tools, node, "--list").split()
    assert "does not exist" in groups_tool(tools, node, "--delete", "--group", group, check=False)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_java_consumers_share_a_topic(node, tools, topic, group, assignor):
    make_topic(node, topic, 400)
    command = ["java", "-Xmx256m", "-cp", tools.classpath, CONSOLE_CONSUMER, "--bootstrap-server", node.bootstrap,
               "--topic", topic, "--group", group, "--from-beginning", "--timeout-ms", "12000",
               "--consumer-property", "session.timeout.ms=6000",
               "--consumer-property", f"partition.assignment.strategy=org.apache.kafka.clients.consumer.{assignor}"]  # fmt: skip
    consumers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        deadline = time.monotonic() + DEADLINE_S
        while True:
            found = admin.describe_consumer_groups([group])[group].result(15)
            shares = sorted(len(member.assignment.topic_partitions) for member in found.members)
            if shares == [2, 2]:
                break
            assert time.monotonic() < deadline, f"{found.state} {shares}"
            assert all(one.poll() is None for one in consumers)
            time.sleep(0.1)
        assert assignor.lower().startswith(found.partition_assignor.replace("-", "").replace("assignor", ""))
        lines = [line for one in consumers for line in one.communicate(timeout=DEADLINE_S)[0].split()]
        assert sorted(map(int, set(lines))) == list(range(400))
    finally:
        for one in consumers:
            one.kill()
            one.wait()
    assert committed(node, group, topic) == [100] * 4


def test_a_group_with_members_is_described_with_them(node, tools, topic, group):
    make_topic(node, topic, 4)
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group, "client.id": "the-client"})
    consumer.subscribe([topic])
    deadline = time.monotonic() + DEADLINE_S
    while len(consumer.assignment()) != 4:
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    members = groups_tool(tools, node, "--describe", "--members", "--verbose", "--group", group)
    assert re.search(rf"{group}\s+the-client-\S+\s+/127.0.0.1\s+the-client\s+4\s+\S*\(0,1,2,3\)", members), members
    refused = groups_tool(tools, node, "--delete", "--group", group, check=False)
    assert "not empty" in refused.lower() or "NonEmpty" in refused
    consumer.close()
