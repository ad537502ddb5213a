"""Two directories of one name: readers take the one that the owner's row names, whatever comes first in log.dirs."""

import errno
import os
from types import SimpleNamespace

import pytest

from headrace.errors import KafkaError, StorageFailed
from headrace.ids import partition_key
from headrace.log.names import DELETED_DIRECTORY_SUFFIX
from headrace.log.reading.open_segments import OpenSegments
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from headrace.shm.cluster_view import EMPTY_VIEW, DoomedReplica, PartitionView, TopicView
from headrace.shm.partition_table import NO_LOG_DIR, RowState
from headrace.topic_defaults import TopicDefaults
from headrace.workers.housekeeper.hosted import HostedReplicas, Serving
from headrace.workers.network.fetch.epoch_files import EpochFiles
from headrace.workers.network.fetch.partition_files import PartitionFiles
from headrace.workers.network.handlers import a35_describe_log_dirs
from headrace.workers.network.routes import Routes
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import TOPIC_ID, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replicas.test_log_dir_moves import CONFIG, MovingNode, names, work_through

COUNT = 10  # records of a batch
VIEW = view_of(("t", 2, CONFIG))
BOTH_ORDERS = pytest.mark.parametrize(
    "slot", [0, 1]
)  # they begin in one directory each: the other comes later, or first


class Node(MovingNode):
    """A partition worker that moves replicas, and what other processes have of its files."""

    def __init__(self, path):
        super().__init__(path)
        self.replicas.follow(VIEW)

    def append(self, slot, count=40):
        for _ in range(count):
            self.replicas.by_slot[slot].append([batch(count=COUNT)], NOW_MS)

    def route(self, slot):
        routes = Routes(1, 1, TopicDefaults(self.seat.wiring.settings))
        routes.follow(VIEW)
        return routes.partition("t", slot)

    def files(self):
        """Of a network worker that has nothing open."""
        return PartitionFiles(self.seat.wiring.settings["log.dirs"], self.seat.partitions, OpenSegments(100))

    def read(self, files, slot, offset):
        """The records from an offset up to the mark, as a client's fetch reads them: (offset, value)."""
        row = self.row(slot)
        reader = files.reader(self.route(slot), row)
        found = reader.locate(offset, 1 << 20, row.hw_segment, row.hw_position, True, row.high_watermark)
        data = b"" if found is None else os.pread(found.fd, found.length, found.position)
        return [
            (record.offset, record.value)
            for _p, _h, whole in iterate_batches(data)
            for record in iterate_records(whole)
        ]

    def offsets(self, files, slot, offset):
        return [one for one, _value in self.read(files, slot, offset)]

    def described(self, slot):
        """The log directories in which DescribeLogDirs has a replica."""
        routes = Routes(1, 1, TopicDefaults(self.seat.wiring.settings))
        routes.follow(VIEW)
        context = SimpleNamespace(seat=self.seat, routes=routes)
        found = {one: a35_describe_log_dirs._describe(context, str(one), {"t": {slot}}) for one in self.dirs}
        return [one for one, result in found.items() if result.topics]

    def hosted(self, slot):
        """The replica as the housekeeper places it."""
        topic = VIEW.topics["t"]
        replicas = HostedReplicas(self.seat, self.dirs)
        return replicas, replicas.place(Serving(topic, topic.partitions[slot], self.row(slot)))


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def read_only(directory):
    def check(source, _target):
        if source.parent == directory:
            raise OSError(errno.EROFS, "Read-only file system")

    return check


@BOTH_ORDERS
def test_a_directory_that_a_replica_left_is_not_read_though_it_has_the_name(node, slot):
    node.append(slot)
    source, target = node.dir_of(slot), node.other_dir(slot)
    before = node.files()
    assert node.offsets(before, slot, 390)
    node.disk.before_rename = read_only(source)
    assert node.alter(slot, target) == 0
    work_through(node.moves)
    node.disk.before_rename = None
    assert node.dir_of(slot) == target
    assert (source / f"t-{slot}").is_dir()
    replica = node.replicas.by_slot[slot]
    assert replica.take_role(VIEW.topics["t"].partitions[slot]._replace(leader_epoch=7))
    node.append(slot)
    for files in (before, node.files()):
        assert node.offsets(files, slot, 795)[-1] == 799
        epochs = EpochFiles(files, node.seat.processes)
        assert epochs.entries(node.route(slot), node.row(slot)) == [(0, 0), (7, 400)]
    assert node.hosted(slot)[1].log_dir == target


