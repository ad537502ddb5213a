"""What each error of a leader does to a follower's partition, and how loud it is said."""

import logging

import pytest

from headrace.errors import ErrorCode
from headrace.workers.partition.replication import leader_errors
from headrace.workers.partition.replication.follower_states import FollowerEvent

E = ErrorCode
WAITS, STOPS = FollowerEvent.REFUSED, FollowerEvent.GIVEN_UP
RULES = {
    E.FENCED_LEADER_EPOCH: (STOPS, logging.INFO),  # this node is to learn of a newer role
    E.UNKNOWN_LEADER_EPOCH: (WAITS, logging.DEBUG),  # the leader is
    E.NOT_LEADER_OR_FOLLOWER: (WAITS, logging.DEBUG),
    E.UNKNOWN_TOPIC_OR_PARTITION: (WAITS, logging.WARNING),
    E.UNKNOWN_TOPIC_ID: (WAITS, logging.WARNING),
    E.INCONSISTENT_TOPIC_ID: (WAITS, logging.WARNING),
}


@pytest.mark.parametrize("error", [*(code for code in ErrorCode if code), 12_345])
def test_each_error(error, caplog):
    event, level = RULES.get(error, (WAITS, logging.ERROR))
    assert leader_errors.event_of(int(error)) is event
    with caplog.at_level(logging.DEBUG):
        leader_errors.say(int(error), "partition=t-0")
    [record] = caplog.records
    assert record.levelno == level
    assert record.getMessage() == f"leader refuses partition=t-0 error={getattr(error, 'name', '12345')}"
