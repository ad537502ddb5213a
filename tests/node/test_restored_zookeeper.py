"""What `headrace cluster restored` writes: who is held, and which states stay as they are. Over a fake ZooKeeper."""

import pytest

from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.node.restored_zookeeper import BrokersLive, HoldsUnread, NodesUnknown, hold_nodes
from tests.controller.fake_zk import FakeEnsemble

ID = "0" * 31 + "1"


@pytest.fixture
def ensemble():
    """Brokers 1 and 2 are nodes, 3 to 5 are not. t-0 is on nodes, t-1 on both, t-2 on the others alone."""
    ensemble = FakeEnsemble()
    for path in (*znodes.PERSISTENT_PATHS, held_znodes.node_path(1), held_znodes.node_path(2)):
        ensemble.put(path, b"")
    replicas = ((1, 2), (3, 1), (3, 4, 5))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(ID, replicas)))
    for index, row in enumerate(replicas):
        state = PartitionState(row[0], 7, row[:2], 4)
        ensemble.put(znodes.state_path("t", index), znodes.encode_state(state))
    return ensemble


def restored(ensemble, nodes=frozenset()):
    return ensemble.run(hold_nodes(ensemble.session(), frozenset(nodes)))


def state(ensemble, index):
    return znodes.decode_state("", ensemble.data(znodes.state_path("t", index)), 0)[:3]


def held(ensemble):
    """Partitions by broker."""
    return {
        broker: sorted(held_znodes.decode_held("", ensemble.data(held_znodes.held_path(broker, "t"))))
        for broker in range(1, 6)
        if held_znodes.held_path(broker, "t") in ensemble.nodes
    }


def test_brokers_of_apache_hold_nothing_and_what_is_theirs_alone_stays_as_it_is(ensemble):
    """Any of an ISR of all could be elected by a controller of theirs."""
    before = state(ensemble, 2)
    assert restored(ensemble) == 2
    assert held(ensemble) == {1: [0, 1], 2: [0]}
    assert state(ensemble, 2) == before
    assert state(ensemble, 0) == (-1, 7, (1, 2))
    assert state(ensemble, 1) == (-1, 7, (1,)), "of both kinds: who compares is elected"


def test_who_is_a_node_may_be_said(ensemble):
    assert restored(ensemble, (1, 2, 4)) == 3
    assert held(ensemble) == {1: [0, 1], 2: [0], 4: [2]}


def test_where_no_node_is_known_nothing_is_written(ensemble):
    for broker in (1, 2):
        ensemble.remove(held_znodes.node_path(broker))
    with pytest.raises(NodesUnknown):
        restored(ensemble)
    assert state(ensemble, 0)[0] == 1


def test_a_log_that_parted_while_nodes_worked_on_the_backup_is_held_as_that(ensemble):
    conflict = HeldReplica(ID, is_proven=True, parted_at=80, parted_from=2, parted_in=6, is_conflict=True)
    ensemble.put(held_znodes.held_path(1, "t"), held_znodes.encode_held({0: conflict, 1: HeldReplica(ID)}))
    for _again in range(2):
        restored(ensemble)
        found = held_znodes.decode_held("", ensemble.data(held_znodes.held_path(1, "t")))
        assert found[0] == conflict
        assert found[1].is_of_restore


def test_the_holds_of_a_large_topic_are_several_znodes(ensemble, monkeypatch):
    monkeypatch.setattr(held_znodes, "HELD_PER_ZNODE", 1)
    restored(ensemble)
    assert held_znodes.held_path(1, "t", 1) in ensemble.nodes


def test_where_it_can_not_be_read_what_a_broker_holds_nothing_is_written_and_the_znode_is_named(ensemble):
    path = held_znodes.held_path(5, "t")  # of a broker that is no node now, too
    ensemble.put(path, b"{")
    ensemble.put(held_znodes.held_path(1, "t"), held_znodes.encode_held({0: HeldReplica(ID)}))
    before = ensemble.data(held_znodes.held_path(1, "t"))
    with pytest.raises(HoldsUnread, match=path):
        restored(ensemble)
    assert ensemble.data(path) == b"{"
    assert ensemble.data(held_znodes.held_path(1, "t")) == before
    assert state(ensemble, 0)[0] == 1


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_broker_that_registers_while_it_runs_is_said(ensemble, when):
    session = ensemble.session()
    real, done = session.get_many, []

    async def get_many(paths, **more):
        if when == "meanwhile" and not done:
            done.append(True)
            ensemble.put(znodes.broker_path(2), b"")
        return await real(paths, **more)

    session.get_many = get_many
    if when == "before":
        ensemble.put(znodes.broker_path(2), b"")
    with pytest.raises(BrokersLive, match="brokers 2 registered"):
        ensemble.run(hold_nodes(session, frozenset()))
    if when == "before":
        assert state(ensemble, 0)[0] == 1, "nothing is written"
