"""Replicas over disks that fail, fill up and come back; owners that are killed while they publish."""

import errno
import threading
from dataclasses import replace

import pytest
from fake_seat import TOPIC_ID, FakeSeat, view_of
from faulty_disk import FaultyDisk
from log_fixtures import NOW_MS, FakeClock, batch

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import OFFSETS_TOPIC, TopicPartition, partition_key
from headrace.limits import OPENING_SLICE_MS, REOPEN_INTERVAL_MS
from headrace.log.checkpoints import LOG_START_OFFSET_FILE, write_offset_checkpoint
from headrace.log.partition_log import PartitionLog
from headrace.log.segment_file import CorruptSegment
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.partition_table import RowState
from headrace.workers.partition.log_opener import LogOpener
from headrace.workers.partition.replicas import Replicas


class RoomyDisk(FaultyDisk):
    """Says how much room there is as the test wants it, and counts syncs by file."""

    def __init__(self):
        super().__init__()
        self.free = 1 << 40
        self.fails = {}

    def _call(self, name):
        if name in self.fails:
            raise OSError(self.fails[name], "injected")
        super()._call(name)

    def free_bytes(self, directory):
        if "free_bytes" in self.fails:
            raise OSError(self.fails["free_bytes"], "injected")
        return self.free


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


class Node:
    """One partition worker over two log directories."""

    def __init__(self, path, **settings):
        self.dirs = [path / "a", path / "b"]
        for one in self.dirs:
            one.mkdir(exist_ok=True)
        self.seat = FakeSeat(self.dirs, settings)
        self.clock = FakeClock()
        self.disk = RoomyDisk()
        self.replicas = self.start()

    def start(self):
        self.replicas = Replicas(self.seat, 0, self.clock, self.disk)
        return self.replicas

    def killed(self):
        for replica in self.replicas.by_slot.values():
            replica.log.abandon()
        self.seat.restarted()
        return self.start()

    def append(self, slot, count=1):
        replica = self.replicas.by_slot[slot]
        try:
            replica.log.append_as_leader([batch() for _ in range(count)], replica.leader_epoch, NOW_MS)
        except StorageFailed as failure:
            self.replicas.fail(replica, failure)
            return False
        replica.advance_high_watermark(0)
        replica.publish()
        return True

    def row(self, slot):
        return self.seat.partitions.read(slot)

    def look(self):
        self.clock.ms += 5_000
        return self.replicas.look(self.clock.ms, self.clock.ms)

    def dir_of(self, slot):
        return self.replicas.by_slot[slot].log.directory.parent


def test_new_partitions_are_spread_over_the_directories(node):
    node.replicas.follow(view_of(("t", 6)))
    assert sorted(node.dir_of(slot).name for slot in range(6)) == ["a"] * 3 + ["b"] * 3
    assert all(node.row(slot).state == RowState.LEADER for slot in range(6))


@pytest.mark.parametrize("call", ["fdatasync", "pwritev"])
def test_an_io_error_takes_the_whole_directory_offline_and_no_other(node, call):
    node.replicas.follow(view_of(("t", 6)))
    for slot in range(6):
        assert node.append(slot)
    failing = node.dir_of(0)
    node.disk.fails[call] = errno.EIO
    replica = node.replicas.by_slot[0]
    if call == "pwritev":
        assert not node.append(0)
    else:
        with pytest.raises(StorageFailed) as failure:
            replica.log.flush(NOW_MS)
        node.replicas.fail(replica, failure.value)
    node.disk.fails.clear()
    states = {slot: node.row(slot).state for slot in range(6)}
    assert {node.dir_of(slot) for slot, state in states.items() if state == RowState.OFFLINE} == {failing}
    assert {node.dir_of(slot) for slot, state in states.items() if state == RowState.LEADER} == set(node.dirs) - {
        failing
    }
    assert sum(state == RowState.OFFLINE for state in states.values()) == 3
    assert node.row(0).log_end_offset == 1  # what it had published stands there
    assert {changed.slot for changed in node.look()} == {
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
    node.replicas.fail(node.replicas.by_slot[0], StorageFailed("fsync: injected"))
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
    node.seat.mask = 2
    changed = node.look()
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


def test_what_is_remembered_of_earlier_views_is_bounded(node):
    def follow(name, is_doomed):
        view = view_of((name, 1))
        node.replicas.follow(view)
        key = view.topics[name].partitions[0].key
        node.replicas.follow(view_of(doomed=[DoomedReplica(name, 0, 0, key)] if is_doomed else []))

    for number in range(5):
        follow(f"deleted{number}", is_doomed=True)
    assert not len(node.replicas._known)
    for number in range(node.seat.partitions.rows + 5):
        follow(f"unreadable{number}", is_doomed=False)
    assert len(node.replicas._known) == node.seat.partitions.rows


def test_a_topic_that_was_unreadable_for_a_while_is_not_taken_for_a_new_one(node):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0)
    node.replicas.follow(view_of(("other", 0)))  # its znode can't be read
    node.replicas.lose_directory(node.dirs[0], StorageFailed("injected"))
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE
    assert not (node.dirs[1] / "t-0").exists()


