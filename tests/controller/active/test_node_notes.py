"""Notes of nodes: kept while a node has the id, removed once a broker of another kind has been registered with it for a while."""

import pytest

from headrace.controller.active.node_notes import LOOK_MS
from headrace.controller.agent.registration import note_node
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.errors import ZkLost

BROKER = 1
NOTE = held_znodes.node_path(BROKER)
ADDRESS = znodes.encode_broker("127.0.0.1", 9092, None, 0)


def register(ensemble):
    """A broker; its session."""
    ensemble.remove(znodes.broker_path(BROKER))
    session = ensemble.session()
    ensemble.run(session.create(znodes.broker_path(BROKER), ADDRESS, is_ephemeral=True))
    return session


@pytest.fixture
def session(ensemble):
    """Of broker 1, a node, beside the active controller."""
    ensemble.put(znodes.broker_path(BROKER), ADDRESS)
    session = register(ensemble)
    ensemble.run(note_node(session, BROKER))
    return session


@pytest.fixture
def node(new_node, session):
    node = new_node(0)
    node.turn()
    return node


def wait(node, ms=LOOK_MS):
    node.now_ms += ms
    node.tasks.run(1_000)  # the timer
    node.turn()


def test_a_node_that_is_there_keeps_its_note_over_sessions(node, ensemble):
    wait(node)
    assert NOTE in ensemble.nodes
    again = register(ensemble)
    node.turn()
    ensemble.run(note_node(again, BROKER))
    wait(node)
    assert held_znodes.noted_session(ensemble.data(NOTE)) == again.session_id


def test_the_note_goes_once_another_kind_of_broker_has_had_the_id_for_a_while(node, ensemble, caplog):
    register(ensemble)
    node.turn()
    wait(node, LOOK_MS // 2)
    assert NOTE in ensemble.nodes, "a node may be about to write it"
    wait(node)
    assert NOTE not in ensemble.nodes
    assert "its note was removed broker=1" in caplog.text


def test_so_it_does_where_that_came_before_the_term(new_node, ensemble, session):
    register(ensemble)
    node = new_node(0)
    node.turn()
    wait(node)
    assert NOTE not in ensemble.nodes


def test_one_that_is_away_keeps_it(node, ensemble):
    """ZooKeeper may be put back to a backup while it is."""
    ensemble.remove(znodes.broker_path(BROKER))
    node.turn()
    wait(node)
    assert NOTE in ensemble.nodes


@pytest.mark.parametrize("data", [b"", b"{"])
def test_a_note_that_names_no_session_stays(node, ensemble, data):
    ensemble.put(NOTE, data)
    register(ensemble)
    node.turn()
    wait(node)
    assert ensemble.data(NOTE) == data


def test_a_note_that_is_written_meanwhile_stays(node, ensemble):
    again = register(ensemble)
    node.turn()

    def write_first(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        ensemble.run(note_node(again, BROKER))

    ensemble.on_write = write_first
    wait(node)
    assert held_znodes.noted_session(ensemble.data(NOTE)) == again.session_id


def test_without_zookeeper_it_is_looked_at_later(node, ensemble):
    register(ensemble)
    node.turn()

    def lose(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        raise ZkLost("no reply")

    ensemble.on_write = lose
    wait(node)
    wait(node)
    assert NOTE not in ensemble.nodes
