"""A stream's options: those of the connector, what it refuses, what is ours."""

import pytest

from headrace.arrow.scan_options import Bound
from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition
from headrace.spark.stream_options import MAX_TRIGGER_DELAY_MS, parse_stream_options

BASE = {"kafka.bootstrap.servers": "h:1", "subscribe": "a"}


def parse(**options):
    return parse_stream_options({**BASE, **options})


def test_a_stream_starts_at_the_latest_offset_and_is_not_limited():
    found = parse()
    assert found.scan.start == Bound(LATEST)
    assert (found.max_offsets, found.min_offsets, found.max_delay_ms) == (None, None, MAX_TRIGGER_DELAY_MS)
    assert (found.commit_group, found.descriptors) == ("", 0)


def test_limits_by_the_connectors_names(recwarn):
    found = parse(maxOffsetsPerTrigger="500", minOffsetsPerTrigger="20", maxTriggerDelay="30s")
    assert (found.max_offsets, found.min_offsets, found.max_delay_ms) == (500, 20, 30_000)
    assert parse(**{"headrace.commit.group": "lag-of-job"}).commit_group == "lag-of-job"
    assert not recwarn.list


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("15m", 900_000), ("200ms", 200), ("2 h", 7_200_000), ("1min", 60_000), ("40", 40)]
)
def test_delays(text, milliseconds):
    assert parse(maxTriggerDelay=text).max_delay_ms == milliseconds


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"endingOffsets": "latest"}, "option endingOffsets is not allowed in a stream"),
        ({"endingOffsetsByTimestamp": '{"a":{"0":1}}'}, "option endingOffsetsByTimestamp is not allowed in a stream"),
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger 0 must be at least 1"),
        ({"minOffsetsPerTrigger": "x"}, "option minOffsetsPerTrigger 'x' must be a whole number"),
        (
            {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "3"},
            r"minOffsetsPerTrigger 9 must be at most maxOffsetsPerTrigger \(3\)",
        ),
        ({"maxTriggerDelay": "soon"}, "option maxTriggerDelay 'soon' must be a duration"),
        ({"maxTriggerDelay": "5 years"}, "option maxTriggerDelay '5 years' must be a duration"),
        ({"headrace.commit.group": " "}, "option headrace.commit.group is empty"),
        ({"kafka.auto.offset.reset": "latest"}, "use startingOffsets"),
    ],
)
def test_what_makes_no_sense_in_a_stream_is_refused(options, reason):
    with pytest.raises(ValueError, match=reason):
        parse(**options)


@pytest.mark.parametrize(
    ("options", "may_move"),
    [
        ({}, True),
        ({"startingOffsets": "latest"}, True),
        ({"startingOffsets": "earliest"}, False),
        ({"startingOffsets": '{"a":{"0":5,"1":-2}}'}, False),
        ({"startingOffsets": '{"a":{"0":5,"1":-1}}'}, True),
        ({"startingTimestamp": "1000"}, False),
        ({"startingTimestamp": "1000", "startingOffsetsByTimestampStrategy": "latest"}, True),
        ({"startingOffsetsByTimestamp": '{"a":{"0":5}}', "startingOffsets": "latest"}, False),
    ],
)
def test_a_start_that_would_be_later_after_a_crash_is_known_as_such(options, may_move):
    assert parse(**options).may_start_at_latest is may_move


def test_latest_and_earliest_are_offsets_of_a_stream():
    start = parse(startingOffsets='{"a":{"0":-1,"1":-2,"2":7}}').scan.start
    assert [start.offsets[TopicPartition("a", number)] for number in range(3)] == [LATEST, EARLIEST, 7]


def test_an_end_by_one_time_is_ignored_as_the_connector_does():
    with pytest.warns(UserWarning, match="option endingTimestamp applies to batches only: ignored in a stream"):
        parse(endingTimestamp="1")
