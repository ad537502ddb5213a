"""IncrementalAlterConfigs and AlterConfigs: what both do to overrides, and where they differ."""

import pytest

from headrace.controller.admin import a33_alter_configs, a44_incremental_alter_configs
from headrace.controller.cluster.view_room import VIEW_MARGIN_BYTES
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.transaction import Transaction
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1


def ask(node, key, version, resources, validate_only=False):
    """resources: (type, name, configs)"""
    kind = messages.IncrementalAlterConfigsRequest if key == 44 else messages.AlterConfigsRequest
    request = kind(
        resources=[
            kind.AlterConfigsResource(
                resource_type=type_, resource_name=name, configs=[kind.AlterableConfig(*config) for config in configs]
            )
            for type_, name, configs in resources
        ],
        validate_only=validate_only,
    )
    body = memoryview(bytes(encode_request(key, version, request)))
    handle = a44_incremental_alter_configs.handle if key == 44 else a33_alter_configs.handle
    answer = node.handle(handle, version, body).poll(0)
    return [
        (row.resource_name, ErrorCode(row.error_code), row.error_message)
        for row in decode_response(key, version, memoryview(answer)).responses
    ]


def make(node, name, configs=None):
    node.create(name, ((node.known.node_id,),), configs or {})
    node.publish()


@pytest.mark.parametrize("version", [0, 1])
def test_single_configs_change(new_node, version):
    node = new_node()
    make(node, "t", {"segment.ms": "5", "flush.ms": "1"})
    changes = [("segment.ms", SET, "6"), ("flush.ms", DELETE, None)]
    assert ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, version, [(TOPIC, "t", changes)]) == [
        ("t", ErrorCode.NONE, None)
    ]
    assert node.view.topics["t"].configs == {"segment.ms": "6"}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_what_is_not_named_goes_back_to_its_default(new_node, version):
    node = new_node()
    make(node, "t", {"segment.ms": "5", "flush.ms": "1"})
    assert ask(node, ApiKey.ALTER_CONFIGS, version, [(TOPIC, "t", [("segment.ms", "6")])]) == [
        ("t", ErrorCode.NONE, None)
    ]
    assert node.view.topics["t"].configs == {"segment.ms": "6"}


def test_resources_fail_by_themselves(new_node):
    node = new_node()
    for name in ("good", "bad", "twice"):
        make(node, name)
    change = [("segment.ms", SET, "6")]
    rows = ask(
        node,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        [
            (TOPIC, "good", change),
            (TOPIC, "bad", [("segment.ms", SET, "six")]),
            (TOPIC, "twice", change),
            (TOPIC, "twice", change),
            (TOPIC, "absent", change),
            (BROKER, "0", [("broker.id", SET, "6")]),
            (8, "0", change),
        ],
    )
    assert [(name, code) for name, code, _message in rows] == [
        ("good", ErrorCode.NONE),
        ("bad", ErrorCode.INVALID_CONFIG),
        ("twice", ErrorCode.INVALID_REQUEST),
        ("twice", ErrorCode.INVALID_REQUEST),
        ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("0", ErrorCode.INVALID_REQUEST),
        ("0", ErrorCode.INVALID_REQUEST),
    ]
    assert "segment.ms" in rows[1][2]
    assert "server.properties" in rows[5][2]
    assert {name: topic.configs for name, topic in node.view.topics.items()} == {
        "good": {"segment.ms": "6"},
        "bad": {},
        "twice": {},
    }


def test_validate_only_changes_nothing(new_node, ensemble):
    node = new_node()
    make(node, "t")
    writes = ensemble.writes
    change = [(TOPIC, "t", [("segment.ms", SET, "6")])]
    assert ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change, validate_only=True) == [("t", ErrorCode.NONE, None)]
    assert ensemble.writes == writes
    assert node.view.topics["t"].configs == {}


def test_any_node_may_be_asked_and_the_others_hear_of_it(new_node):
    active, follower = new_node(0), new_node(1)
    active.turn()
    make(active, "t")
    follower.turn()
    change = [(TOPIC, "t", [("segment.ms", SET, "6")])]
    assert ask(follower, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change) == [("t", ErrorCode.NONE, None)]
    active.turn()
    assert active.view.topics["t"].configs == {"segment.ms": "6"}


def test_without_zookeeper_the_outcome_is_unknown(new_node):
    node = new_node()
    make(node, "t")
    node.zk.is_connected = False
    change = [(TOPIC, "t", [("segment.ms", SET, "6")])]
    [(_name, code, _message)] = ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change)
    assert code is ErrorCode.REQUEST_TIMED_OUT
    assert node.view.topics["t"].configs == {}


def test_overrides_for_which_the_view_has_no_room_are_not_written(new_node):
    node = new_node()
    make(node, "t")
    node.agent.room.reserve_bytes("other", node.seat.view_writer.room_bytes() - VIEW_MARGIN_BYTES)
    changes = [("segment.ms", SET, "6")]
    resources = [(TOPIC, "t", changes)]
    [(_name, error, _message)] = ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources)
    assert error is ErrorCode.POLICY_VIOLATION
    assert node.view.topics["t"].configs == {}


def described_names(rows):
    return [(name, code) for name, code, _message in rows]


