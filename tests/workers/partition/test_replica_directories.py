"""Replicas over disks that fail, fill up and come back."""

import errno

import pytest

from headrace.errors import StorageFailed
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.partition_table import RowState
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of
from tests.workers.partition.replica_fixtures import Node, with_id


def test_new_partitions_are_spread_over_the_directories(node):
    node.replicas.follow(view_of(("t", 6)))
    assert sorted(node.dir_of(slot).name for slot in range(6)) == ["a"] * 3 + ["b"] * 3
    assert all(node.row(slot).state == RowState.LEADER for slot in range(6))


@pytest.mark.parametrize("call", ["fdatasync", "pwritev"])
def test_an_io_error_takes_the_whole_directory_offline_and_no_other(node, call):
    node.replicas.follow(view_of(("t", 6)))
    node.changed()
    for slot in range(6):
        assert node.append(slot)
    failing = node.dir_of(0)
    node.disk.fails[call] = errno.EIO
    replica = node.replicas.by_slot[0]
    if call == "pwritev":
        assert not node.append(0)
    else:
        with pytest.raises(StorageFailed) as failure:
            replica.log.flush()
        node.replicas.failures.take(replica, failure.value)
    node.disk.fails.clear()
    states = {slot: node.row(slot).state for slot in range(6)}
    assert {node.dir_of(slot) for slot, state in states.items() if state == RowState.OFFLINE} == {failing}
    assert {node.dir_of(slot) for slot, state in states.items() if state == RowState.LEADER} == set(node.dirs) - {
        failing
    }
    assert sum(state == RowState.OFFLINE for state in states.values()) == 3
    assert node.row(0).log_end_offset == 1  # what it had published stands there
    assert {changed.slot for changed in node.changed()} == {
        slot for slot, state in states.items() if state == RowState.OFFLINE
    }
    assert node.seat.mask == 1 << node.dirs.index(failing)
    for slot, state in states.items():
        if state == RowState.LEADER:
            assert node.append(slot)
    assert node.replicas.close()  # the other directory may get its marker


def test_a_failed_directory_stays_offline_for_the_workers_successor(node):
    view = view_of(("t", 4))
    node.replicas.follow(view)
    for slot in range(4):
        node.append(slot)
    lost = node.dir_of(0)
    node.replicas.failures.take(node.replicas.by_slot[0], StorageFailed("fsync: injected"))
    node.killed().follow(view)
    for slot in range(4):
        if slot in node.replicas.by_slot:
            assert node.dir_of(slot) != lost
        else:
            assert node.row(slot).state == RowState.OFFLINE
            assert node.replicas.offline[slot] == view.topics["t"].partitions[slot].key
    assert len(node.replicas.by_slot) == 2


def test_another_process_that_found_a_directory_failing_is_believed(node):
    node.replicas.follow(view_of(("t", 4)))
    node.changed()
    node.seat.mask = 2
    node.tick()
    changed = node.changed()
    assert {replica.log.directory.parent for replica in changed} == {node.dirs[1]}
    assert all(replica.state is RowState.OFFLINE for replica in changed)
    assert len(changed) == 2


def test_no_empty_log_replaces_one_that_lies_in_a_failed_directory(tmp_path):
    node = Node(tmp_path)
    view = view_of(("t", 4))
    node.replicas.follow(view)
    for slot in range(4):
        node.append(slot)
    lost = [slot for slot in range(4) if node.dir_of(slot) == node.dirs[1]]
    node.replicas.close()
    node.seat = FakeSeat(node.dirs, offline=[node.dirs[1]])
    node.start().follow(view)
    assert {slot for slot in range(4) if node.row(slot).state == RowState.OFFLINE} == set(lost)
    assert not any((node.dirs[0] / f"t-{slot}").exists() for slot in lost)
    later = view_of(("t", 4), ("new", 2))
    node.replicas.follow(later)  # created while the node runs: it can't lie in the other directory
    assert [node.row(slot).state for slot in (4, 5)] == [RowState.LEADER] * 2
    assert node.replicas.close()


def test_a_replica_that_a_reassignment_adds_is_made_beside_a_directory_that_failed(tmp_path):
    """KAFKA-10314: it is in no ISR, so no file of it can be missing; one that is in the ISR may lie in the other directory."""
    node = Node(tmp_path)
    node.replicas.follow(view_of(("t", 1)))
    node.replicas.close()
    node.seat = FakeSeat(node.dirs, offline=[node.dirs[1]])
    node.start().follow(view_of(("t", 1)))
    moved = view_of(("t", 1), ("moved", 2))
    topic = moved.topics["moved"]
    rows = tuple(
        one._replace(leader=7, leader_epoch=5, isr=isr, replicas=(7, 0))
        for one, isr in zip(topic.partitions, ((7,), (7, 0)), strict=True)
    )
    node.replicas.follow(moved._replace(topics={**moved.topics, "moved": topic._replace(partitions=rows)}))
    assert [node.row(slot).state for slot in (1, 2)] == [RowState.FOLLOWER, RowState.OFFLINE]