def test_a_new_partition_goes_where_there_is_room_whatever_lies_there(node):
    node.replicas.follow(view_of(("t", 4)))
    bound = node.seat.wiring.settings["headrace.log.dir.free.bytes.min"]
    node.disk.free_bytes = lambda path: bound - 1 if path == node.dirs[0] else 2 * bound
    node.look()
    node.replicas.follow(view_of(("t", 4), ("u", 3)))
    assert [node.dir_of(slot) for slot in (4, 5, 6)] == [node.dirs[1]] * 3
    assert all(node.append(slot) for slot in (4, 5, 6))


def test_a_full_directory_refuses_appends_early_and_takes_them_again_when_there_is_room(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    assert node.append(0)
    bound = node.seat.wiring.settings["headrace.log.dir.free.bytes.min"]
    node.disk.free = bound - 1
    node.look()
    assert all(replica.is_full for replica in node.replicas.by_slot.values())
    assert node.row(0).state == RowState.LEADER  # readers go on
    node.disk.free = bound
    node.look()
    assert all(replica.is_full for replica in node.replicas.by_slot.values())  # no flapping
    node.disk.free = 2 * bound
    node.look()
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
        assert [replica.slot for replica in node.look()] == [0]
        assert not node.append(0)
    assert (node.row(0).log_end_offset, node.row(0).high_watermark) == (3, 3)
    node.disk.fails.clear()
    assert [replica.slot for replica in node.look()] == [0]
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
    node.look()
    assert node.replicas.by_slot[0].is_full
    node.disk.fails.clear()
    node.look()
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
    node.look()
    assert node.append(0)


def test_a_directory_whose_disk_is_gone_is_found_without_a_write(node):
    node.replicas.follow(view_of(("t", 2)))
    node.disk.fails["free_bytes"] = errno.EIO
    assert len(node.look()) == 2
    assert node.seat.mask == 3


def torn(node, slot):
    """The row as a kill in mid-publish leaves it."""
    table = node.seat.partitions
    start = (128 + slot * 256) // 8
    assert table._words[start] % 2 == 0
    table._words[start] += 1


def test_a_row_torn_by_a_kill_costs_no_full_recovery_and_keeps_the_high_watermark(node):
    from headrace.shm.layout import PARTITION_ROW_BYTES, PARTITION_ROWS

    assert (PARTITION_ROWS, PARTITION_ROW_BYTES) == (128, 256)
    view = view_of(("t", 1, {"segment.bytes": "2000"}))
    node.replicas.follow(view)
    for _ in range(80):
        node.append(0)
    before = node.row(0)
    first = node.replicas.by_slot[0].log.directory / f"{0:020d}.log"
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF  # were it read again, the log would end here
    first.write_bytes(data)
    torn(node, 0)
    assert node.row(0) is None
    node.killed()
    node.replicas.follow(view)
    after = node.row(0)
    assert (after.log_end_offset, after.high_watermark, after.state) == (80, 80, RowState.LEADER)
    assert (after.end_segment, after.end_position) == (before.end_segment, before.end_position)
    assert node.seat.counters.get(RECOVERED_BYTES) <= 2000


def test_a_torn_row_whose_halves_do_not_fit_is_checked_against_the_headers(node):
    view = view_of(("t", 1, {"segment.bytes": "2000"}))
    node.replicas.follow(view)
    for _ in range(40):
        node.append(0)
    good = node.row(0)
    for segment, position in ((good.end_segment, 1999), (0, good.end_position), (0, 7), (good.end_segment, 1)):
        node.seat.partitions.publish(0, good._replace(end_segment=segment, end_position=position))
        torn(node, 0)
        node.killed()
        node.replicas.follow(view)
        assert node.row(0).log_end_offset == 40


def test_a_clean_start_says_nothing_of_a_log_that_was_written_to_since(node, monkeypatch):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(view)
    node.append(0, 50)

    def refuse(*_arguments, **_settings):
        raise StorageExhausted("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(LogOpener, "open", refuse)
        node.killed().follow(view)
    assert node.row(0).state == RowState.OFFLINE
    node.killed().follow(view)
    assert node.row(0).log_end_offset == 50
    assert node.seat.counters.get(RECOVERED_BYTES) == node.row(0).size_bytes  # all of it was looked at


def test_only_logs_with_flush_ms_are_looked_at(node):
    node.replicas.follow(view_of(("t", 3), ("timed", 1, {"flush.ms": "100"})))
    for slot in range(4):
        node.append(slot)
    asked = []
    for slot, replica in node.replicas.by_slot.items():
        flush_due = replica.log.flush_due
        replica.log.flush_due = lambda now_ms, slot=slot, inner=flush_due: asked.append(slot) or inner(now_ms)
    node.look()
    assert asked == [3]
    assert [node.row(slot).recovery_point for slot in range(4)] == [0, 0, 0, 1]


def test_the_start_of_a_log_is_known_again(node):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 10)
    node.replicas.close()
    write_offset_checkpoint(node.dirs[0] / "log-start-offset-checkpoint", {TopicPartition("t", 0): 4})
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    assert (node.row(0).log_start_offset, node.row(0).log_end_offset) == (4, 10)


def test_the_directory_of_a_deleted_topic_of_the_same_name_is_put_aside(node):
    node.replicas.follow(view_of(("t", 1)))
    node.append(0, 10)
    node.replicas.close()
    node.seat = FakeSeat(node.dirs)
    view = view_of(("t", 1))
    view.topics["t"] = view.topics["t"]._replace(topic_id="ff" * 16)
    node.start().follow(view)
    assert node.row(0).log_end_offset == 0
    assert len([path for one in node.dirs for path in one.glob("t-0.*-stray")]) == 1


def test_a_deletion_does_not_wait_for_a_failed_directory(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    keys = [partition.key for partition in view.topics["t"].partitions]
    node.replicas.fail(node.replicas.by_slot[0], StorageFailed("injected"))
    doomed = [DoomedReplica("t", index, index, keys[index]) for index in range(2)]
    node.replicas.follow(view_of(doomed=doomed))
    assert [node.row(slot).state for slot in range(2)] == [RowState.DELETED] * 2


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


@pytest.mark.parametrize("what", ["deleted", "released", "replaced"])
def test_who_waits_for_a_replica_that_is_no_more_is_told(node, what):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    replica = node.replicas.by_slot[0]
    if what == "deleted":
        following = view_of(doomed=[DoomedReplica("t", 0, 0, replica.key)])
    else:
        following = view_of() if what == "released" else view_of(("u", 1))
    assert replica in node.replicas.follow(following)
    assert not replica.is_leader
    assert replica not in node.replicas.follow(following)


def test_a_worker_that_opens_deletes_or_releases_many_logs_is_seen_to_live(node):
    beats = []
    node.seat.beat = beats.append
    node.replicas.follow(view_of(("t", 40)))
    assert len(beats) >= 40
    beats.clear()
    keys = [partition.key for partition in view_of(("t", 40)).topics["t"].partitions]
    node.replicas.follow(view_of(doomed=[DoomedReplica("t", index, index, keys[index]) for index in range(20)]))
    assert len(beats) >= 40


def test_a_log_that_does_not_open_for_whatever_reason_costs_no_other(node, monkeypatch):
    opened = node.replicas._open_log

    def fail(name, *arguments, **options):
        if name.partition == 1:
            raise ValueError("a fault of ours")
        return opened(name, *arguments, **options)

    monkeypatch.setattr(node.replicas, "_open_log", fail)
    node.replicas.follow(view_of(("t", 3)))
    assert [node.row(slot).state for slot in range(3)] == [RowState.LEADER, RowState.OFFLINE, RowState.LEADER]
    assert not node.replicas.close()  # not clean


def test_a_log_whose_files_contradict_its_offsets_costs_no_other(node, monkeypatch):
    def fail(_log, _offset):
        raise CorruptSegment("no batch at byte 0")

    monkeypatch.setattr("headrace.log.partition_log.PartitionLog.position_of", fail)
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


def with_id(view, topic_id, slot=0):
    """The view with another topic (or another slot) in place of its only one."""
    (topic,) = view.topics.values()
    partitions = tuple(
        one._replace(key=partition_key(topic.name, one.index, topic_id), slot=slot + one.index)
        for one in topic.partitions
    )
    return view._replace(topics={topic.name: topic._replace(topic_id=topic_id, partitions=partitions)})


@pytest.mark.parametrize("slot", [0, 5])
def test_a_released_topic_that_is_back_begins_where_it_ended(node, slot):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 9)
    replica = node.replicas.by_slot[0]
    replica.log.advance_log_start(4)
    replica.publish()
    directory = replica.log.directory
    node.replicas.follow(view_of(("other", 0)))
    assert not node.replicas.by_slot
    assert directory.is_dir()
    node.replicas.follow(with_id(view, TOPIC_ID, slot))
    row = node.row(slot)
    assert (row.state, row.log_start_offset, row.high_watermark, row.log_end_offset) == (RowState.LEADER, 4, 9, 9)
    assert node.append(slot)
    assert node.replicas.close()


def test_files_of_another_topic_are_neither_served_nor_deleted(node, caplog):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 9)
    directory = node.dir_of(0)
    later = with_id(view, "f" * 32)
    key = later.topics["t"].partitions[0].key
    node.replicas.follow(view_of(doomed=[DoomedReplica("t", 0, 0, key)]))  # it came and went between two looks
    assert node.row(0).state == RowState.DELETED
    assert (directory / "t-0").is_dir()
    assert "directory kept, it is not the deleted topic's" in caplog.text
    node.replicas.follow(later)
    assert (node.row(0).log_start_offset, node.row(0).log_end_offset) == (0, 0)
    (stray,) = [path for one in node.dirs for path in one.glob("t-0.*-stray")]
    assert (stray / "00000000000000000000.log").stat().st_size > 0
    assert (
        f"directory put aside, remove it if nobody misses its records partition=t-0 topic_id={'f' * 32}" in caplog.text
    )


