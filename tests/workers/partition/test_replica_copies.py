"""What a copy is worth: resumed before the log takes appends, kept where something else failed, and never in the way of others."""

import dataclasses
import errno
import logging
import os
import shutil

import pytest

from headrace.errors import ErrorCode, StorageFailed
from headrace.ids import TopicPartition, partition_key
from headrace.log.disk import Disk
from headrace.log.names import COPY_NAME_FILE, FUTURE_SUFFIX, aside_name, copied_partition
from headrace.log.recovery.log_reach import LogReach, log_reach
from headrace.log.state.checkpoints import (
    LEADER_EPOCH_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    write_leader_epochs,
    write_offset_checkpoint,
)
from headrace.log.state.truncation_mark import TRUNCATION_FILE, TruncationMark
from headrace.protocol.control_record import EndMarker
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas import log_dir_moves, replica_copy
from headrace.workers.partition.replicas.replica_copy import ReplicaCopy
from tests.support.altered import altered
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replicas.test_log_dir_moves import (
    CONFIG,
    VIEW,
    MovingNode,
    copy_of,
    in_sync_with,
    records,
    slow_moves,
    successor,
    work_through,
)

SLICE = 3_000


@pytest.fixture
def node(tmp_path, monkeypatch):
    slow_moves(monkeypatch, SLICE)
    node = MovingNode(tmp_path)
    node.replicas.follow(VIEW)
    for _ in range(400):
        assert node.append(0)
    return node


def aside(path, suffix):
    return [one for one in path.iterdir() if one.name.endswith(suffix)]


def restarted(node, view=VIEW):
    """After a power loss: no rows."""
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    node.moves.resume()


# Two places of one replica


def in_two_places(node):
    """A move is through, and the old name is back; returns (old, new), the new log is longer."""
    source, target = node.dir_of(0), node.other_dir(0)
    assert node.alter(0, target) == 0
    work_through(node.moves)
    for _ in range(50):
        assert node.append(0)
    node.replicas.by_slot[0].log.flush()
    (gone,) = aside(source, "-delete")
    gone.rename(source / "t-0")
    return source, target


@pytest.mark.parametrize("is_back", [False, True])
def test_the_longer_of_two_places_is_kept_whatever_the_order_of_the_directories(node, is_back, caplog):
    if is_back:  # from the second directory to the first one
        node.alter(0, node.other_dir(0))
        work_through(node.moves)
        shutil.rmtree(aside(node.dirs[0], "-delete")[0])
    source, target = in_two_places(node)
    expected = records(node, 0)
    restarted(node)
    assert node.dir_of(0) == target
    assert records(node, 0) == expected
    assert len(expected) == 450
    (stray,) = aside(source, "-stray")
    assert log_reach(stray).end_offset == 400
    assert not aside(source, "-delete")
    assert "replica found in two log directories" in caplog.text


@pytest.mark.parametrize("is_back", [False, True])
def test_the_longer_of_two_places_that_the_last_stop_closed_is_kept(node, is_back):
    """A disk that was away is back."""
    if is_back:
        node.alter(0, node.other_dir(0))
        work_through(node.moves)
        shutil.rmtree(aside(node.dirs[0], "-delete")[0])
    source, target = in_two_places(node)
    for replica in node.replicas.by_slot.values():
        replica.log.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(VIEW)
    assert (node.dir_of(0), node.row(0).log_end_offset) == (target, 450)
    (stray,) = aside(source, "-stray")
    assert log_reach(stray).end_offset == 400


def test_the_later_leader_epoch_is_kept_and_not_the_longer_log(node):
    source, target = in_two_places(node)
    log = node.replicas.by_slot[0].log
    log.truncate_to(300)
    log.append_as_leader([batch()], 5, NOW_MS)
    log.flush()
    restarted(node, view_of(("t", 2, CONFIG, 6)))
    assert node.dir_of(0) == target
    assert node.row(0).log_end_offset == 301
    assert len(aside(source, "-stray")) == 1


def test_what_a_place_has_beyond_its_own_recovery_point_is_checked(node):
    """The longer log is damaged, and a recovery point of the other directory says nothing of it."""
    source, target = in_two_places(node)
    path = max((target / "t-0").glob("*.log"))
    data = bytearray(path.read_bytes())
    first = int(path.stem)
    assert first < 440
    data[40] ^= 1
    path.write_bytes(data)
    name = node.replicas.by_slot[0].partition
    write_offset_checkpoint(source / RECOVERY_POINT_FILE, {name: 450})
    restarted(node)
    kept = max(first, 400)
    assert node.row(0).log_end_offset == kept
    assert node.dir_of(0) == (target if first > 400 else source)


