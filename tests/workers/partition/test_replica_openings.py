"""Logs are opened a slice at a time: in which order, what a log that does not open costs, and what a stop meanwhile leaves."""

import pytest

from headrace.errors import StorageExhausted
from headrace.ids import OFFSETS_TOPIC
from headrace.log.reading.segment_file import CorruptSegment
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.replicas import Replicas
from headrace.workers.partition.replicas.storage_failures import StorageFailures
from tests.support.fake_seat import FakeSeat, view_of
from tests.workers.partition.replica_fixtures import PassingClock, look_and_open, open_slots


@pytest.fixture
def slow(node):
    node.clock = PassingClock()
    node.start()
    return node


def test_logs_are_opened_a_slice_at_a_time_and_those_asked_for_first(slow):
    view = view_of(("a", 3), (OFFSETS_TOPIC, 1))
    slow.replicas.follow(view)
    assert open_slots(slow) == [3]  # groups wait for it
    assert slow.append(3)
    slow.replicas.ask_for(2, view.topics["a"].partitions[2].key)
    slow.replicas.ask_for(1, 12345)  # another partition's that had this slot
    slow.changed()
    opened = []
    while slow.replicas.has_unopened:
        slow.replicas.open_some()
        slow.replicas.follow(view._replace(version=2))
        opened += slow.changed()
    assert [replica.slot for replica in opened] == [2, 0, 1]
    assert all(replica.is_leader for replica in opened)
    slow.replicas.open_some()
    assert slow.changed() == []


def test_a_deletion_does_not_wait_for_logs_that_are_to_be_opened(slow):
    view = view_of(("a", 5), ("b", 1))
    for index in range(5):
        (slow.dirs[0] / f"a-{index}").mkdir()
    slow.replicas.follow(view)
    keys = [partition.key for partition in view.topics["a"].partitions]
    doomed = [DoomedReplica("a", index, index, keys[index]) for index in range(5)]
    topics = {"b": view.topics["b"]}
    slow.replicas.follow(view._replace(version=2, topics=topics, doomed=tuple(doomed)))
    assert [slow.row(slot).state for slot in range(5)] == [RowState.DELETED] * 5
    assert not list(slow.dirs[0].glob("a-?"))
    assert open_slots(slow) == [5]
    assert not slow.replicas.has_unopened


def test_each_replica_is_looked_at_once_however_many_are_opened(node, monkeypatch):
    looked_at = []
    followed = StorageFailures.follow_directory
    monkeypatch.setattr(
        StorageFailures, "follow_directory", lambda self, one: (looked_at.append(one.slot), followed(self, one))
    )
    node.replicas.follow(view_of(("t", 50)))
    assert looked_at == list(range(50))


def test_a_topic_that_did_not_change_is_not_looked_at_again(node, monkeypatch):
    view = view_of(("t", 5))
    node.replicas.follow(view)
    asked = []
    monkeypatch.setattr(Replicas, "_hold", lambda _self, _topic, partition, _is_first: asked.append(partition.slot))
    more = view_of(("t", 5), ("u", 1)).topics["u"]
    node.replicas.follow(view._replace(version=2, topics={**view.topics, "u": more}))
    assert asked == [5]


def test_a_log_that_could_not_be_opened_for_want_of_descriptors_is_opened_when_there_are_some(node, monkeypatch):
    view = view_of(("t", 3))
    node.replicas.follow(view)
    assert node.append(1, 7)
    published = node.row(1)
    opened, tries = PartitionLog.open, []

    def refuse(directory, name, *arguments, **options):
        tries.append(name.partition)
        raise StorageExhausted(f"{directory}: too many open files")

    monkeypatch.setattr(PartitionLog, "open", refuse)
    node.killed().follow(view)
    assert [node.row(slot).state for slot in range(3)] == [RowState.OFFLINE] * 3
    assert tries == [0, 1, 2]
    for _ in range(3):
        look_and_open(node)
    assert tries == [0, 1, 2, 0, 1, 2]  # one each time, and each in its turn
    trusted = []

    def allow(*arguments, **options):
        trusted.append(arguments[3].trusted)
        return opened(*arguments, **options)

    monkeypatch.setattr(PartitionLog, "open", allow)
    look_and_open(node)
    assert [node.row(slot).state for slot in range(3)] == [RowState.LEADER] * 3
    assert (published.end_segment, published.end_position) in trusted  # known from before there was no room
    assert node.row(1).log_end_offset == 7
    assert node.append(0)
    assert node.replicas.close()


