"""Settings of the node as clients see and change them: defaults of topics while it runs, the others by its file alone."""

import uuid

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from tests.support.waiting import DEADLINE_S, wait_until

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
ALL_BROKERS = ""
SET, DELETE = 0, 1
SOURCE_ALL_BROKERS, SOURCE_BROKER, SOURCE_DEFAULT = 3, 2, 5
KEPT_AND_WITHOUT_EFFECT = {
    "segment.jitter.ms": "1000",
    "leader.replication.throttled.replicas": "0:0",
    "follower.replication.throttled.replicas": "*",
    "local.retention.ms": "1000",
    "local.retention.bytes": "2000",
    "remote.storage.enable": "false",
}


@pytest.fixture
def admin(node):
    return AdminClient({"bootstrap.servers": node.bootstrap})


@pytest.fixture
def connection(node):
    connection = Connection(*node.address)
    yield connection
    connection.close()


def change(connection, broker, *changes, trial=False):
    """(error code, message); librdkafka's admin names no broker by '', so this is our own client."""
    kind = messages.IncrementalAlterConfigsRequest
    resource = kind.AlterConfigsResource(BROKER, broker, [kind.AlterableConfig(*one) for one in changes])
    request = kind(resources=[resource], validate_only=trial)
    (row,) = connection.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request).responses
    return row.error_code, row.error_message


def changed(connection, broker, *changes):
    """The same, again while a controller process that restarted has not read the cluster yet."""
    wait_until(lambda: change(connection, broker, *changes)[0] == 0, lambda: change(connection, broker, *changes)[1])


def described(connection, kind, name):
    """By key."""
    request = messages.DescribeConfigsRequest
    resource = request.DescribeConfigsResource(kind, name, None)
    (row,) = connection.request(
        ApiKey.DESCRIBE_CONFIGS, 4, request(resources=[resource], include_synonyms=True)
    ).results
    assert row.error_code == 0, row.error_message
    return {config.name: config for config in row.configs}


def produce(connection, topic, size):
    kind = messages.ProduceRequest
    batch = build_batch([(None, b"x" * size)], timestamp_ms=1)
    data = kind.TopicProduceData(topic, [kind.PartitionProduceData(0, batch)])
    request = kind(acks=1, timeout_ms=5_000, topic_data=[data])
    return connection.request(ApiKey.PRODUCE, 8, request).responses[0].partition_responses[0].error_code


def test_a_changed_default_holds_for_topics_without_their_own(node_factory):
    own_node = node_factory("own", "headrace.network.workers=2", "num.io.threads=5")
    admin, topic = AdminClient({"bootstrap.servers": own_node.bootstrap}), "inherits"
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(DEADLINE_S)
    connection = Connection(*own_node.address)
    assert produce(connection, topic, 5_000) == 0
    assert described(connection, BROKER, ALL_BROKERS) == {}
    assert change(connection, ALL_BROKERS, ("message.max.bytes", SET, "1000"), trial=True)[0] == 0
    assert described(connection, BROKER, ALL_BROKERS) == {}
    assert (
        change(connection, ALL_BROKERS, ("message.max.bytes", SET, "1000"), ("log.retention.ms", SET, "864000000"))[0]
        == 0
    )
    wait_until(
        lambda: produce(connection, topic, 5_000) == ErrorCode.MESSAGE_TOO_LARGE, "the new default is not followed"
    )
    shown = described(connection, BROKER, ALL_BROKERS)
    assert {name: (entry.value, entry.config_source) for name, entry in shown.items()} == {
        "message.max.bytes": ("1000", SOURCE_ALL_BROKERS),
        "log.retention.ms": ("864000000", SOURCE_ALL_BROKERS),
    }
    inherited = described(connection, TOPIC, topic)["retention.ms"]
    assert (inherited.value, inherited.config_source) == ("864000000", SOURCE_ALL_BROKERS)

    changed(connection, "0", ("message.max.bytes", SET, "10000"))
    wait_until(lambda: produce(connection, topic, 5_000) == 0, "the node's own setting is not followed")
    mine = described(connection, BROKER, "0")["message.max.bytes"]
    assert (mine.value, mine.config_source, mine.read_only) == ("10000", SOURCE_BROKER, False)
    assert [synonym.source for synonym in mine.synonyms] == [SOURCE_BROKER, SOURCE_ALL_BROKERS, SOURCE_DEFAULT]

    pid = own_node.pid("hr-controlle-0")
    own_node.kill("hr-controlle-0")
    wait_until(lambda: own_node.pid("hr-controlle-0") != pid, "the controller does not come back")
    assert produce(connection, topic, 5_000) == 0
    changed(connection, "0", ("message.max.bytes", DELETE, None))
    changed(connection, ALL_BROKERS, ("message.max.bytes", DELETE, None), ("log.retention.ms", DELETE, None))
    wait_until(
        lambda: described(connection, BROKER, "0")["message.max.bytes"].config_source == SOURCE_DEFAULT,
        "the default does not come back",
    )
    assert produce(connection, topic, 20_000) == 0
    assert described(connection, BROKER, "0")["num.io.threads"].value == "5"
    connection.close()
    assert "setting has no effect in Headrace key=num.io.threads" in (own_node.directory / "node.log").read_text()


