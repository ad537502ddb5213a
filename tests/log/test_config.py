"""A topic's settings as its log takes them."""

import pytest

from headrace.errors import ConfigError
from headrace.log.config import NEVER, LogConfig
from headrace.settings import Settings, topic_values


def config(broker=None, **topic):
    overrides = {key.replace("_", "."): value for key, value in topic.items()}
    return LogConfig.from_values(topic_values(Settings(broker or {}), overrides))


def test_the_deprecated_bound_on_timestamps_counts_where_the_newer_ones_are_not_set():
    assert (config().timestamp_before_max_ms, config().timestamp_after_max_ms) == (NEVER, NEVER)
    both = config(message_timestamp_difference_max_ms="500")
    assert (both.timestamp_before_max_ms, both.timestamp_after_max_ms) == (500, 500)
    one = config({"log.message.timestamp.difference.max.ms": "500"}, message_timestamp_after_max_ms="7")
    assert (one.timestamp_before_max_ms, one.timestamp_after_max_ms) == (500, 7)


@pytest.mark.parametrize("version", ["0.8.0", "0.9.0.1", "0.10.2-IV0", "0.11.0", "1.0", "2.8-IV1", "3.9.1"])
def test_a_message_format_version_has_no_effect(version):
    assert config(message_format_version=version) == config()


@pytest.mark.parametrize("version", ["", "0", "new", "3", "2.8-IV", "2.8-IV1x"])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(ConfigError, match=r"message\.format\.version: must be a version of Kafka"):
        config(message_format_version=version)
