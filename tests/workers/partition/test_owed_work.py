"""What a moment without descriptors, or without room, refuses a partition worker: no directory is lost for it, and it is done later."""

import errno
import os

import pytest

from headrace.ids import partition_key
from headrace.log.disk import Disk
from headrace.log.names import FUTURE_SUFFIX
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_file import CorruptSegment
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas import known_checkpoints, log_directories, replica_closer
from tests.support.descriptors import none_left
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of
from tests.workers.partition.replica_fixtures import Node, look_and_open

VIEW = view_of(("kept", 1), ("gone", 1))
LEFT = VIEW._replace(version=2, topics={"kept": VIEW.topics["kept"]})
DOOMED = LEFT._replace(doomed=(DoomedReplica("gone", 0, 1, partition_key("gone", 0, TOPIC_ID)),))


def refuse(*_arguments, code=errno.EMFILE, **_options):
    raise OSError(code, os.strerror(code))


class OneDirectory(Node):
    def __init__(self, path):
        super().__init__(path)
        self.dirs = self.dirs[:1]
        self.seat = FakeSeat(self.dirs)
        self.start()


@pytest.mark.parametrize("kind", [Node, OneDirectory])
@pytest.mark.parametrize("what", ["made", "deleted"])
def test_no_directory_is_lost_where_no_descriptor_is_left_as_a_topic_is_made_or_deleted(tmp_path, kind, what):
    node = kind(tmp_path)
    old, both = view_of(("old", 8)), view_of(("old", 8), ("new", 1))
    node.replicas.follow(old)
    assert all(node.append(slot) for slot in range(8))
    after = both
    if what == "deleted":
        node.replicas.follow(both)
        after = old._replace(doomed=(DoomedReplica("new", 0, 8, partition_key("new", 0, TOPIC_ID)),))
    with none_left():
        node.replicas.follow(after)
        look_and_open(node)
    look_and_open(node)
    assert node.replicas.directories.usable == node.dirs
    assert not node.replicas.has_owed
    assert all(node.append(slot) for slot in range(8))
    assert node.row(8).state == (RowState.LEADER if what == "made" else RowState.DELETED)


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(VIEW)
    assert node.append(0)
    assert node.append(1)
    return node


@pytest.mark.parametrize("what", ["sync", "read", "rename"])
def test_a_deletion_that_was_refused_for_a_moment_is_owed(node, monkeypatch, what):
    directory = node.replicas.by_slot[1].log.directory
    with monkeypatch.context() as patched:
        if what == "sync":
            patched.setattr(node.disk, "sync_directory", refuse)
        elif what == "read":
            patched.setattr(replica_closer, "read_partition_metadata", refuse)
        else:
            node.disk.fails["rename"] = errno.ENOSPC
        for _ in range(2):  # the view moves on meanwhile
            node.replicas.follow(DOOMED)
            assert node.replicas.has_owed
            assert node.row(1).state == RowState.LEADER  # nothing is said of it yet
        look_and_open(node)
        assert node.replicas.has_owed
    node.disk.fails.clear()
    look_and_open(node)
    assert not node.replicas.has_owed
    assert node.row(1).state == RowState.DELETED
    assert not directory.exists()
    assert [path.name.endswith("-delete") for path in directory.parent.glob("gone-0*")] == [True]
    assert node.replicas.directories.usable == node.dirs


def test_a_deletion_that_was_refused_is_out_of_reach_if_its_directory_fails_after_all(node):
    lost = node.dir_of(1)
    node.disk.fails["rename"] = errno.ENOSPC
    node.replicas.follow(DOOMED)
    node.disk.fails["rename"] = errno.EIO
    look_and_open(node)
    assert lost not in node.replicas.directories.usable
    assert node.row(1).state == RowState.OFFLINE


def test_nothing_is_said_of_a_deletion_whose_replica_is_wanted_after_all(node, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(node.disk, "sync_directory", refuse)
        node.replicas.follow(DOOMED)
    node.replicas.follow(VIEW._replace(version=3))
    look_and_open(node)
    assert not node.replicas.has_owed
    assert node.row(1).state == RowState.LEADER
    assert node.append(1)


def test_names_of_new_logs_that_were_not_synced_are_synced_later(node, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(node.disk, "sync_directory", refuse)
        node.replicas.follow(view_of(("kept", 1), ("gone", 1), ("new", 4)))
        assert node.replicas.has_owed
    look_and_open(node)
    assert not node.replicas.has_owed
    assert node.replicas.directories.usable == node.dirs


def test_where_a_log_stood_is_known_once_its_topic_can_be_read(node, monkeypatch):
    """A log start that was forgotten gives records back that were deleted."""
    node.replicas.by_slot[1].log.advance_log_start(1)
    with monkeypatch.context() as patched:
        patched.setattr(known_checkpoints, "read_partition_metadata", refuse)
        node.replicas.follow(LEFT)
        node.seat.partitions.publish(1, node.row(1)._replace(key=9))  # another had the slot meanwhile
        node.replicas.follow(VIEW._replace(version=3))
        assert node.row(1).state == RowState.OFFLINE  # it waits for that
    look_and_open(node)
    assert (node.row(1).state, node.row(1).log_start_offset) == (RowState.LEADER, 1)
    assert node.replicas.directories.usable == node.dirs


@pytest.mark.parametrize(("module", "call"), [(log_directories.os, "listdir"), (known_checkpoints, "TopicCheckpoints")])
def test_what_has_to_be_known_before_a_log_is_opened_has_the_worker_started_again(node, monkeypatch, module, call):
    if call == "listdir":
        with none_left(), pytest.raises(OSError, match="Too many open files"):
            node.replicas.directories.find_copies(FUTURE_SUFFIX, lambda topic, index: True)
    else:
        monkeypatch.setattr(known_checkpoints.TopicCheckpoints, "read", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            node.killed()
    assert node.replicas.directories.usable == node.dirs


def test_a_directory_is_full_to_nobody_where_its_room_is_not_known_for_a_moment(node):
    node.disk.fails["free_bytes"] = errno.ENOMEM
    node.tick()
    assert node.replicas.directories.usable == node.dirs
    assert node.append(0)


def test_a_segment_that_makes_no_sense_costs_its_replica_alone(node, monkeypatch):
    def contradict(*_arguments):
        raise CorruptSegment("no batch at byte 0")

    replica = node.replicas.by_slot[0]
    assert node.append(0, count=5)
    replica.high_watermark = 2  # followers are late
    monkeypatch.setattr(LogReader, "position_of", contradict)
    with pytest.raises(replica_closer.StorageFailed) as failure:
        replica.publish()
    replica.fail(failure.value)
    assert node.row(0).state == RowState.OFFLINE
    assert node.row(1).state == RowState.LEADER
    assert node.replicas.directories.usable == node.dirs
    assert not node.replicas.close()  # its directory gets no marker


def test_a_stray_directory_counts_as_unsynced_on_a_full_disk_too(node):
    directory = node.replicas.by_slot[0].log.directory
    (directory / "headrace.synced").touch()
    node.disk.fails["pwritev"] = errno.ENOSPC
    aside = node.replicas.directories.put_aside(directory, "-stray")
    assert not (aside / "headrace.synced").exists()
    assert Disk().free_bytes(aside)