def test_the_old_name_does_not_come_back_with_a_power_loss(node):
    source = node.dir_of(0)
    node.alter(0, node.other_dir(0))
    work_through(node.moves)
    durable = node.disk._names[source.stat().st_ino]
    assert "t-0" not in durable
    assert any(name.endswith("-delete") for name in durable)


def test_a_replica_that_is_deleted_does_not_come_back_with_a_power_loss(node):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    assert node.moves.do_work()
    doomed = DoomedReplica("t", 0, 0, partition_key("t", 0, TOPIC_ID))
    node.replicas.follow(view_of(doomed=[doomed]))
    assert node.row(0).state == RowState.DELETED
    assert "t-0" not in node.disk._names[source.stat().st_ino]
    assert len(aside(target, "-delete")) == 1, "its copy goes with it"
    work_through(node.moves)
    assert not aside(target, "-stray")
    assert not aside(target, FUTURE_SUFFIX)


# A copy that an earlier life left


def test_a_copy_is_resumed_before_its_log_takes_an_append(node):
    """The log lost its end, the copy did not: records that come after the start stay, though other logs are still to be opened."""
    target, log = node.other_dir(0), node.replicas.by_slot[0].log
    node.alter(0, target)
    for _ in range(12):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    assert copied > 150
    copy_of(node).future.flush()
    log.abandon()
    log.truncate_to(100)
    node.seat = FakeSeat(node.dirs)
    node.start().follow(in_sync_with(VIEW, 7))  # resume() comes when all are open
    replica = node.replicas.by_slot[0]
    assert replica.log.log_end_offset == 100
    assert copy_of(node).future.log_end_offset == 100
    for number in range(150):
        replica.log.append_as_leader([batch(timestamp_ms=NOW_MS + 9_000 + number)], 0, NOW_MS)
    replica.move_high_watermark(250)
    expected = records(node, 0)
    node.moves.resume()
    work_through(node.moves)
    assert node.dir_of(0) == target
    assert records(node, 0) == expected


def test_a_copy_that_is_longer_after_a_power_loss_is_kept_whoever_was_in_sync(node, caplog):
    """The others may have lost power as well: what only the copy has is not cut before it is known what they have."""
    target, log = node.other_dir(0), node.replicas.by_slot[0].log
    node.alter(0, target)
    for _ in range(12):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    copy_of(node).future.flush()
    log.abandon()
    log.truncate_to(100)
    node.seat = FakeSeat(node.dirs)
    node.seat.wiring = dataclasses.replace(node.seat.wiring, suspect_directories=frozenset(map(str, node.dirs)))
    node.start().follow(in_sync_with(VIEW, 7))
    (kept,) = aside(target, "-stray")
    assert f"end_offset={copied} directory={kept}" in caplog.text
    assert copy_of(node).future.log_end_offset == 0, "another one is begun"


def flushed_copy(node):
    """A copy in flight that is on its disk; returns where it lies, and its end."""
    node.alter(0, node.other_dir(0))
    for _ in range(12):
        assert node.moves.do_work()
    future = copy_of(node).future
    future.flush()
    return future.directory.parent, future.log_end_offset


@pytest.mark.parametrize("isr", [(7,), (0, 7)])
def test_a_copy_is_not_cut_by_a_log_that_was_just_made(node, isr):
    """The disk that the replica was to leave was replaced by an empty one."""
    source = node.dir_of(0)
    target, copied = flushed_copy(node)
    node.moves.close()
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    shutil.rmtree(source)
    source.mkdir()
    node.seat = FakeSeat(node.dirs)
    topic = VIEW.topics["t"]
    partitions = tuple(one._replace(leader=7, leader_epoch=3, isr=isr, replicas=(0, 7)) for one in topic.partitions)
    node.start().follow(VIEW._replace(topics={"t": topic._replace(partitions=partitions)}))
    node.moves.resume()
    assert node.replicas.by_slot[0].log.log_end_offset == 0
    (kept,) = [one for log_dir in node.dirs for one in aside(log_dir, "-stray") if one.name.startswith("t-0")]
    assert log_reach(kept) == LogReach(0, copied)
    assert kept.parent == target