def test_a_new_partition_goes_where_there_is_room_whatever_lies_there(node):
    node.replicas.follow(view_of(("t", 4)))
    bound = node.seat.wiring.settings["headrace.log.dir.free.bytes.min"]
    node.disk.free_bytes = lambda path: bound - 1 if path == node.dirs[0] else 2 * bound
    node.tick()
    node.replicas.follow(view_of(("t", 4), ("u", 3)))
    assert [node.dir_of(slot) for slot in (4, 5, 6)] == [node.dirs[1]] * 3
    assert all(node.append(slot) for slot in (4, 5, 6))


def test_a_full_directory_refuses_appends_early_and_takes_them_again_when_there_is_room(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    assert node.append(0)
    bound = node.seat.wiring.settings["headrace.log.dir.free.bytes.min"]
    node.disk.free = bound - 1
    node.tick()
    assert all(replica.is_full for replica in node.replicas.by_slot.values())
    assert node.row(0).state == RowState.LEADER  # readers go on
    node.disk.free = bound
    node.tick()
    assert all(replica.is_full for replica in node.replicas.by_slot.values())  # no flapping
    node.disk.free = 2 * bound
    node.tick()
    assert not any(replica.is_full for replica in node.replicas.by_slot.values())
    assert node.append(0)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EMFILE, errno.EDQUOT])
def test_a_write_without_room_keeps_the_log_for_reads_and_opens_it_again(node, error):
    node.replicas.follow(view_of(("t", 2)))
    assert node.append(0, 3)
    node.disk.fails["pwritev"] = error
    assert not node.append(0)
    assert node.row(0).state == RowState.LEADER
    assert node.row(0).log_end_offset == 3
    assert node.replicas.by_slot[0].is_full
    for _ in range(3):  # it opens, which writes nothing, and fails again
        node.tick()
        assert not node.replicas.by_slot[0].is_full
        assert not node.append(0)
    assert (node.row(0).log_end_offset, node.row(0).high_watermark) == (3, 3)
    node.disk.fails.clear()
    node.tick()
    assert node.append(0)
    assert node.row(0).log_end_offset == 4
    assert node.seat.mask == 0
    assert node.replicas.close()


def test_a_role_without_room_for_its_epoch_is_taken_for_reads_and_later_for_appends(node):
    node.replicas.follow(view_of(("t", 1)))
    assert node.append(0)
    node.disk.fails["pwritev"] = errno.ENOSPC
    node.replicas.follow(view_of(("t", 1, {}, 5)))
    row = node.row(0)
    assert (row.state, row.leader_epoch, row.high_watermark) == (RowState.LEADER, 5, 1)
    assert node.replicas.by_slot[0].is_full
    node.tick()
    assert node.replicas.by_slot[0].is_full
    node.disk.fails.clear()
    node.tick()
    assert node.append(0)
    assert node.replicas.by_slot[0].log.epochs.entries == [(0, 0), (5, 1)]
    row = node.row(0)
    assert (row.state, row.leader_epoch, row.log_end_offset) == (RowState.LEADER, 5, 2)


@pytest.mark.parametrize("is_clean", [False, True])
@pytest.mark.parametrize("epoch", [0, 1])
def test_a_node_whose_disks_are_full_serves_reads_from_its_start(node, is_clean, epoch):
    node.replicas.follow(view_of(("t", 2)))
    assert node.append(0, 20)
    if is_clean:
        node.replicas.close()
    else:
        for replica in node.replicas.by_slot.values():
            replica.log.abandon()
    node.seat = FakeSeat(node.dirs, clean=node.dirs if is_clean else ())
    node.disk.free = 0
    node.disk.fails = dict.fromkeys(("pwritev", "fallocate", "fsync"), errno.ENOSPC)
    node.start().follow(view_of(("t", 2, {}, epoch)))
    rows = [node.row(slot) for slot in range(2)]
    assert [(row.state, row.leader_epoch, row.high_watermark) for row in rows] == [
        (RowState.LEADER, epoch, 20),
        (RowState.LEADER, epoch, 0),
    ]
    assert not node.append(0)
    node.disk.free = 1 << 40
    node.disk.fails.clear()
    node.tick()
    assert node.append(0)


def test_a_directory_whose_disk_is_gone_is_found_without_a_write(node):
    node.replicas.follow(view_of(("t", 2)))
    node.disk.fails["free_bytes"] = errno.EIO
    node.tick()
    assert {replica.state for replica in node.changed()} == {RowState.OFFLINE}
    assert node.seat.mask == 3


def doomed_of(view):
    return [DoomedReplica("t", one.index, one.slot, one.key) for one in view.topics["t"].partitions]


