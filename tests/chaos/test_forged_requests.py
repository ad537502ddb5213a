"""Requests of brokers, late or forged: each is one that a broker reads, and has something of before."""

import random

import pytest

from headrace.protocol.frames import build_request
from tests.chaos.forged_requests import DURING_DELETE, KINDS, VERSIONS, Known

KNOWN = Known("t", bytes(range(16)), 1, 5, (1, 2), 9, (1, 2, 3), 3, 4, 1, 77, {1: ("here", 9092), 2: ("there", 9093)})


def decoded(kind, seed=1):
    api_key, build = KINDS[kind]
    message = build(KNOWN, random.Random(seed))
    frame = b"".join(bytes(part) for part in _parts(build_request(api_key, VERSIONS[api_key], 1, "x", message)))
    return message, frame


def _parts(built):
    return built if isinstance(built, list | tuple) else [built]


@pytest.mark.parametrize("kind", KINDS)
def test_each_can_be_sent_in_its_version(kind):
    for seed in range(20):
        _message, frame = decoded(kind, seed)
        assert len(frame) > 20


def test_an_update_of_metadata_says_that_a_topic_is_being_deleted():
    message, _frame = decoded("update-metadata")
    assert VERSIONS[KINDS["update-metadata"][0]] < 7  # no topic id
    (topic,) = message.topic_states
    (row,) = topic.partition_states
    assert (topic.topic_name, row.partition_index, row.leader) == ("t", 1, DURING_DELETE)
    assert (message.controller_epoch, message.broker_epoch) == (4, 77)


def test_others_have_an_epoch_of_before():
    for seed in range(20):
        (row,) = decoded("stop-replica", seed)[0].topic_states[0].partition_states
        assert row.delete_partition
        assert row.leader_epoch in (4, DURING_DELETE)
        (row,) = decoded("leader-and-isr", seed)[0].topic_states[0].partition_states
        assert (row.leader_epoch, row.partition_epoch) == (4, 8)
        altered = decoded("alter-partition", seed)[0]
        (row,) = altered.topics[0].partitions
        assert (altered.broker_epoch, row.partition_epoch) in ((76, 9), (77, 8))
        state = decoded("follower-fetch", seed)[0].replica_state
        assert state.replica_id in (2, 3)
        assert state.replica_epoch == 76
