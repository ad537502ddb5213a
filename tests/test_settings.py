"""Values of settings: what is read, and what is refused with key, value and reason."""

import pytest

from headrace.errors import ConfigError
from headrace.log.config import LogConfig
from headrace.settings import (
    Settings,
    check_dynamic_value,
    check_topic_value,
    format_value,
    kafka_version,
    parse_cpus,
    parse_listener,
    topic_values,
)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("broker.id", " 7 ", 7),
        ("broker.id", "+7", 7),
        ("log.retention.ms", "-1", -1),
        ("log.cleaner.min.cleanable.ratio", "0.25", 0.25),
        ("log.cleaner.min.cleanable.ratio", ".5", 0.5),
        ("log.cleaner.min.cleanable.ratio", "1e-1", 0.1),
        ("log.cleaner.min.cleanable.ratio", "1.", 1.0),
    ],
)
def test_numbers_are_read_as_kafka_reads_them(key, text, value):
    assert Settings({key: text})[key] == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("retention.ms", "1_000"),
        ("retention.ms", "0x10"),
        ("retention.ms", "9" * 20),
        ("retention.ms", ""),
        ("min.cleanable.dirty.ratio", "nan"),
        ("min.cleanable.dirty.ratio", "inf"),
        ("min.cleanable.dirty.ratio", "1e999"),
        ("min.cleanable.dirty.ratio", "0.1_5"),
    ],
)
def test_what_only_python_takes_for_a_number_is_refused(key, text):
    with pytest.raises(ConfigError, match=f"for {key}: must be a"):
        check_topic_value(key, text)


@pytest.mark.parametrize("port", ["\u00b2", "\u0663", "1_0", "70000", "+80", ""])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(ConfigError, match="must have the form PLAINTEXT://host:port"):
        parse_listener(f"PLAINTEXT://localhost:{port}")


@pytest.mark.parametrize("text", ["\u00b2", "1-\u0663", "1_0", "-1", ""])
def test_processors_that_are_none_are_refused(text):
    with pytest.raises(ConfigError, match="must have the form 0-3,8"):
        parse_cpus(text)


@pytest.mark.parametrize("version", ["2.5", "2.5-IV0", "0.10.2", "4.0"])
def test_an_inter_broker_protocol_that_is_not_spoken_is_refused(version):
    with pytest.raises(ConfigError, match=r"2\.6 to 3\.9"):
        Settings({"inter.broker.protocol.version": version})


@pytest.mark.parametrize(
    ("version", "numbers"), [("2.6", (2, 6)), ("2.8-IV1", (2, 8)), ("3.9-IV0", (3, 9)), ("3.9.0", (3, 9))]
)
def test_an_inter_broker_protocol_is_known_by_two_numbers(version, numbers):
    settings = Settings({"inter.broker.protocol.version": version})
    assert kafka_version(settings["inter.broker.protocol.version"]) == numbers


@pytest.mark.parametrize("key", ["replica.socket.timeout.ms", "replica.lag.time.max.ms"])
def test_a_follower_waits_no_longer_for_an_answer_than_it_may_be_late(key):
    with pytest.raises(ConfigError, match=r"at least replica\.fetch\.wait\.max\.ms"):
        Settings({key: "499"})
    Settings({key: "499", "replica.fetch.wait.max.ms": "499"})


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("segment.ms", "\uff19"),  # 9, of full width
        ("retention.bytes", "-2"),
        ("retention.bytes", str(-(2**63))),
        ("min.cleanable.dirty.ratio", "NaN"),
        ("segment.index.bytes", "4"),
        ("cleanup.policy", ""),
        ("cleanup.policy", " compact , delete "),
        ("compression.gzip.level", "-1"),
    ],
)
def test_a_topic_takes_what_kafka_takes(key, text):
    check_topic_value(key, text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("cleanup.policy", ","),
        ("cleanup.policy", "compact,"),
        ("cleanup.policy", ",delete"),
        ("cleanup.policy", "compact,,delete"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("segment.index.bytes", "3"),
        ("min.cleanable.dirty.ratio", "1.1"),
    ],
)
def test_a_topic_refuses_what_kafka_refuses(key, text):
    with pytest.raises(ConfigError):
        check_topic_value(key, text)


def test_a_node_refuses_a_level_that_gzip_does_not_have_and_a_policy_that_is_none():
    with pytest.raises(ConfigError, match="may not be 0"):
        Settings({"compression.gzip.level": "0"})
    with pytest.raises(ConfigError, match="delete, compact or both"):
        check_dynamic_value("log.cleanup.policy", "delete,")


def test_values_that_no_segment_could_live_with_are_bounded():
    config = LogConfig.from_values(
        topic_values(Settings({}), {"segment.index.bytes": "4", "min.cleanable.dirty.ratio": "NaN"})
    )
    assert (config.index_bytes_max, config.dirty_ratio_min) == (16, 1.0)
    assert (
        format_value(topic_values(Settings({}), {"min.cleanable.dirty.ratio": "NaN"})["min.cleanable.dirty.ratio"])
        == "NaN"
    )
