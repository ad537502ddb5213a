"""Settings that topics inherit, under what was changed while the node runs; and the keys of Kafka's that change nothing here."""

import pytest

from headrace.errors import ConfigError
from headrace.settings import BROKER_SETTINGS, DYNAMIC_KEYS, TOPIC_SETTINGS, Settings, check_topic_value, topic_values
from headrace.topic_defaults import TopicDefaults

STATIC = Settings({"log.retention.hours": "1", "log.segment.bytes": "5000"})


def test_a_node_s_own_change_is_above_that_for_all_above_its_file():
    defaults = TopicDefaults(STATIC)
    assert not defaults.follow({}, {})
    assert defaults.follow({"log.retention.ms": "7", "log.segment.bytes": "6000"}, {"log.segment.bytes": "7000"})
    values = topic_values(defaults.settings, {})
    assert (values["retention.ms"], values["segment.bytes"]) == (7, 7000)
    assert not defaults.follow({"log.retention.ms": "7", "log.segment.bytes": "6000"}, {"log.segment.bytes": "7000"})
    assert defaults.follow({}, {})
    values = topic_values(defaults.settings, {})
    assert (values["retention.ms"], values["segment.bytes"]) == (3_600_000, 5000)


def test_only_what_topics_inherit_can_change_and_rates_of_replication():
    assert {setting.key for setting in BROKER_SETTINGS} >= DYNAMIC_KEYS
    rates = {"leader.replication.throttled.rate", "follower.replication.throttled.rate"}
    assert rates < DYNAMIC_KEYS <= set(TOPIC_SETTINGS.values()) | rates
    assert "broker.id" not in DYNAMIC_KEYS


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("segment.jitter.ms", "1000", "-1"),
        ("leader.replication.throttled.replicas", "*", "bad"),
        ("follower.replication.throttled.replicas", "0:1, 1:1", "0:1,*"),
        ("local.retention.ms", "-2", "-3"),
        ("local.retention.bytes", "500", "some"),
        ("remote.storage.enable", "False", "true"),
        ("remote.log.copy.disable", "false", "TRUE"),
        ("remote.log.delete.on.disable", "false", "true"),
    ],
)
def test_a_topic_key_without_effect_is_checked_as_kafka_does(key, good, bad):
    check_topic_value(key, good)
    with pytest.raises(ConfigError, match=key):
        check_topic_value(key, bad)


def test_a_key_that_kafka_has_not_is_told_with_its_value():
    with pytest.raises(ConfigError, match="'1000' for nix"):
        check_topic_value("nix", "1000")


def test_every_setting_of_a_topic_has_a_value_to_show():
    """Clients write back what they read (librdkafka's AlterConfigs): a null is no value."""
    values = topic_values(Settings(), {})
    assert not [key for key, value in values.items() if value is None]
    assert values["flush.ms"] == values["flush.messages"] == 2**63 - 1