@pytest.mark.parametrize("broker", ["0", ALL_BROKERS])
def test_a_setting_of_the_file_is_refused_with_its_key(connection, broker):
    code, message = change(connection, broker, ("num.io.threads", SET, "3"))
    assert code == ErrorCode.INVALID_REQUEST
    assert message.startswith("num.io.threads can't be changed")
    assert "server.properties" in message


def test_what_tools_read_is_shown(connection):
    shown = described(connection, BROKER, "0")
    assert shown["num.io.threads"].value == "8"
    assert shown["auto.leader.rebalance.enable"].value == "true"
    assert shown["inter.broker.listener.name"].value is None
    assert shown["transaction.max.timeout.ms"].value == "900000"
    assert (shown["broker.id"].read_only, shown["log.retention.ms"].read_only) == (True, False)


def test_topic_settings_of_kafka_s_that_change_nothing_here_are_kept_and_shown(admin, connection):
    name = f"carried-over-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 1, 1, config=KEPT_AND_WITHOUT_EFFECT)])[name].result(DEADLINE_S)
    shown = described(connection, TOPIC, name)
    assert {key: shown[key].value for key in KEPT_AND_WITHOUT_EFFECT} == KEPT_AND_WITHOUT_EFFECT


def test_a_topic_setting_that_can_t_be_is_refused_with_its_value(admin):
    refused = [
        ("segment.jitter", "1000", "Unknown topic config name: segment.jitter, with value .*1000"),
        ("remote.storage.enable", "true", "'true' for remote.storage.enable: .*tiered"),
    ]
    for key, value, reason in refused:
        with pytest.raises(Exception, match=reason):
            admin.create_topics([NewTopic("refused", 1, 1, config={key: value})])["refused"].result(DEADLINE_S)


def test_loggers_are_shown_and_not_changed(connection):
    kind = messages.DescribeConfigsRequest
    resources = [kind.DescribeConfigsResource(BROKER_LOGGER, name, None) for name in ("0", "7", "")]
    good, other, nameless = connection.request(ApiKey.DESCRIBE_CONFIGS, 4, kind(resources=resources)).results
    assert {config.name: config.value for config in good.configs}["root"] == "INFO"
    assert any(config.name.startswith("headrace.workers.network") for config in good.configs)
    assert [other.error_code, nameless.error_code] == [ErrorCode.INVALID_REQUEST] * 2
    kind = messages.IncrementalAlterConfigsRequest
    resource = kind.AlterConfigsResource(BROKER_LOGGER, "0", [kind.AlterableConfig("root", 0, "DEBUG")])
    (row,) = connection.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, kind(resources=[resource])).responses
    assert row.error_code == ErrorCode.INVALID_REQUEST
    assert "HEADRACE_LOG_LEVEL" in row.error_message


def test_rates_of_replication_are_kept_for_kafkas_tools(connection):
    """kafka-reassign-partitions --throttle sets them on each broker, and --verify takes them away."""
    keys = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
    changed(connection, "0", *((key, SET, "1000000") for key in keys))
    found = described(connection, BROKER, "0")
    assert [(found[key].value, found[key].config_source) for key in keys] == [("1000000", SOURCE_BROKER)] * 2
    assert change(connection, "0", (keys[0], SET, "-1"))[0] == ErrorCode.INVALID_REQUEST
    changed(connection, "0", *((key, DELETE, "") for key in keys))
    assert {described(connection, BROKER, "0")[key].config_source for key in keys} == {SOURCE_DEFAULT}