def test_settings_that_topics_inherit_change_for_a_broker_and_for_all(new_node):
    node = new_node()
    for broker, value in (("", "1000"), ("0", "2000")):
        rows = ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(BROKER, broker, [("log.retention.ms", SET, value)])])
        assert described_names(rows) == [(broker, ErrorCode.NONE)]
    view = node.seat.view.read()
    assert (view.cluster_settings, view.node_settings) == ({"log.retention.ms": "1000"}, {"log.retention.ms": "2000"})
    assert node.agent.topic_defaults()["log.retention.ms"] == 2000
    assert node.run(node.zk.get(znodes.broker_config_path("<default>"))) is not None
    ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(BROKER, "0", [("log.retention.ms", DELETE, None)])])
    assert node.agent.topic_defaults()["log.retention.ms"] == 1000
    ask(node, ApiKey.ALTER_CONFIGS, 2, [(BROKER, "", [])])
    assert node.agent.topic_defaults()["log.retention.ms"] == 7 * 24 * 3_600_000


def test_a_trial_changes_no_setting_of_a_broker(new_node):
    node = new_node()
    change = [(BROKER, "", [("log.retention.ms", SET, "1000")])]
    assert described_names(ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change, True)) == [("", ErrorCode.NONE)]
    assert node.known.cluster_settings == {}
    assert node.run(node.zk.get(znodes.broker_config_path("<default>"))) is None


@pytest.mark.parametrize(
    ("name", "key", "value", "words"),
    [
        ("0", "broker.id", "7", "server.properties"),
        ("", "num.io.threads", "7", "num.io.threads"),
        ("0", "nix", "7", "server.properties"),
        ("0", "log.retention.ms", "soon", "soon"),
        ("0", "log.cleanup.policy", "burn", "burn"),
        ("7", "log.retention.ms", "7", "send the request to that broker"),
        ("x", "log.retention.ms", "7", "send the request to that broker"),
    ],
)
def test_a_broker_s_other_settings_are_refused_with_the_reason(new_node, name, key, value, words):
    ((_name, code, message),) = ask(
        new_node(), ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(BROKER, name, [(key, SET, value)])]
    )
    assert code == ErrorCode.INVALID_REQUEST
    assert words in message


def test_what_kafka_s_brokers_keep_there_stays(new_node):
    node = new_node()
    path = znodes.broker_config_path("0")
    node.run(node.zk.create(path, znodes.encode_config({"num.io.threads": "9", "log.retention.ms": "soon"})))
    node.run(node.agent.load())
    assert node.known.node_settings == {}
    ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(BROKER, "0", [("log.segment.bytes", SET, "5000")])])
    assert znodes.decode_config(path, node.run(node.zk.get(path)).data)["num.io.threads"] == "9"
    assert node.known.node_settings == {"log.segment.bytes": "5000"}


def test_a_list_of_a_broker_is_appended_to(new_node):
    node = new_node()
    ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(BROKER, "", [("log.cleanup.policy", 2, "compact")])])
    assert node.known.cluster_settings == {"log.cleanup.policy": "delete,compact"}


def test_an_unknown_topic_key_is_refused_with_its_value(new_node):
    node = new_node()
    make(node, "t")
    ((_name, code, message),) = ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(TOPIC, "t", [("nix", SET, "7")])])
    assert (code, message) == (ErrorCode.INVALID_CONFIG, "Unknown topic config name: nix, with value '7'")


def test_settings_that_others_changed_are_followed(new_node):
    """At a start, and by the news in /config/changes, as Kafka's tools and brokers write it."""
    node = new_node()
    everyone = znodes.broker_config_path("<default>")
    node.run(node.zk.create(everyone, znodes.encode_config({"log.retention.ms": "1000"})))
    node.run(node.agent.load())
    node.publish()
    assert node.seat.view.read().cluster_settings == {"log.retention.ms": "1000"}
    node.run(node.zk.set(everyone, znodes.encode_config({"log.retention.ms": "2000"})))
    transaction = Transaction()
    transaction.create(
        znodes.CONFIG_CHANGE_PREFIX, b'{"version":2,"entity_path":"brokers/<default>"}', is_sequential=True
    )
    node.run(node.zk.commit(transaction))
    node.turn()
    assert node.seat.view.read().cluster_settings == {"log.retention.ms": "2000"}


def test_the_news_of_a_change_is_kafka_s(new_node):
    node = new_node()
    ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(BROKER, "", [("log.retention.ms", SET, "1")])])
    (name,) = node.run(node.zk.children(znodes.CONFIG_CHANGES))
    news = node.run(node.zk.get(f"{znodes.CONFIG_CHANGES}/{name}")).data
    assert news == b'{"version":2,"entity_path":"brokers/<default>"}'


def test_settings_that_go_together_are_compared_with_those_that_stay(new_node):
    node = new_node()
    make(node, "t", {"min.compaction.lag.ms": "10"})
    [(_name, error, message)] = ask(
        node, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, [(TOPIC, "t", [("max.compaction.lag.ms", SET, "5")])]
    )
    assert error == ErrorCode.INVALID_CONFIG
    assert "max.compaction.lag.ms" in message
    changes = [("max.compaction.lag.ms", "5")]
    assert ask(node, ApiKey.ALTER_CONFIGS, 1, [(TOPIC, "t", changes)]) == [("t", ErrorCode.NONE, None)]
