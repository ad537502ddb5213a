"""The kafka source's options: what is taken, what is refused and why."""

import pytest

from headrace.arrow.scan_options import Bound
from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition
from headrace.spark.consumer_properties import FORBIDDEN
from headrace.spark.options import parse_options

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
        ({"startingOffsets": "soon"}, "not valid JSON"),
        ({"startingOffsets": "[1]"}, "JSON object"),
        ({"startingTimestamp": "noon"}, "whole number"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxPartitions": "0"}, "option maxPartitions 0 must be at least 1"),
        ({"maxPartitions": "3", "minPartitions": "4"}, r"minPartitions 4 must be at most maxPartitions \(3\)"),
        ({"maxPartitions": "3", "maxRecordsPerPartition": "4"}, "maxRecordsPerPartition can't be set together"),
        ({"maxRecordsPerPartition": "-5"}, "at least 1"),
        ({"failOnDataLoss": "perhaps"}, "true or false"),
        ({"kafka.isolation.level": "serializable"}, "read_committed"),
        ({"kafka.isolation.level": "READ_COMMITTED"}, "read_committed"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "3"}, "9 must be at most maxOffsetsPerTrigger"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "error or latest"),
        ({"subscribePattern": "a"}, "exactly one of subscribe, subscribePattern, assign"),
        ({"subscribe": " , "}, "subscribe ' , ' contains no topic"),
        ({"startingTimestamp": "9" * 20}, "option startingTimestamp '9+' must be a whole number within 64 bits"),
        (
            {"startingOffsetsByTimestamp": '{"a":{"0":%s}}' % ("9" * 20)},
            "startingOffsetsByTimestamp .* must have numbers",
        ),
        ({"startingOffsets": '{"a":{"0":%s}}' % ("9" * 20)}, "startingOffsets .* must have numbers by partition"),
        ({"minPartitions": "many"}, "option minPartitions 'many' must be a whole number"),
        ({"fetchOffset.numRetries": "-1"}, r"fetchOffset\.numRetries -1 must be at least 0"),
        ({"checkCrcs": "maybe"}, "option checkCrcs 'maybe' must be true or false"),
        ({"columns": "value,val"}, "columns .*val.*choose from"),
        ({"columns": "value,value"}, "columns value are listed twice"),
        ({"startingOffsets": '{"a":{"0":"x"}}'}, "option startingOffsets .* must have numbers by partition"),
        ({"startingOffsets": '{"a":[1]}'}, "option startingOffsets .* must have numbers by partition"),
        ({"startingOffsets": '{"a":{"0":-7}}'}, "a-0 at -7 is not an offset"),
        (
            {"startingOffsets": '{"a":{"0":9}}', "endingOffsets": '{"a":{"0":3}}'},
            "options startingOffsets and endingOffsets: a-0 starts at 9, after its end 3",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(options, reason):
    with pytest.raises(ValueError, match=reason):
        parse(**options)


@pytest.mark.parametrize("options", [{}, {"subscribe": "a"}, {"kafka.bootstrap.servers": "h:1"}])
def test_what_is_missing_is_named(options):
    with pytest.raises(ValueError, match="must be set"):
        parse_options(options)


@pytest.mark.parametrize("pattern", ["(", r"\p{Lower}+", r"\Qa.b\E", "[a-z&&[^b]]", "[a[bc]]", "(?<name>a)", " "])
def test_a_pattern_that_is_none_or_means_something_else_in_java_is_refused(pattern):
    with pytest.raises(ValueError, match=r"option subscribePattern"):
        parse_options({"kafka.bootstrap.servers": "h:1", "subscribePattern": pattern})


@pytest.mark.parametrize(
    "assign",
    ['{"skew":"x"}', '{"skew":5}', '{"skew":["0"]}', '{"skew":[-1]}', '{"skew":[true]}', "{}", "skew", '["skew"]'],
)
def test_an_assignment_that_names_no_partitions_is_refused_by_name(assign):
    with pytest.raises(ValueError, match="option assign"):
        parse_options({"kafka.bootstrap.servers": "h:1", "assign": assign})


def test_an_unknown_option_warns_and_client_settings_pass(recwarn):
    parse(**{"kafka.security.protocol": "plaintext", "kafka.fetch.max.bytes": "1000", "kafka.group.id": "g"})
    assert not recwarn.list
    with pytest.warns(UserWarning, match="option fetchsize is unknown"):
        parse(fetchSize="3")
    with pytest.warns(UserWarning, match=r"kafka\.fetch\.size is not a Kafka consumer property"):
        parse(**{"kafka.fetch.size": "3"})
    with pytest.warns(UserWarning, match="maxOffsetsPerTrigger applies to streams"):
        parse(maxOffsetsPerTrigger="3")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kafka.security.protocol", "SASL_SSL"),
        ("kafka.security.protocol", "SSL"),
        ("kafka.sasl.jaas.config", "secret"),
        ("kafka.sasl.mechanism", "PLAIN"),
        ("kafka.ssl.truststore.location", "secret"),
        ("kafka.security.providers", "x"),
    ],
)
def test_what_promises_security_is_refused_without_telling_a_secret(option, value):
    with pytest.raises(
        ValueError, match=rf"option {option}.*is not supported: only PLAINTEXT is supported so far"
    ) as caught:
        parse(**{option: value})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("kafka.fetch.max.bytes", "abc", "whole number from 0"),
        ("kafka.fetch.max.bytes", "-1", "whole number from 0"),
        ("kafka.request.timeout.ms", str(2**31), "whole number"),
        ("kafka.max.poll.records", "0", "whole number from 1"),
        ("kafka.check.crcs", "yes", "true or false"),
        ("kafka.client.dns.lookup", "default", "use_all_dns_ips or"),
    ],
)
def test_a_value_that_kafkas_consumer_would_refuse_is_refused(option, value, reason):
    with pytest.raises(ValueError, match=rf"option {option} '{value}' must be .*{reason}"):
        parse(**{option: value})


def test_checksums_are_compared_unless_told_otherwise_by_our_name_or_kafkas():
    assert parse().checks_crcs
    assert not parse(checkCrcs="false").checks_crcs
    assert not parse(**{"kafka.check.crcs": "False"}).checks_crcs
    assert parse(**{"kafka.check.crcs": "false", "checkCrcs": "true"}).checks_crcs


def test_patience_goes_by_the_connectors_names():
    assert (parse().attempts, parse().patience_s) == (3, 120)
    found = parse(
        **{
            "fetchOffset.numRetries": "5",
            "fetchOffset.retryIntervalMs": "250",
            "kafkaConsumer.pollTimeoutMs": "512",
        }
    )
    assert (found.attempts, found.retry_pause_s, found.patience_s) == (5, 0.25, 0.512)


def test_what_names_partitions_has_to_name_them_all():
    assert parse(startingOffsets='{"a":{"0":1}}').start.option == "startingOffsets"
    assert parse(endingOffsetsByTimestamp='{"a":{"0":1}}').end.option == "endingOffsetsByTimestamp"
