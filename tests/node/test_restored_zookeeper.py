"""What `headrace cluster restored` writes: who is held, and which states stay as they are. Over a fake ZooKeeper."""

import pytest

from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.admin_znodes import encode_reassignment
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.held_reader import read_held_by
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState, TopicAssignment
from headrace.limits import PRODUCER_IDS_SKIPPED
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


# Interrupted runs, and what can't be read

CONFLICT = HeldReplica(ID, is_proven=True, parted_at=80, parted_from=2, parted_in=6, is_conflict=True)
PARTED = HeldReplica(ID, is_proven=True, parted_at=70, parted_from=1, parted_in=6)
IDS = b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}'


@pytest.fixture
def worked_on(ensemble):
    """The same; nodes have worked on the backup before it was put back once more."""

    def put_held(broker, name, replicas):
        ensemble.put(f"{held_znodes.held_by_path(broker)}/{name}", held_znodes.encode_held(replicas))

    put_held(1, "t", {0: CONFLICT, 1: HeldReplica(ID), 7: PARTED})  # the backup has no partition 7
    put_held(2, "t", {0: HeldReplica(ID)})
    put_held(
        2, "t:0:1", {0: PARTED, 1: CONFLICT}
    )  # beside one that could not be read; no assignment names the second one
    put_held(5, "t", {2: HeldReplica(ID)})  # no node any more
    put_held(5, "u", {0: CONFLICT})
    unwanted = {"headrace_unwanted": {"0": [5]}}
    ensemble.put(znodes.topic_path("u"), znodes.encode_topic(TopicAssignment(ID, ((1, 2),), others=unwanted)))
    ensemble.put(znodes.state_path("u", 0), znodes.encode_state(PartitionState(1, 3, (1,), 4)))
    ensemble.put(znodes.delete_topic_path("u"))
    ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({1: 100}))
    ensemble.put(znodes.PRODUCER_ID_BLOCK, IDS)
    ensemble.put(held_znodes.NODES)
    return ensemble


def holds_of(ensemble):
    """By broker and place."""
    zk = ensemble.session()
    return {broker: ensemble.run(read_held_by(zk, broker)) for broker in range(1, 6)}


def left_by(ensemble):
    """What a run has left: holds, accepted losses and states."""
    prefixes = (held_znodes.HELD, held_znodes.ACCEPT_LOSS, znodes.TOPICS)
    return {path: node.data for path, node in ensemble.nodes.items() if path.startswith(prefixes)}


def failing_session(ensemble, at, is_done):
    """A session whose call of this number fails: it was carried out before, or not. And whether it has failed."""
    session = ensemble.session()
    real, count, has_failed = session._call, iter(range(10_000)), []

    async def call(operation):
        if next(count) != at:
            return await real(operation)
        has_failed.append(True)
        if is_done:
            await real(operation)
        raise ZkLost("interrupted")

    session._call = call
    return session, has_failed


def test_a_log_that_has_parted_is_held_wherever_its_hold_is_found(worked_on):
    assert restored(worked_on) == 3
    found = holds_of(worked_on)
    assert (found[1]["t", 0], found[1]["t", 7]) == (CONFLICT, PARTED), "a partition that is no more is kept"
    assert found[1]["t", 1].is_of_restore
    assert found[2]["t", 0] == PARTED, "it was stored beside another znode"
    assert found[2]["t", 1] == CONFLICT, "and one that no assignment names is kept"
    assert found[5] == {("u", 0): CONFLICT}
    assert held_znodes.held_path(2, "t") + ":0:1" not in worked_on.nodes
    assert held_znodes.accept_loss_path(("t", 0)) not in worked_on.nodes


@pytest.mark.parametrize("topic_id", [ID, "", "f" * 32])
def test_a_log_that_was_missing_stays_so_and_one_without_a_topic_id_too(worked_on, topic_id):
    """An empty log is in the place of the first by now, and the directory of the other one has got an id. Not of another topic's."""
    held = {
        0: HeldReplica(topic_id, is_missing=True),
        1: HeldReplica(topic_id, parted_at=0, is_nameless=True, high_watermark=9),
    }
    worked_on.put(held_znodes.held_path(1, "t"), held_znodes.encode_held(held))
    for _again in range(2):
        restored(worked_on)
        found = holds_of(worked_on)[1]
        assert found["t", 0].is_of_restore
        is_kept = topic_id != "f" * 32
        assert (found["t", 0].is_missing, found["t", 1].is_nameless) == (is_kept, is_kept)
        assert found["t", 1].high_watermark == -1, "a mark of the past is no proof"


