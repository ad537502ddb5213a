"""Replicas that may have lost what they acknowledged: which are held after a power loss, and which are not."""

import pytest

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.judgement import EPOCH_DURING_DELETE
from headrace.controller.cluster.events import ReplicasStopped, StoppedReplica
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode
from headrace.ids import partition_key
from headrace.shm.messages import (
    LOG_HAS_NO_MARK,
    LOG_IS_WHOLE,
    LOG_WAS_CLOSED,
    LOG_WAS_CUT,
    LOG_WAS_SYNCED,
    OPENED_LOG,
    OPENED_RESULT,
)
from tests.controller.holding_node import ID, NODE, REPLICAS, SECOND, THIRD, Rig, lost_lines


def test_after_a_power_loss_who_is_in_an_isr_is_held_whatever_its_state_says(rig):
    rig.put(leader=NODE)
    rig.put(name="other", isr=(SECOND,), leader=SECOND)
    rig.join()
    assert rig.view() == (-1, (NODE,))
    assert rig.view("other") == (SECOND, (SECOND,))
    assert rig.stored == {"t"}
    topic = rig.known.topics["t"]
    assert rig.node.agent.rows.cannot_serve(topic, 0)
    assert rig.node.agent.rows.outcome(topic, 0, 5) is ErrorCode.KAFKA_STORAGE_ERROR
    assert not rig.node.agent.rows.cannot_serve(rig.known.topics["other"], 0)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_topic_that_is_marked_for_deletion_is_held_too_until_it_is_deleted(rig, is_deleted):
    """Its mark may be removed, and it is served then: delete.topic.enable is off, or an operator stops the deletion."""
    rig.put(leader=NODE)
    rig.ensemble.put(znodes.delete_topic_path("t"))
    rig.join()
    assert rig.stored == {"t"}
    if is_deleted:
        stopped = {("t", 0): StoppedReplica(EPOCH_DURING_DELETE, is_deleted=True)}
        rig.node.agent.apply(ReplicasStopped(THIRD, 1, stopped))
        rig.check()
        assert not rig.known.held
        assert not rig.stored, "a hold costs nothing where the topic goes"
        return
    rig.ensemble.remove(znodes.delete_topic_path("t"))
    rig.node.turn()
    assert rig.view() == (-1, (NODE,))


