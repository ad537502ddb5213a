"""A node's settings from a file and from arguments: what is refused, and in which words."""

import logging

import pytest

from headrace.errors import ConfigError
from headrace.node.settings_file import checked, load_settings, parse_changes


def write(tmp_path, text):
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_kafka_file_is_read_and_arguments_win(tmp_path):
    path = write(tmp_path, "# a comment\nbroker.id=3\nlog.dirs=/a, /b\nnum.partitions = 4\n")
    settings = load_settings(path, {"num.partitions": "6"})
    assert settings["broker.id"] == 3
    assert settings["log.dirs"] == ("/a", "/b")
    assert settings["num.partitions"] == 6


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("broker.id=one", "invalid value 'one' for broker.id: must be a whole number"),
        ("num.partitions=0", "invalid value '0' for num.partitions: must be at least 1"),
        ("log.retention.ms=1_000", "invalid value '1_000' for log.retention.ms: must be a whole number"),
        ("log.retention.ms=\u0663", "for log.retention.ms: must be a whole number"),
        ("log.retention.ms=", "invalid value '' for log.retention.ms: must be a whole number"),
        ("log.retention.ms=" + "9" * 5_000, "for log.retention.ms: must be a whole number"),
        ("log.cleaner.min.cleanable.ratio=nan", "'nan' for log.cleaner.min.cleanable.ratio: must be a number"),
        ("log.cleaner.min.cleanable.ratio=1_0.5", "for log.cleaner.min.cleanable.ratio: must be a number"),
        ("log.cleaner.min.cleanable.ratio=1.5", "for log.cleaner.min.cleanable.ratio: must be at most 1"),
        ("log.cleaner.io.max.bytes.per.second=Infinity", "must be a number"),
        ("log.cleaner.io.max.bytes.per.second=1e999", "must be a number"),
        ("log.dirs=", "for log.dirs: must name at least one directory"),
        ("listeners=PLAINTEXT://h", "for listeners: must have the form PLAINTEXT://host:port"),
        ("listeners=PLAINTEXT://h:\\u00b2", "for listeners: must have the form PLAINTEXT://host:port"),
        ("headrace.worker.cpus=3-0", "for headrace.worker.cpus: 3-0 is an empty range: use 0-3"),
        ("headrace.network.worker.cpus=\\u00b2", "for headrace.network.worker.cpus: must have the form 0-3,8"),
        ("broker.rack=\\ud83d", "unpaired surrogate"),
        ("listeners=SSL://h:1", "protocol SSL is not supported yet"),
        ("headrace.worker.cpus=a-b", "invalid value 'a-b' for headrace.worker.cpus: must have the form 0-3,8"),
        ("compression.type=rar", "invalid value 'rar' for compression.type: must be one of"),
        ("log.message.format.version=new", "'new' for log.message.format.version: must be a version of Kafka"),
        ("headrace.request.ring.bytes=100000", "for headrace.request.ring.bytes: must be a power of two"),
        ("headrace.network.workers=0", "for headrace.network.workers: must be -1 (choose by cores) or at least 1"),
    ],
)
def test_a_bad_value_is_refused_with_key_value_and_reason(tmp_path, line, complaint):
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, f"broker.id=1\n{line}\n"), {})
    assert complaint in str(caught.value)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.properties' for FILE: No such file"):
        load_settings(tmp_path / "nowhere.properties", {})


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="Is a directory"):
        load_settings(tmp_path, {})


def test_a_binary_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"for broker.id: must be set in .*server.properties"):
        load_settings(write(tmp_path, b"\xff\xfe\x00"), {})


def test_a_bad_escape_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="for FILE: is not a valid properties file"):
        load_settings(write(tmp_path, "broker.id=1\nbroker.rack=\\u12\n"), {})


@pytest.mark.parametrize("text", ["", "broker.id=\n", "# broker.id=1\n"])
def test_a_file_without_broker_id_is_refused_unless_an_argument_says_it(tmp_path, text):
    with pytest.raises(ConfigError, match=r"for broker.id: must be set in "):
        load_settings(write(tmp_path, text), {})
    assert load_settings(write(tmp_path, text), {"broker.id": "4"})["broker.id"] == 4


def test_a_value_beyond_ascii_warns_as_what_it_was_read(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        settings = load_settings(write(tmp_path, "broker.id=1\nbroker.rack=n\u00f6rd\n"), {})
    assert settings["broker.rack"] == "n\u00c3\u00b6rd", "as Java does"
    assert "read as ISO-8859-1" in caplog.text


def test_unknown_keys_warn_and_the_node_goes_on(caplog):
    with caplog.at_level(logging.WARNING):
        settings = checked({"broker.id": "1", "quota.window.num": "2", "auto.create.topic.enable": "false"})
    assert settings["broker.id"] == 1
    assert caplog.messages == [
        "quota ignored, quotas are not supported yet key=quota.window.num",
        "unknown setting ignored key=auto.create.topic.enable perhaps_meant=auto.create.topics.enable",
    ]


def test_a_setting_of_kafka_s_that_nothing_here_follows_is_named(caplog):
    with caplog.at_level(logging.WARNING):
        settings = checked({"num.io.threads": "16", "log.segment.bytes": "100000"})
    assert settings["num.io.threads"] == 16
    assert caplog.messages == ["setting has no effect in Headrace key=num.io.threads"]


def test_arguments_are_pairs():
    assert parse_changes(["a=1", " b = x=y ", "c="]) == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize("text", ["a", "=1", " =1", ""])
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(ConfigError, match="for --set: must have the form key=value"):
        parse_changes([text])


@pytest.mark.parametrize(
    ("text", "value"), [("0.25", 0.25), (".5", 0.5), ("1.", 1.0), ("2e-1", 0.2), ("0.5f", 0.5), ("+1D", 1.0)]
)
def test_numbers_are_written_as_java_reads_them(tmp_path, text, value):
    settings = load_settings(
        write(tmp_path, f"broker.id=1\nlog.cleaner.min.cleanable.ratio={text}\nnum.partitions=+4\n"), {}
    )
    assert (settings["log.cleaner.min.cleanable.ratio"], settings["num.partitions"]) == (value, 4)