def test_a_copy_is_not_cut_by_a_log_that_has_other_records_before_its_end(node):
    target, copied = flushed_copy(node)
    log = node.replicas.by_slot[0].log
    log.truncate_to(99)
    log.append_as_leader([batch(timestamp_ms=NOW_MS + 9_000)], 0, NOW_MS)
    log.abandon()
    node.seat = FakeSeat(node.dirs)
    node.start().follow(in_sync_with(VIEW, 7))
    (kept,) = aside(target, "-stray")
    assert log_reach(kept).end_offset == copied


def test_a_copy_is_not_cut_by_a_log_that_ends_before_its_mark(node):
    target, copied = flushed_copy(node)
    log = node.replicas.by_slot[0].log
    log.abandon()
    log.truncate_to(100)
    write_offset_checkpoint(log.directory.parent / REPLICATION_OFFSET_FILE, {log.partition: 150})
    node.seat = FakeSeat(node.dirs)
    node.start().follow(in_sync_with(VIEW, 7))
    (kept,) = aside(target, "-stray")
    assert log_reach(kept).end_offset == copied


def test_a_copy_whose_epoch_file_contradicts_its_batches_is_resumed_with_what_these_say(node):
    target = node.other_dir(0)
    node.alter(0, target)
    for _ in range(5):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    write_leader_epochs(copy_of(node).directory / LEADER_EPOCH_FILE, [(0, 0), (2, 10)])
    future = successor(node).future
    assert (future.log_end_offset, future.epochs.entries[0]) == (copied, (0, 0))
    assert [entry for entry in future.epochs.entries if 0 < entry[1] < copied] == []
    assert not aside(target, "-stray")


@pytest.mark.parametrize("what", ["last batch", "leader epoch"])
def test_a_copy_that_is_not_shown_to_be_the_same_is_kept_and_begun_again(node, what, caplog):
    target, log = node.other_dir(0), node.replicas.by_slot[0].log
    node.alter(0, target)
    for _ in range(5):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    log.truncate_to(copied - 1)
    epoch = 0 if what == "last batch" else 3
    for number in range(20):
        log.append_as_leader([batch(timestamp_ms=NOW_MS + 9_000 + number)], epoch, NOW_MS)
    replica = node.replicas.by_slot[0]
    replica.high_watermark = log.log_end_offset
    replica.publish()
    expected = records(node, 0)
    move = successor(node)
    assert move.future.log_end_offset == 0
    (stray,) = aside(target, "-stray")
    assert log_reach(stray).end_offset == copied
    assert "move cancelled" in caplog.text
    work_through(node.moves)
    assert records(node, 0) == expected
    assert node.dir_of(0) == target


def test_where_there_is_no_room_beside_a_kept_copy_none_is_begun(node):
    target = node.other_dir(0)
    node.alter(0, target)
    node.moves.do_work()
    (copy_of(node).directory / "partition.metadata").unlink()
    node.disk.free = 10_000
    assert successor(node) is None
    assert len(aside(target, "-stray")) == 1
    assert node.append(0)


def test_a_copy_whose_log_can_not_be_opened_waits_for_it(node, caplog):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    node.moves.do_work()
    node.seat.mask = 1 << node.dirs.index(source)
    assert successor(node) is None
    assert len(aside(target, FUTURE_SUFFIX)) == 1
    assert "copy waits for its log" in caplog.text


# A move that something else ends


def test_a_copy_whose_source_directory_dies_is_kept(node, caplog):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    for _ in range(5):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    node.replicas.failures.lose_directory(source, StorageFailed("injected"))
    work_through(node.moves)
    assert not node.moves.is_moving(0)
    assert not aside(target, "-delete")
    (stray,) = aside(target, "-stray")
    assert log_reach(stray).end_offset == copied
    assert f"rename this directory to {target / 't-0'}" in caplog.text
    assert TruncationMark(stray, Disk()).doubts_all, "what was synced of another log in its place says nothing of it"
    stray.rename(target / "t-0")  # as the line says
    shutil.rmtree(source / "t-0")
    restarted(node)
    assert node.row(0).log_end_offset == copied


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE])
def test_a_source_that_can_not_be_read_leaves_the_copy(node, monkeypatch, error):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    assert node.moves.do_work()

    def pread(_fd, _size, _position):
        raise OSError(error, "injected")

    monkeypatch.setattr(replica_copy, "os", altered(os, pread=pread))
    work_through(node.moves)
    assert len(aside(target, "-stray")) == 1
    assert not aside(target, "-delete")
    assert (source in node.replicas.directories.usable) == (error == errno.EMFILE)
    assert target in node.replicas.directories.usable


