"""Files opened by name while their topic is deleted and created again: never a byte of the other one."""

import os
from contextlib import nullcontext

import pytest

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import partition_key
from headrace.log.index_layout import TXN_ENTRY, TXN_VERSION
from headrace.log.names import TXN_INDEX_SUFFIX, path_of
from headrace.log.reading import segment_file
from headrace.log.reading.open_segments import OpenSegments
from headrace.protocol.record_batch import build_batch
from headrace.shm.cluster_view import DoomedReplica
from headrace.topic_defaults import TopicDefaults
from headrace.workers.network.fetch.partition_files import PartitionFiles
from headrace.workers.network.routes import Routes
from tests.support.altered import altered
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.descriptors import held_below
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of

OTHER_ID = "ff" * 16


def view_with_id(topic_id, slot):
    view = view_of(("t", 1))
    topic = view.topics["t"]
    partition = topic.partitions[0]._replace(slot=slot, key=partition_key("t", 0, topic_id))
    return view._replace(topics={"t": topic._replace(topic_id=topic_id, partitions=(partition,))})


class Node:
    """The owner of partition t-0, and a network worker's files."""

    def __init__(self, path):
        self.seat = FakeSeat([path])
        self.replicas = AnsweredReplicas(self.seat, 0, FakeClock())
        self.open_segments = OpenSegments(2)
        self.files = PartitionFiles((str(path),), self.seat.partitions, self.open_segments)
        routes = Routes(1, 1, TopicDefaults(self.seat.wiring.settings))
        routes.follow(view_with_id(TOPIC_ID, 0))
        self.route = routes.partition("t", 0)
        self.create(TOPIC_ID, 0, b"mine")
        self.row = self.seat.partitions.read(0)

    def create(self, topic_id, slot, value):
        self.replicas.follow(view_with_id(topic_id, slot))
        replica = self.replicas.by_slot[slot]
        data = memoryview(bytearray(build_batch([(None, value * 100)], timestamp_ms=NOW_MS)))
        replica.log.append_as_leader([data], 0, NOW_MS)
        replica.advance_high_watermark()
        replica.publish()

    def create_again(self, slot):
        key = partition_key("t", 0, TOPIC_ID)
        self.replicas.follow(view_of(doomed=[DoomedReplica("t", 0, 0, key)]))
        self.create(OTHER_ID, slot, b"others")

    def read(self, reader):
        found = reader.locate(0, 1 << 20, self.row.hw_segment, self.row.hw_position, True)
        return os.pread(found.fd, found.length, found.position)


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    node.files.close()


@pytest.mark.parametrize("slot", [0, 1])
def test_a_topic_created_again_before_its_directory_is_listed_is_refused(node, slot):
    node.create_again(slot)  # the row was read before
    with pytest.raises(KafkaError) as refused:
        node.files.reader(node.route, node.row)
    assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("slot", [0, 1])
@pytest.mark.parametrize("how", ["locate", "first_offset_at", "max_timestamp"])
def test_a_topic_created_again_before_its_segment_is_opened_is_refused(node, slot, how):
    reader = node.files.reader(node.route, node.row)
    node.create_again(slot)
    end = (node.row.hw_segment, node.row.hw_position)
    calls = {
        "locate": lambda: reader.locate(0, 1 << 20, *end, True),
        "first_offset_at": lambda: reader.first_offset_at(1, 0, *end),
        "max_timestamp": lambda: reader.max_timestamp(*end),
    }
    for _ in range(2):  # nor is what was opened kept for the next one
        with pytest.raises(KafkaError):
            calls[how]()


def test_a_topic_created_again_while_its_segment_is_opened_is_refused(node, monkeypatch):
    """Between the name's look-up and the end of the opening."""
    reader = node.files.reader(node.route, node.row)
    opened = os.open

    def open_late(path, flags):
        monkeypatch.undo()
        node.create_again(1)
        return opened(path, flags)

    monkeypatch.setattr(segment_file, "os", altered(os, open=open_late))
    with pytest.raises(KafkaError):
        node.read(reader)


def test_what_was_open_before_goes_on_being_the_partitions_own(node):
    reader = node.files.reader(node.route, node.row)
    before = node.read(reader)
    assert b"mine" in before
    node.create_again(1)
    assert node.read(reader) == before


@pytest.mark.parametrize("has_own", [True, False])
def test_aborted_transactions_of_another_topic_are_not_told(node, has_own):
    directory = node.files.directory("t", 0)
    entry = TXN_ENTRY.pack(TXN_VERSION, 7, 0, 0, 1)
    if has_own:
        path_of(directory, 0, TXN_INDEX_SUFFIX).write_bytes(entry)
    reader = node.files.reader(node.route, node.row)
    found = reader.locate(0, 1 << 20, node.row.hw_segment, node.row.hw_position, True)
    node.create_again(1)
    path_of(directory, 0, TXN_INDEX_SUFFIX).write_bytes(entry)
    with pytest.raises(KafkaError) if has_own else nullcontext():
        assert not reader.aborted_transactions(0, found, node.row.end_segment, 1)


def test_segments_over_all_partitions_have_one_bound(tmp_path):
    """Those in use stay, the least recently used are closed, with their indexes."""
    seat = FakeSeat([tmp_path])
    view = view_of(("t", 12))
    replicas = AnsweredReplicas(seat, 0, FakeClock())
    replicas.follow(view)
    for replica in replicas.by_slot.values():
        for _ in range(3):
            data = memoryview(bytearray(build_batch([(None, b"x" * 5_000)], timestamp_ms=NOW_MS)))
            replica.log.append_as_leader([data], 0, NOW_MS)
        replica.advance_high_watermark()
        replica.publish()
    routes = Routes(1, 1, TopicDefaults(seat.wiring.settings))
    routes.follow(view)
    open_segments = OpenSegments(4)
    files = PartitionFiles((str(tmp_path),), seat.partitions, open_segments)
    before = held_below(tmp_path)

    def fetch(index):
        route = routes.partition("t", index)
        row = seat.partitions.read(route.slot)
        return files.reader(route, row).locate(1, 1 << 20, row.hw_segment, row.hw_position, True)

    first = fetch(0).fd
    for index in range(1, 12):
        fetch(index)
        assert fetch(0).fd == first, "it is in use"
        assert open_segments.live <= 4
        assert held_below(tmp_path) - before <= 2 * 4
    ranges = [fetch(index) for index in range(4)]  # on their way to slow readers
    with pytest.raises(OSError, match="4 segments are being sent"):
        fetch(5)
    assert all(os.pread(each.fd, 4, each.position) for each in ranges)
    ranges.clear()
    assert fetch(5).length
    files.close()
    assert open_segments.live == 0
    assert held_below(tmp_path) == before
