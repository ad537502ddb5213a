"""kafka-topics --alter and kafka-configs against a node; and the same awkward requests to a node and to Apache Kafka."""

import pytest

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

pytestmark = pytest.mark.interop

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
GOOD = ("segment.ms", SET, "60000")

# what -> resources of IncrementalAlterConfigs
INCREMENTAL = {
    "fine": [(TOPIC, "probe", [GOOD])],
    "bad value": [(TOPIC, "probe", [("segment.ms", SET, "soon")])],
    "out of bounds": [(TOPIC, "probe", [("segment.ms", SET, "-5")])],
    "unknown key": [(TOPIC, "probe", [("no.such.key", SET, "1")])],
    "delete of an unknown key": [(TOPIC, "probe", [("no.such.key", DELETE, None)])],
    "delete of what is not set": [(TOPIC, "probe", [("flush.ms", DELETE, None)])],
    "null": [(TOPIC, "probe", [("segment.ms", SET, None)])],
    "key twice": [(TOPIC, "probe", [GOOD, ("segment.ms", DELETE, None)])],
    "append to a number": [(TOPIC, "probe", [("segment.ms", APPEND, "1")])],
    "append": [(TOPIC, "probe", [("cleanup.policy", APPEND, "compact")])],
    "append of nonsense": [(TOPIC, "probe", [("cleanup.policy", APPEND, "compress")])],
    "subtract": [(TOPIC, "probe", [("cleanup.policy", SUBTRACT, "compact")])],
    "unknown topic": [(TOPIC, "absent", [GOOD])],
    "resource twice": [(TOPIC, "probe", [GOOD]), (TOPIC, "probe", [GOOD])],
    "nothing": [(TOPIC, "probe", [])],
}
LEGACY = {
    "fine": [(TOPIC, "probe", [("segment.ms", "60000")])],
    "bad value": [(TOPIC, "probe", [("segment.ms", "soon")])],
    "unknown key": [(TOPIC, "probe", [("no.such.key", "1")])],
    "null": [(TOPIC, "probe", [("segment.ms", None)])],
    "key twice": [(TOPIC, "probe", [("segment.ms", "1000"), ("segment.ms", "1000")])],
    "unknown topic": [(TOPIC, "absent", [("segment.ms", "60000")])],
    "nothing": [(TOPIC, "probe", [])],
}
# what -> (topic, count, assignments)
GROWTH = {
    "fewer": [("probe", 1, None)],
    "as many": [("probe", 2, None)],
    "unknown topic": [("absent", 3, None)],
    "twice": [("probe", 3, None), ("probe", 4, None)],
    "unknown broker": [("probe", 3, [[9]])],
    "too few assignments": [("probe", 4, [[0]])],
    "two replicas for a topic of one": [("probe", 3, [[0, 0]])],
    "no replica": [("probe", 3, [[]])],
    "fine": [("probe", 3, [[0]])],
    "more": [("probe", 5, None)],
}


def alter(connection, key, resources):
    kind = (
        messages.IncrementalAlterConfigsRequest
        if key == ApiKey.INCREMENTAL_ALTER_CONFIGS
        else messages.AlterConfigsRequest
    )
    request = kind(
        resources=[
            kind.AlterConfigsResource(type_, name, [kind.AlterableConfig(*config) for config in configs])
            for type_, name, configs in resources
        ]
    )
    return [ErrorCode(row.error_code).name for row in connection.request(key, 1, request).responses]


def grow(connection, topics):
    kind = messages.CreatePartitionsRequest
    rows = [
        kind.CreatePartitionsTopic(
            name, count, None if rows is None else [kind.CreatePartitionsAssignment(row) for row in rows]
        )
        for name, count, rows in topics
    ]
    answer = connection.request(ApiKey.CREATE_PARTITIONS, 3, kind(topics=rows, timeout_ms=10_000))
    return sorted(ErrorCode(row.error_code).name for row in answer.results)


def answers(address):
    """What a server says to everything above, by name."""
    connection = Connection(*address)
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic("probe", 2, 1, [], [])
    assert (
        connection.request(ApiKey.CREATE_TOPICS, 5, kind(topics=[topic], timeout_ms=10_000)).topics[0].error_code == 0
    )
    found = {}
    for what, resources in INCREMENTAL.items():
        found[f"incremental, {what}"] = alter(connection, ApiKey.INCREMENTAL_ALTER_CONFIGS, resources)
    for what, resources in LEGACY.items():
        found[f"legacy, {what}"] = alter(connection, ApiKey.ALTER_CONFIGS, resources)
    for what, topics in GROWTH.items():
        found[f"partitions, {what}"] = grow(connection, topics)
    connection.close()
    return found


def test_a_node_refuses_what_kafka_refuses_with_the_same_errors(node_factory, tmp_path):
    from bench.nodes import Kafka

    kafka = Kafka(tmp_path / "kafka")
    try:
        kafka.start()
        host, _, port = kafka.bootstrap.rpartition(":")
        theirs = answers((host, int(port)))
    finally:
        kafka.stop()
    assert answers(node_factory().address) == theirs


def test_kafka_topics_adds_partitions(node, tools, topic):
    bootstrap = ["--bootstrap-server", node.bootstrap]
    tools.run(TOPICS, *bootstrap, "--create", "--topic", topic, "--partitions", "2")
    tools.run(TOPICS, *bootstrap, "--alter", "--topic", topic, "--partitions", "4")
    described = tools.run(TOPICS, *bootstrap, "--describe", "--topic", topic).decode()
    assert "PartitionCount: 4" in described
    refused = tools.run(TOPICS, *bootstrap, "--alter", "--topic", topic, "--partitions", "3", check=False)
    assert b"4 partitions" in refused


def test_kafka_configs_sets_shows_and_deletes(node, tools, topic):
    bootstrap = ["--bootstrap-server", node.bootstrap]
    of_topic = [*bootstrap, "--entity-type", "topics", "--entity-name", topic]
    tools.run(TOPICS, *bootstrap, "--create", "--topic", topic, "--partitions", "1")
    done = tools.run(
        CONFIGS, *of_topic, "--alter", "--add-config", "retention.ms=60000,cleanup.policy=[compact,delete]"
    )
    assert b"Completed updating config" in done
    shown = tools.run(CONFIGS, *of_topic, "--describe").decode()
    assert "retention.ms=60000" in shown
    assert "cleanup.policy=compact,delete" in shown
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=60000" in shown
    tools.run(CONFIGS, *of_topic, "--alter", "--delete-config", "retention.ms")
    shown = tools.run(CONFIGS, *of_topic, "--describe").decode()
    assert "retention.ms" not in shown
    everything = tools.run(CONFIGS, *of_topic, "--describe", "--all").decode()
    assert "retention.ms=604800000" in everything
    assert "cleanup.policy=compact,delete" in everything
