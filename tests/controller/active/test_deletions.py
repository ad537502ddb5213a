"""Topics that go, from the mark to the last znode.

Holds: controller/active/active_controller.py, controller/agent/departures.py
"""

import pytest

from headrace.controller.active import deletions
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import KafkaError
from headrace.shm.cluster_view import DeletedTopic
from headrace.shm.partition_table import RowState
from tests.controller.fake_zk import Killed


def make(node, name, partitions=2):
    node.create(
        name,
        ((node.known.node_id,),) * partitions,
        {"retention.ms": "5"},
    )
    node.publish()
    node.owner.follow()


def left_of(ensemble, name):
    return sorted(path for path in ensemble.nodes if f"/{name}/" in f"{path}/")


def begin(node, name):
    node.run(node.active.mark(name))
    node.active.begin_deletions([name])
    node.publish()


def test_a_deletion_ends_with_nothing_left(new_node, ensemble):
    node = new_node()
    make(node, "t")
    begin(node, "t")
    assert "t" not in node.view.topics
    assert [replica.partition for replica in node.view.doomed] == [0, 1]
    node.turn()
    assert left_of(ensemble, "t") == []
    assert node.view.doomed == ()
    assert not node.owner.directories
    assert not node.agent.has_deletions


def test_znodes_stay_until_every_owner_said_deleted(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.owner.is_deaf = True
    begin(node, "t")
    before = left_of(ensemble, "t")
    node.turn()
    assert left_of(ensemble, "t") == before
    assert node.active.is_deleting("t")


def test_a_row_deleted_for_an_earlier_topic_in_the_same_slot_does_not_count(new_node, ensemble):
    node = new_node()
    make(node, "t", 1)
    begin(node, "t")
    node.turn()
    assert node.seat.partitions.read(0).state == RowState.DELETED
    node.create("t", ((0,),), {})
    node.publish()
    node.owner.is_deaf = True
    begin(node, "t")
    node.turn()
    assert node.active.is_deleting("t")


def test_slots_are_used_again_after_a_deletion(new_node):
    node = new_node()
    for _ in range(5):
        make(node, "t", 10)
        assert [row.slot for row in node.view.topics["t"].partitions] == list(range(10))
        begin(node, "t")
        node.turn()


def test_a_mark_that_somebody_else_made_is_carried_out(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert left_of(ensemble, "t") == []


def test_a_mark_without_a_topic_is_removed(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.delete_topic_path("ghost"))
    node.turn()
    assert left_of(ensemble, "ghost") == []


def test_where_deletion_is_disabled_a_mark_is_removed_and_the_topic_stays(new_node, ensemble):
    node = new_node(delete_topic_enable="false")
    make(node, "t")
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert znodes.delete_topic_path("t") not in ensemble.nodes
    assert "t" in node.view.topics


def test_marking_twice_is_marking_once(new_node):
    node = new_node()
    make(node, "t")
    node.run(node.active.mark("t"))
    node.run(node.active.mark("t"))


def test_many_znodes_go_in_several_transactions_the_mark_last(new_node, ensemble, monkeypatch):
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 3)
    node = new_node()
    make(node, "t", 5)
    begin(node, "t")
    seen = []
    ensemble.after_write = lambda _ordinal: seen.append(left_of(ensemble, "t"))
    node.turn()
    assert len(seen) > 3
    assert all(znodes.delete_topic_path("t") in left for left in seen[:-1])
    assert seen[-1] == []


def test_a_zombie_deletes_nothing(new_node, ensemble):
    node = new_node()
    make(node, "t")
    begin(node, "t")
    node.owner.follow()
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    ensemble.remove(znodes.CONTROLLER)
    ensemble.put(znodes.CONTROLLER, znodes.encode_controller(7, 0))
    node.zk.take_changes()  # it has not heard of that
    before = left_of(ensemble, "t")
    node.turn()
    assert left_of(ensemble, "t") == before
    assert not node.agent.election.is_active
    assert not node.active.is_deleting("t")


def test_a_deletion_goes_on_under_the_next_controller(new_node, ensemble):
    first, second = new_node(0), new_node(1)
    first.turn()
    first.create("t", ((0, 1),), {})
    first.turn()
    second.turn()
    first.run(first.active.mark("t"))
    first.zk.expire()
    second.turn(10)
    assert left_of(ensemble, "t") == []
    assert not second.owner.directories


@pytest.mark.parametrize("fault", ["on_write", "after_write"])
@pytest.mark.parametrize("failure", [Killed, ZkLost])
def test_a_deletion_interrupted_at_any_write_is_finished(new_node, ensemble, monkeypatch, fault, failure):
    """The controller process dies at each of its writes in turn, or misses the reply; a topic of that name comes after."""
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 3)
    node = new_node()
    ordinal = 0
    while True:
        make(node, "t", 3)
        ensemble.writes = 0

        def strike(number, at=ordinal):
            if number == at:
                raise failure("here")

        setattr(ensemble, fault, strike)
        try:
            begin(node, "t")
            node.turn()
        except failure:
            pass
        if ensemble.writes <= ordinal:
            break  # there is no such write any more: all of them were tried
        setattr(ensemble, fault, lambda _ordinal: None)
        if failure is Killed:
            node = node.restarted()
        if "t" in node.known.topics and not node.active.is_deleting("t"):
            begin(node, "t")  # the client asks again: its request was not answered
        node.turn()
        assert left_of(ensemble, "t") == [], ordinal
        assert not node.owner.directories, ordinal
        assert node.view.doomed == (), ordinal
        ordinal += 1
    assert ordinal > 4


@pytest.mark.parametrize("cut", range(4))
def test_a_process_killed_between_the_steps_of_a_deletion_is_followed_by_one_that_goes_on(new_node, ensemble, cut):
    node = new_node()
    make(node, "t")
    steps = [
        lambda: node.run(node.active.mark("t")),
        lambda: node.active.begin_deletions(["t"]),
        node.publish,
        node.owner.follow,
    ]
    for step in steps[: cut + 1]:
        step()
    successor = node.restarted()
    successor.turn()
    assert left_of(ensemble, "t") == []
    assert not node.owner.directories
    make(successor, "t")
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_a_name_is_free_only_when_the_coordinators_have_forgotten_the_old_topic(new_node, ensemble):
    node = new_node()
    make(node, "t")
    topic_id = node.view.topics["t"].topic_id
    node.owner.follows = False
    begin(node, "t")
    node.turn()
    assert not node.owner.directories
    assert node.view.deleted == (DeletedTopic("t", topic_id),)
    assert znodes.topic_path("t") in ensemble.nodes
    with pytest.raises(KafkaError, match="exists"):
        make(node, "t")
    successor = node.restarted()
    successor.turn()
    assert znodes.topic_path("t") in ensemble.nodes
    successor.owner.follows = True
    successor.turn()
    assert left_of(ensemble, "t") == []
    assert successor.view.deleted == ()
    assert not successor.agent.has_deletions


def test_a_deletion_counts_only_words_that_come_after_it(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.owner.follow()
    node.owner.follows = False
    node.run(node.active.mark("t"))
    node.active.begin_deletions(["t"])
    node.turn()  # not published yet
    assert znodes.topic_path("t") in ensemble.nodes
    node.publish()
    node.turn()
    assert znodes.topic_path("t") in ensemble.nodes
