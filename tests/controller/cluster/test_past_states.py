"""A ZooKeeper that was put back: what it has counts, but for what was written here since it was read."""

import logging

from headrace.controller.cluster import past_states
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.shm.cluster_view import EMPTY_VIEW

REPLICAS = ((0, 1, 2),) * 4
NOW = [PartitionState(1, 5, (0, 1), 1, 7)] * 4


def topic(states):
    return Topic("t", "0" * 31 + "1", REPLICAS, {}, list(states))


def known_of(states):
    known = KnownCluster(0, EMPTY_VIEW, 16)
    known.add(topic(states))
    known.added.clear()
    known.changed.clear()
    return known


def test_states_that_are_older_are_believed_and_said(caplog):
    known = known_of(NOW)
    before = known.topics["t"]
    before.told = {0: 5, 3: 5}
    past = [
        PartitionState(2, 4, (0, 1, 2), 1, 9),  # a leader before
        PartitionState(1, 5, (0, 1, 2), 1, 6),  # an ISR before
        NOW[0],
        PartitionState(2, 6, (2,), 1, 8),
    ]
    assert past_states.take(known, {"t": topic(past)}, {"t": before.revision}) == [("t", 0), ("t", 1)]
    assert before.states == [*past[:2], *NOW[2:]]
    assert before.told == {3: 5}
    assert known.changed == {"t": {0, 1}}
    assert "ZooKeeper has old partition states" in caplog.text


def test_what_was_written_since_or_is_another_topic_stays():
    known = known_of(NOW)
    before = known.topics["t"]
    found = topic([PartitionState(2, 4, (0,), 1, 1)] * 4)
    assert not past_states.take(known, {"t": found}, {"t": before.revision - 1})
    assert not past_states.take(known, {"t": found}, {})
    found.topic_id = "f" * 32
    assert not past_states.take(known, {"t": found}, {"t": before.revision})
    assert before.states == NOW


def test_a_controller_epoch_that_went_back_counts(caplog):
    caplog.set_level(logging.ERROR)
    assert past_states.controller_epoch(6, 6) == 6
    assert past_states.controller_epoch(7, 6) == 7
    assert not caplog.records
    assert past_states.controller_epoch(5, 6) == 5
    assert "old controller epoch" in caplog.text