def test_a_log_in_a_failed_directory_is_not_read_by_the_row_of_a_new_one(node):
    old_dir = node.dir_of(0)
    assert old_dir == node.dirs[0]
    key = partition_key("t", 0, TOPIC_ID)

    def view(version, leader, epoch, replicas, slot=0, doomed=()):
        partition = PartitionView(0, leader, epoch, (leader,), replicas, (), slot, key)
        topic = TopicView("t", TOPIC_ID, False, {}, (partition,))
        return EMPTY_VIEW._replace(version=version, topics={"t": topic}, doomed=tuple(doomed))

    def data(name, base, epoch):
        values = [(None, f"{name}-{base + one}".encode()) for one in range(COUNT)]
        return memoryview(bytearray(build_batch(values, base_offset=base, timestamp_ms=NOW_MS, leader_epoch=epoch)))

    old = node.replicas.by_slot[0]
    old.append([data("old", 0, 0)], NOW_MS)
    files = node.files()
    assert len(node.read(files, 0, 0)) == COUNT
    node.replicas.failures.lose_directory(old_dir, StorageFailed("injected"))
    node.replicas.follow(view(2, 1, 2, (1, 2), slot=-1, doomed=[DoomedReplica("t", 0, 0, key)]))
    node.replicas.note_new([key])
    node.replicas.follow(view(3, 1, 2, (1, 2, 0)))
    new = node.replicas.by_slot[0]
    assert new.log.directory.parent == node.dirs[1]
    assert (old_dir / "t-0").is_dir()
    for base in (0, COUNT):
        new.log.append_as_follower(data("new", base, 2), NOW_MS)
    new.high_watermark = 2 * COUNT
    node.replicas.follow(view(4, 0, 3, (1, 2, 0)))
    assert node.row(0).state == RowState.LEADER
    for each in (files, node.files()):
        assert node.read(each, 0, 0) == [(one, f"new-{one}".encode()) for one in range(2 * COUNT)]
        epochs = EpochFiles(each, node.seat.processes)
        assert epochs.entries(node.route(0), node.row(0)) == [(2, 0), (3, 2 * COUNT)]
    assert node.hosted(0)[1].log_dir == node.dirs[1]


@BOTH_ORDERS
def test_a_copy_that_has_the_name_and_did_not_take_the_place_is_not_read(node, slot):
    node.append(slot)
    source, target = node.dir_of(slot), node.other_dir(slot)
    sync_directory = node.disk.sync_directory

    def sync(path):
        if path == target and (target / f"t-{slot}").is_dir():
            node.disk.before_rename = read_only(target)
            raise OSError(errno.EMFILE, "Too many open files")
        sync_directory(path)

    node.disk.sync_directory = sync
    assert node.alter(slot, target) == 0
    work_through(node.moves)
    assert node.dir_of(slot) == source
    assert (target / f"t-{slot}").is_dir()
    assert node.seat.mask == 0, "the copy's directory is in use"
    node.append(slot)
    files = node.files()
    for offset in (395, 400, 795):
        found = node.offsets(files, slot, offset)
        assert found[0] <= offset <= found[-1]
    assert node.described(slot) == [source]
    replicas, hosted = node.hosted(slot)
    assert hosted.log_dir == source
    assert replicas.is_in_place(hosted)


@BOTH_ORDERS
def test_nothing_above_the_mark_is_read_while_a_moved_replica_has_two_directories(node, slot):
    node.append(slot)
    replica = node.replicas.by_slot[slot]
    replica.log.advance_log_start(100)  # the copy begins there: its segments have other bases
    replica.log.append_as_leader([batch(count=COUNT) for _ in range(3)], 0, NOW_MS)  # followers lack it
    replica.publish()
    row, source, target = node.row(slot), node.dir_of(slot), node.other_dir(slot)
    found = {}

    def look(_source, renamed):
        if renamed.name.endswith(DELETED_DIRECTORY_SUFFIX):
            assert {one.name for one in node.dirs if (one / f"t-{slot}").is_dir()} == {"a", "b"}
            found["offsets"] = node.offsets(node.files(), slot, row.high_watermark - 5)

    node.disk.before_rename = look
    assert node.alter(slot, target) == 0
    work_through(node.moves)
    assert node.dir_of(slot) == target
    assert f"t-{slot}-delete" in names(source)
    assert found["offsets"][-1] == row.high_watermark - 1


@BOTH_ORDERS
def test_a_row_of_before_a_move_opens_nothing_in_the_place_of_after_it(node, slot):
    node.append(slot)
    row, files = node.row(slot), node.files()
    held = files.reader(node.route(slot), row)
    assert node.alter(slot, node.other_dir(slot)) == 0
    work_through(node.moves)
    with pytest.raises(KafkaError):
        node.files().reader(node.route(slot), row)
    with pytest.raises((KafkaError, FileNotFoundError)):
        held.segment(0)
    assert node.offsets(files, slot, 390)[-1] == 399


def test_a_replica_without_a_log_names_no_directory(node):
    node.replicas.failures.lose_directory(node.dir_of(0), StorageFailed("injected"))
    assert node.row(0).log_dir == 0, "it lies there still"
    node.seat.restarted()
    node.start().follow(VIEW)
    assert (node.row(0).state, node.row(0).log_dir) == (RowState.OFFLINE, NO_LOG_DIR)
    assert node.hosted(0)[1] is None
