"""Topics' nodes and states that parse and make no sense, as other tools wrote them: whatever the active controller does, it lives."""

import json
from contextlib import suppress

import pytest

from headrace.controller.active.leaders.controlled_shutdown import shut_down
from headrace.controller.active.leaders.preferred_leaders import Election
from headrace.controller.active.reassignment.reassignments import RECHECK_MS
from headrace.controller.active.topics.topic_growth import placed
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.admin_znodes import encode_preferred_election, encode_reassignment
from headrace.errors import KafkaError
from headrace.ids import NO_LEADER

STATE = {"controller_epoch": 1, "leader": 0, "version": 1, "leader_epoch": 0, "isr": [0]}
TOPICS = {
    "no replicas": ({"partitions": {"0": []}}, {}),
    "no replicas, with a state": ({"partitions": {"0": []}}, {0: {**STATE, "leader": NO_LEADER, "isr": []}}),
    "no replicas of the second partition": ({"partitions": {"0": [0, 1], "1": []}}, {0: STATE, 1: STATE}),
    "no partitions": ({"partitions": {}}, {}),
    "the same replica twice": ({"partitions": {"0": [1, 1, 0]}}, {0: {**STATE, "isr": [1, 1, 0]}}),
    "an empty ISR": ({"partitions": {"0": [0, 1]}}, {0: {**STATE, "isr": []}}),
    "unknown brokers": ({"partitions": {"0": [77, 78]}}, {0: {**STATE, "leader": 99, "isr": [98, -1]}}),
    "a move of a partition that is not there": (
        {"partitions": {"0": [0, 1]}, "adding_replicas": {"7": [3]}, "removing_replicas": {"-1": [1], "9": [0]}},
        {0: STATE},
    ),
    "a move of what is no replica": (
        {"partitions": {"0": [0, 1]}, "adding_replicas": {"0": [5]}, "removing_replicas": {"0": [0, 1, 6]}},
        {0: STATE},
    ),
    "unwanted partitions that are not there": (
        {"partitions": {"0": [0, 1]}, "headrace_unwanted": {"5": [2], "-1": [2], "0": [0, 3, "x"], "y": 1}},
        {0: STATE},
    ),
}


@pytest.fixture(params=TOPICS)
def node(request, new_node, ensemble):
    """Active beside two brokers, with a topic as it should be, and one that is not."""
    for broker in (1, 2):
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("h", 9000 + broker, None, 0))
    fields, states = TOPICS[request.param]
    head = {"version": 3, "adding_replicas": {}, "removing_replicas": {}, "topic_id": znodes.encode_uuid("1" * 32)}
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path)
    ensemble.put(znodes.topic_path("bad"), json.dumps({**head, **fields}).encode())
    ensemble.put(znodes.topic_config_path("bad"), znodes.encode_config({}))
    for index, state in states.items():
        ensemble.put(znodes.state_path("bad", index), json.dumps(state).encode())
    node = new_node()
    node.turn()
    node.create("good", ((0, 1),))
    node.turn()
    return node


def pass_time(node, ms=RECHECK_MS):
    node.now_ms += ms
    for _ in range(2):
        node.turn(2)
        node.channels.answer_stops({1, 2})


def test_leaders_are_balanced_and_brokers_go_and_come(node, ensemble):
    node.run(node.active.preferred_leaders()._balance())
    ensemble.remove(znodes.broker_path(1))
    pass_time(node)
    ensemble.put(znodes.broker_path(1), znodes.encode_broker("h", 9001, None, 0))
    pass_time(node)
    node.run(node.active.preferred_leaders()._balance())
    assert node.known.topics["good"].states[0].leader == 0


def test_elections_are_asked_for(node, ensemble):
    places = [("bad", 0), ("bad", 1), ("good", 0), ("bad", 7)]
    ensemble.put(znodes.PREFERRED_ELECTION, encode_preferred_election(places))
    pass_time(node)
    assert znodes.PREFERRED_ELECTION not in ensemble.nodes
    for kind in Election:
        node.run(node.active.preferred_leaders().elect(None, kind))
        node.run(node.active.preferred_leaders().elect(places, kind))


def test_reassignments_are_listed_and_asked_for(node, ensemble):
    part = node.active.reassignments()
    part.listed(None)
    part.listed({"bad": [0, 7, -1], "good": [0]})
    ensemble.put(znodes.REASSIGN_PARTITIONS, encode_reassignment({("bad", 0): (1, 2), ("good", 0): (0, 2)}))
    pass_time(node)
    part.listed(None)
    assert node.known.topics["good"].adding == {0: (2,)}


def test_a_broker_asks_to_go(node):
    left = node.run(shut_down(node.active.term, 1, -1))
    assert ("good", 0) not in left


def test_partitions_are_added(node):
    topic = node.known.topics["bad"]
    for assignment in (None, [[1], [2]]):
        with suppress(KafkaError):
            node.run(node.active.grow(topic, placed(topic, len(topic.replicas) + 2, assignment, node.known.racks())))


def test_another_term_begins_and_the_topic_is_deleted(node, ensemble):
    node = node.restarted()
    node.turn()
    ensemble.put(znodes.delete_topic_path("bad"))
    for broker in (77, 78, 99):
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("h", 9000, None, 0))
    for _ in range(3):
        pass_time(node)
        node.channels.answer_stops({77, 78, 99})
    assert "bad" not in node.known.topics
    assert node.known.topics["good"].states[0].leader == 0