def test_a_log_that_waited_for_room_when_it_was_released_is_opened_when_it_is_back(node, monkeypatch):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    assert node.append(1, 7)
    node.replicas.by_slot[1].log.advance_log_start(4)
    node.replicas.by_slot[1].publish()

    def refuse(directory, *_arguments, **_options):
        raise StorageExhausted(f"{directory}: too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "open", refuse)
        node.killed().follow(view)
    published = node.row(1)
    assert published.state == RowState.OFFLINE
    node.replicas.follow(view_of())
    node.replicas.follow(view)
    row = node.row(1)
    assert (row.state, row.log_start_offset, row.log_end_offset) == (RowState.LEADER, 4, 7)
    assert node.append(0)
    assert node.replicas.close()


def test_a_stop_while_logs_wait_to_be_opened_has_closed_what_it_opened_and_says_so(slow, caplog):
    """What became of the others shows in their rows: `test_housekeeper_storage.py`."""
    slow.replicas.follow(view_of(("t", 4)))
    assert len(open_slots(slow)) == 1
    assert slow.replicas.close()
    assert "stopped before all logs were opened count=3" in caplog.text


def test_a_log_that_does_not_open_for_whatever_reason_costs_no_other(node, monkeypatch):
    opened = node.replicas.logs.open

    def fail(name, *arguments, **options):
        if name.partition == 1:
            raise ValueError("a fault of ours")
        return opened(name, *arguments, **options)

    monkeypatch.setattr(node.replicas.logs, "open", fail)
    node.replicas.follow(view_of(("t", 3)))
    assert [node.row(slot).state for slot in range(3)] == [RowState.LEADER, RowState.OFFLINE, RowState.LEADER]
    assert not node.replicas.close()  # not clean


def test_a_log_whose_files_contradict_its_offsets_costs_no_other(node, monkeypatch):
    def fail(_log, _offset):
        raise CorruptSegment("no batch at byte 0")

    monkeypatch.setattr("headrace.log.writing.partition_log.PartitionLog.position_of", fail)
    view = view_of(("t", 2))
    other = view.topics["t"].partitions[1]._replace(isr=(0, 5))  # its high watermark is below its end
    node.replicas.follow(view)
    assert node.append(1)
    node.replicas.follow(view)
    node.replicas.by_slot[1].high_watermark = 0
    topic = view.topics["t"]
    changed = topic._replace(partitions=(topic.partitions[0], other._replace(leader_epoch=1)))
    node.replicas.follow(view._replace(version=2, topics={"t": changed}))
    assert [node.row(slot).state for slot in range(2)] == [RowState.LEADER, RowState.OFFLINE]
    assert node.append(0)


def test_progress_is_counted(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    for slot in range(2):
        node.append(slot, 50)
    size = sum(node.row(slot).size_bytes for slot in range(2))
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    counters = node.seat.counters
    assert (counters.get(LOGS_WANTED), counters.get(LOGS_OPENED)) == (2, 2)
    assert counters.get(RECOVERED_BYTES) == size


def test_the_line_of_an_opening_tells_the_bytes_that_were_recovered_for_it(node, caplog):
    caplog.set_level("INFO")
    node.replicas.follow(view_of(("t", 1)))
    node.append(0, 10)
    node.replicas.close()
    for clean in ((), node.dirs):
        node.seat = FakeSeat(node.dirs, clean=clean)
        caplog.clear()
        node.start().follow(view_of(("t", 1)))
        node.replicas.follow(view_of(("t", 1), ("u", 1)))
        recovered = [
            line.partition("recovered_bytes=")[2].split()[0] for line in caplog.messages if "logs opened" in line
        ]
        assert [number != "0" for number in recovered] == [not clean, False]
        for replica in node.replicas.by_slot.values():
            replica.log.abandon()


def test_a_log_is_opened_as_the_only_one_where_the_view_has_no_other_replica(node, monkeypatch):
    view = view_of(("t", 2))
    topic = view.topics["t"]
    partitions = (topic.partitions[0], topic.partitions[1]._replace(replicas=(0, 1)))
    opened = {}
    real = PartitionLog.open

    def note(directory, name, config, checkpoint, *rest):
        opened[name.partition] = checkpoint.is_sole
        return real(directory, name, config, checkpoint, *rest)

    monkeypatch.setattr(PartitionLog, "open", note)
    node.start()
    node.replicas.follow(view._replace(topics={"t": topic._replace(partitions=partitions)}))
    assert opened == {0: True, 1: False}


def elsewhere(view, slot):
    """The view with its only topic in another slot."""
    (topic,) = view.topics.values()
    partitions = tuple(one._replace(slot=slot) for one in topic.partitions)
    return view._replace(version=view.version + 1, topics={topic.name: topic._replace(partitions=partitions)})


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "released"])
def test_a_clean_stop_vouches_for_a_log_until_it_is_opened(node, is_killed):
    """Its owner is killed, the topic is not in the successor's first view, and comes back in another slot."""
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start()
    view = view_of(("t", 1, {"segment.bytes": "4000"}))
    node.replicas.follow(view)
    assert all(node.append(0) for _ in range(100))
    directory = node.replicas.by_slot[0].log.directory
    assert node.replicas.by_slot[0].log.recovery_point == 0
    if is_killed:
        node.killed()
    node.replicas.follow(view._replace(version=2, topics={}))
    synced = 0 if is_killed else 100  # a release closes it in order
    node.replicas.follow(elsewhere(view_of(("u", 1)), 0)._replace(version=3))
    active = max(directory.glob("*.log"))
    data = active.read_bytes()
    active.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    node.replicas.follow(elsewhere(view, 5)._replace(version=4))
    log = node.replicas.by_slot[5].log
    assert (log.directory, log.log_end_offset) == (directory, 99)
    assert log.recovery_point <= synced
    assert len(log.segments.unsynced) == (len(log.segment_bases) - 1 if is_killed else 0)


def test_until_then_it_does_whatever_other_logs_were_opened(node):
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start()
    both = view_of(("t", 1), ("u", 1))
    node.replicas.follow(both)
    assert node.append(0)
    assert node.append(1)
    node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start()
    node.replicas.follow(both._replace(topics={"t": both.topics["t"]}))
    node.replicas.follow(both._replace(version=2))
    assert [node.replicas.by_slot[slot].log.recovery_point for slot in (0, 1)] == [1, 1]
    assert [one.was_closed for one in node.replicas.take_opened()] == [True, True]