def test_a_replica_in_a_failed_directory_is_not_deleted_before_that_is_back(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    lost = node.dir_of(0)
    node.replicas.failures.take(node.replicas.by_slot[0], StorageFailed("injected"))
    gone = view_of(doomed=doomed_of(view))
    for _ in range(2):  # the view is followed again while it says so
        node.replicas.follow(gone)
        assert [node.row(slot).state for slot in range(2)] == [RowState.OFFLINE, RowState.DELETED]
    node.killed()
    for version in range(2, 5):  # the first view of its life says so, and so do those after it
        node.replicas.follow(gone._replace(version=version))
        assert node.row(0).state == RowState.OFFLINE
    assert (lost / "t-0").is_dir()
    node.seat.mask = 0
    node.killed().follow(gone)  # the node has started again
    assert node.row(0).state == RowState.DELETED
    assert not (lost / "t-0").exists()


def test_nor_where_something_else_of_a_worker_that_began_so_is_tried_again(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    lost = node.dir_of(0)
    node.replicas.failures.take(node.replicas.by_slot[0], StorageFailed("injected"))
    gone = with_id(view_of(("u", 1), doomed=doomed_of(view)), TOPIC_ID, slot=2)
    node.replicas.follow(gone)
    node.killed().follow(gone)
    assert node.row(0).state == RowState.OFFLINE
    node.disk.fails["pwritev"] = errno.ENOSPC
    assert not node.append(2)
    node.tick()
    assert node.row(0).state == RowState.OFFLINE
    assert (lost / "t-0").is_dir()


def test_a_replica_whose_directory_is_gone_before_anybody_noticed_is_not_deleted(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    lost = node.dir_of(0)
    away = lost.rename(lost.with_name("away"))
    lost.touch()
    node.replicas.follow(view_of(doomed=doomed_of(view)))
    assert [node.row(slot).state for slot in range(2)] == [RowState.OFFLINE, RowState.DELETED]
    assert (away / "t-0").is_dir()
    assert node.seat.mask == 1 << node.dirs.index(lost)


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(("epoch", "ending"), [(4, "-stray"), (7, "-delete"), (None, "-delete")])
def test_a_log_that_is_ahead_of_the_state_by_which_it_is_to_go_is_put_aside(node, is_open, epoch, ending, caplog):
    """The state is one of a restored ZooKeeper, unless the topic goes as a whole."""
    view = view_of(("t", 2, {}, 7))
    node.replicas.follow(view)
    home = node.dir_of(0)
    assert node.append(0)
    left = view_of(("t", 2, {}, epoch or 7))
    if not is_open:
        node.replicas.by_slot[0].log.close()
        node.killed()
    topic = left.topics["t"]
    rows = (topic.partitions[0]._replace(slot=-1), topic.partitions[1])
    topics = {"t": topic._replace(partitions=rows)} if epoch is not None else {}
    node.replicas.follow(left._replace(topics=topics, doomed=tuple(doomed_of(view)[:1]), version=2))
    assert node.row(0).state == RowState.DELETED
    assert [one.name[-len(ending) :] for one in home.glob("t-0*")] == [ending]
    assert ("put aside and not deleted" in caplog.text) == (ending == "-stray")


def test_a_replica_that_can_not_be_put_aside_is_not_deleted(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    lost = node.dir_of(0)
    node.disk.fails["rename"] = errno.EIO
    node.replicas.follow(view_of(doomed=doomed_of(view)[:1]))
    assert node.row(0).state == RowState.OFFLINE
    assert (lost / "t-0").is_dir()


@pytest.mark.parametrize("is_said", [True, False])
def test_what_no_view_had_counts_as_never_made_only_if_the_controller_said_that_it_is_new(node, is_said):
    node.replicas.follow(view_of(("other", 2)))
    node.replicas.failures.take(node.replicas.by_slot[0], StorageFailed("injected"))
    doomed = doomed_of(view_of(("t", 2)))
    if is_said:
        node.replicas.note_new([one.key for one in doomed])
    node.replicas.follow(view_of(doomed=doomed))  # made and deleted between two views
    assert {node.row(slot).state for slot in range(2)} == {RowState.DELETED if is_said else RowState.OFFLINE}


def test_a_held_back_topic_is_not_deleted_where_its_directory_failed_before_the_start(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    lost = node.dir_of(0)
    node.seat.mask = 1 << node.dirs.index(lost)
    node.killed().follow(view_of())  # its mark was read before it: no view has had it when it is stopped
    gone = view_of(doomed=doomed_of(view))._replace(version=2)
    node.replicas.follow(gone)
    assert [node.row(slot).state for slot in range(2)] == [RowState.OFFLINE, RowState.DELETED]
    node.seat.mask = 0
    node.killed().follow(gone)
    assert node.row(0).state == RowState.DELETED
    assert not (lost / "t-0").exists()


@pytest.mark.parametrize("then", ["nothing", "deleted", "opened again"])
def test_a_log_that_was_not_closed_makes_the_stop_unclean_until_it_is_deleted_or_whole(node, then):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    assert node.append(0)
    node.disk.fails = dict.fromkeys(("pwritev", "fallocate"), errno.ENOSPC)
    node.replicas.follow(view_of())  # released, while the disk is full
    node.disk.fails.clear()
    if then == "deleted":
        node.replicas.follow(view_of(doomed=doomed_of(view)))
    elif then == "opened again":
        node.replicas.follow(view)
    assert node.replicas.close() is (then != "nothing")
