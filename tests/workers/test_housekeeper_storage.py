"""The housekeeper over disks that fail, and over topics that come again under their name."""

import errno

import pytest
from fake_seat import FakeSeat, view_of
from log_fixtures import NOW_MS, FakeClock, batch

from headrace.ids import TopicPartition
from headrace.log.checkpoints import RECOVERY_POINT_FILE, read_offset_checkpoint
from headrace.workers.housekeeper import worker
from headrace.workers.housekeeper.hosted import HostedReplicas
from headrace.workers.housekeeper.worker import Housekeeper
from headrace.workers.partition.replicas import Replicas

SETTINGS = {"log.segment.bytes": "2000", "log.flush.offset.checkpoint.interval.ms": "60000"}


class View:
    def __init__(self):
        self.now = view_of()

    def read(self):
        return self.now


class NoLags:
    def rows(self):
        return []


class Processes:
    def generation(self, process_id):
        return 1


class Node:
    def __init__(self, path):
        self.dirs = [path / "a", path / "b"]
        for one in self.dirs:
            one.mkdir()
        self.seat = FakeSeat(self.dirs, SETTINGS)
        self.seat.view = View()
        self.seat.readers, self.seat.writers = {}, {}
        self.seat.changed = frozenset
        self.seat.lags, self.seat.processes = NoLags(), Processes()
        self.clock = FakeClock()
        self.replicas = Replicas(self.seat, 0, self.clock)
        self.follow(view_of(("t", 2)))
        self.housekeeper = Housekeeper(self.seat, self.clock)

    def follow(self, view):
        self.seat.view.now = view
        self.replicas.follow(view)

    def fill(self, slot, count=60):
        replica = self.replicas.by_slot[slot]
        for _ in range(count):
            replica.append([batch()], NOW_MS)
        replica.advance_high_watermark(0)
        replica.publish()
        return replica.log

    def work(self):
        self.clock.ms += 1_100
        self.housekeeper.do_work()

    def checkpoint(self):
        found = {}
        for one in self.dirs:
            found |= read_offset_checkpoint(one / RECOVERY_POINT_FILE)
        return found


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def test_a_rolled_segment_that_cannot_be_synced_takes_its_directory_offline(node, monkeypatch):
    lost = node.fill(0).directory.parent

    def sync(directory, base_offset):
        if directory.parent == lost:
            raise OSError(errno.EIO, "injected")

    monkeypatch.setattr(worker, "sync_segment", sync)
    node.work()
    assert node.seat.mask == 1 << node.dirs.index(lost)
    node.housekeeper.close(is_clean=True)
    assert [(one / ".kafka_cleanshutdown").exists() for one in node.dirs] == [one != lost for one in node.dirs]


def test_too_many_open_files_are_no_fault_of_the_disk(node, monkeypatch):
    node.fill(0)

    def sync(directory, base_offset):
        raise OSError(errno.EMFILE, "injected")

    monkeypatch.setattr(worker, "sync_segment", sync)
    node.work()
    assert node.seat.mask == 0


@pytest.mark.parametrize(("error", "mask"), [(errno.ENOSPC, 0), (errno.EIO, 3)])
def test_a_checkpoint_that_cannot_be_written(node, monkeypatch, error, mask):
    def write(path, offsets):
        raise OSError(error, "injected")

    monkeypatch.setattr(worker, "write_offset_checkpoint", write)
    node.clock.ms += 100_000
    node.housekeeper.do_work()
    assert node.seat.mask == mask


def test_what_was_synced_of_a_deleted_topic_vouches_for_no_other_of_its_name(node):
    log = node.fill(0)
    node.work()
    node.clock.ms += 100_000
    node.housekeeper.do_work()
    assert node.checkpoint()[TopicPartition("t", 0)] == log.end_segment > 0
    node.follow(view_of())  # released; its directory goes as a deletion has it go
    log.directory.rename(log.directory.with_name("t-0.0-delete"))
    again = view_of(("t", 2))
    partitions = tuple(one._replace(key=one.key + 1) for one in again.topics["t"].partitions)
    again.topics["t"] = again.topics["t"]._replace(partitions=partitions)
    node.follow(again)
    node.fill(0, 3)
    node.work()
    assert node.checkpoint()[TopicPartition("t", 0)] == 0


def test_a_topic_that_is_deleted_while_others_are_synced(node, monkeypatch):
    for slot in range(2):
        node.fill(slot)
    directories = [node.replicas.by_slot[slot].log.directory for slot in range(2)]
    synced = []

    def sync(directory, base_offset):
        synced.append(directory)
        if directories[1].exists():
            directories[1].rename(directories[1].with_name("t-1.0123-delete"))

    monkeypatch.setattr(worker, "sync_segment", sync)
    node.work()
    assert set(synced) == {directories[0]}
    assert node.seat.mask == 0


def test_a_default_that_was_changed_while_the_node_runs_holds_for_retention_and_appends(node):
    view = node.seat.view.now
    hosted = HostedReplicas(node.seat, node.dirs)
    assert {one.config.retention_ms for one in hosted} == {7 * 24 * 3_600_000}
    node.follow(view._replace(cluster_settings={"log.retention.ms": "7"}, node_settings={"message.max.bytes": "9000"}))
    assert {one.config.retention_ms for one in hosted} == {7}
    assert {replica.log.config.max_message_bytes for replica in node.replicas.by_slot.values()} == {9000}
    node.follow(view)
    assert {one.config.retention_ms for one in hosted} == {7 * 24 * 3_600_000}
    assert {replica.log.config.max_message_bytes for replica in node.replicas.by_slot.values()} == {1_048_588}