def test_an_old_directory_that_fails_at_the_end_costs_itself_alone(node):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)

    def fails(_old, new):
        if new.name.endswith("-delete"):
            raise OSError(errno.EIO, "injected")

    node.disk.before_rename = fails
    work_through(node.moves)
    node.disk.before_rename = None
    assert node.dir_of(0) == target
    assert source not in node.replicas.directories.usable
    assert node.row(0).state == RowState.LEADER
    assert node.append(0)
    restarted(node)
    assert node.row(0).log_end_offset == 401
    assert node.dir_of(0) == target


def test_a_new_place_that_can_not_be_opened_leaves_the_replica_where_it_was(node, monkeypatch):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)

    def refuse(_name, directory, *_more):
        raise StorageFailed(f"{directory}: injected")

    monkeypatch.setattr(node.replicas.logs, "open", refuse)
    work_through(node.moves)
    assert node.dir_of(0) == source
    assert node.row(0).state == RowState.LEADER
    assert node.append(0)
    assert target not in node.replicas.directories.usable


# Turns


def test_records_that_are_deleted_meanwhile_do_not_make_a_turn_long(node):
    node.alter(0, node.other_dir(0))
    for _ in range(8):
        assert node.moves.do_work()
    log = node.replicas.by_slot[0].log
    count = log.count_deletable(set(log.segment_bases[:1]), log.log_end_offset)
    assert count == 1
    log.advance_log_start(log.segment_bases[1])
    log.delete_segments(1)
    turns = 0
    while node.moves.is_moving(0):
        before = copy_of(node).future.size_bytes
        future = copy_of(node).future
        assert node.moves.do_work()
        turns += 1
        assert future.size_bytes - before <= 2 * SLICE
    assert turns > 8
    assert node.row(0).log_end_offset == 400


def test_a_copy_that_has_nothing_but_deleted_records_is_begun_again(node):
    target = node.other_dir(0)
    node.alter(0, target)
    assert node.moves.do_work()
    log = node.replicas.by_slot[0].log
    log.advance_log_start(300)
    work_through(node.moves)
    assert len(aside(target, "-delete")) == 1
    assert node.dir_of(0) == target
    row = node.row(0)
    assert (row.log_start_offset, row.log_end_offset) == (300, 400)


def test_a_log_whose_start_lies_within_a_batch_is_moved(node):
    """Records were deleted up to there: Kafka Streams does so. Its first batch is copied whole, as a follower takes it."""
    replica, home = node.replicas.by_slot[1], node.dir_of(1)
    for _ in range(40):
        replica.append([batch(count=10)], NOW_MS)
    replica.log.advance_log_start(105)
    replica.publish()
    whole = records(node, 1)[10:]
    node.alter(1, node.other_dir(1))
    work_through(node.moves)
    assert node.dir_of(1) != home
    row = node.row(1)
    assert (row.log_start_offset, row.log_end_offset) == (105, 400)
    assert records(node, 1) == whole
    assert not (node.dir_of(1) / "t-1" / TRUNCATION_FILE).exists(), "nothing doubts the start"
    node.killed().follow(VIEW)
    assert node.row(1).log_end_offset == 400


@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_copy_that_is_begun_again_within_a_batch_goes_on(node, is_resumed):
    replica = node.replicas.by_slot[1]
    for _ in range(40):
        replica.append([batch(count=10)], NOW_MS)
    target = node.other_dir(1)
    node.alter(1, target)
    assert node.moves.do_work()
    assert 0 < copy_of(node, 1).future.log_end_offset < 300
    replica.log.advance_log_start(305)
    replica.publish()
    if is_resumed:
        write_offset_checkpoint(node.dir_of(1) / LOG_START_OFFSET_FILE, {TopicPartition("t", 1): 305})
        restarted(node)
    work_through(node.moves)
    assert node.dir_of(1) == target
    assert (node.row(1).log_start_offset, node.row(1).log_end_offset) == (305, 400)


def test_a_log_that_grows_faster_than_a_slice_is_caught_up_with(node):
    node.alter(0, node.other_dir(0))
    for _ in range(200):
        if not node.moves.is_moving(0):
            break
        for _ in range(40):  # some 7 KB
            assert node.append(0)
        node.moves.do_work()
    assert not node.moves.is_moving(0)


