"""The kafka source's options: what is taken, what is refused and why."""

import pytest

from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition
from headrace.spark.options import FORBIDDEN, Bound, parse_options

BASE = {"kafka.bootstrap.servers": "h:1", "subscribe": "a"}


def parse(**options):
    return parse_options({**BASE, **options})


def test_the_least_that_is_needed_reads_all_of_a_topic():
    found = parse()
    assert (found.bootstrap_servers, found.topics) == ("h:1", ("a",))
    assert (found.start, found.end) == (Bound(EARLIEST), Bound(LATEST))
    assert found.fails_on_data_loss
    assert not found.includes_headers


def test_names_ignore_case_as_spark_does():
    found = parse_options({"KAFKA.Bootstrap.Servers": "h:1", "SubscribePattern": "a.*", "MINPARTITIONS": "3"})
    assert (found.pattern, found.min_partitions) == ("a.*", 3)


def test_assign_names_partitions():
    found = parse_options({"kafka.bootstrap.servers": "h:1", "assign": '{"a":[0,2],"b":[1]}'})
    assert found.assigned == (TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1))


def test_offsets_by_partition():
    found = parse(startingOffsets='{"a":{"0":23,"1":-2}}', endingOffsets='{"a":{"0":50,"1":-1}}')
    assert found.start.offsets == {TopicPartition("a", 0): 23, TopicPartition("a", 1): EARLIEST}
    assert found.end.offsets == {TopicPartition("a", 0): 50, TopicPartition("a", 1): LATEST}


def test_a_timestamp_wins_over_timestamps_by_partition_and_these_over_offsets():
    by_timestamp = {"startingOffsetsByTimestamp": '{"a":{"0":1000}}', "startingOffsets": "earliest"}
    assert parse(**by_timestamp).start.timestamps == {TopicPartition("a", 0): 1000}
    assert parse(**by_timestamp, startingTimestamp="5").start == Bound(EARLIEST, timestamp=5)


@pytest.mark.parametrize("option", FORBIDDEN)
def test_what_the_kafka_source_forbids_is_refused_with_advice(option):
    with pytest.raises(ValueError, match=option):
        parse_options({**BASE, option.upper(): "x"})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets"),
        ({"endingOffsets": "earliest"}, "endingOffsets"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "startingOffsets.*a-0"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "endingOffsets.*a-0"),
        ({"startingOffsets": "soon"}, "no JSON"),
        ({"startingOffsets": "[1]"}, "JSON object"),
        ({"startingTimestamp": "noon"}, "whole number"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxRecordsPerPartition": "-5"}, "at least 1"),
        ({"failOnDataLoss": "perhaps"}, "true or false"),
        ({"kafka.isolation.level": "serializable"}, "read_committed"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "error or latest"),
        ({"subscribePattern": "a"}, "exactly one"),
        ({"subscribePattern": "("}, "exactly one"),
    ],
)
def test_what_makes_no_sense_is_refused(options, reason):
    with pytest.raises(ValueError, match=reason):
        parse(**options)


@pytest.mark.parametrize("options", [{}, {"subscribe": "a"}, {"kafka.bootstrap.servers": "h:1"}])
def test_what_is_missing_is_named(options):
    with pytest.raises(ValueError, match="must be set"):
        parse_options(options)


def test_a_pattern_that_is_none():
    with pytest.raises(ValueError, match="subscribePattern"):
        parse_options({"kafka.bootstrap.servers": "h:1", "subscribePattern": "("})


def test_an_unknown_option_warns_and_client_settings_pass():
    with pytest.warns(UserWarning, match="fetchoffset.numretries"):
        parse(**{"fetchOffset.numRetries": "3", "kafka.security.protocol": "PLAINTEXT"})
