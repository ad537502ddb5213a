"""Kafka's administration tools against a node: topics created, listed, described, deleted; log directories; API versions."""

import re

import pytest

pytestmark = pytest.mark.interop

TOPICS = "org.apache.kafka.tools.TopicCommand"


def test_a_topic_lives_and_dies_by_kafka_topics(node, tools, topic):
    bootstrap = ["--bootstrap-server", node.bootstrap]
    named = ["--topic", topic]
    made = tools.run(TOPICS, *bootstrap, "--create", *named, "--partitions", "3", "--config", "segment.bytes=100000")
    assert f"Created topic {topic}.".encode() in made
    assert topic in tools.run(TOPICS, *bootstrap, "--list").decode().split()

    described = tools.run(TOPICS, *bootstrap, "--describe", *named).decode()
    assert "PartitionCount: 3" in described
    assert "ReplicationFactor: 1" in described
    assert "segment.bytes=100000" in described
    assert len(re.findall(r"Partition: \d+\s+Leader: 0\s+Replicas: 0\s+Isr: 0", described)) == 3

    tools.run(TOPICS, *bootstrap, "--delete", *named)
    assert topic not in tools.run(TOPICS, *bootstrap, "--list").decode().split()


def test_a_topic_that_exists_is_refused_unless_asked_gently(node, tools, topic):
    create = ["--bootstrap-server", node.bootstrap, "--create", "--topic", topic, "--partitions", "1"]
    tools.run(TOPICS, *create)
    refused = tools.run(TOPICS, *create, check=False)
    assert f"Topic '{topic}' already exists".encode() in refused
    tools.run(TOPICS, *create, "--if-not-exists")


def test_the_log_dirs_tool_sees_a_partition(node, tools, librdkafka, topic, records):
    librdkafka.write(node.bootstrap, topic, records)
    report = tools.run("org.apache.kafka.tools.LogDirsCommand", "--bootstrap-server", node.bootstrap, "--describe")
    assert f'"partition":"{topic}-0"'.encode() in report


def test_the_versions_tool_lists_what_the_node_serves(node, tools):
    report = tools.run("kafka.admin.BrokerApiVersionsCommand", "--bootstrap-server", node.bootstrap).decode()
    for name in ("Produce(0)", "Fetch(1)", "ListOffsets(2)", "Metadata(3)", "ApiVersions(18)"):
        assert re.search(rf"{re.escape(name)}: \d+ ", report), report