def test_a_topic_that_is_marked_for_deletion_is_held_too(worked_on):
    """The mark may be removed: delete.topic.enable is off, or an operator stops the deletion."""
    restored(worked_on)
    assert all(holds_of(worked_on)[broker]["u", 0].is_of_restore for broker in (1, 2))
    path = znodes.state_path("u", 0)
    assert znodes.decode_state(path, worked_on.data(path), 0)[:3] == (-1, 3, (1, 2))


@pytest.mark.parametrize("is_done", [False, True])
def test_interrupted_at_any_call_it_forgets_nothing_and_ends_the_same_when_it_is_run_again(worked_on, is_done):
    before, begun_with = dict(worked_on.nodes), holds_of(worked_on)
    parted = {
        (broker, place, one) for broker, found in begun_with.items() for place, one in found.items() if one.has_parted
    }
    restored(worked_on)
    whole = left_by(worked_on)
    at = 0
    for at in range(10_000):
        worked_on.nodes = dict(before)
        session, has_failed = failing_session(worked_on, at, is_done)
        try:
            worked_on.run(hold_nodes(session, frozenset()))
        except ZkLost:
            pass
        if not has_failed:
            break
        now = holds_of(worked_on)
        assert parted <= {(broker, place, one) for broker, found in now.items() for place, one in found.items()}, at
        for name, index, brokers in (("t", 0, (1, 2)), ("t", 1, (1,)), ("u", 0, (1, 2))):
            path = znodes.state_path(name, index)
            if znodes.decode_state(path, worked_on.data(path), 0).leader == -1:
                assert all((name, index) in now[broker] for broker in brokers), "a state after its holds"
        restored(worked_on)
        assert left_by(worked_on) == whole, at
        assert znodes.decode_producer_id_block(worked_on.data(znodes.PRODUCER_ID_BLOCK)) >= 1000 + PRODUCER_IDS_SKIPPED
    assert at > 25, "calls, of reads and writes"


@pytest.mark.parametrize(
    "path", [znodes.state_path("t", 2), znodes.topic_path("t"), znodes.topic_path("u"), znodes.PRODUCER_ID_BLOCK]
)
def test_what_can_not_be_read_is_named_and_nothing_is_written(worked_on, path):
    good = worked_on.data(path)
    worked_on.put(path, b"{")
    before = {one: node.data for one, node in worked_on.nodes.items()}
    with pytest.raises(BadZnode, match=f"{path}: .*; nothing was written"):
        restored(worked_on)
    assert {one: node.data for one, node in worked_on.nodes.items()} == before
    worked_on.put(path, good)
    restored(worked_on)
    assert holds_of(worked_on)[1]["t", 0] == CONFLICT


# What the backup wants done


def test_replicas_that_the_backup_wants_deleted_are_kept_and_reported(ensemble):
    """They may have been moved back since, and have all records; no assignment names them, so that nobody compares them."""
    others = {"headrace_unwanted": {"0": [4]}, "of_another_time": 1}
    assignment = TopicAssignment(ID, ((1, 2), (3, 1), (3, 4, 5)), {1: (1,)}, {}, others)
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(assignment))
    ensemble.put(znodes.delete_topic_path("gone"))
    ensemble.put(znodes.REASSIGN_PARTITIONS, encode_reassignment({("t", 2): (3, 4)}))
    for again in range(2):
        said = []
        ensemble.run(hold_nodes(ensemble.session(), frozenset(), said.append))
        found = znodes.decode_topic("t", ensemble.data(znodes.topic_path("t")))
        assert found == assignment._replace(others={"of_another_time": 1})
        if not again:
            assert "their files stay: t-0 on broker 4" in said.pop(0)
        assert ": gone; to keep one, remove /admin/delete_topics/NAME" in said[0]
        assert ": t-1, t-2; cancel" in said[1]


def test_a_long_list_is_cut_short(ensemble):
    for number in range(25):
        ensemble.put(znodes.delete_topic_path(f"gone-{number:02d}"))
    said = []
    ensemble.run(hold_nodes(ensemble.session(), frozenset(), said.append))
    assert "gone-19 and 5 more; to keep one" in said[0]
