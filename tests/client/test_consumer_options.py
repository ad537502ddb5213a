"""Options of a consumer: what is taken, and what is refused by name."""

import datetime

import pytest

from headrace.client.consumer_options import ConsumerOptions, Delivery
from headrace.client.engine.fetching import OffsetReset
from headrace.ids import TopicPartition


def test_where_a_consumer_begins():
    assert ConsumerOptions.of(topics=["t"], start="earliest").fetching.reset is OffsetReset.EARLIEST
    assert ConsumerOptions.of(topics=["t"], start="none").fetching.reset is OffsetReset.NONE
    assert ConsumerOptions.of(topics=["t"], start=1_700_000_000_000).start_ms == 1_700_000_000_000
    moment = datetime.datetime(2026, 11, 27, tzinfo=datetime.UTC)
    assert ConsumerOptions.of(topics=["t"], start=moment).start_ms == int(moment.timestamp() * 1000)


def test_a_group_has_a_member_unless_partitions_are_given():
    member = ConsumerOptions.of(
        topics=["t"], group="g", assignors="sticky", client_rack="r", group_instance_id="i"
    ).membership
    assert member is not None
    assert (member.assignors, member.rack, member.instance_id) == (("sticky",), "r", "i")
    assert ConsumerOptions.of(partitions=[("t", 1)], group="g").membership is None
    assert ConsumerOptions.of(partitions=[("t", 1)]).partitions == (TopicPartition("t", 1),)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "topics, or a pattern, or partitions"),
        ({"topics": ["t"], "pattern": "t"}, "topics, or a pattern, or partitions"),
        ({"topics": ["t"], "isolation_level": "dirty"}, "isolation.level: 'dirty'"),
        ({"topics": ["t"], "max_poll_records": 0}, "max.poll.records: 0"),
        ({"topics": ["t"], "start": "begin"}, "start: 'begin'"),
        ({"topics": ["t"], "start": -5}, "start: -5"),
        ({"topics": ["t"], "fetch_min_byte": 5}, "did you mean 'fetch_min_bytes'"),
        ({"topics": ["t"], "group": "g", "assignors": "best"}, "partition.assignment.strategy: 'best'"),
        ({"topics": ["t"], "group": "g", "heartbeat_interval_ms": 50_000}, "heartbeat.interval.ms: 50000"),
        ({"topics": ["t"], "delivery": Delivery.AT_MOST_ONCE}, "set a group"),
    ],
)
def test_what_can_not_be_is_named(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        ConsumerOptions.of(**given)
