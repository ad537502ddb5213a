"""A broker tells that a log directory failed, and is asked which replicas are offline."""

import json

import pytest

from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode


def register(ensemble, *brokers):
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("127.0.0.1", 9092, None, 0))


def notes(ensemble):
    return [path for path in ensemble.nodes if path.startswith(f"{znodes.LOG_DIR_EVENTS}/")]


def tell(ensemble, number, broker, data=None):
    path = f"{znodes.LOG_DIR_EVENT_PREFIX}{number:010d}"
    ensemble.put(path, znodes.encode_log_dir_event(broker) if data is None else data)


@pytest.fixture
def node(new_node, ensemble):
    """Active, beside two other brokers."""
    register(ensemble, 1, 2)
    node = new_node(0)
    node.turn()
    node.create("t", ((1, 2), (2, 0), (2, 1)))
    node.create("u", ((2,), (0, 1)))
    node.turn()
    node.channels.told.clear()
    return node


def test_a_broker_that_told_is_asked_of_all_its_replicas(node, ensemble):
    tell(ensemble, 0, 1)
    tell(ensemble, 1, 1)
    node.turn()
    assert node.channels.of("leaders") == [("t", [0, 2], (1,), False), ("u", [1], (1,), False)]
    assert notes(ensemble) == []


def test_its_answer_has_others_lead(node, ensemble):
    tell(ensemble, 0, 1)
    node.turn()
    [leaders] = [part for part in node.active.term.parts() if isinstance(part, Leaders)]
    leaders.leaders_answered(1, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR, ("t", 2): ErrorCode.STALE_CONTROLLER_EPOCH})
    node.turn()
    assert node.known.topics["t"].states[0][:3] == (2, 1, (2,))
    assert node.known.topics["t"].states[2][:3] == (2, 0, (2, 1))


def test_what_nobody_can_read_and_brokers_that_are_gone_are_passed_over(node, ensemble):
    tell(ensemble, 0, 1, b"{")
    tell(ensemble, 1, 7)
    tell(ensemble, 2, 2)
    node.turn()
    assert {notice[2] for notice in node.channels.of("leaders")} == {(2,)}
    assert notes(ensemble) == []


def test_a_note_stays_until_it_was_followed(node, ensemble):
    def lose(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        raise ZkLost("here")

    ensemble.on_write = lose
    tell(ensemble, 0, 1)
    node.turn()
    assert len(node.channels.of("leaders")) == 4  # asked twice
    assert notes(ensemble) == []


def test_a_zombie_removes_no_note(node, ensemble):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    tell(ensemble, 0, 1)
    node.turn()
    assert len(notes(ensemble)) == 1


def test_the_note_is_as_kafka_writes_it():
    assert json.loads(znodes.encode_log_dir_event(3)) == {"version": 1, "broker": 3, "event": 1}
    assert znodes.decode_log_dir_event("", b'{"version":1,"broker":3,"event":1}') == 3