def test_a_topic_with_the_longest_name_is_deleted_and_put_aside_like_any_other(node):
    name = "x" * 249
    view = view_of((name, 1))
    node.replicas.follow(view)
    later = with_id(view, "f" * 32)
    node.replicas.follow(view_of(("other", 0)))
    node.replicas.follow(later)
    assert node.row(0).state == RowState.LEADER
    node.replicas.follow(view_of(doomed=[DoomedReplica(name, 0, 0, later.topics[name].partitions[0].key)]))
    assert node.row(0).state == RowState.DELETED
    assert node.replicas.usable_directories == node.dirs
    put_aside = [path.name for one in node.dirs for path in one.iterdir() if path.is_dir()]
    assert {(len(one), one.rpartition("-")[2]) for one in put_aside} == {(255, "delete"), (255, "stray")}


class PassingClock(FakeClock):
    """Every look at it takes a slice of opening, so that each slice opens one log."""

    def monotonic_ns(self):
        self.ms += OPENING_SLICE_MS
        return self.ms * 1_000_000


@pytest.fixture
def slow(node):
    node.clock = PassingClock()
    node.start()
    return node


def open_slots(node):
    return sorted(node.replicas.by_slot)


def test_logs_are_opened_a_slice_at_a_time_and_those_asked_for_first(slow):
    view = view_of(("a", 3), (OFFSETS_TOPIC, 1))
    slow.replicas.follow(view)
    assert open_slots(slow) == [3]  # groups wait for it
    assert slow.append(3)
    slow.replicas.ask_for(2, view.topics["a"].partitions[2].key)
    slow.replicas.ask_for(1, 12345)  # another partition's that had this slot
    opened = []
    while slow.replicas.has_unopened:
        opened += slow.replicas.open_some()
        opened += slow.replicas.follow(view._replace(version=2))
    assert [replica.slot for replica in opened] == [2, 0, 1]
    assert all(replica.is_leader for replica in opened)
    assert slow.replicas.open_some() == []


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
    followed = Replicas._follow_directory
    monkeypatch.setattr(
        Replicas, "_follow_directory", lambda self, one: (looked_at.append(one.slot), followed(self, one))
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
    assert not node.replicas.close()  # what was not opened was not recovered
    for _ in range(3):
        look_and_open(node)
    assert tries == [0, 1, 2, 0, 1, 2]  # one each time, and each in its turn
    trusted = []

    def allow(*arguments, **options):
        trusted.append(options["trusted"])
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


def look_and_open(node):
    node.clock.ms += REOPEN_INTERVAL_MS
    node.replicas.look(node.clock.ms, node.clock.ms)
    node.replicas.open_some()


def test_a_stop_while_logs_wait_to_be_opened_is_clean_where_they_are_as_a_clean_stop_left_them(tmp_path):
    view = view_of(("t", 4))
    node = Node(tmp_path)
    node.replicas.follow(view)
    assert node.replicas.close()
    for clean, is_clean in ((node.dirs, True), (node.dirs[:1], False)):
        node.seat = FakeSeat(node.dirs, clean=clean)
        node.clock = PassingClock()
        node.start().follow(view)
        assert len(node.replicas.by_slot) == 1
        assert node.replicas.close() is is_clean


def test_a_stop_while_new_partitions_wait_to_be_made_is_clean(slow):
    slow.replicas.follow(view_of(("t", 4)))
    assert len(open_slots(slow)) == 1
    assert slow.replicas.close()


def test_a_stop_while_logs_of_a_killed_predecessor_wait_to_be_opened_is_not_clean(tmp_path):
    view = view_of(("t", 4))
    node = Node(tmp_path)
    node.replicas.follow(view)
    node.seat.wiring = replace(node.seat.wiring, clean_directories=frozenset(map(str, node.dirs)))
    node.clock = PassingClock()
    node.killed().follow(view)
    assert not node.replicas.close()


def test_names_of_new_partitions_are_synced_once_for_all(node):
    node.replicas.follow(view_of(("t", 50)))
    assert node.disk.calls.count("fsync") == len(node.dirs)
    assert node.disk.calls.count("fdatasync") == 0
    node.replicas.follow(view_of(("t", 50), ("u", 1)))
    assert node.disk.calls.count("fsync") == len(node.dirs) + 1


def test_partitions_that_hold_nothing_are_closed_without_a_call_to_the_disk(node):
    view = view_of(("t", 50))
    node.replicas.follow(view)
    node.disk.calls.clear()
    assert node.replicas.close()
    assert not node.disk.calls
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(view)
    assert node.append(7)
    assert [node.row(slot).log_end_offset for slot in range(50)] == [int(slot == 7) for slot in range(50)]


def test_logs_wait_for_the_disk_together_when_the_worker_stops(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    for slot in range(2):
        node.append(slot)
    both = threading.Barrier(2, timeout=60)
    synced = node.disk.fdatasync
    node.disk.fdatasync = lambda fd: (both.wait(), synced(fd))
    assert node.replicas.close()
    assert [node.row(slot).recovery_point for slot in range(2)] == [1, 1]


def test_one_log_that_can_not_be_closed_takes_its_directory_and_no_other(node):
    node.replicas.follow(view_of(("t", 4)))
    for slot in range(4):
        node.append(slot)
    lost = node.dir_of(0)
    sick = node.replicas.by_slot[0].log._active.fd
    synced = node.disk.fdatasync

    def fail(fd):
        if fd == sick:
            raise OSError(errno.EIO, "injected")
        synced(fd)

    node.disk.fdatasync = fail
    node.replicas.close()
    assert node.replicas.usable_directories == [one for one in node.dirs if one != lost]
    assert [node.row(slot).recovery_point for slot in range(4) if node.dir_of(slot) != lost] == [1, 1]


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


def test_the_log_start_survives_a_first_publication_torn_by_a_kill(node):
    """What was there is the row of a log that loads, with zeros; the checkpoint knows better."""
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 10)
    node.replicas.by_slot[0].log.advance_log_start(5)
    node.replicas.close()
    write_offset_checkpoint(node.dir_of(0) / LOG_START_OFFSET_FILE, {TopicPartition("t", 0): 5})
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    row = node.row(0)
    node.seat.partitions.publish(0, row._replace(log_start_offset=0, high_watermark=0, recovery_point=0))
    assert node.killed().follow(view)
    assert node.replicas.by_slot[0].log.log_start_offset == 5