def test_a_copy_does_not_remember_the_transactions_that_are_committed(node, monkeypatch):
    """A log has millions of them; the one that serves forgets each when it publishes its row."""
    replica = node.replicas.by_slot[0]
    for sequence in range(100):
        kind = {"producer_id": 9, "producer_epoch": 0, "base_sequence": sequence, "attributes": TRANSACTIONAL_BIT}
        replica.append([batch(**kind)], NOW_MS)
        replica.append_markers([EndMarker(9, 0, 0, False)], NOW_MS)
    waiting = []
    real = ReplicaCopy.copy

    def copied(copy, *how):
        size = real(copy, *how)
        waiting.append(len(copy.future.producers._unreplicated))
        return size

    monkeypatch.setattr(ReplicaCopy, "copy", copied)
    node.alter(0, node.other_dir(0))
    work_through(node.moves)
    assert not node.moves.is_moving(0)
    assert len(waiting) > 10
    assert set(waiting) == {0}


def test_a_move_that_comes_no_nearer_is_reported(node, caplog):
    caplog.set_level(logging.INFO)
    replica = node.replicas.by_slot[0]
    replica.isr = (0, 7)
    for _ in range(300):
        replica.log.append_as_leader([batch()], 0, NOW_MS)
    node.alter(0, node.other_dir(0))
    for _ in range(3):
        work_through(node.moves)
        node.clock.ms += log_dir_moves.MOVE_REPORT_INTERVAL_MS
        node.moves.do_work()
    assert "move in progress partition=t-0" in caplog.text
    assert "move makes no progress" in caplog.text
    assert "high_watermark=400" in caplog.text


def test_a_move_that_waits_does_not_hold_up_the_next_one(node):
    replica = node.replicas.by_slot[0]
    replica.isr = (0, 7)
    for _ in range(300):
        replica.log.append_as_leader([batch()], 0, NOW_MS)
    node.alter(0, node.other_dir(0))
    other = node.other_dir(1)
    node.alter(1, other)
    work_through(node.moves)
    assert node.moves.is_moving(0)
    assert node.dir_of(1) == other


# Long names


@pytest.mark.parametrize("length", [249, 213, 212, 200])
def test_a_copy_of_a_long_name_is_found_again(tmp_path, monkeypatch, length):
    slow_moves(monkeypatch, SLICE)
    topic, twin = "x" * (length - 1) + "a", "x" * (length - 1) + "b"
    view = view_of((topic, 1, CONFIG), (twin, 1, CONFIG))
    node = MovingNode(tmp_path)
    node.replicas.follow(view)
    for _ in range(200):
        assert node.append(0)
    target = node.other_dir(0)
    assert node.alter(0, target, topic, 0) == ErrorCode.NONE
    for _ in range(4):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    directory = copy_of(node).directory
    assert copied_partition(directory) == f"{topic}-0"
    assert (directory / COPY_NAME_FILE).exists() == (length > 212)
    move = successor(node, view)
    assert move.future.log_end_offset == copied
    work_through(node.moves)
    assert node.dir_of(0) == target
    assert len(records(node, 0)) == 200
    assert not (target / f"{topic}-0" / COPY_NAME_FILE).exists()


def test_a_cut_name_without_its_file_is_no_copy_of_anybody(tmp_path):
    directory = tmp_path / aside_name("x" * 249 + "-0", FUTURE_SUFFIX)
    directory.mkdir()
    assert copied_partition(directory) == ""
    (directory / COPY_NAME_FILE).write_text("y" * 249 + "-0")
    assert copied_partition(directory) == ""
    (directory / COPY_NAME_FILE).write_text("x" * 249 + "-0")
    assert copied_partition(directory) == "x" * 249 + "-0"


# A name that was never synced


def test_the_name_of_a_log_whose_first_owner_was_killed_is_synced_with_the_first_flush(tmp_path):
    node = MovingNode(tmp_path)
    node.disk.fails["fsync"] = errno.EIO  # killed before it synced anything
    node.replicas.follow(VIEW)
    node.disk.fails.clear()
    node.seat.mask = 0
    node.killed().follow(VIEW)
    log = node.replicas.by_slot[0].log
    log.append_as_leader([batch()], 0, NOW_MS)
    log.flush()
    assert "t-0" in node.disk._names[log.directory.parent.stat().st_ino]