def test_a_process_that_is_killed_leaves_its_holds_to_the_next(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(flags=LOG_WAS_CLOSED | LOG_IS_WHOLE)
    assert rig.view() == (-1, (NODE,)), "closed in order since, it lacks all the same what it lost before"


@pytest.mark.parametrize("flags", [0, LOG_HAS_NO_MARK])
def test_a_log_that_was_synced_before_each_answer_is_not_held(rig, flags):
    rig.put(leader=NODE)
    rig.join()
    assert rig.view() == (-1, (NODE,)), "until its owner has said so"
    rig.opened(flags=flags | LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (NODE, (NODE,))
    assert not rig.stored


@pytest.mark.parametrize("flags", [0, LOG_WAS_CUT])
def test_a_hold_outlasts_an_owner_that_finds_its_log_synced_where_the_one_before_it_did_not(rig, flags):
    """The first one was killed while the hold waits for another node: what it found is true."""
    rig.put(leader=NODE)
    rig.unregister(SECOND)
    rig.join()
    rig.opened(flags=flags)
    rig.check()
    rig.opened(flags=LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (-1, (NODE,))


def test_one_that_was_synced_and_lost_something_of_that_is_held(rig):
    rig.put(leader=NODE)
    rig.unregister(SECOND)
    rig.join()
    rig.opened(flags=LOG_WAS_CUT | LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (-1, (NODE,))
    assert rig.known.held["t", 0].is_proven


def test_by_another_process_after_the_power_loss_too(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(flags=LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (NODE, (NODE,))


@pytest.mark.parametrize("is_of_node", [False, True])
def test_the_setting_as_it_is_now_says_nothing_of_what_was_acknowledged_before(new_node, ensemble, is_of_node):
    """It is turned on after the power loss, before the nodes start."""
    setting = {"headrace.flush.before.ack": "true"}
    rig = Rig(new_node, ensemble, **(setting if is_of_node else {}))
    rig.put(leader=NODE, **({} if is_of_node else setting))
    rig.join()
    rig.opened(flags=LOG_WAS_CUT)
    rig.check()
    assert rig.view() == (-1, (NODE,))
    assert rig.known.held["t", 0].is_proven


def test_a_log_that_was_closed_in_order_is_not_held(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.opened(flags=LOG_WAS_CLOSED)
    rig.check()
    assert rig.view() == (NODE, (NODE,))
    assert not rig.stored


@pytest.mark.parametrize("flags", [0, LOG_WAS_CUT, LOG_HAS_NO_MARK])
def test_a_log_cut_by_a_checksum_is_a_proof_and_so_is_one_of_which_no_mark_is_left(rig, flags):
    rig.put()
    rig.join()
    rig.opened(flags=flags)
    assert rig.known.held["t", 0].is_proven is bool(flags)


def test_without_a_power_loss_a_log_without_a_mark_is_not_held(rig):
    rig.put(leader=NODE)
    rig.join(after_power_loss=False)
    rig.opened(flags=LOG_HAS_NO_MARK | LOG_IS_WHOLE)
    assert not rig.known.held


def test_one_without_other_replicas_is_not_held_its_loss_is_said(rig, caplog):
    rig.put(replicas=(NODE,), leader=NODE)
    rig.join()
    assert rig.view() == (NODE, (NODE,))
    assert rig.stored == {"t"}  # a process that is killed before its log is open
    rig.opened(end=88)
    assert "partition=t-0 first_offset=88 " in lost_lines(caplog)[0]
    rig.check()
    assert not rig.stored


def test_without_a_power_loss_a_log_that_ends_before_its_mark_is_held(rig, caplog):
    rig.put(leader=NODE, isr=(NODE,))
    rig.join(after_power_loss=False)
    assert rig.opened(end=88, mark=88, flags=LOG_WAS_CUT).poll(0) == OPENED_RESULT.pack(0)  # a torn tail, as ever
    assert not rig.known.held
    response = rig.opened(end=88, mark=90)
    assert response.poll(rig.node.now_ms) is None  # its owner waits until ZooKeeper has it
    rig.node.publish()
    assert rig.view() == (-1, (NODE,))
    events = rig.events
    rig.check()
    assert rig.stored == {"t"}
    assert response.poll(rig.node.now_ms) == OPENED_RESULT.pack(0)
    assert rig.events > events
    assert rig.known.held["t", 0].is_proven


def test_what_owners_tell_before_a_new_process_knows_what_is_held_waits(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.check()
    slot = rig.known.slots.get("t", 0)
    rig.begin()
    body = OPENED_LOG.pack(slot, partition_key("t", 0, ID), 88, 0, 4, 4, 0)
    response = rig.holds.take_opened(memoryview(body))
    assert response.poll(rig.node.now_ms) is None
    rig.node.run(rig.holds.load())
    assert rig.known.held["t", 0].end_offset == 88


def test_a_second_power_loss_keeps_what_was_proven_and_opens_logs_anew(rig):
    rig.put()
    rig.join()
    rig.opened(end=88, mark=120)
    rig.check()
    rig.begin()
    rig.node.run(rig.holds.take_suspects())
    assert rig.known.held["t", 0] == HeldReplica(ID, False, True, -1, 4, 120, (SECOND, THIRD), log_epoch=4)


@pytest.mark.parametrize("in_all_directories", [False, True])
def test_where_some_directories_are_suspect_logs_in_others_are_not_held(rig, in_all_directories):
    rig.put(leader=NODE)
    rig.join(in_all_directories=in_all_directories)
    rig.opened(flags=LOG_IS_WHOLE)
    assert bool(rig.known.held) is in_all_directories


def test_a_topic_of_another_id_is_not_held(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.known.held["t", 0] = rig.known.held["t", 0]._replace(topic_id="f" * 32)
    assert not rig.known.is_held(rig.known.topics["t"], 0)


@pytest.mark.parametrize("is_power_loss", [True, False])
def test_a_sole_replica_leads_on_in_another_epoch_after_a_power_loss(rig, is_power_loss):
    """Else readers of records that are lost go on at offsets that others have taken."""
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=is_power_loss)
    assert rig.stored_state().leader_epoch == 5 + is_power_loss


def test_holds_of_the_backup_that_are_over_are_removed_where_the_process_lived_through_the_restore(rig):
    """The backup was made while this node held t-0. Each election would take that replica for offline."""
    rig.put(isr=REPLICAS, leader=THIRD)
    rig.join(after_power_loss=False)
    rig.ensemble.put(held_znodes.held_path(NODE, "t"), held_znodes.encode_held({0: HeldReplica(ID, end_offset=88)}))
    rig.join(after_power_loss=False)
    rig.check()
    assert not rig.stored
    assert not rig.known.held


def test_the_holds_of_a_topic_of_many_partitions_are_several_znodes(rig, monkeypatch):
    monkeypatch.setattr(held_znodes, "HELD_PER_ZNODE", 2)
    data = znodes.encode_topic(TopicAssignment(ID, (REPLICAS,) * 5))
    rig.ensemble.put(znodes.topic_path("t"), data)
    for index in range(5):
        rig.ensemble.put(znodes.state_path("t", index), znodes.encode_state(PartitionState(-1, 5, (NODE,), 1)))
    all_in_one = held_znodes.encode_held({index: HeldReplica(ID) for index in range(5)})
    rig.ensemble.put(held_znodes.held_path(NODE, "t"), all_in_one)  # as an older version wrote it
    rig.join()
    assert rig.stored == {"t", "t:1", "t:2"}
    assert sorted(rig.known.held) == [("t", index) for index in range(5)]
    rig.begin()
    rig.join(after_power_loss=False)
    assert sorted(rig.known.held) == [("t", index) for index in range(5)]
    for index in (2, 3):
        rig.ensemble.put(znodes.state_path("t", index), znodes.encode_state(PartitionState(1, 6, (SECOND,), 1)))
    rig.check()
    assert rig.stored == {"t", "t:2"}


@pytest.mark.parametrize("after_power_loss", [True, False], ids=["power loss", "damage in service"])
def test_a_leader_that_lost_its_end_does_not_lead_on_in_the_same_leader_epoch(rig, after_power_loss):
    """It would give offsets again that readers have seen in this epoch: a consumer at 100 would never get the new 90 to 99."""
    rig.put(isr=(NODE,), leader=NODE, epoch=5)
    rig.join(after_power_loss=after_power_loss)
    rig.ends = {SECOND: {("t", 0): LogEnd(5, 80)}, THIRD: {("t", 0): LogEnd(5, 80)}}
    rig.opened(end=90, mark=100, epoch=5)
    for _ in range(3):
        rig.check()
    assert rig.known.held, "the controller has not taken the leader away yet"
    rig.state((NODE,), -1, epoch=6)
    for _ in range(3):
        if rig.known.held:
            rig.check()
    assert not rig.known.held
